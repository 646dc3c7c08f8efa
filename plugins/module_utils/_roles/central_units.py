# SPDX-License-Identifier: GPL-3.0-or-later
"""Files and units of a central host, as `ovn_units` takes them: launcher, databases, northd, relay, observer. Pure."""

from __future__ import annotations

import dataclasses
import posixpath
import typing as t

from .._daemons.raft_launcher import SCRIPT as LAUNCHER

RELAY_UNIT = "c5c3-ovn-southbound-relay.service"
_UNITS = "/etc/systemd/system"
_LAUNCHER = "/usr/lib/c5c3-ovn/ovn-raft-launcher"
_RELAY_SCHEMA = "/usr/lib/c5c3-ovn/relay-listeners.ovsschema"
Desired = t.Mapping[str, t.Any]


@dataclasses.dataclass(frozen=True)
class CentralUnits:
    """What is installed and started in one act each; every field holds options of `ovn_units`.

    `needrestart` comes before packages. Units of `databases` start with the machine and are restarted by rounds alone. `northd` is written after the
    rounds: a change of addresses that they refuse must not reach a northd that starts with its machine. `relay` and `observer` also delete what is left
    of one that is not desired.
    """

    needrestart: dict[str, t.Any]
    databases: dict[str, t.Any]
    northd: dict[str, t.Any]
    relay: dict[str, t.Any]
    observer: dict[str, t.Any]


def central_units(desired: Desired, runtime_directory: str, needrestart_directory: str) -> CentralUnits:
    """Return files and units of a central host. `desired` is its desired state, `runtime_directory` the directory of sockets relative to /run."""
    relay, observer = desired["relay"], desired["observer"]
    return CentralUnits(
        needrestart={"files": [_needrestart_file(needrestart_directory)]},
        databases={
            "files": [
                {"path": _LAUNCHER, "content": LAUNCHER, "mode": "0755"},
                *({"path": one["environment_file"], "content": _environment(one)} for one in _databases(desired)),
                *(
                    {
                        "path": f"{_UNITS}/{_database_unit(one)}",
                        "content": _database_text(one, desired["stop_seconds"], runtime_directory),
                    }
                    for one in _databases(desired)
                ),
            ],
            "units": [{"name": _database_unit(one), "enabled": True} for one in _databases(desired)],
        },
        northd={
            "files": [
                {
                    "path": f"{_UNITS}/c5c3-ovn-northd.service",
                    "content": _northd_text(desired["northd"], runtime_directory),
                }
            ],
            "units": [_running("c5c3-ovn-northd.service", True)],
        },
        relay={
            "files": _relay_files(relay, runtime_directory) if relay else [],
            "units": [_running(RELAY_UNIT, bool(relay))],
        },
        observer={
            "files": [{"path": f"{_UNITS}/c5c3-ovn-observer.service", "content": _observer_text(observer)}]
            if observer
            else [],
            "units": [_running("c5c3-ovn-observer.service", bool(observer))],
        },
    )


def joined(*parts: Desired) -> dict[str, t.Any]:
    """Return the files and units of several acts as those of one."""
    return {name: [item for part in parts for item in part[name]] for name in ("files", "units")}


def _databases(desired: Desired) -> list[Desired]:
    return list(desired["databases"].values())


def _database_unit(database: Desired) -> str:
    return f"c5c3-ovn-{database['database']}.service"


def _running(unit: str, is_desired: bool) -> dict[str, t.Any]:
    return {"name": unit, "enabled": is_desired, "state": "started" if is_desired else "stopped"}


def _lines(settings: t.Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in settings)


def _needrestart_file(directory: str) -> dict[str, t.Any]:
    """needrestart restarts what uses a replaced library, quorum or not. Restarts are a matter of runs. It is only told so where it is installed."""
    return {
        "path": f"{directory}/c5c3-ovn.conf",
        "content": "# Written by Ansible: changes are lost. Runs of the collection restart these units, one at a time and only with quorum.\n"
        "$nrconf{override_rc}{qr(^c5c3-ovn-)} = 0;\n",
        "skip_without_directory": True,
    }


def _environment(database: Desired) -> str:
    name = database["database"]
    return (
        f"# Settings of the launcher for the {name} database, read by its unit. Written by Ansible: changes are lost.\n"
        + _lines(f"{key}={value}" for key, value in database["environment"].items())
    )


def _database_text(database: Desired, stop_seconds: int, runtime_directory: str) -> str:
    name, record, file = database["database"], database["record"], database["database_file"]
    return f"""# Written by Ansible: changes are lost. The launcher decides from file and state record whether this member may start.
[Unit]
Description=OVN {name} database, member of a Raft cluster
Documentation=man:ovsdb-server(1) man:ovsdb(7)
# Stopping goes in the reverse order: the leadership is handed over while there is a network.
After=network-online.target
Wants=network-online.target
# A disk that is mounted late must not look like a lost one.
RequiresMountsFor={posixpath.dirname(record)} {posixpath.dirname(file)}
# Never give up: a disk that is full or an address that comes late must not cost the member for good.
StartLimitIntervalSec=0

[Service]
# Not allowed to start is not a failure: the launcher waits, and starts the server when record, disk and tools allow it.
# What it waits for is in /run/c5c3-ovn/{name}/reason; of a state that an earlier process has left nothing remains.
EnvironmentFile={database["environment_file"]}
ExecStartPre=-/bin/rm -f /run/c5c3-ovn/{name}/state /run/c5c3-ovn/{name}/reason
ExecStart={_LAUNCHER} run
ExecStop={_LAUNCHER} stop
# The launcher turns a signal into an orderly exit itself; the server must not get one of its own.
KillMode=mixed
# The launcher's own limits add up to less.
TimeoutStopSec={stop_seconds}
# Reading a big file takes its time before and after the decision.
TimeoutStartSec=600
Restart=on-failure
RestartSec=1
LimitNOFILE=65536
RuntimeDirectory={runtime_directory} c5c3-ovn/{name}
RuntimeDirectoryMode=0755
RuntimeDirectoryPreserve=yes
# What it may do: a drop-in adds what this site needs (docs/security.md).
{_lines(database["sandbox"])}
[Install]
WantedBy=multi-user.target
"""


def _northd_text(northd: Desired, runtime_directory: str) -> str:
    return f"""# Written by Ansible: changes are lost.
[Unit]
Description=OVN northd, active on one central host at a time
Documentation=man:ovn-northd(8)
After=network-online.target c5c3-ovn-northbound.service c5c3-ovn-southbound.service
Wants=network-online.target
StartLimitIntervalSec=0

[Service]
# A process with another digest runs with old settings: the next run of the playbook restarts it.
Environment=OVN_REVISION={northd["revision"]}
ExecStart={northd["command"]}
Restart=on-failure
RestartSec=1
LimitNOFILE=65536
RuntimeDirectory={runtime_directory}
RuntimeDirectoryMode=0755
RuntimeDirectoryPreserve=yes
# What it may do: a drop-in adds what this site needs (docs/security.md).
{_lines(northd["sandbox"])}
[Install]
WantedBy=multi-user.target
"""


def _relay_files(relay: Desired, runtime_directory: str) -> list[dict[str, t.Any]]:
    environment = (
        "# Settings of the relay of the Southbound database, read by its unit. Written by Ansible: changes are lost.\n"
        f"OVN_RELAY_LISTENERS='{relay['listeners']}'\n"
    )
    return [
        {"path": _RELAY_SCHEMA, "content": relay["schema"]},
        {"path": relay["environment_file"], "content": environment},
        {"path": f"{_UNITS}/{RELAY_UNIT}", "content": _relay_text(relay, runtime_directory)},
    ]


def _relay_text(relay: Desired, runtime_directory: str) -> str:
    listeners = relay["listeners_file"]
    return f"""# Written by Ansible: changes are lost.
[Unit]
Description=OVN Southbound relay, where chassis connect
Documentation=man:ovsdb-server(1) man:ovsdb(7) man:ovsdb.local-config(5)
After=network-online.target c5c3-ovn-southbound.service
Wants=network-online.target
StartLimitIntervalSec=0

[Service]
# A process with another digest runs with old settings: the next run of the playbook restarts it.
Environment=OVN_REVISION={relay["revision"]}
EnvironmentFile={relay["environment_file"]}
# Its port and the role of its clients come from a database of its own, which is written at each start.
ExecStartPre=-/bin/rm -f {listeners}
ExecStartPre=ovsdb-tool create {listeners} {_RELAY_SCHEMA}
ExecStartPre=ovsdb-tool transact {listeners} ${{OVN_RELAY_LISTENERS}}
ExecStart={relay["command"]}
# Started means that it has the contents of the database. Without a quorum of the members it is started all the same.
ExecStartPost=-ovsdb-client --timeout=10 wait unix:{relay["socket"]} OVN_Southbound connected
Restart=on-failure
RestartSec=1
LimitNOFILE=65536
RuntimeDirectory={runtime_directory} c5c3-ovn/southbound-relay
RuntimeDirectoryMode=0755
RuntimeDirectoryPreserve=yes
# What it may do: a drop-in adds what this site needs (docs/security.md).
{_lines(relay["sandbox"])}
[Install]
WantedBy=multi-user.target
"""


def _observer_text(observer: Desired) -> str:
    variables = _lines(f'Environment="{name}={value}"' for name, value in sorted(observer["environment"].items()))
    return f"""# Written by Ansible: changes are lost.
[Unit]
Description=Observer of the OVN control plane: heartbeats, status and metrics between runs
After=network-online.target c5c3-ovn-northbound.service c5c3-ovn-southbound.service
Wants=network-online.target
StartLimitIntervalSec=0

[Service]
# A process with another digest runs with old settings: the next run of the playbook restarts it.
Environment=OVN_REVISION={observer["revision"]}
# Of the program, with which a running process continues by itself
Environment=OVN_PROGRAM={observer["program_digest"]}
{variables}ExecStart=/usr/bin/python3 -I {observer["program"]} host-observer
Restart=always
RestartSec=5
RuntimeDirectory=c5c3-ovn/observer
RuntimeDirectoryMode=0755
# Metrics are read by others, as is the status.
UMask=0022
{_lines(observer["sandbox"])}
[Install]
WantedBy=multi-user.target
"""
