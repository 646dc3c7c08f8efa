# SPDX-License-Identifier: GPL-3.0-or-later
"""The machine itself: operating system, which machine it is, file systems, modules of the kernel, our units. Read only."""

from __future__ import annotations

import os
import pathlib
import re
import typing as t

from .._machine.commands import Commands, text_if_readable
from .._machine.installed_packages import read_distribution

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
