# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

How commands are run and found on the host: by the methods of AnsibleModule.
"""

from __future__ import annotations

import typing as t

Answer = tuple[int, str, str]
"""Exit code, standard output, standard error."""
Runner = t.Callable[[list[str], dict[str, str]], Answer]
"""`runner(command, environment)` returns the answer of a command."""


class Module(t.Protocol):
    """The part of AnsibleModule that is needed."""

    def run_command(self, args: list[str], *, environ_update: dict[str, str] | None = None) -> t.Any: ...

    def get_bin_path(self, arg: str, *, opt_dirs: list[str] | None = None) -> t.Any: ...


class Commands:
    """Commands of the managed host."""

    def __init__(self, module: Module) -> None:
        self._module = module

    def run(self, command: t.Sequence[str], environment: t.Mapping[str, str] | None = None) -> Answer:
        code, out, err = self._module.run_command(list(command), environ_update=dict(environment or {}))
        return code, str(out), str(err)

    def find(self, program: str) -> str:
        """Return the path of the program, empty if it is not installed."""
        return self._module.get_bin_path(program, opt_dirs=["/usr/sbin", "/sbin"]) or ""
