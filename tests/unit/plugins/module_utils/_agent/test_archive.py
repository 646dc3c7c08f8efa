from __future__ import annotations

import hashlib
import io
import os
import pathlib
import re
import subprocess
import sys
import zipfile

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._agent import archive

UTILS = pathlib.Path(archive.__file__).parent.parent
_THEIRS = re.compile(r"^ *(?:import|from) (?:kubernetes|jsonschema|ansible)\b", re.MULTILINE)
# `nox -s python39` names one of the promised version.
PYTHON = os.environ.get("C5C3_OVN_AGENT_PYTHON") or sys.executable
LICENSE = """\
# SPDX-License-Identifier: GPL-3.0-or-later
"""
BASE = "ansible_collections/c5c3/ovn/plugins/module_utils"


@pytest.fixture(scope="module")
def built() -> bytes:
    return archive.build_archive()


def names(content: bytes) -> list[str]:
    return zipfile.ZipFile(io.BytesIO(content)).namelist()


def run(path: pathlib.Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """As in a pod whose image has nothing but Python."""
    return subprocess.run(
        [PYTHON, "-I", "-S", str(path), *arguments], capture_output=True, text=True, timeout=30, check=False
    )


def test_equal_bytes_twice(built: bytes) -> None:
    assert archive.build_archive() == built
    assert len(built) < archive.LIMIT


def test_runs_without_any_package(built: bytes, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "c5c3-ovn.pyz"
    path.write_bytes(built)
    result = run(path, "version")
    assert (result.returncode, result.stderr) == (0, "")
    assert run(path, "nonsense").returncode == 2


def test_every_module_of_it_can_be_imported(built: bytes, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "c5c3-ovn.pyz"
    path.write_bytes(built)
    modules = [name[:-3].replace("/", ".") for name in names(built) if not name.endswith("__.py")]
    code = (
        f"import importlib, sys; sys.path.insert(0, {str(path)!r}); [importlib.import_module(m) for m in {modules!r}]"
    )
    subprocess.run([PYTHON, "-I", "-S", "-c", code], check=True, timeout=30)


def test_an_older_python_is_refused(built: bytes, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "c5c3-ovn.pyz"
    path.write_bytes(built)
    code = f"import runpy, sys; sys.version_info, sys.version = (3, 8, 18), '3.8.18 (x)'; runpy.run_path({str(path)!r})"
    result = subprocess.run([PYTHON, "-I", "-S", "-c", code], capture_output=True, text=True, check=False, timeout=30)
    assert result.returncode == 1
    assert result.stderr.startswith(
        "c5c3-ovn.pyz needs Python 3.9 or newer: this is 3.8.18. For pods, set spec.agentImage "
    )


def test_files_are_the_running_ones_with_their_license(built: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(built)) as content:
        for name in content.namelist():
            text = content.read(name).decode()
            assert text.startswith(LICENSE), name
            original = UTILS / pathlib.PurePosixPath(name).relative_to(archive.ROOT) if "/" in name else None
            if original is not None and original.exists():
                assert text == original.read_text(), name


def test_built_from_a_zip_file_as_ansible_sends_it(built: bytes, tmp_path: pathlib.Path) -> None:
    payload = tmp_path / "payload.zip"
    with zipfile.ZipFile(payload, "w", zipfile.ZIP_DEFLATED) as content:
        parts = BASE.split("/")
        for depth in range(len(parts)):
            content.writestr("/".join([*parts[: depth + 1], "__init__.py"]), "")
        for path in sorted(UTILS.rglob("*.py")):
            content.write(path, f"{BASE}/{path.relative_to(UTILS)}")
    code = (
        f"import sys, hashlib; sys.path.insert(0, {str(payload)!r}); "
        f"from {BASE.replace('/', '.')}._agent.archive import build_archive; "
        "print(hashlib.sha256(build_archive()).hexdigest())"
    )
    result = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert result.stdout.strip() == hashlib.sha256(built).hexdigest(), result.stderr


def test_nothing_in_it_knows_a_library(built: bytes) -> None:
    """Neither when it starts, nor later in a function: images have Python and nothing else."""
    with zipfile.ZipFile(io.BytesIO(built)) as content:
        told = {name: content.read(name).decode() for name in content.namelist()}
    assert not [name for name in told if name.endswith(("_kubernetes/client.py", "_kubernetes/connection.py"))]
    for name, text in told.items():
        assert not _THEIRS.search(text), name
