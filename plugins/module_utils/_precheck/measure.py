# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything that is measured on one host, in one go. What it means is judged elsewhere, with the facts of all hosts."""

from __future__ import annotations

import dataclasses
import importlib.util
import os
import pathlib
import re
import socket
import struct
import time
import typing as t

from .._base.errors import OvnError
from .._base.ip_addresses import canonical
from .._chassis.datapath import DatapathWatch
from .._chassis.lookup import read_chassis, read_registered
from .._host.foreign_processes import find_processes
from .._host.openvswitch import DATABASE_FILE, as_facts, observe_switches
from .._machine.commands import Commands, text_if_readable
from .._machine.distributions import matches, version_key
from .._machine.installed_packages import (
    Run,
    apt_commands,
    read_candidates,
    read_distribution,
    read_sources,
    read_status,
    read_versions,
)
from .._machine.package_plan import desired_versions, unsatisfied
from .._machine.proc import holders_of, running_programs
from .._machine.supervisor import Supervisor
from .declared import DeclaredHost
from .reachability import (
    connect_all,
    own_addresses,
    probe_paths,
    read_interfaces,
    read_local,
    tunnel_devices,
    underlay_of,
)

# The machine itself: operating system, which machine it is, file systems, modules of the kernel, our units. Read only.

_UNITS = pathlib.Path("/etc/systemd/system")
_OURS = "c5c3-ovn-*.service"
_OCTAL = re.compile(r"\\([0-7]{3})")


class Mount(t.NamedTuple):
    place: str
    type: str


def read_system() -> dict[str, t.Any]:
    """Return the operating system, and `machine`, which two names of an inventory share only if they are one machine."""
    boot = text_if_readable("/proc/sys/kernel/random/boot_id").strip()
    return {
        **read_distribution(),
        "kernel": os.uname().release,
        "machine": f"{boot}/{os.readlink('/proc/self/ns/net')}" if boot else "",
    }


MEMBER_UNIT = "c5c3-ovn-northbound.service"
CHASSIS_UNIT = "c5c3-ovn-controller.service"


def own_units() -> list[str]:
    """Return the units of the collection on this host."""
    return sorted(path.name for path in _UNITS.glob(_OURS))


def parse_mounts(text: str) -> list[Mount]:
    """Return the mounts in the text of /proc/self/mountinfo (proc(5)), in the order in which they cover each other."""
    mounts = []
    for line in text.splitlines():
        before, _dash, after = line.partition(" - ")
        fields = before.split()
        if len(fields) > 4 and after:
            place = _OCTAL.sub(lambda match: chr(int(match[1], 8)), fields[4])
            mounts.append(Mount(place, after.split()[0]))
    return mounts


def mount_of(path: str, mounts: t.Iterable[Mount]) -> Mount | None:
    """Return the mount that has this absolute path: the longest one, of several at one place the last."""
    fitting = [one for one in mounts if one.place == "/" or f"{path}/".startswith(f"{one.place}/")]
    return max(reversed(fitting), key=lambda one: len(one.place), default=None)


def read_file_systems(paths: t.Iterable[str]) -> list[dict[str, t.Any]]:
    """Return for each path the file system in which it is or would be: `mount`, `type`, `free` and `size` in octets, `read_only`."""
    mounts = parse_mounts(text_if_readable("/proc/self/mountinfo"))
    result = []
    for path in paths:
        place = os.path.realpath(path)
        while not os.path.exists(place):
            place = os.path.dirname(place)
        mount = mount_of(place, mounts) or Mount("/", "")
        state = os.statvfs(place)
        result.append(
            {
                "path": path,
                "mount": mount.place,
                "type": mount.type,
                "free": state.f_bavail * state.f_frsize,
                "size": state.f_blocks * state.f_frsize,
                "read_only": bool(state.f_flag & os.ST_RDONLY),
            }
        )
    return result


def read_modules(names: t.Iterable[str], kernel: str, commands: Commands) -> dict[str, str]:
    """Return of each module of the kernel whether it is `loaded`, `loadable`, `mismatched` (built for another kernel) or `missing`."""
    folder = f"/lib/modules/{kernel}"
    known = text_if_readable(f"{folder}/modules.builtin") + text_if_readable(f"{folder}/modules.dep")

    def read_release(name: str) -> str:
        program = commands.find("modinfo")
        code, out, _err = commands.run([program, "-F", "vermagic", name]) if program else (1, "", "")
        return next(iter(out.split()), "") if code == 0 else ""

    return {name: _module(name, known, kernel, read_release) for name in names}


def _module(name: str, known: str, kernel: str, read_release: t.Callable[[str], str]) -> str:
    if os.path.isdir(f"/sys/module/{name}"):
        return "loaded"
    if not re.search(rf"/{name}\.ko(\.\w+)?(:|$)", known, re.MULTILINE):
        return "missing"
    # modinfo reads the file; of what is built in it says nothing, or nothing that could differ.
    return "loadable" if read_release(name) in ("", kernel) else "mismatched"


# One host as it is declared and as it was measured. Pure.

OWN_UNITS = "c5c3-ovn-"

Facts = t.Mapping[str, t.Any]


@dataclasses.dataclass(frozen=True)
class Limits:
    """What a host may have. `guest_mtu` in octets, 0 if nobody has said it; `clock_seconds`; `free_octets` of a file system with databases."""

    guest_mtu: int = 0
    clock_seconds: float = 5.0
    free_octets: int = 1 << 30


@dataclasses.dataclass(frozen=True)
class MeasuredHost:
    """`facts` are empty if the host could not be measured, and then `problem` says why."""

    declared: DeclaredHost
    facts: Facts = dataclasses.field(default_factory=dict)
    sent: float = 0.0  # the clock of the control node, before and after
    received: float = 0.0
    unreachable: bool = False
    problem: str = ""
    limits: Limits = Limits()

    @classmethod
    def of(cls, declared: DeclaredHost, result: t.Mapping[str, t.Any], limits: Limits = Limits()) -> MeasuredHost:
        """Return the host with what the task of ovn_precheck has registered for it."""
        if declared.problem:
            return cls(declared, problem=declared.problem, limits=limits)
        facts, clock = result.get("facts"), result.get("control_clock") or {}
        if facts and not result.get("failed"):
            return cls(declared, facts, clock.get("sent", 0.0), clock.get("received", 0.0), limits=limits)
        # A task that was ended by its time limit may have waited for a connection that nobody answers any more.
        unreachable = bool(result.get("unreachable") or result.get("timedout"))
        return cls(declared, unreachable=unreachable, problem=str(result.get("msg") or "no result"), limits=limits)

    @property
    def name(self) -> str:
        return self.declared.name

    @property
    def becomes_member(self) -> bool:
        """Return whether the host is to be a central host and is none yet: what runs already is checked by the roles, which repair it."""
        return self.declared.central and bool(self.facts) and MEMBER_UNIT not in self.facts["own_units"]

    @property
    def becomes_chassis(self) -> bool:
        """Return whether the host is to be a hypervisor and is none yet."""
        return self.declared.hypervisor and bool(self.facts) and CHASSIS_UNIT not in self.facts["own_units"]

    def runs_control_plane(self, process: Facts) -> bool:
        """Return whether the process is northd or serves a Northbound or Southbound database."""
        return process["pid"] in self.facts["control_plane"]

    @property
    def is_new(self) -> bool:
        return self.becomes_member or self.becomes_chassis


def supervisor_of(process: Facts) -> Supervisor:
    return Supervisor(**process["supervisor"])


def is_ours(process: Facts) -> bool:
    """Return whether a unit of the collection runs the process."""
    supervisor = supervisor_of(process)
    return supervisor.kind == "unit" and supervisor.name.startswith(OWN_UNITS)


def place_of(process: Facts) -> str:
    """Return what keeps the process running, for a sentence; empty if nothing does."""
    supervisor = supervisor_of(process)
    return "" if supervisor.kind == "none" else f"{supervisor.runtime} {supervisor}".strip()


# Sockets of a Linux host from /proc/net: who listens at a port. Read only.

_LISTENS = "0A"  # the state of a TCP socket in /proc/net/tcp


class Socket(t.NamedTuple):
    """A socket that is bound; `inode` is 0 for one of the kernel."""

    address: str
    port: int
    inode: int


def parse_sockets(text: str, state: str = "") -> list[Socket]:
    """Return the sockets in the text of /proc/net/tcp, udp, tcp6 or udp6 (proc(5)), only those in this state if one is given."""
    sockets = []
    for line in text.splitlines()[1:]:
        fields = line.split()
        if len(fields) < 10 or (state and fields[3] != state):
            continue
        address, _colon, port = fields[1].partition(":")
        sockets.append(Socket(_address(address), int(port, 16), int(fields[9])))
    return sockets


def _address(text: str) -> str:
    """Return the address of words of 32 bits, each in the byte order of the machine."""
    words = [struct.pack("=I", int(text[index : index + 8], 16)) for index in range(0, len(text), 8)]
    return canonical(socket.inet_ntop(socket.AF_INET if len(words) == 1 else socket.AF_INET6, b"".join(words)))


def read_listeners(
    tcp_ports: t.Collection[int], udp_ports: t.Collection[int], likely: t.Iterable[int]
) -> list[dict[str, t.Any]]:
    """Return who listens at these ports, on any address, with the process as far as it can be found, most likely one of `likely`."""
    found = []
    for protocol, ports, state in (("tcp", tcp_ports, _LISTENS), ("udp", udp_ports, "")):
        for name in (protocol, f"{protocol}6"):
            try:
                text = pathlib.Path("/proc/net", name).read_text(encoding="ascii")
            except OSError:
                continue
            found += [(protocol, one) for one in parse_sockets(text, state) if one.port in ports]
    inodes = {one.inode for _protocol, one in found if one.inode}
    holders = holders_of(inodes, likely)
    return [
        {
            "protocol": protocol,
            "address": one.address,
            "port": one.port,
            "holder": holders[one.inode].as_dict() if one.inode in holders else None,
        }
        for protocol, one in found
    ]


# Whether a host has the packages that it needs, or could get them. Asks dpkg and apt, refreshes nothing.


def read_packages(
    run: Run | None,
    packages: t.Sequence[str],
    seconds: float,
    *,
    library: t.Sequence[str] = (),
    repository: t.Sequence[str] = (),
    proxy: str = "",
) -> dict[str, t.Any]:
    """Return `installed` and `candidates` (package to version). If one has to be installed: whether the `index` has the lists of all sources, its `index_age`
    in seconds, which `archives` answer and which of the `repository`, and which are `unprobed` because nobody can connect to them.

    `library` are packages that are needed, too, if this Python cannot read certificates (`library_missing`).
    `repository` are URIs of a source that the run adds, `proxy` is that of the run. `run` is None on a host without apt, of which nothing is known.
    `problem` says why dpkg or apt could not be asked, empty if they could.
    """
    library_missing = importlib.util.find_spec("cryptography") is None
    facts: dict[str, t.Any] = {
        "manager": "apt" if run else "",
        "installed": {},
        "candidates": {},
        "library_missing": library_missing,
        "index": True,
        "index_age": 0.0,
        "archives": [],
        "repository": [],
        "unprobed": [],
        "problem": "",
    }
    try:
        desired = desired_versions([*packages, *(library if library_missing else ())], {})
        if not run or not desired:
            return facts
        there = read_status(run).installed
        facts["installed"] = {name: there[name].version for name in desired if name in there}
        lacking = {name: desired[name] for name in unsatisfied(desired, facts["installed"])}
        facts["candidates"] = _candidates(run, lacking)
        return {**facts, **_ask_archives(run, seconds, repository, proxy)} if lacking else facts
    except OvnError as e:
        return {**facts, "problem": str(e)}


def _candidates(run: Run, lacking: t.Mapping[str, str]) -> dict[str, str]:
    """Return the version of each package that a run would install, without those that no list has in the version that is declared."""
    pinned = [name for name, pattern in lacking.items() if pattern]
    found = read_candidates(run, [name for name in lacking if name not in pinned])
    for name, versions in read_versions(run, pinned).items():
        fitting = [version for version in versions if matches(version, lacking[name])]
        if fitting:
            found[name] = max(fitting, key=version_key)
    return found


def _ask_archives(run: Run, seconds: float, repository: t.Sequence[str], proxy: str) -> dict[str, t.Any]:
    sources = read_sources(run, repository, proxy)
    places = [*sources.archives.places, *sources.added.places]
    answers = connect_all([{"host": host, "address": host, "port": port} for host, port in places], seconds)
    count = len(sources.archives.places)
    return {
        "index": sources.complete,
        "index_age": sources.age,
        "archives": answers[:count],
        "repository": answers[count:],
        "unprobed": list(dict.fromkeys([*sources.archives.unprobed, *sources.added.unprobed])),
    }


_DAEMONS = ("ovsdb-server", "ovs-vswitchd", "ovn-controller", "ovn-northd")


def measure(params: t.Mapping[str, t.Any], commands: Commands) -> dict[str, t.Any]:
    """Return the facts of this host, as `ovn_precheck` documents them; `params` are its options."""
    began = time.time()
    watch = DatapathWatch(params["openvswitch_database"], params["timeout"])
    system = read_system()
    daemons = running_programs(_DAEMONS)
    interfaces = read_interfaces(commands)
    tunnel = params["tunnel"] or {}
    source = tunnel.get("address") or ""
    underlay = underlay_of(interfaces or [], {source}, tunnel.get("interface") or "") if source else None
    units = own_units()
    # Of what is installed already no path is judged, and what does not answer would be waited for in each run.
    parts = {MEMBER_UNIT: params["tcp_ports"], CHASSIS_UNIT: tunnel or params["udp_ports"]}
    is_new = any(unit not in units for unit, declared in parts.items() if declared) or not any(parts.values())
    facts = {
        "system": system,
        "own_units": units,
        "daemons": [daemon.as_dict() for daemon in daemons],
        "control_plane": [one.pid for one in find_processes()],
        "open_vswitch": as_facts(
            observe_switches(params["openvswitch_database"], DATABASE_FILE, params["timeout"], commands)
        ),
        "chassis": read_chassis(params["openvswitch_database"], params["timeout"]),
        "registered": read_registered(params["southbound"], params["timeout"]),
        "local_addresses": read_local(params["local_addresses"], own_addresses(interfaces)),
        "listeners": read_listeners(params["tcp_ports"], params["udp_ports"], [daemon.pid for daemon in daemons]),
        "peers": connect_all(params["peers"] if is_new else [], params["timeout"]),
        "tunnel_devices": tunnel_devices(interfaces or []),
        "underlay": underlay,
        "underlays": {
            address: found
            for address in params["local_addresses"]
            if (found := underlay_of(interfaces or [], {address}, ""))
        },
        "paths": (
            probe_paths(source, tunnel.get("peers") or [], tunnel.get("packet_size") or 0)
            if source and CHASSIS_UNIT not in units
            else []
        ),
        "file_systems": read_file_systems(params["paths"]),
        "kernel_modules": read_modules(params["kernel_modules"], system["kernel"], commands),
        "packages": read_packages(
            apt_commands(commands),
            params["packages"],
            params["timeout"],
            library=params["library_packages"],
            repository=params["archive_uris"],
            proxy=params["archive_proxy"] or "",
        ),
    }
    facts["datapath"] = watch.end()
    return {**facts, "clock": {"began": began, "ended": time.time()}}
