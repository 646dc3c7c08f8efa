"""The defaults of an action group reach every module of the group, and none of them refuses them: one playbook for each group."""

from __future__ import annotations

import json
import pathlib
import re
import typing as t

import _playbooks
import pytest
import yaml
from conftest import Pki

Object = dict[str, t.Any]

ROOT = pathlib.Path(__file__).resolve().parents[2]
GROUPS = yaml.safe_load((ROOT / "meta" / "runtime.yml").read_text(encoding="utf-8"))["action_groups"]

# Nothing listens there, so what accepts its options ends soon.
PORT = "127.0.0.1:1"
NOWHERE = [f"ssl:{PORT}"]
BOTH = {"northbound": NOWHERE, "southbound": NOWHERE}
KUBECONFIG = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "of-the-group",
    "clusters": [{"name": "nowhere", "cluster": {"server": f"https://{PORT}"}}],
    "users": [{"name": "nobody", "user": {"token": "none"}}],
    "contexts": [{"name": "of-the-group", "context": {"cluster": "nowhere", "user": "nobody"}}],
}

# Each module as it is called beside the defaults of the group: in every way that its other options allow.
CALLS: dict[str, dict[str, list[Object]]] = {
    "kubernetes": {
        "c5c3.ovn.ovn_central_info": [{"cluster": "ovn", "timeout": 1}],
        "c5c3.ovn.ovn_chassis_resources": [{"chassis": []}],
        "c5c3.ovn.ovn_chassis_rows": [{"system_id": "a", "hostname": "a"}],
        "c5c3.ovn.ovn_cluster": [{"spec": {}}, {"state": "absent"}],
        "c5c3.ovn.ovn_cluster_info": [{}],
        "c5c3.ovn.ovn_database_info": [
            {"database": "southbound", "cluster": "ovn", "tables": ["Chassis"]},
            {"database": "southbound", "endpoints": [f"tcp:{PORT}"], "tables": ["Chassis"], "timeout": 1},
        ],
        "c5c3.ovn.ovn_hypervisors": [{"southbound": NOWHERE}, {"state": "absent"}],
        "c5c3.ovn.ovn_issued_certificates": [{"cluster": "ovn"}],
        "c5c3.ovn.ovn_operator": [{"wait": False}, {"state": "absent"}],
        "c5c3.ovn.ovn_precheck_kubernetes": [{"kind": "cluster"}, {"kind": "hypervisors"}],
        "c5c3.ovn.ovn_raft_info": [{"database": "southbound", "cluster": "ovn"}],
        "c5c3.ovn.ovn_raft_status": [{"database": "southbound", "cluster": "ovn"}],
        "c5c3.ovn.ovn_test_network": [{"cluster": "ovn", "timeout": 1}],
        "c5c3.ovn.ovn_tls_secret": [{"name": "a", "namespace": "default", "cluster_name": "ovn", "place": "Secret a"}],
        "kubernetes.core.k8s_info": [{"kind": "Secret", "namespace": "default"}],
    },
    "ovsdb": {
        "c5c3.ovn.ovn_central_info": [
            {"endpoints": NOWHERE, "timeout": 1},
            {"cluster": "ovn", "endpoints": NOWHERE, "timeout": 1},
            {"cluster": "ovn", "endpoints": NOWHERE, "timeout": 1, "tls_secret": "ovn-tls", "heartbeat": BOTH},
        ],
        "c5c3.ovn.ovn_chassis": [
            {"database": NOWHERE[0], "timeout": 1, "system_id": "a"},
            {"database": NOWHERE[0], "timeout": 1, "state": "absent", "southbound": NOWHERE},
        ],
        "c5c3.ovn.ovn_chassis_resources": [{"chassis": [], "southbound": NOWHERE}],
        "c5c3.ovn.ovn_database_info": [
            {"database": "southbound", "endpoints": NOWHERE, "tables": ["Chassis"], "timeout": 1},
            {"database": "southbound", "cluster": "ovn", "tables": ["Chassis"]},
        ],
        "c5c3.ovn.ovn_hypervisors": [{"southbound": NOWHERE}, {"southbound": NOWHERE, "tls_secret": "ovn-tls"}],
        "c5c3.ovn.ovn_raft_info": [{"database": "southbound", "endpoints": NOWHERE, "timeout": 1}],
        "c5c3.ovn.ovn_raft_status": [
            {"database": "southbound", "endpoints": NOWHERE, "timeout": 1},
            {"database": "southbound", "cluster": "ovn"},
        ],
        "c5c3.ovn.ovn_sync": [{**BOTH, "timeout": 1}],
        "c5c3.ovn.ovn_test_network": [
            {"northbound": NOWHERE, "timeout": 1},
            {"cluster": "ovn", "timeout": 1},
        ],
    },
}


REFUSAL = "mutually exclusive|[Uu]nsupported parameters|required|cannot be combined|needs"


@pytest.fixture
def defaults(tmp_path: pathlib.Path, pki: Pki) -> dict[str, Object]:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(json.dumps(KUBECONFIG))
    files = pki.issue("client")
    return {
        "kubernetes": {"kubeconfig": str(kubeconfig), "context": "of-the-group", "validate_certs": False},
        "ovsdb": {
            "private_key": files.private_key,
            "certificate": files.certificate,
            "ca_certificate": files.ca_certificate,
        },
    }


def called(folder: pathlib.Path, collection_path: str, group: str, defaults: Object) -> list[Object]:
    """The results of all calls of the group in check mode, in one play with its defaults."""
    tasks: list[Object] = [
        {module: options, "register": f"result_{module.rpartition('.')[2]}_{number}", "ignore_errors": True}
        for module, calls in CALLS[group].items()
        for number, options in enumerate(calls)
    ]
    names = [task["register"] for task in tasks]
    wrote = {"dest": str(folder / "results.json"), "content": f"{{{{ [{', '.join(names)}] | to_json }}}}"}
    tasks.append({"ansible.builtin.copy": wrote, "check_mode": False})
    group_defaults = {f"group/c5c3.ovn.{group}": defaults}
    play = {
        "hosts": "all",
        "gather_facts": False,
        "check_mode": True,
        "module_defaults": group_defaults,
        "tasks": tasks,
    }
    (folder / "play.yml").write_text(json.dumps([play]))
    inventory = _playbooks.write_inventory(folder / "hosts.yml", {"ours": {"hosts": {"here": {}}}})
    env = _playbooks.environment(folder, collection_path, K8S_AUTH_KUBECONFIG=str(folder / "kubeconfig"))
    ran = _playbooks.run(["-i", str(inventory), str(folder / "play.yml")], env)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    results: list[Object] = json.loads((folder / "results.json").read_text())
    return results


def test_the_calls_are_those_of_the_groups() -> None:
    listed = {
        group: {f"c5c3.ovn.{member}" for member in members if isinstance(member, str)}
        for group, members in GROUPS.items()
    }
    ours = {group: {name for name in calls if name.startswith("c5c3.ovn.")} for group, calls in CALLS.items()}
    assert ours == listed


@pytest.mark.parametrize("group", CALLS)
def test_no_module_refuses_the_defaults_of_its_group(
    group: str, tmp_path: pathlib.Path, collection_path: str, defaults: dict[str, Object]
) -> None:
    results = called(tmp_path, collection_path, group, defaults[group])
    assert [result for result in results if re.search(REFUSAL, result.get("msg", ""))] == []
    # They arrived: what asked the API server names the context.
    if group == "kubernetes":
        assert len([result for result in results if "context of-the-group" in json.dumps(result)]) >= len(CALLS[group])
