# SPDX-License-Identifier: GPL-3.0-or-later
"""Versions of Debian packages: their order (deb-version(7)), patterns, and the part that upstream gave. Pure."""

from __future__ import annotations

import fnmatch
import re
import typing as t

_END = ((0,), 0)
_PARTS = re.compile(r"(\D*)(\d*)")


def _order(character: str) -> int:
    """Return the rank of a character: a tilde comes before the end of a text, then letters, then all others."""
    if character == "~":
        return -1
    return ord(character) if character.isalpha() else ord(character) + 256


def _key(text: str) -> list[tuple[tuple[int, ...], int]]:
    parts = [
        ((*(_order(character) for character in letters), 0), int(digits or 0))
        for letters, digits in _PARTS.findall(text)
        if letters or digits
    ]
    return [*parts, _END]


def _split(version: str) -> tuple[str, str, str]:
    """Return epoch, upstream's version and Debian's revision; what a version does not have is "0"."""
    epoch, colon, rest = version.rpartition(":")
    upstream, hyphen, revision = rest.rpartition("-")
    return (epoch if colon else "0"), (upstream if hyphen else rest), (revision if hyphen else "0")


def version_key(version: str) -> t.Any:
    """Return what a version is sorted by: a greater key is a newer version."""
    epoch, upstream, revision = _split(version)
    return int(epoch) if epoch.isdigit() else 0, _key(upstream), _key(revision)


def is_newer(version: str, other: str) -> bool:
    return bool(version_key(version) > version_key(other))


def matches(version: str, pattern: str) -> bool:
    """Return whether a version is the desired one; an empty pattern is any version, and `*` stands for any text."""
    return not pattern or fnmatch.fnmatchcase(version, pattern)


def is_exact(pattern: str) -> bool:
    """Return whether the pattern is a version and can be no other."""
    return bool(pattern) and not set(pattern) & set("*?[")


def upstream_version(version: str) -> str:
    """Return the version without Debian's revision: two packages that have it in common differ in patches alone."""
    epoch, upstream, _revision = _split(version)
    return upstream if epoch == "0" else f"{epoch}:{upstream}"
