# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

Text of configuration files as oslo.config reads them. Pure.
"""

from __future__ import annotations

import typing as t

from .._errors import InvalidInput

Sections = t.Mapping[str, t.Mapping[str, t.Any]]
_HEADER = "# Written by Ansible: changes are lost.\n"


def render_ini(sections: Sections) -> str:
    """Return the text of the file, sections and options in their order; sections without options are left out.

    A value is a text, a number, a boolean, a list (with commas between its items) or a dictionary (KEY:VALUE, with commas). `InvalidInput`: another one, or one
    that would become more than one line.
    """
    blocks = []
    for section, options in sections.items():
        # oslo.config replaces $NAME by the value of an option.
        lines = [f"{name} = {plain_value(section, name, value).replace('$', '$$')}" for name, value in options.items()]
        if lines:
            blocks.append("\n".join([f"[{section}]", *lines]) + "\n")
    return "\n".join([_HEADER, *blocks])


def merge_sections(*parts: Sections) -> dict[str, dict[str, t.Any]]:
    """Return all sections in one; of an option that comes twice, the last value counts."""
    merged: dict[str, dict[str, t.Any]] = {}
    for part in parts:
        for section, options in part.items():
            merged.setdefault(section, {}).update(options)
    return merged


def check_extra(extra: t.Any, ours: Sections, option: str) -> dict[str, dict[str, t.Any]]:
    """Return sections that users add; `InvalidInput` if these are none, or set what has an option of its own. `option` is the name that users know."""
    if not isinstance(extra, t.Mapping) or not all(isinstance(options, t.Mapping) for options in extra.values()):
        raise InvalidInput(f"{option} is no dictionary of sections. Give {{SECTION: {{OPTION: VALUE}}}}.")
    for section, options in extra.items():
        known = {name for name_of, its in ours.items() if _plain(name_of) == _plain(section) for name in its}
        twice = sorted(name for name in options if _plain(name) in known)
        if twice:
            raise InvalidInput(
                f"{option} sets {', '.join(twice)} in [{section}], which the collection sets itself. Remove it there and use the option of the role."
            )
    return {str(section): dict(options) for section, options in extra.items()}


def _plain(name: t.Any) -> str:
    """Return the name of a section or option in one spelling: oslo.config tells neither capitals nor dashes apart."""
    return str(name).replace("-", "_").lower()


def plain_value(section: str, name: str, value: t.Any) -> str:
    """Return a value as text; `InvalidInput` for one that has none. A text of ansible-vault is a sequence, too, before ansible-core 2.19."""
    if isinstance(value, bool):
        text = "true" if value else "false"
    elif isinstance(value, (str, int, float)):
        text = str(value)
    elif isinstance(value, t.Mapping):
        text = ",".join(f"{key}:{item}" for key, item in value.items())
    elif isinstance(value, (list, tuple)):
        text = ",".join(str(item) for item in value)
    elif isinstance(value, t.Sequence):
        text = str(value)
    else:
        raise InvalidInput(
            f"{name} in [{section}] is {value!r}. Give a text, a number, a boolean, a list or a dictionary."
        )
    if "\n" in text or "\r" in text:
        raise InvalidInput(f"{name} in [{section}] has more than one line. Give one.")
    return text
