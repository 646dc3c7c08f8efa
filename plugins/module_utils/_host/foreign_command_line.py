# SPDX-License-Identifier: GPL-3.0-or-later
"""What the command line of a running ovsdb-server or ovn-northd says: files, listeners, sockets, TLS (ovsdb-server(1), ovn-northd(8)). Pure."""

from __future__ import annotations

import dataclasses
import typing as t

# Whether the value of an option may be the next word, must be behind an equals sign, or does not exist. tests/integration/test_processes.py compares
# this with what the programs say of themselves.
REQUIRED, OPTIONAL, NO_VALUE = "required", "optional", "none"
_COMMON = {
    **dict.fromkeys(("--unixctl", "--user", "--syslog-method", "--syslog-target"), REQUIRED),
    **dict.fromkeys(("--private-key", "--certificate", "--ca-cert"), REQUIRED),
    **dict.fromkeys(("--ssl-protocols", "--ssl-ciphers", "--ssl-ciphersuites"), REQUIRED),
    **dict.fromkeys(("--pidfile", "--log-file", "--verbose"), OPTIONAL),
    **dict.fromkeys(("--detach", "--monitor", "--no-chdir", "--overwrite-pidfile", "--no-self-confinement"), NO_VALUE),
    **dict.fromkeys(("--help", "--version"), NO_VALUE),
}
OPTIONS = {
    "ovsdb-server": {
        **_COMMON,
        **dict.fromkeys(("--remote", "--run", "--sync-from", "--sync-exclude-tables", "--config-file"), REQUIRED),
        **dict.fromkeys(("--bootstrap-ca-cert", "--peer-ca-cert"), REQUIRED),
        **dict.fromkeys(("--record", "--replay"), OPTIONAL),
        **dict.fromkeys(("--active", "--no-dbs", "--disable-file-column-diff"), NO_VALUE),
    },
    "ovn-northd": {
        **_COMMON,
        **dict.fromkeys(("--ovnnb-db", "--ovnsb-db", "--n-threads"), REQUIRED),
        **dict.fromkeys(("--dry-run", "--options"), NO_VALUE),
    },
}
_SHORT = {"-p": "--private-key", "-c": "--certificate", "-C": "--ca-cert"}


@dataclasses.dataclass(frozen=True)
class CommandLine:
    """`files` are the databases, in order. `options` maps a long option to its values, in order; one without a value has an empty one."""

    files: tuple[str, ...]
    options: dict[str, tuple[str, ...]]

    def value(self, option: str) -> str:
        """Return the value that counts, the last one; empty without the option."""
        return self.options.get(option, ("",))[-1]

    @property
    def remotes(self) -> tuple[str, ...]:
        return self.options.get("--remote", ())


def parse_command_line(arguments: t.Sequence[str], program: str = "") -> CommandLine:
    """Return what the arguments after the program's name say, read as getopt_long(3) does.

    The options of another program than those in OPTIONS have their values behind equals signs.
    """
    known = OPTIONS.get(program, {})
    files: list[str] = []
    options: dict[str, tuple[str, ...]] = {}
    words = iter(arguments)
    for word in words:
        if word == "--":
            files += words
            break
        if word[:2] in _SHORT:
            name, value = _SHORT[word[:2]], word[2:] or next(words, "")
        elif word.startswith("--"):
            name, equals, value = word.partition("=")
            name = _full_name(name, known)
            if not equals and known.get(name) == REQUIRED:
                value = next(words, "")
        elif word.startswith("-"):
            continue
        else:
            files.append(word)
            continue
        options[name] = (*options.get(name, ()), value)
    return CommandLine(tuple(files), options)


def _full_name(name: str, known: t.Mapping[str, str]) -> str:
    """Return the option that `name` abbreviates; an option of a later version may make it ambiguous, so the shortest one counts."""
    if name in known:
        return name
    return min((option for option in known if option.startswith(name)), key=len, default=name)
