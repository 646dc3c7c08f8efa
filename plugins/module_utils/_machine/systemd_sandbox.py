# SPDX-License-Identifier: GPL-3.0-or-later
"""What the daemons of a machine may do: settings of systemd.exec(5) for their units. Pure.

Only settings that systemd 249 knows (Ubuntu 22.04), and that work in a container as well. They hold for all commands of a unit, those that stop it included.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os.path
import typing as t

_HOMES = ("/home", "/root", "/run/user")
_TEMPORARY = ("/tmp", "/var/tmp")
_SOCKETS = ("AF_UNIX", "AF_INET", "AF_INET6", "AF_NETLINK")  # netlink for getaddrinfo(3) and ip(8)

# What no daemon of OVN or Open vSwitch does.
_COMMON = (
    "NoNewPrivileges=yes",
    "ProtectHostname=yes",
    "ProtectKernelTunables=yes",
    "ProtectKernelLogs=yes",
    "ProtectControlGroups=yes",
    "RestrictNamespaces=yes",
    "RestrictRealtime=yes",
    "RestrictSUIDSGID=yes",
    "LockPersonality=yes",
    "SystemCallArchitectures=native",
    # A call that is not listed fails, and the daemon says so in its log; it is not killed.
    "SystemCallErrorNumber=EPERM",
)
# PrivateDevices is not for daemons that need /dev/net/tun. ProtectClock would lock them out of it, too: it makes a list of devices that counts alone.
_WITHOUT_DEVICES = (
    "PrivateDevices=yes",
    "ProtectClock=yes",
    "ProtectKernelModules=yes",
    "ProtectProc=invisible",
    "MemoryDenyWriteExecute=yes",
    "SystemCallFilter=@system-service",
    "SystemCallFilter=~@privileged @resources",
)


@dataclasses.dataclass(frozen=True)
class Sandbox:
    """What one unit needs. `writable` are directories beside those that systemd makes for the unit, `files` what it reads beside the system's."""

    writable: t.Sequence[str] = ()
    files: t.Sequence[str | None] = ()
    capabilities: t.Sequence[str] = ()


def sandbox_settings(sandbox: Sandbox) -> list[str]:
    """Return lines for the section [Service] of a daemon of OVN, which needs no device.

    Files of other owners stay within reach (CAP_DAC_OVERRIDE): the daemons run as root, and keys or databases may be those of another user.
    """
    paths = [*sandbox.writable, *(file for file in sandbox.files if file)]
    home = "read-only" if _any_below(paths, _HOMES) else "yes"
    shares_temporary = _any_below(paths, _TEMPORARY)
    # ovsdb-server puts its settings into a temporary file.
    writable = dict.fromkeys([*sandbox.writable, *(_TEMPORARY if shares_temporary else ())])
    return [
        *_COMMON,
        *_WITHOUT_DEVICES,
        f"CapabilityBoundingSet={' '.join(sorted({'CAP_DAC_OVERRIDE', *sandbox.capabilities}))}",
        f"RestrictAddressFamilies={' '.join(_SOCKETS)}",
        "ProtectSystem=strict",
        f"ProtectHome={home}",
        f"PrivateTmp={'no' if shares_temporary else 'yes'}",
        # A directory that is not there yet must not keep the unit from its start.
        *(f"ReadWritePaths=-{_escaped(path)}" for path in writable),
    ]


def openvswitch_database_settings() -> list[str]:
    """Return lines for ovsdb-server of Open vSwitch, which the distribution's unit starts early, with ovs-ctl(8).

    PrivateTmp would order it after mounts of /var/tmp, which may need the network that it makes.
    """
    return [
        *_COMMON,
        *(line for line in _WITHOUT_DEVICES if not line.startswith(("SystemCallFilter=", "MemoryDenyWriteExecute="))),
        "SystemCallFilter=@system-service",
        # ovs-ctl gives it a higher priority.
        "CapabilityBoundingSet=CAP_DAC_OVERRIDE CAP_SYS_NICE",
        f"RestrictAddressFamilies={' '.join(_SOCKETS)}",
        *_OPENVSWITCH_FILES,
    ]


def vswitchd_settings() -> list[str]:
    """Return lines for ovs-vswitchd, with what the datapath of the kernel, tap devices, raw sockets, hugepages and VFIO need.

    Without CAP_SYS_MODULE, but not with ProtectKernelModules: ovs-ctl asks modprobe(8), which then could not even say that the module is part of the kernel.
    """
    return [
        *_COMMON,
        "SystemCallFilter=@system-service",
        "CapabilityBoundingSet=CAP_DAC_OVERRIDE CAP_IPC_LOCK CAP_NET_ADMIN CAP_NET_BROADCAST CAP_NET_RAW CAP_SYS_NICE",
        f"RestrictAddressFamilies={' '.join([*_SOCKETS, 'AF_PACKET'])}",
        *_OPENVSWITCH_FILES,
    ]


# Sockets of guests, hugepages and further databases lie anywhere below /run, /var and /mnt.
_OPENVSWITCH_FILES = ("ProtectSystem=full", "ProtectHome=read-only", "ReadWritePaths=-/etc/openvswitch")


def sandbox_revision(revision: str, settings: t.Sequence[str]) -> str:
    """Return the digest of a process that is started with these settings: one with another digest has to be restarted."""
    return hashlib.sha1("\0".join([revision, *settings]).encode()).hexdigest()


def _any_below(paths: t.Iterable[str], directories: t.Sequence[str]) -> bool:
    return any(
        os.path.commonpath((directory, os.path.normpath(path))) == directory
        for path in paths
        for directory in directories
        if os.path.isabs(path)
    )


def _escaped(path: str) -> str:
    """Return a path as systemd.unit(5) reads it: a percent sign begins a specifier, spaces end a word."""
    plain = path.replace("%", "%%")
    return plain.replace("\\", "\\\\").replace(" ", "\\x20").replace('"', "\\x22").replace("'", "\\x27")
