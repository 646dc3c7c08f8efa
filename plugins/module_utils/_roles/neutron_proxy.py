# SPDX-License-Identifier: GPL-3.0-or-later
"""The leader proxy beside a Neutron on a machine: its unit, and whether one that runs may end, or move. Pure."""

from __future__ import annotations

import dataclasses
import json
import typing as t

from .._base.databases import DATABASES, Database
from .._machine.systemd_sandbox import Sandbox, sandbox_revision, sandbox_settings
from .._machine.systemd_units import declared_environment
from .._neutron.settings import OvnConnection
from .._ovsdb.tls_files import TlsFiles
from .central_observer import PROGRAM

UNIT = "c5c3-ovn-leader-proxy.service"
UNIT_FILE = f"/etc/systemd/system/{UNIT}"
# Not 6641, where members listen, so that Neutron may run on central hosts, too.
_PORTS: t.Mapping[Database, int] = {"northbound": 26641, "southbound": 26642}


@dataclasses.dataclass(frozen=True)
class DesiredLeaderProxy:
    """The text of its unit, the `ADDRESS:PORT` at which it listens, and the endpoint of each database for Neutron."""

    unit: str
    listeners: dict[Database, str]
    endpoints: dict[Database, list[str]]


def leader_proxy(address: str, direct: OvnConnection) -> DesiredLeaderProxy:
    """Return the proxy that leads to the members of a connection."""
    shown = f"[{address}]" if ":" in address else address
    listeners = {database: f"{shown}:{port}" for database, port in _PORTS.items()}
    tls = TlsFiles(direct.private_key or None, direct.certificate or None, direct.ca_certificate or None)
    environment = {
        "OVN_NORTHBOUND": ",".join(direct.northbound),
        "OVN_SOUTHBOUND": ",".join(direct.southbound),
        **{f"OVN_{name.upper()}_LISTEN": f"tcp:{place}" for name, place in listeners.items()},
        **tls.as_environment(),
    }
    sandbox = sandbox_settings(Sandbox(files=list(tls)))
    revision = sandbox_revision(json.dumps(environment, sort_keys=True), sandbox)
    proxied = direct.through_proxy(*listeners.values())
    return DesiredLeaderProxy(
        unit=_unit(environment, sandbox, revision),
        listeners=listeners,
        endpoints={"northbound": [proxied.northbound[0]], "southbound": [proxied.southbound[0]]},
    )


def _unit(environment: t.Mapping[str, str], sandbox: t.Sequence[str], revision: str) -> str:
    lines = [
        "# Written by Ansible: changes are lost.",
        "[Unit]",
        "Description=Leads Neutron to the leaders of the OVN databases",
        "After=network-online.target",
        "Wants=network-online.target",
        "StartLimitIntervalSec=0",
        "",
        "[Service]",
        "# A process with another digest runs with old settings: the next run of the playbook restarts it.",
        f"Environment=OVN_REVISION={revision}",
        *(f'Environment="{name}={value}"' for name, value in sorted(environment.items())),
        f"ExecStart=/usr/bin/python3 -I {PROGRAM} leader-proxy",
        "Restart=always",
        "RestartSec=1",
        "# Two descriptors for each connection.",
        "LimitNOFILE=65536",
        *sandbox,
        "",
        "[Install]",
        "WantedBy=multi-user.target",
    ]
    return "".join(f"{line}\n" for line in lines)


def proxy_units(proxy: DesiredLeaderProxy | None) -> dict[str, t.Any]:
    """Return the arguments of `ovn_units` for the proxy, or for its removal."""
    if proxy is None:
        return {
            "files": [{"path": UNIT_FILE, "state": "absent"}],
            "units": [{"name": UNIT, "enabled": False, "state": "stopped"}],
        }
    return {
        "files": [{"path": UNIT_FILE, "content": proxy.unit}],
        "units": [{"name": UNIT, "enabled": True, "state": "started"}],
    }


def proxy_problem(host: str, unit: str, proxy: DesiredLeaderProxy | None) -> str:
    """Return why the leader proxy has to stay where it is if nobody restarts Neutron, which would have no database; empty if it stays there.

    `unit` is the text of its present unit file, empty without one.
    """
    environment = {name: one.partition("=")[2] for name, one in declared_environment(unit).items()}
    places = (environment.get(f"OVN_{name.upper()}_LISTEN", "") for name in DATABASES)
    present = [place.partition(":")[2] for place in places if place]
    future = list(proxy.listeners.values()) if proxy else []
    if not present or present == future:
        return ""
    change = f"moves it to {' and '.join(future)}" if future else "ends it"
    return (
        f"Neutron of {host} reaches the databases by its leader proxy at {' and '.join(present)}. This run {change} and restarts nothing of Neutron, "
        "which would have neither database. Nothing was changed. Name the units in ovn_neutron_services, or, if you restart Neutron right after the run, set "
        "ovn_neutron_restart_by_hand to true, then run again."
    )
