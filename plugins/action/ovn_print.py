# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Print lines as they are: a callback plugin shows a result as JSON or YAML, which quotes a text or wraps it."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ..plugin_utils._progress import print_lines


class ActionModule(ActionBase):
    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        validate: t.Callable[..., tuple[t.Any, dict[str, t.Any]]] = self.validate_argument_spec
        _valid, given = validate({"lines": {"type": "raw", "required": True}})
        text = given["lines"]
        if not isinstance(text, (str, t.Sequence)):
            raise AnsibleActionFail(
                f'lines is "{str(text)[:200]}", neither a text nor a list of lines. Show other data with ansible.builtin.debug.'
            )
        lines = text.splitlines() if isinstance(text, str) else [str(line) for line in text]
        if lines and not self._task.no_log:
            print_lines("\n".join(lines))
        return {**result, "changed": False, "lines": lines}
