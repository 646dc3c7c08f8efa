# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

What the command line of a running ovsdb-server or ovn-northd says: files, listeners, sockets, TLS (ovsdb-server(1), ovn-northd(8)). Pure.
"""

from __future__ import annotations

import dataclasses
import typing as t

# Options of these daemons that take their value from the next word if it is not behind an equals sign.
_WITH_VALUE = frozenset(
    {
        *("--remote", "--unixctl", "--log-file", "--user", "--sync-from", "--record", "--config-file"),
        *("--private-key", "--certificate", "--ca-cert", "--bootstrap-ca-cert", "--peer-ca-cert", "--ssl-protocols"),
        *("--ssl-ciphers", "--ovnnb-db", "--ovnsb-db", "--n-threads", "--unsafe-precommit-delay"),
    }
)
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


def parse_command_line(arguments: t.Sequence[str]) -> CommandLine:
    """Return what the arguments after the program's name say."""
    files: list[str] = []
    options: dict[str, tuple[str, ...]] = {}
    words = iter(arguments)
    for word in words:
        if word[:2] in _SHORT:
            name, value = _SHORT[word[:2]], word[2:] or next(words, "")
        elif word.startswith("--"):
            name, equals, value = word.partition("=")
            if not equals and name in _WITH_VALUE:
                value = next(words, "")
        elif word.startswith("-"):
            continue
        else:
            files.append(word)
            continue
        options[name] = (*options.get(name, ()), value)
    return CommandLine(tuple(files), options)
