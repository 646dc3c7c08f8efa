"""c5c3.ovn.status and c5c3.ovn.verify on three central hosts that are this machine, with real databases and northds: what is asked, how often, what it costs.

Each host has its own /run/ovn: its Python starts in a mount namespace.
"""

from __future__ import annotations

import dataclasses
import json
import math
import pathlib
import shlex
import sys
import threading
import time
import typing as t

import _playbooks
import pytest
from _apiserver import ApiServer
from _installation import Installation, running
from _raft_contents_lib import insert
from _vswitch import Vswitch, require_vswitch
from conftest import MakeCluster, Member, RunModule, until, within

from ansible_collections.c5c3.ovn.plugins.module_utils._base.deadline import Deadline
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.endpoint import parse_endpoint
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.tls_files import TlsFiles
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.wire import Connection

pytestmark = pytest.mark.timeout(300)

# It notes the module of each call. A host that is down does not answer at all.
PYTHON = """#!/bin/sh
echo "$1" | sed 's/.*AnsiballZ_//; s/[.]py$//' >> {folder}/calls
while [ -e {folder}/down ]; do sleep 1; done
exec unshare --mount --propagation private sh -c 'mount -t tmpfs none /run && ln -s "$0" /run/ovn && exec "$@"' {folder}/run {python} "$@"
"""
# A hypervisor has a network of its own.
IN_NETWORK = """#!/bin/sh
echo "$1" | sed 's/.*AnsiballZ_//; s/[.]py$//' >> {folder}/calls
exec ip netns exec {namespace} {python} "$@"
"""
QUERY = "{northbound: northbound, southbound: southbound, northd: northd, findings: findings[].{code: code, message: message}}"
ONE = ["ovn_central_info"]


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a run took, printed, found (the facts of QUERY), and the modules that it called on each host."""

    seconds: float
    output: str
    found: dict[str, t.Any]
    calls: dict[str, list[str]]

    def messages(self, code: str) -> list[str]:
        return [finding["message"] for finding in self.found["findings"] if finding["code"] == code]


@dataclasses.dataclass
class Site:
    """`run("status")`: the playbook, with these variables."""

    installation: Installation
    folder: pathlib.Path
    collection_path: str

    hypervisors: dict[str, dict[str, t.Any]] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        self.hosts = {name: run.parent for name, run in self.installation.run_directories().items()}
        for folder in self.hosts.values():
            python = folder / "python"
            python.write_text(PYTHON.format(folder=folder, python=shlex.quote(sys.executable)))
            python.chmod(0o755)

    def calls(self, host: str) -> list[str]:
        file = self.hosts[host] / "calls"
        return file.read_text().split() if file.exists() else []

    def run(self, name: str, **variables: t.Any) -> Outcome:
        common = {
            "ansible_become": False,
            "ansible_remote_tmp": str(self.folder / "remote"),
            "ovn_tls": False,
            "ovn_northbound_endpoints": self.installation.northbound.endpoints,
            "ovn_southbound_endpoints": self.installation.southbound.endpoints,
            "ovn_query": QUERY,
            "ovn_verify_fail": False,
            "ovn_verify_wait_for": "hv",  # no run has set these hosts up
            **variables,
        }
        # Nothing listens at these addresses on behalf of this host
        hosts = {
            host: {"ovn_address": f"127.77.0.{number}", "ansible_python_interpreter": str(folder / "python")}
            for number, (host, folder) in enumerate(self.hosts.items(), 1)
        }
        inventory = _playbooks.write_inventory(
            self.folder / "hosts.yml",
            {"ovn_central": {"hosts": hosts}, "ovn_hypervisors": {"hosts": self.hypervisors}},
            **common,
        )
        for folder in self.hosts.values():
            (folder / "calls").unlink(missing_ok=True)
        env = _playbooks.environment(self.folder / "tmp", self.collection_path)
        started = time.monotonic()
        done = _playbooks.run(["-i", str(inventory), f"c5c3.ovn.{name}"], env, timeout=240)
        seconds = time.monotonic() - started
        assert done.returncode == 0, done.stdout + done.stderr
        printed = done.stdout.partition("Show the data that the query selects")[2].partition('"msg": ')[2]
        found, _end = json.JSONDecoder().raw_decode(printed)
        return Outcome(seconds, done.stdout, found, {host: self.calls(host) for host in self.hosts})


@pytest.fixture
def site(raft_cluster: MakeCluster, short_dir: pathlib.Path, collection_path: str) -> t.Iterator[Site]:
    with running(raft_cluster, short_dir) as installation:
        yield Site(installation, short_dir, collection_path)


def test_one_call_asks_a_host_everything(site: Site) -> None:
    status = site.run("status")
    assert status.calls == {"central0": [*ONE, "ovn_sync"], "central1": ONE, "central2": ONE}
    for database in ("northbound", "southbound"):
        assert status.found[database]["verdict"] == "healthy"
        assert {member["member"] for member in status.found[database]["members"]} == set(site.hosts)
    assert {state: len(hosts) for state, hosts in status.found["northd"].items() if hosts} == {
        "active": 1,
        "standby": 2,
    }

    verify = site.run("verify")
    assert verify.calls == {"central0": [*ONE, "ovn_sync"], "central1": ONE, "central2": ONE}
    assert (verify.messages("not_compared"), verify.messages("address_unreachable")) == ([], [])


@pytest.mark.parametrize("playbook", ["status", "verify"])
def test_each_hypervisor_is_asked_once(site: Site, playbook: str) -> None:
    """Also without TLS. One without Open vSwitch has no problem of its datapath; where the call fails, the report says why."""
    require_vswitch()
    machine = Vswitch(site.folder, "hv1")
    try:
        machine.start()
        machine.start_vswitchd()
        machine.device("eth1")
        machine.vsctl("add-br", "br-ex", "--", "set", "Bridge", "br-ex", "datapath_type=netdev")
        machine.vsctl("set", "Open_vSwitch", ".", "external_ids:ovn-bridge-mappings=physnet1:br-ex")
        machine.vsctl("add-port", "br-ex", "eth1")
        until(lambda: machine.vsctl("get", "Interface", "eth1", "link_state") == "down", "the link state")
        for name in ("hv1", "hv2"):
            folder = site.folder / name
            folder.mkdir(exist_ok=True)
            values = {"folder": folder, "namespace": machine.namespace, "python": shlex.quote(sys.executable)}
            (folder / "python").write_text(IN_NETWORK.format(**values))
            (folder / "python").chmod(0o755)
            site.hypervisors[name] = {
                "ansible_python_interpreter": str(folder / "python"),
                "ovn_encapsulation_ip": f"192.0.2.{name[-1]}",
                "ovn_hypervisor_openvswitch_database": f"unix:{folder}/db.sock",
            }
        site.hypervisors["hv3"] = {
            "ovn_encapsulation_ip": "192.0.2.3",
            "ovn_hypervisor_openvswitch_database": "nowhere",
        }
        found = site.run(playbook)
        (warning,) = found.messages("hypervisor_not_read")
        assert warning.startswith("Hypervisor hv3 could not be examined: ")
        assert "nowhere" in warning
        for name in ("hv1", "hv2"):
            assert (site.folder / name / "calls").read_text().split() == ["ovn_host_info"]
        (problem,) = found.messages("uplink_down")
        assert problem.startswith(
            "Chassis hv1: bridge br-ex of physical network physnet1 has no port that passes packets: eth1 is down (admin_state)."
        )
        codes = {finding["code"] for finding in found.found["findings"]}
        assert codes & {"conntrack_zones_missing", "upcall_handlers_missing", "packets_lost"} == set()
        assert not [code for code in codes if "certificate" in code]
    finally:
        machine.stop()


def test_what_is_written_to_is_read_again(site: Site) -> None:
    """Someone writes until hosts are asked a second time, which is when all have answered once."""
    ended = threading.Event()

    def write() -> None:
        number = 0
        while not ended.is_set() and not any(site.calls(host)[:2] == ONE * 2 for host in site.hosts):
            insert(site.installation.northbound.members[0], f"row{number}")
            number += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        verify = site.run("verify")
    finally:
        ended.set()
        writer.join()
    assert verify.calls == {"central0": [*ONE * 2, "ovn_sync"], "central1": ONE * 2, "central2": ONE * 2}
    assert verify.found["northbound"]["verdict"] == "healthy"
    assert verify.messages("not_compared") == []


def test_a_host_that_is_down_costs_one_limit(site: Site) -> None:
    (site.hosts["central2"] / "down").touch()
    limit = int(within(12))
    verify = site.run("verify", ovn_verify_timeout=limit)
    assert verify.messages("host_unreachable") == [f"central2 cannot be reached: it gave no answer within {limit} s."]
    assert verify.calls["central2"] == ONE
    assert verify.found["northbound"]["verdict"] == "degraded"


def fill(member: Member, rows: int) -> None:
    """Rows that northd makes nothing of."""
    with Connection(parse_endpoint(member.socket), TlsFiles(), Deadline(within(60))) as connection:
        for start in range(0, rows, 10_000):
            numbers = [str(number) for number in range(start, start + 10_000)]
            rows_of = [{"cidr": "192.0.2.0/24", "external_ids": ["map", [["number", number]]]} for number in numbers]
            operations = [{"op": "insert", "table": "DHCP_Options", "row": row} for row in rows_of]
            connection.call("transact", [member.schema_name, *operations])


def test_a_host_with_a_large_database_is_not_down(site: Site) -> None:
    """About one second of the limit is left for its contents. Where they take longer, they are asked for once more."""
    for northd in site.installation.northds:  # it would go on writing for long
        northd.kill()
    fill(site.installation.northbound.leader, 40_000)
    site.installation.northbound.await_same_log()
    verify = site.run("verify", ovn_verify_timeout=math.ceil(within(15)), ovn_verify_wait_for="none")
    assert verify.messages("host_unreachable") == []
    assert verify.messages("not_compared") == []
    assert [call for call in verify.calls["central1"] if call in ONE] in (ONE, ONE * 2)
    assert verify.found["northbound"]["verdict"] == "healthy"


def asked(site: Site, run_module: RunModule, limit: float = 60, **raft: t.Any) -> dict[str, t.Any]:
    options = {
        "run_directory": str(site.hosts["central0"] / "run"),
        "timeout": within(2),
        "raft": {"member": "c0", **raft},
    }
    return run_module("ovn_central_info", options, timeout=limit).result


def test_the_state_of_members_is_that_of_ovn_raft_status(site: Site, run_module: RunModule) -> None:
    found = asked(site, run_module, expected_members=3, contents=True)["raft"]
    for database, stem in (("northbound", "ovnnb_db"), ("southbound", "ovnsb_db")):
        options = {
            "database": database,
            "member": "c0",
            "control_sockets": str(site.hosts["central0"] / "run" / f"{stem}.ctl"),
            "expected_members": 3,
            "contents": True,
        }
        single, one_of_all = run_module("ovn_raft_status", options).result, found[database]
        assert set(one_of_all) == set(single) - {"changed", "invocation"}
        for key in ("verdict", "writable", "cluster_id", "leader", "term", "reasons"):
            assert one_of_all[key] == single[key], key
        (answer,), (other,) = one_of_all["answers"], single["answers"]
        assert answer["contents"] == other["contents"]
        assert answer["contents"]["tables"]
    assert list(asked(site, run_module, databases=["southbound"])["raft"]) == ["southbound"]
    assert asked(site, run_module, databases=[])["raft"] == {}


def test_addresses_are_asked_in_the_same_call(site: Site, run_module: RunModule) -> None:
    """Each once, and one that cannot be asked says nothing about the host."""
    own, other, _third = (member.endpoint for member in site.installation.northbound.members)
    found = run_module(
        "ovn_central_info",
        {
            "run_directory": str(site.hosts["central0"] / "run"),
            "timeout": 2,
            "endpoints": [own],
            "addresses": [other, own, other, "tcp:127.0.0.1:1", "nowhere"],
        },
    ).result
    assert [(one["endpoint"], one["problem"]) for one in found["certificates"]] == [(own, "")]
    answers = {one["endpoint"]: one["problem"] for one in found["addresses"]}
    assert list(answers) == [other, own, "tcp:127.0.0.1:1", "nowhere"]
    assert [bool(problem) for problem in answers.values()] == [False, False, True, True]
    assert found["northd"]["state"] in ("active", "standby")


def test_members_and_northd_that_hang_cost_one_time_limit(site: Site, run_module: RunModule) -> None:
    frozen = site.installation.northbound.members[0]
    frozen.freeze()
    try:
        found = asked(site, run_module, limit=6)
    finally:
        frozen.thaw()
    assert [problem["code"] for problem in found["raft"]["northbound"]["answers"][0]["problems"]] == ["timeout"]
    assert found["raft"]["southbound"]["writable"]
    assert "did not answer within" in found["databases"]["northbound"]["reason"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"raft": {"expected_members": 0}}, "expected_members is 0: a cluster has at least one."),
        ({"raft": {"contents_timeout": 0}}, "contents_timeout is 0: it must be more than 0 seconds."),
        ({"raft": {"member": "c0"}, "cluster": "ovn"}, "raft.member cannot be combined with cluster: pods have names."),
        (
            {"raft": {"databases": ["open_vswitch"]}},
            "value of databases must be one or more of: northbound, southbound.",
        ),
    ],
)
def test_options_that_can_never_work(options: dict[str, t.Any], message: str, run_module: RunModule) -> None:
    ran = run_module("ovn_central_info", options, may_fail=True)
    assert ran.failed
    assert message in ran["msg"]


def test_a_control_plane_in_kubernetes_without_databases(
    api_server: ApiServer, namespace: str, run_module: RunModule, tmp_path: pathlib.Path, collection_path: str
) -> None:
    """What one database lacks is no failure of the call; pods that answer are asked on kind."""
    place = {"kubeconfig": api_server.kubeconfig, "namespace": namespace}
    ran = run_module("ovn_central_info", {**place, "cluster": "ovn", "raft": {"contents": True}})
    assert ran["northds"] == {}
    for database in ("northbound", "southbound"):
        message = ran["raft"][database]["msg"]
        assert message.startswith(f"There is no {database} database of the OVNCluster ovn in namespace {namespace}: ")
        assert ran["raft"][database]["failed"]

    plane = {"ovn_backend": "kubernetes", **{f"ovn_{name}": value for name, value in place.items()}}
    groups = {"ovn_central": {"hosts": {"plane": plane}}, "ovn_hypervisors": {"hosts": {}}}
    inventory = _playbooks.write_inventory(tmp_path / "hosts.yml", groups, ovn_tls=False)
    env = _playbooks.environment(tmp_path / "tmp", collection_path)
    done = _playbooks.run(["-i", str(inventory), "c5c3.ovn.status"], env)
    assert done.returncode == 0, done.stdout + done.stderr
    for database in ("northbound", "southbound"):
        assert (
            f"Problem: {database.title()}: plane: There is no {database} database of the OVNCluster ovn" in done.stdout
        )
    assert "northd on plane" not in done.stdout
    assert "the control node reaches no database port of plane" in done.stdout
