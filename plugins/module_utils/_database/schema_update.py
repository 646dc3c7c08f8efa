# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

The schema of a database beside the one that its image brings. An update of the image changes the second alone: nothing converts a database
on start, because chassis and northd of the old version would not understand it.
"""

from __future__ import annotations

import json
import os
import re
import typing as t

from .._databases import TITLES

FOLDER = "/usr/share/ovn"
FILES = {"northbound": "ovn-nb.ovsschema", "southbound": "ovn-sb.ovsschema"}
_VERSION = re.compile(r"^\d+(?:\.\d+)*$")


class Schemas(t.NamedTuple):
    """Versions, as `7.0.0`; None: not known."""

    database: str | None
    image: str | None


def schema_gap(database: str, schemas: Schemas) -> str:
    """What the difference means and what to do about it, empty if there is none or nobody knows."""
    if schemas.database is None or schemas.image is None or schemas.database == schemas.image:
        return ""
    words = f"The {TITLES[database]} database has schema {schemas.database}, its image brings {schemas.image}."
    if _numbers(schemas.database) > _numbers(schemas.image):
        return (
            f"{words} The image is older than the content: declare an image of the version that converted it, or newer."
        )
    return (
        f"{words} It works on with the old one, without what is new. No run converts it yet: when northd and every chassis are of the new version, "
        'make a backup and convert it once, see "The schema of the databases" in docs/kubernetes.md.'
    )


def version_in(text: str | bytes) -> str | None:
    """The version in a schema file or in an answer to `get_schema`."""
    try:
        found = json.loads(text).get("version")
    except (ValueError, AttributeError):
        return None
    return found if isinstance(found, str) and _VERSION.match(found) else None


def of_image(database: str, folder: str = FOLDER) -> str | None:
    """The version that the image of this process brings."""
    try:
        with open(os.path.join(folder, FILES[database]), "rb") as file:
            return version_in(file.read())
    except OSError:
        return None


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]
