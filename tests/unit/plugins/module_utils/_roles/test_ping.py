"""The options of the role ovn_ping to guests, and what is left of them."""

from __future__ import annotations

import ipaddress
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._manifests.hypervisor_pods import controller_pod
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.ping import (
    choose_remover,
    choose_writer,
    collect,
    desired_state,
    hosts_problem,
    judge_removal,
    judge_unplugged,
)

Given = dict[str, t.Any]
MACHINE: Given = {"backend": "host", "state": "present", "name": "t", "host": "h2", "hosts": ["h1", "h2"]}
MACHINE |= {"system_id": "id2", "nodes": 2}
CLUSTER = {**MACHINE, "backend": "kubernetes"}


def pod(name: str, node: str, *, of: str = "", deleted: bool = False, phase: str = "Running", **spec: t.Any) -> Given:
    """`of`: the owner's prefix of generated names."""
    metadata: Given = {"name": name, "namespace": "ovn", "labels": {}}
    metadata |= {"generateName": of} if of else {}
    metadata |= {"deletionTimestamp": "2026-01-01T12:00:00Z"} if deleted else {}
    sockets = {"name": "sockets", "hostPath": {"path": "/run/x"}}
    container = {"name": "main", "image": "ovs:1", "imagePullPolicy": "Always"}
    whole = {"nodeName": node, "volumes": [sockets], "containers": [container], **spec}
    return {"metadata": metadata, "spec": whole, "status": {"phase": phase}}


def guest_pod(name: str, node: str, test: str = "t", **options: t.Any) -> Given:
    found = pod(name, node, **options)
    found["metadata"]["labels"] = {"app.kubernetes.io/component": "ping", "app.kubernetes.io/name": test}
    return found


AGENT = {"name": "agent", "image": "ovn:2", "imagePullPolicy": "Never"}
CONTROLLER = {"containers": [{**AGENT, "name": "controller", "image": "ovn:1"}, AGENT]}
SWITCHES = [pod("ovs-b", "b", of="ovs-"), pod("ovs-a", "a", of="ovs-"), pod("ovs-c", "c", of="ovs-", deleted=True)]
PODS = [*SWITCHES, pod("c-a", "a", of="controller-", **CONTROLLER), guest_pod("t-a", "a")]


@pytest.mark.parametrize(
    ("place", "mac", "ip"),
    [
        (0, "02:c5:c3:00:00:01", "198.18.0.1"),
        (254, "02:c5:c3:00:00:ff", "198.18.0.255"),
        (255, "02:c5:c3:00:01:00", "198.18.1.0"),
    ],
)
def test_the_guest_of_a_machine(place: int, mac: str, ip: str) -> None:
    hosts = [*(f"x{number}" for number in range(place)), "h2", "last"]
    assert desired_state({**MACHINE, "hosts": hosts})["guests"] == [
        {
            "port": {"name": "t-h2", "mac": mac, "ip": ip},
            "address": f"{ip}/16",
            "target": {"name": "h2", "address": ip, "chassis": "id2"},
        }
    ]


@pytest.mark.parametrize("version", [6, "6"])
def test_a_guest_with_ipv6(version: t.Any) -> None:
    (guest,) = desired_state({**MACHINE, "ip_version": version})["guests"]
    assert guest["address"] == f"{guest['port']['ip']}/48"
    assert ipaddress.ip_address(guest["target"]["address"]) in ipaddress.ip_network("2001:2::/48")


def test_without_a_system_id_the_name_counts() -> None:
    assert desired_state({**MACHINE, "system_id": ""})["guests"][0]["target"]["chassis"] == "h2"


def test_the_guests_of_nodes() -> None:
    chassis = {"resources": [{"metadata": {"name": "a"}, "spec": {"systemId": "id-a"}}]}
    found = desired_state({**CLUSTER, "pods": {"resources": PODS}, "chassis": chassis})
    assert found["nodes"] == ["a", "b"]
    assert found["guests"] == [
        {
            "cluster": "h2",
            "pod": f"t-{node}",
            "via": f"h2/{node}",
            "port": {"name": f"t-h2-{node}", "mac": f"02:c5:c3:00:81:0{number}", "ip": f"198.18.129.{number}"},
            "address": f"198.18.129.{number}/16",
            "target": {"name": node, "address": f"198.18.129.{number}", "chassis": chassis_name},
        }
        for number, node, chassis_name in ((1, "a", "id-a"), (2, "b", "b"))
    ]
    assert found["pod"] == {
        "image": "ovn:2",
        "pull_policy": "Never",
        "pull_secrets": [],
        "sockets": "/run/x",
        "seconds": 3600,
    }


@pytest.mark.parametrize(("nodes", "names"), [(0, ["a", "b"]), ("1", ["a"]), (5, ["a", "b"])])
def test_on_how_many_nodes(nodes: t.Any, names: list[str]) -> None:
    found = desired_state({**CLUSTER, "nodes": nodes, "pods": {"resources": PODS}, "chassis": None})
    assert [guest["target"]["name"] for guest in found["guests"]] == names


def test_hypervisors_without_an_agent() -> None:
    found = desired_state({**CLUSTER, "pods": {"resources": SWITCHES}})
    assert (found["pod"]["image"], found["pod"]["pull_policy"]) == ("ovs:1", "Always")
    private = pod("ovs-a", "a", of="ovs-", imagePullSecrets=[{"name": "theirs"}])
    found = desired_state({**CLUSTER, "pods": {"resources": [private]}})
    assert found["pod"]["pull_secrets"] == [{"name": "theirs"}]


def controller(node: str, phase: str = "Running", **spec: t.Any) -> Given:
    """As a DaemonSet of the collection makes it."""
    raw = {"imagePullSecrets": [{"name": "theirs"}], "ovnImage": {"repository": "ovn", "tag": "1"}, **spec}
    template = controller_pod(parse_spec(raw, name="ovn", namespace="ovn"), None)
    return pod(f"ovn-controller-{node}", node, of="ovn-controller-", phase=phase, **template)


def test_where_open_vswitch_belongs_to_the_nodes() -> None:
    """Only ovn-controller has pods there, and its sockets are those of the node."""
    host: Given = {"ovs": {"mode": "host"}}
    pods = [controller("b", **host), controller("a", **host), controller("c", "Pending", **host), guest_pod("t-a", "a")]
    found = desired_state({**CLUSTER, "pods": {"resources": pods}})
    assert (found["nodes"], [guest["pod"] for guest in found["guests"]]) == (["a", "b"], ["t-a", "t-b"])
    assert found["pod"] == {
        "image": "ovn:1",
        "pull_policy": "IfNotPresent",
        "pull_secrets": [{"name": "theirs"}],
        "sockets": "/run/openvswitch",
        "seconds": 3600,
    }


@pytest.mark.parametrize(
    "pods",
    [
        pytest.param([], id="no pods"),
        pytest.param([controller("a")], id="ovn-controller waits for our Open vSwitch"),
        pytest.param([pod("ovs-a", "a", of="ovs-", phase="Pending"), controller("a")], id="ours does not run yet"),
    ],
)
def test_no_hypervisor_runs(pods: list[Given]) -> None:
    found = desired_state({**CLUSTER, "pods": {"resources": pods}})
    assert found == {"guests": [], "guests_to_create": [], "nodes": [], "pod": {}, "pods_to_delete": []}


def test_a_removal_takes_whatever_is_there() -> None:
    """The hypervisor may have left its group, and Open vSwitch the nodes."""
    pods = [
        guest_pod("t-a", "a"),
        guest_pod("u-a", "a", "u"),
        guest_pod("t-d", "d"),
        guest_pod("t-e", "e", deleted=True),
    ]
    given = {key: value for key, value in CLUSTER.items() if key != "hosts"}
    assert desired_state({**given, "state": "absent", "pods": {"resources": [*SWITCHES, *pods]}})["guests"] == [
        {"cluster": "h2", "pod": f"t-{node}", "via": f"h2/{node}", "target": {"name": node}} for node in ("a", "d")
    ]


STOPPED = [guest_pod("t-a", "a", phase="Running"), guest_pod("t-b", "b", phase="Failed")]
STOPPED += [guest_pod("u-b", "b", "u", phase="Failed"), guest_pod("t-d", "d", phase="Succeeded")]


@pytest.mark.parametrize(
    ("state", "guests", "created", "deleted"),
    [
        pytest.param("present", ["t-a", "t-b"], ["t-a", "t-b"], ["t-b"], id="a ping"),
        # Nobody can unplug a guest where there is no Open vSwitch any more: its pod is deleted with the others.
        pytest.param("absent", ["t-a", "t-b"], ["t-b"], ["t-b"], id="a removal"),
    ],
)
def test_guests_that_do_not_run_are_recreated(
    state: str, guests: list[str], created: list[str], deleted: list[str]
) -> None:
    found = desired_state({**CLUSTER, "state": state, "pods": {"resources": [*SWITCHES, *STOPPED]}})
    assert [guest["pod"] for guest in found["guests"]] == guests
    assert [guest["pod"] for guest in found["guests_to_create"]] == created
    assert found["pods_to_delete"] == [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "ovn"}} for name in deleted
    ]


def test_a_guest_that_waits_for_its_image_is_recreated() -> None:
    waiting = guest_pod("t-b", "b", phase="Pending")
    found = desired_state({**CLUSTER, "pods": {"resources": [*SWITCHES, waiting]}})
    assert [one["metadata"]["name"] for one in found["pods_to_delete"]] == ["t-b"]


HOSTS: dict[str, Given] = {"db1": {}, "k": {"ovn_backend": "kubernetes"}, "h2": {}}
GUESTS: list[Given] = [{"via": "k/a", "target": {"name": "a"}, "pod": "t-a"}, {"target": {"name": "b"}, "pod": "t-b"}]


FILES = {
    "private_key": "/etc/ovn/tls/central-key.pem",
    "certificate": "/etc/ovn/tls/central-cert.pem",
    "ca_certificate": "/etc/ovn/tls/ca.pem",
}


def test_a_machine_writes_through_its_socket() -> None:
    for given in ({"host": "h2", "central_hosts": ["db1"]}, {"host": "h2"}):
        writer = "db1" if given.get("central_hosts") else "h2"
        assert choose_writer(HOSTS, given) == {
            "place": "host",
            "writer": writer,
            "become": True,
            "northbound": ["unix:/run/ovn/ovnnb_db.sock"],
            "client": "ovsdbapp" if writer == "db1" else "json_rpc",
            "problem": "",
            **FILES,
        }


def test_the_socket_of_another_distribution() -> None:
    hosts = {**HOSTS, "db1": {"ovn_central_distribution": {"run_directory": "/var/run/openvswitch"}}}
    found = choose_writer(hosts, {"host": "h2", "central_hosts": ["db1"]})
    assert found["northbound"] == ["unix:/run/openvswitch/ovnnb_db.sock"]


@pytest.mark.parametrize("host", ["h2", "k"])
def test_a_cluster_is_written_in_its_own_pods(host: str) -> None:
    """Whether the hypervisor is a machine or a cluster: neither has a key that opens the Northbound database."""
    found = choose_writer(HOSTS, {"host": host, "central_hosts": ["k"], "northbound_endpoints": []})
    assert found == {"place": "kubernetes", "writer": "k", "problem": ""}


def test_endpoints_and_files_of_the_user_count() -> None:
    own = {"northbound_endpoints": ["ssl:c:1"], "private_key": "/k", "certificate": "", "ca_certificate": ""}
    found = choose_writer(HOSTS, {"host": "h2", "central_hosts": ["k"], **own})
    assert (found["place"], found["writer"], found["client"]) == ("host", "k", "json_rpc")
    assert (found["become"], found["northbound"], found["private_key"]) == (False, ["ssl:c:1"], "/k")
    assert found["certificate"] is None
    named = choose_writer(HOSTS, {"host": "h2", "central_hosts": ["k"], **own, "central_host": "db1"})
    assert (named["writer"], named["become"]) == ("db1", True)


def test_a_cluster_of_hypervisors_alone_has_no_writer() -> None:
    assert "the group ovn_central is empty" in choose_writer(HOSTS, {"host": "k"})["problem"]
    assert choose_writer(HOSTS, {"host": "k", "central_host": "k"})["problem"] == ""


FAILED = {"failed": True, "module_stderr": "Error\n  from server", "msg": "MODULE FAILURE"}


@pytest.mark.parametrize(
    ("result", "left", "answers"),
    [
        pytest.param({"results": [{"item": GUESTS[0]}, {"item": GUESTS[1]}]}, [], True, id="all answer"),
        pytest.param(
            {"results": [{"item": GUESTS[0], **FAILED}, {"item": GUESTS[1]}]},
            [{"name": "a", "pod": "t-a", "why": "Error from server"}],
            True,
            id="one does not",
        ),
        pytest.param(
            {"results": [{"item": guest, "unreachable": True, "module_stderr": "", "msg": "away"} for guest in GUESTS]},
            [{"name": name, "pod": f"t-{name}", "why": "away"} for name in "ab"],
            False,
            id="none does",
        ),
    ],
)
def test_who_was_not_unplugged(result: Given, left: list[Given], answers: bool) -> None:
    assert judge_unplugged(result, GUESTS) == {"left": left, "answers": answers}


def test_a_machine_that_was_not_unplugged() -> None:
    guest = {"target": {"name": "h2"}}
    found = judge_unplugged({"unreachable": True, "msg": "away"}, [guest])
    assert found == {"left": [{"name": "h2", "pod": "", "why": "away"}], "answers": False}
    assert judge_unplugged({"changed": True}, [guest])["left"] == []


@pytest.mark.parametrize(
    ("facts", "remover"),
    [
        ({}, ""),
        ({"b": False}, "b"),
        ({"a": False, "b": True, "c": True}, "b"),
        ({"a": False, "b": False}, "a"),
    ],
)
def test_who_removes_the_switch(facts: dict[str, bool], remover: str) -> None:
    hostvars: dict[str, Given] = {host: {} for host in "abc"}
    hostvars |= {host: {"ovn_ping_left": [], "ovn_ping_answers": answers} for host, answers in facts.items()}
    assert choose_remover(hostvars, "abca") == remover


def test_what_remains() -> None:
    left = [{"name": "a", "pod": "t-a", "why": "no answer"}]
    pods = {"resources": [guest_pod("t-a", "a"), guest_pod("t-b", "b")]}

    def made(kind: str, name: str) -> Given:
        return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "ovn"}}

    assert judge_removal(left, {}, pods) == {
        "objects": [made("Pod", "t-b")],
        "remains": ["The guest of a: no answer"],
    }
    assert judge_removal([], {"unreachable": True, "msg": "not\nthere"}, None) == {
        "objects": [],
        "remains": ["The logical switch: not there"],
    }
    assert judge_removal([], {"changed": True}, pods) == {
        "objects": [made("Pod", "t-a"), made("Pod", "t-b"), made("ServiceAccount", "t")],
        "remains": [],
    }


def test_what_all_hosts_have() -> None:
    hostvars: dict[str, Given] = {
        "k": {"ovn_ping_guests": [1, 2], "ovn_ping_result": {"results": [{"report": ["c"]}, {"skipped": True}]}},
        "m": {"ovn_ping_guests": [3], "ovn_ping_result": {"report": ["a", "b"]}},
        "none": {},
    }
    assert collect(hostvars, ["k", "m", "none"]) == {"guests": [1, 2, 3], "report": ["a", "b", "c"]}


def test_a_host_outside_of_the_group_is_named() -> None:
    with pytest.raises(InvalidInput, match="h2 is not in the group ovn_hypervisors"):
        desired_state({**MACHINE, "hosts": []})


RACK: Given = {"ovn_backend": "kubernetes"}


@pytest.mark.parametrize(
    ("hosts", "options", "problem"),
    [
        pytest.param({"a": {}, "b": {}}, {}, "", id="two machines"),
        pytest.param({"k": RACK}, {}, "", id="a cluster has nodes"),
        pytest.param({"k": RACK}, {"nodes": "0"}, "", id="all nodes of a cluster"),
        pytest.param({"a": {}, "k": RACK}, {"nodes": 1}, "", id="a machine and a node"),
        pytest.param({"a": {}}, {"state": "absent"}, "", id="a removal"),
        pytest.param(
            {"a": {}}, {}, "needs two guests, and there is only one: ovn_ping_hosts (p) is a alone.", id="one machine"
        ),
        pytest.param({"a": {}}, {"limit": "a"}, "is a alone within --limit 'a'.", id="one machine is left"),
        pytest.param({"k": RACK}, {"nodes": 1}, "is k alone.", id="one node"),
        pytest.param({}, {}, "has no hosts: ovn_ping_hosts (p) matches none.", id="no hosts"),
        pytest.param(
            {}, {"state": "absent", "limit": "c"}, "matches none within --limit 'c'.", id="no hosts to remove from"
        ),
    ],
)
def test_between_which_hosts_there_is_no_ping(hosts: dict[str, Given], options: dict[str, t.Any], problem: str) -> None:
    found = hosts_problem(list(hosts), hosts, "p", **options)
    assert problem in found
    assert bool(found) == bool(problem)
