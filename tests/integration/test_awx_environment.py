"""The execution environment: what ansible-builder makes of its definition, and that each playbook that AWX offers runs in its layout, with nothing but an
inventory, variables and mounted credentials."""

from __future__ import annotations

import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import typing as t

import pytest
import yaml
from _awx_layout import ROOT, Job, Layout, ssh_key

pytestmark = pytest.mark.timeout(600)

DEFINITION = ROOT / "awx" / "environment" / "execution-environment.yml"
# Nothing listens there: as the message of an API server that is away names it.
AWAY = r"127\.0\.0\.1', port=9"
# What a playbook says of clusters before it asks one.
BEFORE_CLUSTERS = {
    "adopt": "is a Kubernetes cluster",
    "neutron": "there is no ca.pem",
    "rotate": "The CAs are not rotated",
}
BEFORE_MACHINES = {"neutron": "there is no ca.pem"}
# Made of the others, or the same calls as `status` and more of them.
COMPOSED = ("site", "verify")
# Playbooks that end with a report, and whether a bad one fails the job.
REPORTING = {"status": False, "verify": True}
KUBECONFIG = json.dumps(
    {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "central",
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:9"}}],
        "users": [{"name": "u", "user": {"token": "a-token"}}],
        "contexts": [{"name": name, "context": {"cluster": "c", "user": "u"}} for name in ("central", "compute")],
    }
)
MACHINE = {"ansible_host": "127.0.0.1", "ansible_port": 9}
MACHINES = {
    "all": {
        "vars": {"ansible_user": "root"},
        "children": {
            "ovn_central": {"hosts": {"central1": MACHINE}},
            "ovn_hypervisors": {"hosts": {"compute1": MACHINE, "compute2": MACHINE}},
            "ovn_controllers": {"hosts": {"controller1": MACHINE}},
        },
    }
}
CLUSTERS = {
    "all": {
        # Without a CA on the control node, nodes have one certificate together.
        "vars": {"ovn_backend": "kubernetes", "ansible_connection": "local", "ovn_node_certificates": "shared"},
        "children": {
            "ovn_central": {"hosts": {"central": {"ovn_context": "central"}}},
            "ovn_hypervisors": {"hosts": {"compute": {"ovn_context": "compute"}}},
            "ovn_controllers": {"hosts": {"cloud": {"ovn_context": "compute"}}},
        },
    }
}
NOBODY: dict[str, t.Any] = {"all": {"children": {"ovn_central": {"hosts": {}}, "ovn_hypervisors": {"hosts": {}}}}}
# What no message of ours says: an environment that lacks something, or a playbook that needs more than it says.
BROKEN = re.compile(
    r"Traceback|is undefined|undefined variable|MODULE FAILURE|couldn't resolve|could not be resolved|was not found in|No module named"
    r"|Read-only file system|Permission denied|could not locate|could not be found|Unexpected|not installed|has no attribute"
)


def _offers() -> t.Any:
    spec = importlib.util.spec_from_file_location("awx_offers", ROOT / "docs" / "site" / "awx_offers.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


OFFERED = sorted(_offers().OFFERED)


@pytest.fixture
def layout(short_dir: pathlib.Path, collection_path: str) -> Layout:
    return Layout(short_dir, collection_path)


def plain(job: Job) -> str:
    """What it printed on one line, once it is clear that nothing of ours is broken."""
    output = " ".join(job.output.split())
    found = BROKEN.search(output)
    assert not found, output[max(0, found.start() - 1500) : found.end() + 500]
    return output


class TestDefinition:
    def test_the_image_has_what_jobs_need(self, tmp_path: pathlib.Path) -> None:
        context = tmp_path / "context"
        builder("create", "--file", str(DEFINITION), "--context", str(context), "--output-filename", "Containerfile")
        recipe = (context / "Containerfile").read_text(encoding="utf-8")
        for needed in (
            "centos:stream10",
            "ansible-core distlib",
            "ansible-runner",
            "ansible-galaxy collection install",
        ):
            assert needed in recipe, needed
        # The stage that clones the collection gets git before it does.
        assert recipe.index("dnf -y install git-core") < recipe.index("ansible-galaxy collection install")
        requirements = yaml.safe_load((context / "_build" / "requirements.yml").read_text(encoding="utf-8"))
        galaxy = yaml.safe_load((ROOT / "galaxy.yml").read_text(encoding="utf-8"))
        assert requirements["collections"] == [{"name": galaxy["repository"], "type": "git"}]

    def test_the_collection_says_what_the_image_needs(self, collection_path: str) -> None:
        found = yaml.safe_load(builder("introspect", collection_path))
        declared = (ROOT / "meta" / "ee-requirements.txt").read_text(encoding="utf-8").splitlines()
        libraries = [line for line in declared if line and not line.startswith("#")]
        assert [line.partition("  #")[0] for line in found["python"]] == libraries
        assert [line.partition("  #")[0] for line in found["system"]] == [
            "openssh-clients [platform:rpm]",
            "openssh-client [platform:dpkg]",
        ]


def builder(*arguments: str) -> str:
    """What ansible-builder prints."""
    program = str(pathlib.Path(sys.executable).with_name("ansible-builder"))
    done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("playbook", OFFERED)
def test_each_playbook_reaches_for_machines_with_the_mounted_key(layout: Layout, playbook: str) -> None:
    job = layout.run(playbook, MACHINES, key=ssh_key())
    output = plain(job)
    assert "Identity added" in output
    assert re.search(r"central1|compute1", output)
    assert re.search(BEFORE_MACHINES.get(playbook, r"UNREACHABLE|unreachable|cannot be reached"), output), output
    if playbook in REPORTING:
        assert (job.code != 0) is REPORTING[playbook], output
        report = job.artifacts["ovn_report"]
        assert (report["format_version"], report["healthy"]) == (1, False)
        assert "host_unreachable" in {finding["code"] for finding in report["findings"]}
        assert job.artifacts["ovn_report_left_out"] == {}


@pytest.mark.parametrize("playbook", [name for name in OFFERED if name not in COMPOSED])
def test_a_playbook_reaches_for_clusters_with_the_mounted_kubeconfig(layout: Layout, playbook: str) -> None:
    files = {"kubeconfig": KUBECONFIG}
    job = layout.run(playbook, CLUSTERS, files=files, environment={"K8S_AUTH_KUBECONFIG": "{kubeconfig}"})
    assert re.search(BEFORE_CLUSTERS.get(playbook, AWAY), plain(job)), job.output


@pytest.mark.parametrize("playbook", ["adopt", "ping", "show", "verify"])
def test_an_inventory_without_hosts_is_named(layout: Layout, playbook: str) -> None:
    job = layout.run(playbook, NOBODY)
    assert job.code != 0
    assert "ovn_central" in plain(job)


def test_where_nothing_is_verified_the_artifact_says_so(layout: Layout) -> None:
    job = layout.run("status", NOBODY, variables={"ovn_central_elsewhere": True}, check=True)
    assert job.code == 0, job.output
    assert job.artifacts["ovn_report"]["healthy"] is None
