# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

Ports of Services that somebody else gave another number. The API server merges ports by number: applied beside the other one, ours would have
its name twice, which is invalid and names nobody. And node ports that would move from one Service of ours to another.
"""

from __future__ import annotations

import json
import typing as t

from .._api.names import Object
from .._errors import Conflict, Refused
from .._kubernetes.apply import Key, Note, ObjectChange, key_of
from .._kubernetes.client import FIELD_MANAGER, Cluster


class Clash(t.NamedTuple):
    """A Service, the ports in the way, and who set them; nobody, if we did so ourselves."""

    manifest: Object
    live: Object
    ports: list[Object]
    managers: list[str]


def find_clashes(manifests: t.Sequence[Object], index: t.Mapping[Key, Object]) -> list[Clash]:
    """`Refused` for what no repair can make right in one run."""
    refuse_moves(manifests, index)
    found = []
    for manifest in manifests:
        live = index.get(key_of(manifest)) if manifest["kind"] == "Service" else None
        ports = _in_the_way(manifest["spec"]["ports"], live["spec"].get("ports") or []) if live else []
        if live and ports:
            found.append(Clash(manifest, live, ports, sorted(_managers(live, ports) - {FIELD_MANAGER})))
    return found


def refuse_moves(manifests: t.Sequence[Object], index: t.Mapping[Key, Object]) -> None:
    """A node port has one owner, and no request changes two Services. To free both first would take both members from their clients."""
    holders = {
        port["nodePort"]: key
        for key, live in index.items()
        if key[1] == "Service"
        for port in live["spec"].get("ports") or ()
        if port.get("nodePort")
    }
    moves = [
        (port["nodePort"], _place(key_of(manifest)), _place(holders[port["nodePort"]]))
        for manifest in manifests
        if manifest["kind"] == "Service"
        for port in manifest["spec"]["ports"]
        if holders.get(port.get("nodePort"), key_of(manifest)) != key_of(manifest)
    ]
    if moves:
        told = ", ".join(f"{number} for {wants} ({has} has it)" for number, wants, has in moves)
        raise Refused(
            f"Node ports cannot move from one Service to another in one run: {told}. Clients use the ports of all members, in any order, so leave each "
            f"where it is. Or first give {', '.join(sorted({has for _number, _wants, has in moves}))} other ports that are free, run, then set these. "
            "Nothing was changed."
        )


def refuse_clashes(clashes: t.Sequence[Clash]) -> None:
    """`Conflict` like that of the API server for any other field."""
    for clash in clashes:
        if clash.managers:
            metadata = clash.manifest["metadata"]
            told = ", ".join(_title(port) for port in clash.ports)
            raise Conflict(
                f"Cannot apply Service {metadata['namespace']}/{metadata['name']}: another field manager owns what we want to set: "
                f"{', '.join(_quoted(m) for m in clash.managers)} set .spec.ports ({told}). "
                "Let it stop setting them, or take them over with force_conflicts. Nothing was changed."
            )


def repair(cluster: Cluster, clashes: t.Sequence[Clash], *, check_mode: bool, note: Note) -> list[ObjectChange]:
    done = []
    for clash in clashes:
        metadata = clash.manifest["metadata"]
        ports = {"ports": repaired(clash)}
        # With the version: what somebody else has set since then is a conflict again.
        patch = {"metadata": {"resourceVersion": clash.live["metadata"]["resourceVersion"]}, "spec": ports}
        after = {**clash.live, "spec": {**clash.live["spec"], **ports}}
        if not check_mode:
            after = cluster.patch("v1", "Service", metadata["name"], metadata["namespace"], patch)
        done.append(ObjectChange("Service", metadata["name"], metadata["namespace"], "changed", clash.live, after))
        note(done[-1])
    return done


def repaired(clash: Clash) -> list[Object]:
    """Our ports, and those of others that are in nobody's way. A node port stays: it is in the configuration of clients."""
    ours = {_key(port): port for port in clash.manifest["spec"]["ports"]}
    node_ports = {port.get("name"): port["nodePort"] for port in clash.ports if port.get("nodePort")}
    theirs = [p for p in clash.live["spec"]["ports"] if p not in clash.ports and _key(p) not in ours]
    kept = [{"nodePort": node_ports[p["name"]], **p} if p["name"] in node_ports else p for p in ours.values()]
    return [*kept, *theirs]


def _in_the_way(ours: t.Sequence[Object], live: t.Sequence[Object]) -> list[Object]:
    keys, names = {_key(port) for port in ours}, {port["name"] for port in ours}
    node_ports = {port["nodePort"] for port in ours if port.get("nodePort")}
    return [
        port
        for port in live
        if _key(port) not in keys
        and (not port.get("name") or port["name"] in names or port.get("nodePort") in node_ports)
    ]


def _place(service: Key) -> str:
    return f"{service[2]}/{service[3]}"


def _key(port: Object) -> tuple[int, str]:
    return port["port"], port.get("protocol", "TCP")


def _managers(live: Object, ports: t.Sequence[Object]) -> set[str]:
    wanted, found = {_key(port) for port in ports}, set()
    for entry in live["metadata"].get("managedFields") or ():
        fields = ((entry.get("fieldsV1") or {}).get("f:spec") or {}).get("f:ports") or {}
        for key in fields:
            if key.startswith("k:") and _key(json.loads(key[2:])) in wanted:
                found.add(str(entry.get("manager", "")))
    return found


def _title(port: Object) -> str:
    node_port = f", node port {port['nodePort']}" if port.get("nodePort") else ""
    return f'"{port.get("name", "")}" {port["port"]}{node_port}'


def _quoted(text: str) -> str:
    return f'"{text}"'
