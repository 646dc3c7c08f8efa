# SPDX-License-Identifier: GPL-3.0-or-later
"""What the volumes of a pod show of Secrets and ConfigMaps. Pure."""

from __future__ import annotations

import typing as t

Kind = t.Literal["Secret", "ConfigMap"]
_PROJECTED: dict[str, Kind] = {"secret": "Secret", "configMap": "ConfigMap"}


class VolumeSource(t.NamedTuple):
    """A Secret or ConfigMap in a volume. `chosen` goes from keys to paths below the mount; empty: every key, under its own name."""

    kind: Kind
    name: str
    chosen: t.Mapping[str, str]

    def key_of(self, path: str) -> str | None:
        """Return the key that is at this path, None if that is of another source."""
        if not self.chosen:
            return path
        return next((key for key, chosen in self.chosen.items() if chosen == path), None)


def volume_sources(volume: t.Mapping[str, t.Any]) -> list[VolumeSource]:
    """Return the sources of one volume of a pod (`Volume` of the API), none if it is of another kind."""
    found = [
        VolumeSource(kind, str(source[field].get("name")), _chosen(source[field]))
        for source in (volume.get("projected") or {}).get("sources") or ()
        for field, kind in _PROJECTED.items()
        if source.get(field)
    ]
    if volume.get("secret"):
        found.append(VolumeSource("Secret", str(volume["secret"].get("secretName")), _chosen(volume["secret"])))
    if volume.get("configMap"):
        found.append(VolumeSource("ConfigMap", str(volume["configMap"].get("name")), _chosen(volume["configMap"])))
    return found


def _chosen(source: t.Mapping[str, t.Any]) -> dict[str, str]:
    return {item["key"]: item["path"] for item in source.get("items") or ()}
