# SPDX-License-Identifier: GPL-3.0-or-later
"""A package source in the format of deb822 (sources.list(5)). Pure."""

from __future__ import annotations

import re
import typing as t

from .._base.errors import InvalidInput

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_FIELDS = {
    "types": "Types",
    "uris": "URIs",
    "suites": "Suites",
    "components": "Components",
    "architectures": "Architectures",
}
_KEYS = {"name", "signed_by", *_FIELDS}
DEFAULT_NAME = "c5c3-ovn"


def _words(name: str, value: t.Any) -> list[str]:
    words = value.split() if isinstance(value, str) else [str(word) for word in value or ()]
    if any(re.search(r"\s", word) or not word for word in words):
        raise InvalidInput(f"ovn_packages_repository.{name} has a value with a space: {words}. Give a list.")
    return words


def _signed_by(value: str) -> list[str]:
    """Return the lines of Signed-By: a path, or a key as text, whose lines are continued and whose empty lines are dots."""
    text = value.strip()
    if text.startswith("/") and "\n" not in text:
        return [f"Signed-By: {text}"]
    if not text.startswith("-----BEGIN PGP PUBLIC KEY BLOCK-----"):
        raise InvalidInput(
            "ovn_packages_repository.signed_by is neither an absolute path nor an ASCII-armored public key. Give the path of a key on the "
            "hosts, or the key itself (gpg --armor --export)."
        )
    return ["Signed-By:", *(f" {line.rstrip() or '.'}" for line in text.splitlines())]


def source_file(repository: t.Mapping[str, t.Any], directory: str) -> tuple[str, str] | None:
    """Return path and content of the file of a repository, None if there is none declared. Without `signed_by` apt's own keys count."""
    given = {key: value for key, value in repository.items() if value not in (None, "", [])}
    if not given:
        return None
    unknown = sorted(set(given) - _KEYS)
    if unknown:
        raise InvalidInput(f"ovn_packages_repository has no {', '.join(unknown)}. It has {', '.join(sorted(_KEYS))}.")
    name = str(given.get("name", DEFAULT_NAME))
    if not _NAME.fullmatch(name):
        raise InvalidInput(
            f'ovn_packages_repository.name is "{name}". Give letters, digits, dots, hyphens and underscores.'
        )
    fields = {"types": ["deb"], **{key: _words(key, given[key]) for key in _FIELDS if key in given}}
    missing = [key for key in ("uris", "suites") if not fields.get(key)]
    if missing:
        raise InvalidInput(f"ovn_packages_repository has no {' and no '.join(missing)}. Set them, or leave it empty.")
    is_flat = all(suite.endswith("/") for suite in fields["suites"])
    if is_flat == bool(fields.get("components")):
        raise InvalidInput(
            "ovn_packages_repository: a suite needs components, such as main, and a suite that ends with a slash (a folder of packages) has none."
        )
    lines = [f"{_FIELDS[key]}: {' '.join(fields[key])}" for key in _FIELDS if fields.get(key)]
    lines += _signed_by(str(given["signed_by"])) if "signed_by" in given else []
    return f"{directory}/{name}.sources", "\n".join(["# Written by Ansible: changes are lost.", *lines, ""])
