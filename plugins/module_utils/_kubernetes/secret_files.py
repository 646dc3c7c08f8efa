# SPDX-License-Identifier: GPL-3.0-or-later
"""Key, certificate and CA of a Secret as files, the CA maybe from a ConfigMap, for a module that connects to databases from the control node. They exist
while the module needs them, in its own temporary directory, which Ansible removes after a module that was killed.
"""

from __future__ import annotations

import base64
import contextlib
import pathlib
import tempfile
import typing as t

from .._base.errors import OvnError, Refused

# What the volumes of a pod show of Secrets and ConfigMaps. Pure.

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


if t.TYPE_CHECKING:
    from .client import Cluster

# By the option of modules that the file is for
NAMES = {"private_key": "tls.key", "certificate": "tls.crt", "ca_certificate": "ca.crt"}


def _write(directory: pathlib.Path, data: t.Mapping[str, str]) -> dict[str, str]:
    try:
        for name in NAMES.values():
            (directory / name).touch(mode=0o600)
            (directory / name).write_bytes(base64.b64decode(data[name]))
    except (OSError, ValueError) as e:
        raise OvnError(f"Cannot write key and certificate of the Secret to {directory}: {e}.") from e
    return {option: str(directory / name) for option, name in NAMES.items()}


class BundleReference(t.Protocol):
    """A ConfigMap and its key with the CAs to trust."""

    @property
    def name(self) -> str: ...

    @property
    def key(self) -> str: ...


@contextlib.contextmanager
def files_of(data: t.Mapping[str, str], directory: str) -> t.Iterator[dict[str, str]]:
    """Yield the paths below `directory`, by the option they are for; none if the data of the Secret lacks one of the three. At the end the files are gone."""
    if not all(data.get(name) for name in NAMES.values()):
        yield {}
        return
    with tempfile.TemporaryDirectory(prefix="c5c3-ovn-", dir=directory) as own:
        yield _write(pathlib.Path(own), data)


def read_secret(cluster: Cluster, name: str, namespace: str) -> tuple[dict[str, str] | None, Refused | None]:
    """Return the data of the Secret, None if it is not there or may not be read, and why it may not."""
    try:
        found = cluster.get("v1", "Secret", name, namespace)
    except Refused as e:
        return None, e
    return None if found is None else found.get("data") or {}, None


def read_config_map(cluster: Cluster, name: str, namespace: str) -> tuple[dict[str, str] | None, Refused | None]:
    """Return the data of the ConfigMap in base64 as that of a Secret, and the rest as `read_secret`. Whoever rolls out hypervisors may list, not get."""
    try:
        found = cluster.list("v1", "ConfigMap", namespace, fields=f"metadata.name={name}")
    except Refused as e:
        return None, e
    return (config_map_data(found[0]) if found else None), None


def config_map_data(config_map: t.Mapping[str, t.Any]) -> dict[str, str]:
    texts = {key: base64.b64encode(text.encode()).decode() for key, text in (config_map.get("data") or {}).items()}
    return {**(config_map.get("binaryData") or {}), **texts}


def read_certificates(
    cluster: Cluster, secret: str, namespace: str, bundle: BundleReference | None
) -> tuple[dict[str, str] | None, Refused | None]:
    """Return what `read_secret` does, with ca.crt from the ConfigMap if that has the CAs that daemons trust."""
    data, refusal = read_secret(cluster, secret, namespace)
    if data is None or bundle is None:
        return data, refusal
    authorities, refusal = read_config_map(cluster, bundle.name, namespace)
    return {**data, NAMES["ca_certificate"]: (authorities or {}).get(bundle.key, "")}, refusal


def secret_files(
    cluster: Cluster,
    name: str,
    namespace: str,
    directory: str,
    warn: t.Callable[[str], None],
    bundle: BundleReference | None = None,
) -> contextlib.AbstractContextManager[dict[str, str]]:
    """Read Secret and bundle; a context that yields the paths as `files_of` does. No paths if one is not there, or after a warning may not be read."""
    data, refusal = read_certificates(cluster, name, namespace, bundle)
    if refusal is not None:
        warn(str(refusal))
    return files_of(data or {}, directory)
