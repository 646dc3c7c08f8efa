# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

How functions of the collection become filters of Ansible.
"""

from __future__ import annotations

import functools
import typing as t

from ansible.errors import AnsibleFilterError

from ..module_utils._errors import OvnError

P = t.ParamSpec("P")
R = t.TypeVar("R")


def as_filter(function: t.Callable[P, R]) -> t.Callable[P, R]:
    """Return the function as a filter: an `OvnError` fails a task with this text, not with a traceback."""

    @functools.wraps(function)
    def in_words(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except OvnError as e:
            raise AnsibleFilterError(str(e)) from e

    return in_words
