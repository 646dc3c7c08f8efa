# SPDX-License-Identifier: GPL-3.0-or-later
"""systemd units: daemons that are restarted only if they run with old settings or an old program, and units that must never start again."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import os
import re
import shlex
import typing as t

PROPERTIES = (
    *("Id", "LoadState", "UnitFileState", "ActiveState", "NeedDaemonReload", "MainPID", "Environment"),
    *("ExecMainStartTimestamp", "FragmentPath", "DropInPaths"),
)
MASKS = "/etc/systemd/system"
OURS = "c5c3-ovn-"
OUR_DROP_IN = "/50-c5c3-ovn.conf"  # in a unit of somebody else
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+(?= UTC)")
_ARGUMENTS = re.compile(r"argv\[\]=(.*?) ; ignore_errors=")
_ENABLED = ("enabled", "enabled-runtime")
# Of a file without an [Install] section, or one that systemd makes itself: it says by other means when it starts, and enabling changes nothing (systemctl(1),
# is-enabled).
_NOT_TO_ENABLE = ("static", "indirect", "generated", "transient")


@dataclasses.dataclass(frozen=True)
class Unit:
    """The state of one unit in systemd, and what its main process was started with."""

    name: str
    load_state: str = "not-found"
    file_state: str = ""
    active_state: str = "inactive"
    needs_reload: bool = False
    main_pid: int = 0
    environment: tuple[str, ...] = ()
    process_environment: frozenset[str] = frozenset()
    binary_replaced: bool = False
    files: tuple[str, ...] = ()  # of the unit and its drop-ins
    started: float = 0.0  # seconds since 1970
    predates_files: bool = False  # the process started before one of them that is ours was written
    in_etc: bool = False  # its file, or a link, has the place where systemd puts a mask

    @property
    def masked(self) -> bool:
        return self.load_state == "masked" or self.file_state == "masked"

    @property
    def outdated(self) -> str:
        """Return why the running process differs from one that would be started now; empty if it does not, or if none runs."""
        if not self.main_pid:
            return ""
        if self.binary_replaced:
            return "its package was upgraded"
        changed = not self.process_environment.issuperset(self.environment)
        if changed and self.environment_overwritten:
            changed = self.predates_files
        return "its settings have changed" if changed else ""

    @property
    def environment_overwritten(self) -> bool:
        """Return whether the process has written over its environment, which systemd begins with an invocation id (systemd.exec(5)).

        Python programs that set their title do so (setproctitle), as those of OpenStack.
        """
        return not any(text.startswith("INVOCATION_ID=") for text in self.process_environment)


@dataclasses.dataclass(frozen=True)
class DesiredUnit:
    """The desired state of one unit; None leaves that part unchanged."""

    name: str
    enabled: bool | None = None
    state: str | None = None  # started | stopped
    masked: bool = False


def own_unit(name: str) -> str:
    """Return the unit of this collection for `northbound`, `southbound` or `northd`."""
    return f"{OURS}{name}.service"


def read_blocks(text: str) -> t.Iterator[tuple[dict[str, str], str]]:
    """Yield the properties of each unit in the output of `systemctl show`, and all its lines: a property like ExecStart may stand there several times."""
    for block in text.strip().split("\n\n"):
        yield dict(line.split("=", 1) for line in block.splitlines() if "=" in line), block


def command_lines(block: str) -> list[str]:
    """Return each command in what `systemctl show` prints of a unit, without the quotation marks and with the names of variables in the place of values."""
    return _ARGUMENTS.findall(block)


def _seconds(text: str) -> float:
    """Return the time that `systemctl --timestamp=us+utc` prints, like `Fri 2026-11-27 10:28:20.123456 UTC`; 0 for none."""
    found = _TIME.search(text)
    if not found:
        return 0.0
    return datetime.datetime.strptime(f"{found[0]} +0000", "%Y-%m-%d %H:%M:%S.%f %z").timestamp()


def parse_show(text: str, exists: t.Callable[[str], bool] = os.path.lexists) -> list[Unit]:
    """Parse the output of `systemctl show --property=...`: one block of KEY=VALUE lines for each unit. `exists` says whether a path is there."""
    units = []
    for values, _block in read_blocks(text):
        if "Id" not in values:
            continue
        units.append(
            Unit(
                name=values["Id"],
                load_state=values.get("LoadState", ""),
                file_state=values.get("UnitFileState", ""),
                active_state=values.get("ActiveState", ""),
                needs_reload=values.get("NeedDaemonReload") == "yes",
                main_pid=int(values.get("MainPID") or 0),
                environment=tuple(shlex.split(values.get("Environment", ""))),
                files=tuple(f"{values.get('FragmentPath', '')} {values.get('DropInPaths', '')}".split()),
                started=_seconds(values.get("ExecMainStartTimestamp", "")),
                in_etc=exists(f"{MASKS}/{values['Id']}"),
            )
        )
    return units


def is_file_of(unit: str, path: str) -> bool:
    """Return whether a file at this path is the unit's own or one beside it."""
    folder, name = os.path.split(path)
    return name == unit or os.path.basename(folder) == f"{unit}.d"


def is_our_file(path: str) -> bool:
    """Return whether a file of a unit is one of ours."""
    return OURS in path or path.endswith(OUR_DROP_IN)


def declared_environment(text: str) -> dict[str, str]:
    """Return what a file of a unit sets in the environment of its processes, as `NAME=VALUE` by name. Of specifiers only `%%` is resolved."""
    assignments: dict[str, str] = {}
    for line in text.replace("\\\n", " ").splitlines():
        name, sign, value = line.partition("=")
        if sign and name.strip() == "Environment":
            with contextlib.suppress(ValueError):  # a quote without its end, which systemd ignores, too
                assignments.update((one.partition("=")[0], one) for one in shlex.split(value.replace("%%", "%")))
    return assignments


def with_files(unit: Unit, texts: t.Mapping[str, str], others: t.Mapping[str, str], *, newer: bool) -> Unit:
    """Return the unit as systemd will have it when it has read these files, paths to texts, beside the `others` of the unit.

    `newer`: one of ours is written after its process has started. What a file does not set any more stays in the environment: no process is restarted for that.
    """
    said = {one.partition("=")[0]: one for one in unit.environment}
    environment = dict(said)
    for path in sorted({**others, **texts}, key=lambda path: (path.endswith(".conf"), os.path.basename(path))):
        if path in texts:
            environment.update(declared_environment(texts[path]))
            continue
        declared = declared_environment(others[path])
        # What systemd has read it says better, without specifiers.
        known = {} if unit.needs_reload else said
        environment.update((name, known.get(name, one)) for name, one in declared.items())
    return dataclasses.replace(
        unit, environment=tuple(environment.values()), predates_files=unit.predates_files or newer
    )


def reason_to_keep(unit: Unit) -> str:
    """Return why what the unit needs must stay: it runs, or would start with the machine. Empty if neither."""
    if unit.active_state not in ("inactive", "failed"):
        return f"{unit.name} is {unit.active_state}"
    return f"{unit.name} is {unit.file_state}" if unit.file_state in _ENABLED else ""


def running_masked(desired: list[DesiredUnit], units: dict[str, Unit]) -> list[str]:
    """Return the names of the units that are to be masked, but have a process now."""
    return [w.name for w in desired if w.masked and units[w.name].active_state != "inactive" and units[w.name].main_pid]


def forbidding_verbs(unit: Unit) -> list[str]:
    """Return the systemctl verbs after which a unit never starts by itself, running or not.

    It is masked. Where its own file lies in the place of the mask, systemd refuses that, so it is disabled.
    """
    if unit.masked:
        return []
    if not unit.in_etc:
        return ["mask"]
    return ["disable"] if unit.file_state in _ENABLED else []


def enabling_warnings(desired: t.Iterable[DesiredUnit], units: t.Mapping[str, Unit]) -> list[str]:
    """Return a sentence for each unit that is to be enabled and has nothing that says when."""
    return [
        f"{one.name} has no [Install] section, so it starts with the machine only if another unit wants it. To have it start by itself, add "
        "WantedBy=multi-user.target to an [Install] section of its file, then run again."
        for one in desired
        if one.enabled and units[one.name].file_state == "static"
    ]


def not_loaded_units(desired: t.Iterable[DesiredUnit], units: t.Mapping[str, Unit]) -> dict[str, str]:
    """Return the units that are to be started and cannot be, with their load state (`not-found`, `masked`, …)."""
    started = [one.name for one in desired if one.state == "started" and not one.masked]
    return {name: units[name].load_state for name in started if units[name].load_state != "loaded"}


def systemctl_verbs(desired: DesiredUnit, unit: Unit) -> list[str]:
    """Return the systemctl verbs that lead to the desired state, in order."""
    verbs = []
    if desired.masked:
        verbs += forbidding_verbs(unit)
        if unit.active_state in ("active", "activating", "reloading"):
            verbs.append("stop")
        return verbs
    if desired.enabled is True and unit.file_state not in ("enabled", *_NOT_TO_ENABLE):
        verbs.append("enable")
    if desired.enabled is False and unit.file_state in _ENABLED:
        verbs.append("disable")
    running = unit.active_state in ("active", "activating", "reloading")
    if desired.state == "started":
        if not running:
            verbs.append("start")
        elif unit.outdated:
            verbs.append("restart")
    if desired.state == "stopped" and running:
        verbs.append("stop")
    return verbs
