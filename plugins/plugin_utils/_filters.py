# SPDX-License-Identifier: GPL-3.0-or-later
"""How functions of the collection become filters of Ansible."""

from __future__ import annotations

import functools
import typing as t

from ansible.errors import AnsibleFilterError

from ..module_utils._base.errors import OvnError

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
