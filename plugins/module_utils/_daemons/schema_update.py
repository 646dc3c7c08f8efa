# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares the schema of a database with the one in its image. An update of the image changes only the second: nothing converts a database on start,
because chassis and northd of the old version would not understand it.
"""

from __future__ import annotations

import json
import os
import re
import typing as t

from .._base.databases import TITLES

FOLDER = "/usr/share/ovn"
FILES = {"northbound": "ovn-nb.ovsschema", "southbound": "ovn-sb.ovsschema"}
_VERSION = re.compile(r"^\d+(?:\.\d+)*$")


class Schemas(t.NamedTuple):
    """Schema versions such as `7.0.0`; None: not known."""

    database: str | None
    image: str | None


def schema_gap(database: str, schemas: Schemas) -> str:
    """Return what the difference means and what to do about it, empty if there is none or a version is not known."""
    if schemas.database is None or schemas.image is None or schemas.database == schemas.image:
        return ""
    message = f"The {TITLES[database]} database has schema {schemas.database}, its image brings {schemas.image}."
    if _numbers(schemas.database) > _numbers(schemas.image):
        return f"{message} The image is older than the content: declare an image of the version that converted it, or newer."
    return (
        f"{message} It goes on with the old one, without new features. No run converts it yet: when northd and every chassis are of the new version, "
        'make a backup and convert it once, see "The schema of the databases" in docs/kubernetes-operations.md.'
    )


def parse_schema_version(text: str | bytes) -> str | None:
    """Return the version in a schema file or in an answer to `get_schema`, None if there is none."""
    try:
        found = json.loads(text).get("version")
    except (ValueError, AttributeError):
        return None
    return found if isinstance(found, str) and _VERSION.match(found) else None


def image_schema_version(database: str, folder: str = FOLDER) -> str | None:
    """Return the schema version in the image of this process, None if it has no schema file."""
    try:
        with open(os.path.join(folder, FILES[database]), "rb") as file:
            return parse_schema_version(file.read())
    except OSError:
        return None


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]
