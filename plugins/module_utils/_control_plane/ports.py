# SPDX-License-Identifier: GPL-3.0-or-later
"""Ports of Services to which another client gave another number. The API server merges ports by number: applied beside the other one, ours would have
its name twice, which is refused without the name of a field manager. And node ports that would move from one Service of ours to another.
"""

from __future__ import annotations

import json
import typing as t

from .._api.names import Object
from .._base.errors import Conflict, Refused
from .._kubernetes.apply import Key, ObjectChange, OnChange, key_of
from .._kubernetes.client import FIELD_MANAGER, Cluster


class PortClash(t.NamedTuple):
    """A Service, the ports that clash with ours, and the field managers that set them; none if we did so ourselves."""

    manifest: Object
    observed: Object
    ports: list[Object]
    managers: list[str]


def find_port_clashes(manifests: t.Sequence[Object], index: t.Mapping[Key, Object]) -> list[PortClash]:
    """Return the Services with clashing ports; `Refused` for what cannot be repaired in one run."""
    refuse_node_port_moves(manifests, index)
    found = []
    for manifest in manifests:
        observed = index.get(key_of(manifest)) if manifest["kind"] == "Service" else None
        ports = _clashing_ports(manifest["spec"]["ports"], observed["spec"].get("ports") or []) if observed else []
        if observed and ports:
            found.append(PortClash(manifest, observed, ports, sorted(_managers(observed, ports) - {FIELD_MANAGER})))
    return found


def refuse_node_port_moves(manifests: t.Sequence[Object], index: t.Mapping[Key, Object]) -> None:
    """Raise `Refused` if a node port would move from one Service to another.

    A node port has one owner, and no request changes two Services. To free both first would cut off both members from their clients.
    """
    holders = {
        port["nodePort"]: key
        for key, observed in index.items()
        if key[1] == "Service"
        for port in observed["spec"].get("ports") or ()
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
        listed = ", ".join(f"{number} for {new} ({old} has it)" for number, new, old in moves)
        raise Refused(
            f"Node ports cannot move from one Service to another in one run: {listed}. Clients use the ports of all members, in any order, so leave each "
            f"where it is. Or first give {', '.join(sorted({old for _number, _new, old in moves}))} other ports that are free, run, then set these. "
            "Nothing was changed."
        )


def refuse_port_clashes(port_clashes: t.Sequence[PortClash]) -> None:
    """Raise `Conflict`, as the API server does for any other field, if another field manager set one of the ports."""
    for port_clash in port_clashes:
        if port_clash.managers:
            metadata = port_clash.manifest["metadata"]
            listed = ", ".join(_title(port) for port in port_clash.ports)
            raise Conflict(
                f"Cannot apply Service {metadata['namespace']}/{metadata['name']}: another field manager owns fields of the desired object: "
                f"{', '.join(_quoted(m) for m in port_clash.managers)} set .spec.ports ({listed}). "
                "Let it stop setting them, or overwrite them with force_conflicts (ovn_force_conflicts). Nothing was changed."
            )


def repair_ports(
    cluster: Cluster, port_clashes: t.Sequence[PortClash], *, check_mode: bool, on_change: OnChange
) -> list[ObjectChange]:
    done = []
    for port_clash in port_clashes:
        metadata = port_clash.manifest["metadata"]
        ports = {"ports": repaired_ports(port_clash)}
        # With the resourceVersion: what another client has set since then is a conflict.
        patch = {"metadata": {"resourceVersion": port_clash.observed["metadata"]["resourceVersion"]}, "spec": ports}
        after = {**port_clash.observed, "spec": {**port_clash.observed["spec"], **ports}}
        if not check_mode:
            after = cluster.patch("v1", "Service", metadata["name"], metadata["namespace"], patch)
        done.append(
            ObjectChange("Service", metadata["name"], metadata["namespace"], "changed", port_clash.observed, after)
        )
        on_change(done[-1])
    return done


def repaired_ports(port_clash: PortClash) -> list[Object]:
    """Return our ports, and those of others that do not clash. A node port is kept: it is in the configuration of clients."""
    ours = {_key(port): port for port in port_clash.manifest["spec"]["ports"]}
    node_ports = {port.get("name"): port["nodePort"] for port in port_clash.ports if port.get("nodePort")}
    theirs = [
        p for p in port_clash.observed["spec"].get("ports") or () if p not in port_clash.ports and _key(p) not in ours
    ]
    kept = [{"nodePort": node_ports[p["name"]], **p} if p["name"] in node_ports else p for p in ours.values()]
    return [*kept, *theirs]


def _clashing_ports(ours: t.Sequence[Object], observed: t.Sequence[Object]) -> list[Object]:
    keys, names = {_key(port) for port in ours}, {port["name"] for port in ours}
    node_ports = {port["nodePort"] for port in ours if port.get("nodePort")}
    return [
        port
        for port in observed
        if _key(port) not in keys
        and (not port.get("name") or port["name"] in names or port.get("nodePort") in node_ports)
    ]


def _place(service: Key) -> str:
    return f"{service[2]}/{service[3]}"


def _key(port: Object) -> tuple[int, str]:
    return port["port"], port.get("protocol", "TCP")


def _managers(observed: Object, ports: t.Sequence[Object]) -> set[str]:
    desired, found = {_key(port) for port in ports}, set()
    for entry in observed["metadata"].get("managedFields") or ():
        fields = ((entry.get("fieldsV1") or {}).get("f:spec") or {}).get("f:ports") or {}
        for key in fields:
            if key.startswith("k:") and _key(json.loads(key[2:])) in desired:
                found.add(str(entry.get("manager", "")))
    return found


def _title(port: Object) -> str:
    node_port = f", node port {port['nodePort']}" if port.get("nodePort") else ""
    return f'"{port.get("name", "")}" {port["port"]}{node_port}'


def _quoted(text: str) -> str:
    return f'"{text}"'
