# SPDX-License-Identifier: GPL-3.0-or-later
"""Text that users give: what OVSDB, OVN's comma lists and the kernel can hold."""

from __future__ import annotations

import typing as t

from .._base.errors import InvalidInput


def format_value(value: str) -> str:
    """Return the value for a message; one of more than 60 characters is cut."""
    return value if len(value) <= 60 else f"{value[:57]}... ({len(value)} characters)"


def checked_text(option: str, value: str) -> str:
    """Return the value itself; `InvalidInput` names `option` if an OVSDB string cannot hold it."""
    if "\0" in value:
        raise InvalidInput(f'{option}: "{format_value(value)}" holds a NUL character, which OVSDB cannot store.')
    try:
        value.encode()
    except UnicodeEncodeError as e:
        raise InvalidInput(f"{option}: {format_value(ascii(value))} is not valid UTF-8 text.") from e
    return value


def checked_word(option: str, value: str, forbidden: str = "") -> str:
    """Return the value itself; `InvalidInput` if it is empty, has blanks at its ends, a control character or one of `forbidden`."""
    checked_text(option, value)
    if not value:
        raise InvalidInput(f"{option}: an empty text is not possible here.")
    if value != value.strip() or not all(c.isprintable() for c in value):
        raise InvalidInput(
            f'{option}: "{format_value(value)}" begins or ends with a blank or holds a control character.'
        )
    for character in forbidden:
        if character in value:
            raise InvalidInput(
                f'{option}: "{format_value(value)}" holds "{character}", which OVN reads as a separator.'
            )
    return value


def checked_device(option: str, value: str) -> str:
    """Return the value itself; `InvalidInput` if the kernel does not accept it as the name of a network device."""
    checked_word(option, value, ",:")
    size = len(value.encode())
    if size > 15:
        raise InvalidInput(f'{option}: "{format_value(value)}" has {size} bytes; a network device name has at most 15.')
    if "/" in value or value in (".", "..") or any(c.isspace() for c in value):
        raise InvalidInput(f'{option}: "{value}" is no name for a network device: no blank, no "/", not "." or "..".')
    return value


def stored_text(option: str, value: t.Any) -> str:
    """Return a value of a free key as OVSDB stores it: booleans are `true` and `false`, numbers are decimal."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, str):
        return checked_text(option, value)
    raise InvalidInput(f"{option}: the value must be a text, a number, a boolean or null, not {type(value).__name__}.")
