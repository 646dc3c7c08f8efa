"""The inventory plugin against a real Southbound cluster."""

from __future__ import annotations

import json
import pathlib
import typing as t

import _playbooks
import pytest
from conftest import MakeCluster, RaftCluster, run

Inventory = t.Callable[..., t.Any]


@pytest.fixture
def inventory(collection_path: str, short_dir: pathlib.Path) -> Inventory:
    """`inventory({options})`: what ansible-inventory --list prints, or its complaint with `may_fail`."""

    def execute(options: dict[str, t.Any], name: str = "ovn_chassis.yml", may_fail: bool = False) -> t.Any:
        file = short_dir / name
        file.write_text(json.dumps({"plugin": "c5c3.ovn.chassis", **options}))
        strict = {"ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "1"}
        env = _playbooks.environment(short_dir / "tmp", collection_path, **strict)
        process = _playbooks.run(["-i", str(file), "--list"], env, program="ansible-inventory", timeout=120)
        assert "Traceback" not in process.stderr
        if may_fail:
            assert process.returncode
            return " ".join(process.stderr.split())
        assert process.returncode == 0, process.stderr
        return plain(json.loads(process.stdout))

    return execute


def plain(value: t.Any) -> t.Any:
    """ansible-inventory marks each text that came from outside: it is never a template."""
    if isinstance(value, dict):
        return value.get("__ansible_unsafe", {key: plain(item) for key, item in value.items()})
    return [plain(item) for item in value] if isinstance(value, list) else value


def fill(cluster: RaftCluster) -> None:
    sbctl = ["ovn-sbctl", f"--db={','.join(cluster.sockets)}"]
    run(*sbctl, "init")
    run(*sbctl, "chassis-add", "c1", "geneve,vxlan", "192.0.2.1", "--", "chassis-add", "c2", "geneve", "192.0.2.2")
    run(
        *(*sbctl, "set", "chassis", "c1", "hostname=host", "other_config:ovn-bridge-mappings=p1:br-ex"),
        'other_config:ovn-cms-options="enable-chassis-as-gw,availability-zones=az1:az2"',
        *("--", "set", "chassis", "c2", "hostname=host", "other_config:evil=\"{{ lookup('pipe', 'id') }}\""),
    )


def test_hosts_groups_and_facts(raft_cluster: MakeCluster, inventory: Inventory) -> None:
    cluster = raft_cluster(3, "southbound")
    fill(cluster)
    cluster.followers[0].kill()
    options = {
        "endpoints": cluster.endpoints,
        "compose": {"ansible_host": "ovn_chassis.encapsulations[0].ip"},
        "groups": {"ovn_gateways": "ovn_chassis.gateway", "stale": "not ovn_chassis.current"},
        "keyed_groups": [{"prefix": "az", "key": "ovn_chassis.availability_zones"}],
        "strict": True,
    }
    result = inventory(options)
    hosts = result["_meta"]["hostvars"]
    assert sorted(hosts) == ["c1", "c2"]
    facts = hosts["c1"]["ovn_chassis"]
    assert facts["bridge_mappings"] == [{"physical_network": "p1", "bridge": "br-ex"}]
    assert [e["type"] for e in facts["encapsulations"]] == ["geneve", "vxlan"]
    assert hosts["c2"]["ansible_host"] == "192.0.2.2"
    assert result["ovn_gateways"]["hosts"] == result["az_az1"]["hosts"] == result["az_az2"]["hosts"] == ["c1"]
    assert result["stale"]["hosts"] == ["c1", "c2"]
    assert "lookup(" in hosts["c2"]["ovn_chassis"]["other_config"]["evil"], "data is no template"

    named = inventory({"endpoints": cluster.endpoints, "hostnames": ["hostname", "name"]})
    assert sorted(named["_meta"]["hostvars"]) == ["c2", "host"], "the second chassis of that name keeps its own"


def test_tls(raft_cluster: MakeCluster, inventory: Inventory, pki: t.Any, make_pki: t.Any) -> None:
    cluster = raft_cluster(1, "southbound", tls=True)
    fill(cluster)
    files = pki.issue("reader").options()
    assert sorted(inventory({"endpoints": cluster.endpoints, **files})["_meta"]["hostvars"]) == ["c1", "c2"]
    stranger = make_pki("other").issue("stranger").options()
    told = inventory({"endpoints": cluster.endpoints, "timeout": 5, **stranger}, may_fail=True)
    assert cluster.endpoints[0] in told
    assert "certificate" in told


def test_unreachable_endpoint_is_reported(raft_cluster: MakeCluster, inventory: Inventory) -> None:
    northbound = raft_cluster(1, "northbound")
    assert "OVN_Southbound" in inventory({"endpoints": northbound.endpoints}, may_fail=True)
    assert "not reachable" in inventory({"endpoints": ["tcp:127.0.0.1:1"]}, may_fail=True)
    assert "not an OVSDB endpoint" in inventory({"endpoints": ["nonsense"]}, may_fail=True)
    assert "endpoints" in inventory({}, may_fail=True)
    inventory({"endpoints": ["tcp:127.0.0.1:1"]}, name="other.yml", may_fail=True)
