"""The schema of a database beside that of its image."""

from __future__ import annotations

import pathlib

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._daemons.schema_update import (
    Schemas,
    image_schema_version,
    parse_schema_version,
    schema_gap,
)


@pytest.mark.parametrize(
    ("database", "image", "message"),
    [
        ("7.0.0", "7.0.0", ""),
        ("7.0.0", "7.3.0", "has schema 7.0.0, its image brings 7.3.0. It goes on with the old one"),
        ("20.9.0", "20.27.0", "It goes on with the old one"),  # numbers, not texts
        ("7.3.0", "7.0.0", "The image is older than the content"),
        (None, "7.0.0", ""),
        ("7.0.0", None, ""),
    ],
)
def test_gap(database: str | None, image: str | None, message: str) -> None:
    found = schema_gap("northbound", Schemas(database, image))
    assert (message in found) if message else found == ""
    if message:
        assert found.startswith("The Northbound database has schema ")


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('{"name": "OVN_Northbound", "version": "7.0.0"}', "7.0.0"),
        ('{"version": 7}', None),
        ('{"version": "x"}', None),
        ("[]", None),
        ("{", None),
    ],
)
def test_parse_schema_version(text: str, version: str | None) -> None:
    assert parse_schema_version(text) == version


def test_an_image_without_the_file(tmp_path: pathlib.Path) -> None:
    assert image_schema_version("northbound", str(tmp_path)) is None
    (tmp_path / "ovn-nb.ovsschema").write_text('{"version": "7.1.0"}')
    assert image_schema_version("northbound", str(tmp_path)) == "7.1.0"
