"""What sessions copy from a database: the columns that they read, of the tables that they need, and nothing of others."""

from __future__ import annotations

import typing as t

import pytest

pytest.importorskip("ovsdbapp", reason="NOT TESTED: the Python library ovsdbapp is missing")

import ovs.jsonrpc
from _waits import within
from conftest import DATABASES, MakeCluster, run

from ansible_collections.c5c3.ovn.plugins.module_utils._base.deadline import Deadline
from ansible_collections.c5c3.ovn.plugins.module_utils._chassis.heartbeat_probe import send_heartbeat
from ansible_collections.c5c3.ovn.plugins.module_utils._chassis.lookup import list_chassis
from ansible_collections.c5c3.ovn.plugins.module_utils._chassis.registration import LocalChassis
from ansible_collections.c5c3.ovn.plugins.module_utils._chassis.southbound import Southbound
from ansible_collections.c5c3.ovn.plugins.module_utils._chassis.southbound_rows import DETAILS
from ansible_collections.c5c3.ovn.plugins.module_utils._connectivity_test import network_ovsdbapp
from ansible_collections.c5c3.ovn.plugins.module_utils._connectivity_test.network import DesiredNetwork, SwitchPort
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.endpoint import Endpoint, parse_endpoints
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.session import Session
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.tls_files import TlsFiles

Endpoints = list[Endpoint]
CHASSIS = {"name", "hostname", "other_config", "external_ids", "transport_zones", "nb_cfg"}
ENCAP = {"chassis_name", "type", "ip"}
PRIVATE = {"name", "nb_cfg", "nb_cfg_timestamp"}


def heartbeat(northbound: Endpoints, southbound: Endpoints, wait_for: str) -> None:
    send_heartbeat(northbound, southbound, TlsFiles(), Deadline(within(2)), wait_for, lambda _warning: None)


def last_heartbeat(northbound: Endpoints, southbound: Endpoints) -> None:
    heartbeat(northbound, southbound, "none")


def new_heartbeat(northbound: Endpoints, southbound: Endpoints) -> None:
    heartbeat(northbound, southbound, "sb")


def registration(_northbound: Endpoints, southbound: Endpoints) -> None:
    local = LocalChassis("c1", "host1", frozenset({("geneve", "192.0.2.1")}))
    with Southbound(southbound, TlsFiles(), Deadline(20), local) as rows:
        rows.chassis()


def network(northbound: Endpoints, _southbound: Endpoints) -> None:
    desired = DesiredNetwork("t", (SwitchPort("t-h1", "02:c5:c3:00:00:01 198.18.0.1"),))
    network_ovsdbapp.converge(northbound, TlsFiles(), Deadline(20), desired, False)


def list_of_chassis(_northbound: Endpoints, southbound: Endpoints) -> None:
    """As the inventory plugin, whose code is that of a controller."""
    with Session(
        southbound, DATABASES["southbound"], DETAILS, tls=TlsFiles(), deadline=Deadline(20), leader_only=False
    ) as session:
        list_chassis(session.rows)


_ALL_CHASSIS = {"Chassis": CHASSIS, "Encap": ENCAP, "Chassis_Private": PRIVATE}
_HEARTBEAT = {
    "northbound": {"NB_Global": {"nb_cfg", "sb_cfg", "options"}},
    # A chassis may name tunnel ends of others as its own.
    "southbound": {**_ALL_CHASSIS, "Chassis": {*CHASSIS, "encaps"}, "SB_Global": {"nb_cfg", "options"}},
}


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        (last_heartbeat, _HEARTBEAT),
        (new_heartbeat, _HEARTBEAT),
        (registration, {"southbound": {"Chassis": {"name", "hostname", "other_config"}, "Encap": ENCAP}}),
        (list_of_chassis, {"southbound": {**_ALL_CHASSIS, "SB_Global": {"nb_cfg"}}}),
        (
            network,
            {
                "northbound": {
                    "Logical_Switch": {"name", "ports", "external_ids"},
                    "Logical_Switch_Port": {"name", "addresses", "external_ids"},
                }
            },
        ),
    ],
)
def test_only_needed_columns_are_replicated(
    use: t.Callable[[Endpoints, Endpoints], None],
    expected: dict[str, dict[str, set[str]]],
    raft_cluster: MakeCluster,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As the servers are asked."""
    servers = {database: raft_cluster(1, database).members[0] for database in DATABASES}
    for program, member in zip(("ovn-nbctl", "ovn-sbctl"), servers.values()):
        run(program, f"--db={member.socket}", "--timeout=20", "init")
    asked: dict[str, dict[str, set[str]]] = {}
    original = ovs.jsonrpc.Message.create_request

    def create_request(method: str, params: list[t.Any]) -> t.Any:
        if method.startswith("monitor") and params[0] in DATABASES.values():
            [database] = [name for name, schema in DATABASES.items() if schema == params[0]]
            asked[database] = {
                table: {column for request in requests for column in request["columns"]}
                for table, requests in params[2].items()
            }
        return original(method, params)

    monkeypatch.setattr(ovs.jsonrpc.Message, "create_request", staticmethod(create_request))
    use(*(parse_endpoints([member.socket]) for member in servers.values()))
    assert asked == expected
