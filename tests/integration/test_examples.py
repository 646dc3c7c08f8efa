"""The inventories in examples: Ansible loads them, the roles accept all their values, and what the roles make of them is complete."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys
import typing as t

import pytest

pytestmark = pytest.mark.timeout(300)

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = sorted(path.parents[1].name for path in ROOT.glob("examples/*/inventory/hosts.yml"))
# What the roles of each group compute from their options before they touch anything: on machines, in Kubernetes.
COMPUTED = {
    "ovn_central": {
        "ovn_pki": ("planned", "planned"),
        "ovn_central": ("central.desired", "[true]"),
    },
    "ovn_hypervisors": {
        "ovn_pki": ("planned", "planned"),
        "ovn_hypervisor": ("found", "found"),
    },
}

# Steps that compute the desired state and connect to nothing: a machine that is to be removed is not read, and check mode needs no CA.
STEPS: dict[str, list[dict[str, t.Any]]] = {
    "ovn_central": [
        {
            "c5c3.ovn.central_check": {"again": "compute"},
            "register": "central",
            "vars": {"ovn_central_check": {"desired": {}, "packages_plan": {}}, "ovn_central_plan": {}},
            "when": "ovn_backend | default('host') == 'host'",
        },
        {"c5c3.ovn.central_cluster_check": None, "when": "ovn_backend | default('host') == 'kubernetes'"},
    ],
    "ovn_hypervisors": [
        {
            "c5c3.ovn.hypervisor_check": None,
            "register": "found",
            "check_mode": True,
            "vars": {
                "ovn_hypervisor_state": "{{ 'absent' if ovn_backend | default('host') == 'host' else 'present' }}"
            },
        },
        {"c5c3.ovn.hypervisor_central": None, "check_mode": True},
    ],
}


def check_role(role: str, on_machines: str, in_kubernetes: str) -> list[dict[str, t.Any]]:
    """Return tasks that check the options of a role and compute its desired state."""
    path = ROOT / "roles" / role / "meta" / "argument_specs.yml"
    options = f"{{{{ (lookup('ansible.builtin.file', '{path}') | from_yaml).argument_specs.main.options }}}}"
    desired = f"({on_machines} if ovn_backend | default('host') == 'host' else {in_kubernetes}) | length > 0"
    return [
        {"ansible.builtin.validate_argument_spec": {"argument_spec": options}},
        {"ansible.builtin.assert": {"that": desired, "quiet": True}},
    ]


def plays() -> list[dict[str, t.Any]]:
    """Return plays that check the groups and all options, and compute the desired state. They connect to no host."""
    groups = {"ansible.builtin.import_role": {"name": "c5c3.ovn.ovn_verify", "tasks_from": "inventory"}}
    found: list[dict[str, t.Any]] = [{"hosts": "localhost", "gather_facts": False, "tasks": [groups]}]
    for group, roles in COMPUTED.items():
        found.append(
            {
                "hosts": group,
                "gather_facts": False,
                "vars": {"ovn_pki_certificate": "central" if group == "ovn_central" else "chassis"},
                # Nothing of them but their defaults and variables
                "roles": [{"role": f"c5c3.ovn.{role}", "when": False} for role in roles],
                "tasks": [
                    {"c5c3.ovn.pki_plan": None, "register": "planned"},
                    *STEPS.get(group, []),
                    *(task for role, computed in roles.items() for task in check_role(role, *computed)),
                ],
            }
        )
    return found


class Example:
    """A copy of an example, with the CA that some of them expect in a folder beside the inventory."""

    def __init__(self, name: str, folder: pathlib.Path, collections: str) -> None:
        self._folder, self._collections = folder, collections
        self.hosts = folder / "inventory" / "hosts.yml"
        shutil.copytree(ROOT / "examples" / name / "inventory", self.hosts.parent)
        authority = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        authority += ["-subj", "/CN=given", "-keyout", "ca-key.pem", "-out", "ca.pem"]
        (self.hosts.parent / "ca.cfg").mkdir()
        subprocess.run(authority, cwd=self.hosts.parent / "ca.cfg", check=True, capture_output=True)

    def run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [pathlib.Path(sys.executable).with_name(program), "-i", self.hosts, *arguments],
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
            env={
                **os.environ,
                "ANSIBLE_COLLECTIONS_PATH": self._collections,
                "ANSIBLE_LOCAL_TEMP": str(self._folder / "tmp"),
                "ANSIBLE_INVENTORY_ENABLED": "ansible.builtin.yaml",
                "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "true",
                "ANSIBLE_NOCOLOR": "1",
            },
        )

    def check(self) -> subprocess.CompletedProcess[str]:
        playbook = self._folder / "check.yml"
        playbook.write_text(json.dumps(plays()))
        return self.run("ansible-playbook", str(playbook))


@pytest.fixture
def example(tmp_path: pathlib.Path, collection_path: str) -> t.Callable[[str], Example]:
    return lambda name: Example(name, tmp_path, collection_path)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_accepted(name: str, example: t.Callable[[str], Example]) -> None:
    copy = example(name)
    # The folder, too: the CA in it is not read as an inventory.
    listed = copy.run("ansible-inventory", "--inventory", str(copy.hosts.parent), "--list")
    assert listed.returncode == 0, listed.stderr
    groups = json.loads(listed.stdout)
    assert groups["ovn_hypervisors"]["hosts"]
    elsewhere = groups["_meta"]["hostvars"][groups["ovn_hypervisors"]["hosts"][0]].get("ovn_central_elsewhere", False)
    assert bool(groups.get("ovn_central", {}).get("hosts")) is not elsewhere
    checked = copy.check()
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize(
    ("found", "written", "message"),
    [
        pytest.param("ovn_hypervisors:", "ovn_hypervisor:", "check the spelling", id="a misspelt group"),
        pytest.param("physical_network:", "physical_net:", "physical_net", id="a misspelt key"),
        pytest.param("election_timer: 5000", "election_timer: soon", "ovn_central_election_timer", id="no number"),
    ],
)
def test_a_wrong_inventory_is_refused(
    found: str, written: str, message: str, example: t.Callable[[str], Example]
) -> None:
    copy = example("five-machines")
    text = copy.hosts.read_text(encoding="utf-8")
    assert found in text
    copy.hosts.write_text(text.replace(found, written), encoding="utf-8")
    checked = copy.check()
    assert checked.returncode != 0, checked.stdout
    assert message in checked.stdout
