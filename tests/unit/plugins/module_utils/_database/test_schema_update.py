"""The schema of a database beside that of its image."""

from __future__ import annotations

import pathlib

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._database.schema_update import (
    Schemas,
    of_image,
    schema_gap,
    version_in,
)


@pytest.mark.parametrize(
    ("database", "image", "words"),
    [
        ("7.0.0", "7.0.0", ""),
        ("7.0.0", "7.3.0", "has schema 7.0.0, its image brings 7.3.0. It works on with the old one"),
        ("20.9.0", "20.27.0", "It works on with the old one"),  # numbers, not texts
        ("7.3.0", "7.0.0", "The image is older than the content"),
        (None, "7.0.0", ""),
        ("7.0.0", None, ""),
    ],
)
def test_gap(database: str | None, image: str | None, words: str) -> None:
    found = schema_gap("northbound", Schemas(database, image))
    assert (words in found) if words else found == ""
    if words:
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
def test_version_in(text: str, version: str | None) -> None:
    assert version_in(text) == version


def test_an_image_without_the_file(tmp_path: pathlib.Path) -> None:
    assert of_image("northbound", str(tmp_path)) is None
    (tmp_path / "ovn-nb.ovsschema").write_text('{"version": "7.1.0"}')
    assert of_image("northbound", str(tmp_path)) == "7.1.0"
