"""The report is an interface for programs: what was documented in a format stays as it is until FORMAT_VERSION rises."""

from __future__ import annotations

import json
from pathlib import Path

from report_page import documented

from ansible_collections.c5c3.ovn.plugins.module_utils._report.report import FORMAT_VERSION

FROZEN = Path(__file__).with_name(f"report_format_{FORMAT_VERSION}.json")


def differing(frozen: dict[str, str], now: dict[str, str]) -> dict[str, tuple[str, str | None]]:
    """Return the keys of which the type has changed or that have gone, with both types. New keys disturb nobody."""
    return {key: (kind, now.get(key)) for key, kind in frozen.items() if now.get(key) != kind}


def test_no_key_of_this_format_has_gone_or_changed_its_type() -> None:
    assert differing(json.loads(FROZEN.read_text(encoding="utf-8")), documented()) == {}


def test_new_keys_are_frozen_too() -> None:
    """Write them into the file: from then on programs may rely on them."""
    assert set(documented()) == set(json.loads(FROZEN.read_text(encoding="utf-8")))


def test_what_differs() -> None:
    assert differing(
        {"a": "string", "b": "integer", "c": "boolean"}, {"a": "string", "b": "string", "d": "string"}
    ) == {
        "b": ("integer", "string"),
        "c": ("boolean", None),
    }
