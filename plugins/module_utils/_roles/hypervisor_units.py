# SPDX-License-Identifier: GPL-3.0-or-later
"""Units of a hypervisor: that of ovn-controller is ours, those of Open vSwitch are the distribution's, with a file of ours beside each. Pure."""

from __future__ import annotations

import typing as t

from .._base.tls_options import file_arguments
from .._daemons.flow_restore import SCRIPT
from .._machine.distributions import DEBIAN_OPENVSWITCH
from .._machine.systemd_sandbox import (
    Sandbox,
    openvswitch_database_settings,
    sandbox_revision,
    sandbox_settings,
    vswitchd_settings,
)

DROP_IN = "c5c3-ovn.conf"
FLOWS = "c5c3-ovn-flows"  # systemd reads only *.conf there
CONTROLLER_LOG = "/var/log/ovn/ovn-controller.log"
_RESTRICTED = ("ovsdb-server.service", "ovs-vswitchd.service")


def running_unit(unit: str) -> dict[str, t.Any]:
    """Return the entry of a unit that runs now and starts with the machine, for ovn_units."""
    return {"name": unit, "enabled": True, "state": "started"}


def openvswitch_units(service: str) -> list[dict[str, t.Any]]:
    """Return the units of Open vSwitch. Those with a file of ours are named, so that systemd reads it, and not restarted for it."""
    named = _RESTRICTED if service == DEBIAN_OPENVSWITCH else ()
    return [*({"name": unit} for unit in named), running_unit(service)]


def openvswitch_files(service: str, directory: str, *, restricted: bool) -> list[dict[str, str]]:
    """Return the files beside the units, in `directory`; without a sandbox if they are not to be `restricted`.

    ovs-vswitchd starts without flows, so its unit has the kernel keep those that are there until ovn-controller has written them again.
    Units of other distributions than Debian's get none: they may start as another user, which takes further capabilities.
    """
    if service != DEBIAN_OPENVSWITCH:
        return []
    # ovs-vswitchd must not load modules itself.
    module = ("[Unit]", "Wants=modprobe@openvswitch.service", "After=modprobe@openvswitch.service")
    script = f"{directory}/{_RESTRICTED[1]}.d/{FLOWS}"
    flows = [f"ExecStartPre=-/bin/sh {script} keep", f"ExecStartPost=-/bin/sh {script} await"]
    texts = (
        _drop_in(openvswitch_database_settings() if restricted else []),
        _drop_in([*vswitchd_settings(), *flows], *module) if restricted else _drop_in(flows),
    )
    files = [{"path": f"{directory}/{unit}.d/{DROP_IN}", "content": text} for unit, text in zip(_RESTRICTED, texts)]
    return [{"path": script, "content": SCRIPT}, *files]


def _drop_in(settings: t.Sequence[str], *others: str) -> str:
    lines = ["# Written by Ansible: changes are lost. Another file beside it adds what this site needs.", *others]
    return "".join(f"{line}\n" for line in [*lines, *(["[Service]", *settings] if settings else [])])


def controller_state(
    program: str, database: str, pid_file: str, tls_files: t.Sequence[str], *, names_files: bool
) -> dict[str, t.Any]:
    """Return command, sandbox and digest of ovn-controller. `tls_files` (none without TLS) come from the table SSL, or, if it belongs to the owner of
    the Open vSwitch, from the command line: `names_files`.

    Routes of guests are written with CAP_NET_ADMIN, from OVN 25.03 on. The unit makes the directories of logs and sockets.
    """
    socket = database.partition(":")[2]
    sandbox = sandbox_settings(Sandbox(files=[*tls_files, socket], capabilities=["CAP_NET_ADMIN"]))
    tls = file_arguments(tls_files) if names_files else []
    command = " ".join(_controller_command(program, database, CONTROLLER_LOG, pid_file, tls))
    return {"command": command, "sandbox": sandbox, "revision": sandbox_revision(command, sandbox)}


def controller_unit(state: t.Mapping[str, t.Any], data: t.Mapping[str, t.Any]) -> str:
    """Return the unit of ovn-controller. `state` is that of the machine, `data` the paths and units of its distribution."""
    controller = state["controller"]
    sandbox = "".join(f"{line}\n" for line in controller["sandbox"])
    return f"""# Written by Ansible: changes are lost.
[Unit]
Description=OVN controller of this chassis
Documentation=man:ovn-controller(8)
# No Requires= and no PartOf=: ovn-controller survives a restart of Open vSwitch, and must not end with it.
Wants={state["wanted_unit"]}
After=network.target ovsdb-server.service ovs-vswitchd.service {data["openvswitch_service"]}
StartLimitIntervalSec=0

[Service]
Type=exec
# Shared with other OVN daemons of this machine, so it outlives this unit.
RuntimeDirectory={data["runtime_directory"]}
RuntimeDirectoryPreserve=yes
LogsDirectory=ovn
# A process with another digest runs with old settings: the next run of the playbook restarts it.
Environment=OVN_REVISION={controller["revision"]}
ExecStart={controller["command"]}
# A plain "exit" would delete the chassis, and its tunnels on all hosts. The answer comes before the end: systemd waits for that, so its
# signal must do no harm. A frozen process is killed after the time-out, which keeps row and flows as well.
ExecStop=-{data["appctl"]} -T 20 -t ovn-controller exit --restart
KillSignal=SIGCONT
TimeoutStopSec=30
Restart=on-failure
RestartSec=1
LimitNOFILE=65535
# What it may do: a drop-in adds what this site needs (docs/security.md).
{sandbox}
[Install]
WantedBy=multi-user.target
"""


def underlay_unit(underlay: t.Mapping[str, str], sandbox: t.Sequence[str]) -> str:
    """Return the unit that brings back a bridge with the address of the tunnels after each start of Open vSwitch."""
    bridge, interface, address = underlay["bridge"], underlay["interface"], underlay["address"]
    settings = "".join(f"{line}\n" for line in sandbox)
    return f"""# Written by Ansible: changes are lost.
[Unit]
Description=Bridge {bridge} with the address of the OVN tunnels
Documentation=man:ovs-vswitchd(8)
# ovs-vswitchd recreates the bridge's device at each start: the address has to come back with it.
Requisite=ovs-vswitchd.service
PartOf=ovs-vswitchd.service
After=ovs-vswitchd.service
Before=c5c3-ovn-controller.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=ovs-vsctl --timeout=30 --may-exist add-br {bridge} \\
    -- set Bridge {bridge} datapath_type=netdev \\
    -- --may-exist add-port {bridge} {interface}
# The bridge owns the interface: the address must not be on both.
ExecStart=-ip address delete {address} dev {interface}
ExecStart=ip link set dev {interface} up
ExecStart=ip address replace {address} dev {bridge}
ExecStart=ip link set dev {bridge} up
ExecStop=-ip address delete {address} dev {bridge}
# What it may do: a drop-in adds what this site needs (docs/security.md).
{settings}
[Install]
WantedBy=ovs-vswitchd.service
"""


def _controller_command(
    program: str, database: str, log_file: str, pid_file: str, tls: t.Sequence[str] = ()
) -> list[str]:
    """Return the program and its arguments. `database` is that of Open vSwitch, `tls` are arguments for TLS."""
    return [
        program,
        database,
        "-vconsole:off",
        "-vsyslog:err",
        "-vfile:info",
        "--no-chdir",
        f"--log-file={log_file}",
        f"--pidfile={pid_file}",
        *tls,
    ]
