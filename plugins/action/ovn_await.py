# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run a module of another collection, and print every ten seconds what it waits for."""

from __future__ import annotations

import typing as t

from ansible.plugins.action import ActionBase

from ..plugin_utils._progress import print_while_waiting


class ActionModule(ActionBase):
    """The other module runs as a task of its own would: on the same connection, with its own action plugin if it has one."""

    TRANSFERS_FILES = False

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        validate: t.Callable[..., tuple[t.Any, dict[str, t.Any]]] = self.validate_argument_spec
        _valid, given = validate(
            {
                "module": {"type": "str", "required": True},
                "options": {"type": "dict", "default": {}},
                "waits_for": {"type": "str", "required": True},
            }
        )
        task = self._task.copy()
        task.action, task.args = given["module"], given["options"]
        loader = self._shared_loader_obj.action_loader
        action = loader.get(
            task.action if loader.has_plugin(task.action) else "ansible.legacy.normal",
            task=task,
            connection=self._connection,
            play_context=self._play_context,
            loader=self._loader,
            templar=self._templar,
            shared_loader_obj=self._shared_loader_obj,
        )
        awaited = "" if self._task.no_log else given["waits_for"]
        with print_while_waiting(awaited, task_vars):
            result.update(action.run(task_vars=task_vars))
        return result
