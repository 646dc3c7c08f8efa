# SPDX-License-Identifier: GPL-3.0-or-later
"""The leader proxy beside a Neutron on a machine: its unit, and whether one that runs may end, or move. Pure."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import typing as t

from .._base.databases import DATABASES, TITLES, Database
from .._base.inventory import as_list
from .._machine.systemd_sandbox import Sandbox, sandbox_revision, sandbox_settings
from .._machine.systemd_units import OUR_DROP_IN, declared_environment
from .._neutron.settings import OvnConnection
from .._ovsdb.tls_files import TlsFiles
from .central_observer import PROGRAM

# Services of somebody else that read a configuration of ours: options of `ovn_units` that restart them when it has changed. Pure.

_SALT, _ROUNDS = b"c5c3.ovn settings", 100_000


def service_files(services: t.Iterable[str], config: str, *, has_secret: bool = False) -> list[dict[str, str]]:
    """Return a drop-in for each unit: a process that was started with other settings has another digest, so a run that was cut off is finished by the next.

    Everybody on the host can read the digest (`systemctl show`). Where the text has a secret, whoever finds it by trial has it, so a trial costs some
    milliseconds. Call it once in a run.
    """
    text = config.encode()
    digest = (
        hashlib.pbkdf2_hmac("sha256", text, _SALT, _ROUNDS) if has_secret else hashlib.sha256(text).digest()
    ).hex()[:16]
    content = f"# Written by Ansible: changes are lost.\n[Service]\nEnvironment=OVN_SETTINGS={digest}\n"
    return [{"path": drop_in_of(service), "content": content} for service in services]


def service_units(services: t.Iterable[str]) -> list[dict[str, t.Any]]:
    """Return that the units run. Whether they start with the machine is for who has installed them."""
    return [{"name": unit_name(service), "state": "started"} for service in services]


def left_service(service: str) -> tuple[list[dict[str, str]], list[dict[str, t.Any]]]:
    """Return files and units of a service that another one replaces: it ends, and no longer starts with the machine."""
    units = [{"name": unit_name(service), "enabled": False, "state": "stopped"}]
    return [{"path": drop_in_of(service), "state": "absent"}], units


def drop_in_of(service: str) -> str:
    """Return the path of what we add to the unit of a service."""
    return f"/etc/systemd/system/{unit_name(service)}.d{OUR_DROP_IN}"


def unit_name(service: str) -> str:
    """Return the name with its suffix, which services may be named without."""
    return service if "." in service else f"{service}.service"


# The role ovn_neutron: where the control node asks the databases before the pods of Neutron get anything, and why it does not. Pure.

# What the cluster of a control plane says of its endpoints for clients outside, the best first
OUTSIDE: dict[Database, tuple[str, ...]] = {
    "northbound": ("northbound",),
    "southbound": ("southbound_unrestricted", "southbound"),
}

Endpoints = t.Mapping[Database, t.Sequence[str]]


def members_to_ask(
    endpoints: Endpoints, declared: Endpoints, answer: t.Mapping[str, str], *, inside: bool
) -> dict[Database, list[str]]:
    """Return those for clients outside, if there are some, without the ports of chassis, where relays answer.

    `endpoints` are all that Neutron gets, `declared` those that its options give, `answer` what the cluster of the control plane has answered.
    """
    found: dict[Database, list[str]] = {}
    for database in DATABASES:
        name = OUTSIDE[database][0]
        if declared[database]:
            found[database] = [] if inside else list(endpoints[database])
        elif answer:
            is_outside = answer.get(name) != answer.get(f"{name}_inside")
            found[database] = as_list(answer.get(name) or "") if is_outside else []
        else:  # those of machines are inside of no cluster
            found[database] = list(endpoints[database])
    return found


def unasked_warnings(
    host: str,
    endpoints: Endpoints,
    declared: Endpoints,
    asked: t.Mapping[Database, t.Sequence[str]],
    options: t.Mapping[Database, str],
) -> list[str]:
    """Return one for each cause; none for a database without any endpoint, which check mode comes to before the first run. `options` declare endpoints."""
    unasked = [database for database, members in asked.items() if endpoints[database] and not members]
    given = [database for database in unasked if declared[database]]
    others = [database for database in unasked if not declared[database]]
    names = " and ".join(options[database] for database in given)
    return [
        f"Nobody could ask {_titles(databases)} of {host} first: {cause}. See in the log of Neutron that it connects."
        for databases, cause in (
            (given, f"with ovn_neutron_inside_cluster, {names} are addresses inside of its cluster"),
            (others, "no member has a port without a role for clients outside of its cluster"),
        )
        if databases
    ]


def _titles(databases: t.Sequence[Database]) -> str:
    names = " and the ".join(TITLES[database] for database in databases)
    return f"the {names} database{'s' if len(databases) > 1 else ''}"


def unanswered_problem(host: str, asker: str, causes: t.Sequence[str], advice: str) -> str:
    """Return why Neutron gets nothing: the databases did not answer."""
    return (
        f"The databases did not answer {asker} with the certificate for Neutron of {host}: {' '.join(causes)} {advice}"
    )


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
        "which would have neither database. Nothing was changed. Name the units in ovn_neutron_services, or, if you restart Neutron right after the run, run "
        "again with ovn_neutron_permit=restart_by_hand."
    )
