"""A field that the API of Kubernetes may leave out is read with `get`, never as if it were there."""

from __future__ import annotations

import ast
import re
import typing as t
from pathlib import Path

import pytest

PLUGINS = Path(__file__).resolve().parents[2] / "plugins"
OPTIONAL = {
    *("annotations", "conditions", "containerStatuses", "data", "deletionTimestamp", "finalizers", "hostIP", "hostIPs"),
    *(
        "ingress",
        "initContainers",
        "labels",
        "loadBalancer",
        "managedFields",
        "nodeName",
        "nodePort",
        "ownerReferences",
    ),
    *("phase", "podIP", "podIPs", "ports", "taints", "volumeClaimTemplates"),
}
# What the collection builds or sends itself.
OWN = ("manifest", "lease.metadata", "config", "patch", "port_clash.manifest", "one")
READ = re.compile(r"([\w.]+)\['(?:metadata|spec|status)'\]\['(\w+)'\](?! = )")


def required_reads(source: str) -> t.Iterator[str]:
    """Return `object["spec"]["nodeName"]` and the like, but for functions that look for the field first."""
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef):
            text = ast.unparse(function)
            for read in READ.finditer(text):
                if read[1] not in OWN and read[2] in OPTIONAL and f".get('{read[2]}')" not in text:
                    yield read[0]


def test_optional_fields_are_not_required() -> None:
    found = {
        f"{path.relative_to(PLUGINS)}: {read}"
        for path in PLUGINS.rglob("*.py")
        for read in required_reads(path.read_text())
    }
    assert found == set()


@pytest.mark.parametrize(
    ("source", "reads"),
    [
        ("def f(pod): return pod['spec']['nodeName']", ["pod['spec']['nodeName']"]),
        ("def f(pod): return (pod.get('spec') or {}).get('nodeName')", []),
        ("def f(pod): pod['metadata']['labels'] = {}", []),
    ],
)
def test_required_reads(source: str, reads: list[str]) -> None:
    assert list(required_reads(source)) == reads
