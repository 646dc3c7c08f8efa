# SPDX-License-Identifier: GPL-3.0-or-later
"""Units of a hypervisor: that of ovn-controller is ours, those of Open vSwitch are the distribution's, with a file of ours beside each. Pure."""

from __future__ import annotations

import typing as t

from .._base.tls_options import file_arguments
from .._chassis.command_line import controller_command
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
    command = " ".join(controller_command(program, database, CONTROLLER_LOG, pid_file, tls))
    return {"command": command, "sandbox": sandbox, "revision": sandbox_revision(command, sandbox)}
