"""ovn_chassis with state=absent deletes the rows of its own chassis from a real Southbound database, and no others."""

from __future__ import annotations

import json
import pathlib
import typing as t
from uuid import UUID

import _chassis
import pytest
from _chassis import Chassis, module_on
from _vswitch import Vswitch
from conftest import Daemon, MakeCluster, Pki, RaftCluster, RunModule, run, until

from ansible_collections.c5c3.ovn.plugins.module_utils._base.deadline import Deadline
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Conflict
from ansible_collections.c5c3.ovn.plugins.module_utils._chassis.southbound_rows import (
    delete_operations,
    expect_chassis,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.endpoint import parse_endpoint
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.rows import write
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.tls_files import TlsFiles
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.wire import Connection

SETTINGS = {
    "system_id": "c1",
    "hostname": "host1",
    "encapsulation": {"type": ["geneve", "vxlan"], "ip": ["192.0.2.1"]},
}
ALL_ROWS = {"Chassis": ["c1"], "Chassis_Private": ["c1"], "Encap": ["geneve 192.0.2.1", "vxlan 192.0.2.1"]}


vswitch = _chassis.vswitch  # fixture


@pytest.fixture
def chassis(vswitch: Vswitch, run_module: RunModule) -> Chassis:
    return module_on(vswitch, run_module, on_loopback=True)


class Southbound:
    """A Southbound database with two chassis, `c1` of host1 (ours) and `c2` of host2."""

    def __init__(self, cluster: RaftCluster) -> None:
        self.cluster = cluster
        self.sbctl("init")
        self.register("c1", "host1", "192.0.2.1", types="geneve,vxlan")
        self.register("c2", "host2", "192.0.2.2")

    def sbctl(self, *arguments: str) -> str:
        return run("ovn-sbctl", f"--db={','.join(self.cluster.sockets)}", *arguments)

    def register(self, name: str, hostname: str, ip: str, types: str = "geneve") -> None:
        """As ovn-controller does."""
        self.sbctl(
            *("chassis-add", name, types, ip, "--", "set", "Chassis", name, f"hostname={hostname}"),
            *("--", "--id=@p", "create", "Chassis_Private", f"name={name}"),
        )

    def replace(self, name: str, hostname: str, ip: str, cms_options: str = "") -> None:
        """Another registration under the same name."""
        self.sbctl("chassis-del", name)
        assert name not in self.names()["Chassis_Private"], "chassis-del deletes it, too"
        self.register(name, hostname, ip)
        self.sbctl("set", "Chassis", name, f'other_config:ovn-cms-options="{cms_options}"')

    def names(self) -> dict[str, list[str]]:
        """Table to names of chassis that have rows there."""
        columns = {"Chassis": "name", "Chassis_Private": "name", "Encap": "chassis_name"}
        return {
            table: sorted(set(self.sbctl("--bare", f"--columns={column}", "list", table).split()))
            for table, column in columns.items()
        }

    def dump(self) -> str:
        tables = ("Chassis", "Chassis_Private", "Encap")
        return json.dumps([self.sbctl("--format=json", "list", table) for table in tables])


@pytest.fixture
def southbound(raft_cluster: MakeCluster) -> Southbound:
    return Southbound(raft_cluster(1, "southbound"))


def test_rows_with_an_address_in_another_spelling_are_deleted(chassis: Chassis, southbound: Southbound) -> None:
    """The host has another name now, so its address proves that the row is its own."""
    southbound.replace("c1", "former-name", "2001:DB8:0:0::21")
    chassis({**SETTINGS, "encapsulation": {"type": "geneve", "ip": "2001:db8::21"}})
    done = chassis({"state": "absent", "southbound": southbound.cluster.sockets})
    assert done["deleted_rows"]["Encap"] == ["geneve 2001:DB8:0:0::21"]
    assert southbound.names()["Chassis"] == ["c2"]


def test_the_rows_of_this_host_are_deleted_with_its_settings(
    vswitch: Vswitch, chassis: Chassis, southbound: Southbound
) -> None:
    chassis(SETTINGS)
    absent = {"state": "absent", "southbound": southbound.cluster.sockets}
    local, remote = vswitch.dump(), southbound.dump()
    predicted = chassis(absent, check=True)
    assert (vswitch.dump(), southbound.dump()) == (local, remote)

    done = chassis(absent)
    for ran in (predicted, done):
        assert ran["changed"]
        assert ran["deleted_rows"] == ALL_ROWS
        assert ran["diff"]["before"]["southbound"] == ALL_ROWS
        assert ran["diff"]["before"]["external_ids"]["system-id"] == "c1"
        assert ran["diff"]["after"] == {}
        assert ran["registered"] is None
    assert done["diff"] == predicted["diff"]
    assert southbound.names() == {"Chassis": ["c2"], "Chassis_Private": ["c2"], "Encap": ["c2"]}
    assert vswitch.external_ids == {}

    local, remote = vswitch.dump(), southbound.dump()
    for args in (absent, {**absent, **SETTINGS}):
        again = chassis(args)
        assert not again["changed"]
        assert again["deleted_rows"] == {}
        assert again["diff"] == {"before": {}, "after": {}}
    assert (vswitch.dump(), southbound.dump()) == (local, remote)


def test_rows_stay_where_nobody_names_the_southbound(chassis: Chassis, southbound: Southbound) -> None:
    chassis(SETTINGS)
    before = southbound.dump()
    done = chassis({**SETTINGS, "state": "absent"})
    assert done["changed"]
    assert done["deleted_rows"] == {}
    assert southbound.dump() == before


@pytest.mark.parametrize("settings", [{}, SETTINGS], ids=["known by its settings", "known by the task"])
def test_a_private_row_that_lost_its_chassis_is_deleted(
    chassis: Chassis, southbound: Southbound, settings: dict[str, t.Any]
) -> None:
    if not settings:
        chassis(SETTINGS)
    southbound.sbctl("destroy", "Chassis", "c1")
    assert southbound.names()["Chassis_Private"] == ["c1", "c2"]
    absent = {**settings, "state": "absent", "southbound": southbound.cluster.sockets}
    for check in (True, False):
        ran = chassis(absent, check=check)
        assert ran["changed"]
        assert ran["deleted_rows"] == {"Chassis_Private": ["c1"]}
    assert southbound.names() == {"Chassis": ["c2"], "Chassis_Private": ["c2"], "Encap": ["c2"]}
    assert not chassis(absent)["changed"]


def test_a_run_that_was_cut_off_is_finished_by_the_next(
    vswitch: Vswitch, chassis: Chassis, southbound: Southbound
) -> None:
    """The settings have gone without the rows, and Open vSwitch was started with a random name since."""
    chassis(SETTINGS)
    chassis({"state": "absent"})
    vswitch.vsctl("--no-wait", "set", "open", ".", "external_ids:system-id=random", "external_ids:hostname=localhost")
    absent = {**SETTINGS, "state": "absent", "southbound": southbound.cluster.sockets}
    assert chassis(absent)["deleted_rows"] == ALL_ROWS
    assert vswitch.external_ids == {"system-id": "random", "hostname": "localhost"}
    assert not chassis(absent)["changed"]


@pytest.mark.parametrize(
    ("row", "task", "words"),
    [
        pytest.param(
            ("host9", "192.0.2.9"),
            {},
            'Chassis "c1" of the Southbound database belongs to host host9 with address 192.0.2.9',
            id="another host has registered under the name",
        ),
        pytest.param(
            ("host1", "192.0.2.1", "c5c3-ovn-owner=rack7"),
            {},
            'belongs to Kubernetes cluster "rack7"',
            id="a node of a Kubernetes cluster has the name",
        ),
        pytest.param(
            (), {"system_id": "c2"}, 'This host is the chassis "c1", not "c2"', id="the task names another chassis"
        ),
    ],
)
@pytest.mark.parametrize("check", [True, False], ids=["check mode", "run"])
def test_a_chassis_of_another_host_is_refused(
    vswitch: Vswitch,
    chassis: Chassis,
    southbound: Southbound,
    row: tuple[str, ...],
    task: dict[str, t.Any],
    words: str,
    check: bool,
) -> None:
    chassis(SETTINGS)
    if row:
        southbound.replace("c1", *row)
    local, remote = vswitch.dump(), southbound.dump()
    refused = chassis({**task, "state": "absent", "southbound": southbound.cluster.sockets}, check=check, may_fail=True)
    assert refused.failed
    assert words in refused["msg"]
    assert "Nothing was changed" in refused["msg"]
    assert "system_id" in refused["msg"]
    assert (vswitch.dump(), southbound.dump()) == (local, remote)


@pytest.mark.parametrize(
    "row",
    [("old-name", "192.0.2.1"), ("host1", "192.0.2.9"), ("host1", "192.0.2.1", "enable-chassis-as-gw")],
    ids=["an old host name", "an old address", "tokens of others"],
)
def test_the_rows_of_this_host_may_be_out_of_date(
    chassis: Chassis, southbound: Southbound, row: tuple[str, ...]
) -> None:
    chassis(SETTINGS)
    southbound.replace("c1", *row)
    assert "Chassis" in chassis({"state": "absent", "southbound": southbound.cluster.sockets})["deleted_rows"]
    assert southbound.names() == {"Chassis": ["c2"], "Chassis_Private": ["c2"], "Encap": ["c2"]}


def test_a_name_that_nobody_has_recorded_is_another_chassis(
    vswitch: Vswitch, chassis: Chassis, southbound: Southbound
) -> None:
    """Somebody set `system-id` by hand: neither our record nor the task says that `c2` is this host's."""
    chassis({key: value for key, value in SETTINGS.items() if key != "system_id"})
    vswitch.vsctl("--no-wait", "set", "open", ".", "external_ids:system-id=c2")
    remote = southbound.dump()
    absent = {"state": "absent", "southbound": southbound.cluster.sockets}
    assert chassis(absent)["deleted_rows"] == {}
    assert southbound.dump() == remote
    assert vswitch.external_ids == {"system-id": "c2"}


def test_without_the_southbound_nothing_is_removed(vswitch: Vswitch, chassis: Chassis, southbound: Southbound) -> None:
    chassis(SETTINGS)
    before = vswitch.dump()
    southbound.cluster.kill_all()
    ran = chassis({"state": "absent", "southbound": southbound.cluster.sockets, "timeout": 3}, may_fail=True)
    assert ran.failed
    assert vswitch.dump() == before


def test_what_was_deleted_is_reported_when_the_settings_cannot_be_written(
    vswitch: Vswitch, chassis: Chassis, southbound: Southbound
) -> None:
    chassis(SETTINGS)

    def backup(*command: str) -> None:
        """A backup server answers reads and refuses writes."""
        run("ovs-appctl", "-T", "10", "-t", f"{vswitch.directory}/ovsdb-server.ctl", *command)

    backup("ovsdb-server/set-active-ovsdb-server", "tcp:127.0.0.1:1")
    backup("ovsdb-server/connect-active-ovsdb-server")
    absent = {"state": "absent", "southbound": southbound.cluster.sockets}
    half = chassis(absent, may_fail=True)
    assert half.failed
    assert half["changed"]
    assert half["deleted_rows"] == half["diff"]["before"]["southbound"] == ALL_ROWS
    backup("ovsdb-server/disconnect-active-ovsdb-server")
    rest = chassis(absent)
    assert rest["changed"]
    assert rest["deleted_rows"] == {}
    assert vswitch.external_ids == {}


def test_a_host_that_registers_meanwhile_keeps_its_rows(southbound: Southbound) -> None:
    """Between the look and the deletion; ovn-controller may insert the row again, or change it."""
    row = json.loads(southbound.sbctl("--format=json", "--columns=_uuid,hostname", "find", "Chassis", "name=c1"))
    (((_kind, uuid), hostname),) = row["data"]
    seen = [{"_uuid": uuid, "hostname": hostname}]
    endpoint = parse_endpoint(southbound.cluster.sockets[0])

    def delete(rows: list[dict[str, str]]) -> None:
        with Connection(endpoint, TlsFiles(), Deadline(10)) as connection:
            write(connection, "OVN_Southbound", [expect_chassis("c1", rows), *delete_operations(["c1"])], "test")

    for rows in ([], [{**seen[0], "hostname": "host9"}], [{**seen[0], "_uuid": str(UUID(int=1))}]):
        with pytest.raises(Conflict):
            delete(rows)
    assert "c1" in southbound.names()["Chassis"]
    delete(seen)
    assert southbound.names() == {"Chassis": ["c2"], "Chassis_Private": ["c2"], "Encap": ["c2"]}


def test_the_old_copy_of_a_member_that_lost_its_cluster_does_not_count(
    chassis: Chassis, raft_cluster: MakeCluster, pki: Pki
) -> None:
    cluster = raft_cluster(3, "southbound", tls=pki)
    cut_off, *_others = cluster.followers
    cut_off.appctl("cluster/failure-test", "stop-raft-rpc")
    query = json.dumps(
        ["_Server", {"op": "select", "table": "Database", "where": [], "columns": ["name", "connected"]}]
    )

    def is_disconnected() -> bool:
        (answer,) = json.loads(run("ovsdb-client", "query", cut_off.socket, query))
        return {"name": "OVN_Southbound", "connected": False} in answer["rows"]

    until(is_disconnected, "the member to notice", 30)
    southbound = Southbound(cluster)
    absent = {**SETTINGS, **pki.issue("c1").options(), "state": "absent", "timeout": 20}
    old = chassis({**absent, "southbound": [cut_off.endpoint]}, may_fail=True)
    assert old.failed
    assert "has lost its cluster" in old["msg"]
    assert chassis({**absent, "southbound": cluster.endpoints})["deleted_rows"] == ALL_ROWS
    assert southbound.names()["Chassis"] == ["c2"]


def test_a_chassis_may_delete_its_rows_by_the_rules_of_northd(
    chassis: Chassis, raft_cluster: MakeCluster, pki: Pki, short_dir: pathlib.Path
) -> None:
    """Over a listener with the role ovn-controller, which knows the chassis by the common name of its certificate."""
    cluster = raft_cluster(0, "southbound", tls=pki)
    member = cluster.new_member()
    member.create()
    member.start(options=["--remote=db:OVN_Southbound,SB_Global,connections"])
    southbound = Southbound(cluster)
    northbound = raft_cluster(1, "northbound")
    northd = ["ovn-northd", "-vconsole:off", "--no-chdir", f"--unixctl={short_dir}/northd.ctl"]
    databases = [f"--ovnnb-db={northbound.members[0].socket}", f"--ovnsb-db={member.socket}"]
    daemon = Daemon([*northd, *databases], short_dir / "northd.out")
    try:
        until(lambda: southbound.sbctl("--bare", "list", "RBAC_Role").strip(), "northd to write its rules", 20)
        _scheme, host, _port = member.endpoint.split(":")
        southbound.sbctl("set-connection", "role=ovn-controller", f"pssl:16642:{host}")
        chassis(SETTINGS)
        absent = {"state": "absent", "southbound": [f"ssl:{host}:16642"]}
        denied = chassis({**absent, **pki.issue("c2").options()}, may_fail=True)
        assert "permission error" in denied["msg"]
        assert "c1" in southbound.names()["Chassis"]
        assert chassis({**absent, **pki.issue("c1").options()})["deleted_rows"] == ALL_ROWS
        assert southbound.names() == {"Chassis": ["c2"], "Chassis_Private": ["c2"], "Encap": ["c2"]}

        southbound.register("c1", "host1", "192.0.2.1")
        southbound.sbctl("destroy", "Chassis", "c1")
        orphan = chassis({**SETTINGS, **absent, **pki.issue("c1").options()})
        assert orphan["deleted_rows"] == {"Chassis_Private": ["c1"]}
    finally:
        daemon.kill()
