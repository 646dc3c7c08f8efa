# SPDX-License-Identifier: GPL-3.0-or-later
"""Units that do not run now and would start daemons of the control plane with the host. Only what their commands say counts."""

from __future__ import annotations

import itertools
import os
import re
import typing as t

from .._base.errors import OvnError
from .._machine.supervisor import Supervisor
from .._machine.systemd_units import MASKS, OURS, command_lines, read_blocks
from .foreign_processes import parse_command_line

_LIST = ("list-unit-files", "--type=service", "--state=enabled,enabled-runtime", "--no-legend", "--plain")
# What a command of ovn-ctl starts; start_northd starts the databases as well, unless it is told not to.
_STARTED = {
    "run_nb_ovsdb": ("northbound",),
    "run_sb_ovsdb": ("southbound",),
    "start_nb_ovsdb": ("northbound",),
    "start_sb_ovsdb": ("southbound",),
    "start_ovsdb": ("northbound", "southbound"),
    "start_northd": ("northd", "northbound", "southbound"),
}
# States of unit files that keep a unit from being masked or disabled for good; the others only where the file has the place of a mask.
_LASTING = ("linked", "linked-runtime", "transient")
_LASTING_IN_ETC = ("static", "generated")
_ENGINES = frozenset(("docker", "podman"))  # either may be another name of the other
_VERBS = frozenset(("start", "restart", "run", "create"))
# What comes after them is no verb: it is executed in the container, or is its name.
_OTHER_VERBS = frozenset(("attach", "cp", "exec", "inspect", "kill", "logs", "pull", "rm", "stop", "wait"))
# Between engine and verb they say that it starts no container by its own name.
_OTHER_OBJECTS = frozenset(("compose", "machine", "pod"))
# Options of start and restart that take their value from the next word.
_WITH_VALUE = frozenset(
    {
        *("-t", "--time", "--timeout", "-s", "--signal", "-f", "--filter", "--cidfile"),
        *("--detach-keys", "--checkpoint", "--checkpoint-dir"),
    }
)
_QUOTES = re.compile("[\"']")
_SEPARATORS = re.compile("[;&|()]+")  # of the commands of a shell
_IDENTIFIER = re.compile(r"[0-9a-f]{8,64}")
_SHOWN = ("Id", "ActiveState", "UnitFileState", "FragmentPath", "WantedBy", "RequiredBy", "TriggeredBy")
_COMMANDS = ("ExecStartPre", "ExecStart", "ExecStartPost")
_FILES = {"northbound": "--db-nb-file", "southbound": "--db-sb-file"}

Systemctl = t.Callable[..., str]  # runs systemctl with these arguments, returns its output


class StoppedUnit(t.NamedTuple):
    """`commands` are those that systemd executes when the unit starts, as words, with the names of variables in the place of their values."""

    name: str
    commands: tuple[tuple[str, ...], ...]

    def starts(self, daemon: str, file: str) -> bool:
        """Return whether it starts `daemon`, a database in this file (`northbound`, `southbound`) or `northd`."""
        return any(_starts(command, daemon, file) for command in self.commands)


def _starts(words: t.Sequence[str], daemon: str, file: str) -> bool:
    programs = {os.path.basename(word) for word in words}
    if daemon == "northd" and "ovn-northd" in programs:
        return True
    if "ovsdb-server" in programs and file and file in words:
        return True
    if "ovn-ctl" not in programs:
        return False
    command = parse_command_line(words)
    if command.value("--ovn-manage-ovsdb") == "no" and daemon != "northd":
        return False
    started = {one for word in words for one in _STARTED.get(word, ())}
    return daemon in started and command.value(_FILES.get(daemon, "")) in ("", file)


def read_stopped_units(systemctl: Systemctl) -> list[StoppedUnit]:
    """Return the units of services that start with this host and have no process now, without those of the collection.

    One that has a process is known by that: what it runs in another network or container is nobody's business here.
    """
    names = [line.split()[0] for line in systemctl(*_LIST).splitlines() if line.strip()]
    others = [name for name in names if not name.startswith(OURS) and "@." not in name]  # a template starts nothing
    return parse_units(systemctl("show", "--property=Id,MainPID,ExecStart", "--", *others)) if others else []


def parse_units(text: str) -> list[StoppedUnit]:
    """Parse the output of `systemctl show --property=Id,MainPID,ExecStart`: a block for each unit, with a line for each of its commands."""
    units = []
    for values, block in read_blocks(text):
        commands = tuple(tuple(words) for words in _read_commands(block))
        if values.get("Id") and values.get("MainPID") == "0":
            units.append(StoppedUnit(values["Id"], commands))
    return units


def _read_commands(block: str) -> list[list[str]]:
    """Return the words of each command in what `systemctl show` prints of a unit. A shell's have no quotes, and `;` for whatever separates its commands."""
    return [_SEPARATORS.sub(" ; ", _QUOTES.sub("", arguments)).split() for arguments in command_lines(block)]


def units_of_container(
    output: t.Callable[..., str], supervisor: Supervisor, name: str, identifier: str, project: str
) -> list[str]:
    """Return the units that start this container, now or with the host. Kolla writes one for each container. `OvnError` if it cannot be known.

    `identifier` is its id, `project` that of compose it belongs to, empty without one.
    """
    names = set[str]()
    for listed in (("list-unit-files",), ("list-units", "--all")):
        lines = output("systemctl", *listed, "--type=service", "--no-legend", "--plain").splitlines()
        names.update(line.split()[0] for line in lines if line.strip())
    shown = sorted(one for one in names if not one.startswith(OURS) and "@." not in one and one.endswith(".service"))
    text = output("systemctl", "show", f"--property={','.join((*_SHOWN, *_COMMANDS))}", "--", *shown) if shown else ""
    if not text:
        raise OvnError("units of systemd cannot be read, which could start it again")
    return find_units_of_container(text, supervisor, name, identifier, project)


def find_units_of_container(
    text: str, supervisor: Supervisor, name: str, identifier: str = "", project: str = ""
) -> list[str]:
    """Return the same from what `systemctl show` prints; `OvnError` if one of them cannot be kept from starting it, or starts others as well."""
    found = {supervisor.unit} if supervisor.unit else set()
    lasting = dict[str, str]()
    for values, block in read_blocks(text):
        unit, state = values.get("Id", ""), values.get("UnitFileState", "")
        pulled = any(values.get(relation) for relation in ("WantedBy", "RequiredBy", "TriggeredBy"))
        rests = values.get("ActiveState") in ("inactive", "failed") and state in ("disabled", "masked") and not pulled
        if not unit or rests:
            continue
        in_etc = values.get("FragmentPath", "").startswith(f"{MASKS}/")
        if state in _LASTING or (state in _LASTING_IN_ETC and in_etc):
            lasting[unit] = state
        commands = _read_commands(block)
        if project and any("compose" in os.path.basename(word) for words in commands for word in words):
            raise OvnError(
                f"it belongs to the compose project {project}, and {unit} starts such projects. Disable that unit first"
            )
        if any(_runs_container(words, name, identifier) for words in commands):
            found.add(unit)
        _check_others(unit, commands, name, identifier, is_found=unit in found)
    for unit in sorted(found & lasting.keys()):
        raise OvnError(
            f"{unit}, which starts it, is {lasting[unit]}, so it can neither be masked nor disabled for good. Remove that unit where it was made first"
        )
    return sorted(found)


def _check_others(unit: str, commands: t.Sequence[t.Sequence[str]], name: str, identifier: str, is_found: bool) -> None:
    """Raise `OvnError` if a unit starts other containers in one command with this one, or if it cannot be known whether it starts this one."""
    for names in (_names_to_start(words) for command in commands for words in _commands_of_engines(command)):
        others = [one for one in names if not _is_name(one, name, identifier)]
        if others and len(others) < len(names):
            raise OvnError(
                f"{unit} starts it together with {', '.join(others)}, which would be stopped with it. Give each container a unit of its own first"
            )
        variables = [one for one in others if "$" in one]
        if variables and not is_found:
            raise OvnError(
                f"{unit} starts containers whose names are variables ({', '.join(variables)}), so it cannot be known whether it starts it. "
                "Stop that unit and disable or mask it, or write the names into it, first"
            )


def _runs_container(words: t.Sequence[str], name: str, identifier: str) -> bool:
    """Return whether a command starts the container. A shell may run several commands."""
    return any(_starts_container(command, name, identifier) for command in _commands_of_engines(words))


def _commands_of_engines(words: t.Sequence[str]) -> list[t.Sequence[str]]:
    """Return the words after each engine. Those of other commands may follow: what separates them may be in a value as well."""
    return [words[number + 1 :] for number, word in enumerate(words) if os.path.basename(word) in _ENGINES]


def _starts_container(words: t.Sequence[str], name: str, identifier: str) -> bool:
    own = _until_separator(words)
    verb = _find_verb(own)
    if verb in ("run", "create"):  # it may use another container, or an image of that name
        return f"--name={name}" in words or ("--name", name) in zip(words, words[1:])
    return verb in _VERBS and any(_is_name(word, name, identifier) for word in own)


def _is_name(word: str, name: str, identifier: str) -> bool:
    """Return whether a word names the container: podman generate systemd names it by its id, which may be cut."""
    return word == name or (_IDENTIFIER.fullmatch(word) is not None and identifier.startswith(word))


def _find_verb(words: t.Sequence[str]) -> str:
    return next((word for word in words if word in _VERBS or word in _OTHER_VERBS), "")


def _until_separator(words: t.Sequence[str]) -> list[str]:
    return list(itertools.takewhile(lambda word: word != ";", words))


def _names_to_start(words: t.Sequence[str]) -> list[str]:
    """Return the names of containers in a `start` or `restart` of an engine, none in anything else."""
    own = _until_separator(words)
    verb = _find_verb(own)
    if verb not in ("start", "restart"):
        return []
    place, names = own.index(verb), list[str]()
    rest = iter(own[place + 1 :])
    for word in rest if _OTHER_OBJECTS.isdisjoint(own[:place]) else ():
        if word in _WITH_VALUE:
            next(rest, "")
        elif "<" in word or ">" in word:  # of a shell: where its output goes
            break
        elif not word.startswith("-"):
            names.append(word)
    return names
