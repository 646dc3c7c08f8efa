"""Writes deploy/: the manifests of the operator for kustomize, from what the module ovn_operator applies. Run it as `.venv/bin/python docs/site/deploy.py`."""

from __future__ import annotations

import pathlib
import typing as t

import yaml

from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.compare import with_hash
from ansible_collections.c5c3.ovn.plugins.module_utils._operator.manifests import (
    NAME,
    REPOSITORY,
    VERSION,
    OperatorOptions,
    operator_manifests,
)

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "deploy"
NAMESPACE = "ovn-system"
HEAD = "# Written by docs/site/deploy.py; docs/operator.md says how to use it.\n"
# With these all OVNClusters, claims and CAs would go. Flux leaves them when its Kustomization goes.
KEPT = ("Namespace", "CustomResourceDefinition")
NEVER_PRUNED = {"kustomize.toolkit.fluxcd.io/prune": "disabled"}


class _Dumper(yaml.SafeDumper):
    """Without anchors, and with lists indented, as people write manifests."""

    def ignore_aliases(self, data: t.Any) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def file_name(manifest: t.Mapping[str, t.Any]) -> str:
    """Each object has a file of its own, with the name of its kind; definitions with their plural."""
    if manifest["kind"] == "CustomResourceDefinition":
        return f"{manifest['spec']['names']['plural']}.yaml"
    return f"{manifest['kind'].lower()}.yaml"


def files() -> dict[str, str]:
    """The content of each file of deploy/."""
    found: dict[str, str] = {}
    for one in operator_manifests(OperatorOptions(NAMESPACE, NAMESPACE, {})):
        # A run compares the hash of what it would apply: of definitions that are as it knows them it writes nothing.
        shown = with_hash(one) if one["kind"] == "CustomResourceDefinition" else one
        if one["kind"] in KEPT:
            annotations = {**(shown["metadata"].get("annotations") or {}), **NEVER_PRUNED}
            shown = {**shown, "metadata": {**shown["metadata"], "annotations": annotations}}
        text = yaml.dump(shown, Dumper=_Dumper, sort_keys=False, width=100)
        found[file_name(one)] = text
    kustomization = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": list(found),
        "images": [{"name": REPOSITORY, "newTag": VERSION}],
    }
    texts = {name: f"{HEAD}---\n{text}" for name, text in found.items()}
    return {"kustomization.yaml": f"{HEAD}---\n{yaml.dump(kustomization, Dumper=_Dumper, sort_keys=False)}", **texts}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, text in files().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    print(f"{NAME}: {', '.join(files())}")


if __name__ == "__main__":
    main()
