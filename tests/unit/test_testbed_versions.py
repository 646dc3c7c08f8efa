"""The node image of the test bed has another tag with another recipe, wherever the checkout lies."""

from __future__ import annotations

import pathlib
import shutil
import subprocess

import pytest

TESTBED = pathlib.Path(__file__).parents[1] / "testbed"


def node_image(testbed: pathlib.Path) -> str:
    script = 'set -euo pipefail; source "$0"/versions.env; echo "$NODE_IMAGE"'
    command = ["bash", "-c", script, testbed]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=30).stdout.strip()


@pytest.fixture
def copied(tmp_path: pathlib.Path) -> pathlib.Path:
    return pathlib.Path(shutil.copytree(TESTBED, tmp_path / "copy"))


def test_a_copy_has_the_same_image(copied: pathlib.Path) -> None:
    assert node_image(copied) == node_image(TESTBED)


@pytest.mark.parametrize(
    ("file", "differs"),
    [
        ("node-image/network-policies.go", True),
        ("node-image/rootfs/usr/local/bin/entrypoint", True),
        ("runc-wrapper/main.go", True),
        ("versions.env", True),
        ("README.md", False),
    ],
)
def test_the_recipe_changes_the_tag(copied: pathlib.Path, file: str, differs: bool) -> None:
    with (copied / file).open("a") as stream:
        stream.write("\n")
    assert (node_image(copied) != node_image(TESTBED)) == differs
