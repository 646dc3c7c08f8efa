"""The manifests of deploy/ are those that the module ovn_operator applies, with the version of the collection."""

from __future__ import annotations

import importlib.util
import typing as t
from pathlib import Path

import yaml

from ansible_collections.c5c3.ovn.plugins.module_utils._operator.manifests import VERSION

ROOT = Path(__file__).resolve().parents[2]


def program() -> t.Any:
    spec = importlib.util.spec_from_file_location("docs_deploy", ROOT / "docs" / "site" / "deploy.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_files_are_as_the_program_writes_them() -> None:
    there = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "deploy").iterdir()}
    assert there == program().files(), "run: .venv/bin/python docs/site/deploy.py"


def test_the_image_has_the_version_of_the_collection() -> None:
    assert yaml.safe_load((ROOT / "galaxy.yml").read_text(encoding="utf-8"))["version"] == VERSION


def test_objects_with_data_are_never_pruned() -> None:
    """With the namespace all claims and CAs would go, with the definitions all OVNClusters."""
    kept = {"Namespace", "CustomResourceDefinition"}
    found = [one for text in program().files().values() for one in yaml.safe_load_all(text) if one["kind"] in kept]
    assert len(found) == 3
    for one in found:
        assert one["metadata"]["annotations"]["kustomize.toolkit.fluxcd.io/prune"] == "disabled"
