"""A machine that lacks a Python library."""

from __future__ import annotations

import pathlib

import pytest


def hide(library: str, folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the `prefix` with which `run_module` starts a process that cannot import the library; nothing was loaded in it before."""
    (folder / library).mkdir(parents=True)
    (folder / library / "__init__.py").write_text(f"raise ImportError(\"No module named '{library}'\")\n")
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return ["env"]
