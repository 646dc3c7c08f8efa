"""The options of the role ovn_ping to guests, and what is left of them."""

from __future__ import annotations

import contextlib
import dataclasses
import ipaddress
import re
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput, Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._manifests.hypervisor_pods import controller_pod
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.ping import (
    HostsOptions,
    NetworkWriter,
    PingOptions,
    check_guests,
    check_hosts,
    choose_remover,
    choose_writer,
    desired_state,
    guests_left,
    judge_removal,
    play_guests,
    report_lines,
)

Given = dict[str, t.Any]
GROUP = ("h1", "h2")
OPTIONS = PingOptions(
    backend="host",
    state="tested",
    count=5,
    ip_version=4,
    mtu=1400,
    max_loss=0,
    wait_timeout=30,
    nodes=2,
    namespace="ovn",
    system_id="id2",
    northbound_endpoints=None,
)


def on_machine(*, group: t.Sequence[str] = GROUP, **options: t.Any) -> Given:
    return desired_state(dataclasses.replace(OPTIONS, **options), "h2", {"ovn_hypervisors": group})


def in_cluster(
    pods: list[Given], chassis: t.Sequence[Given] = (), *, group: t.Sequence[str] = GROUP, **options: t.Any
) -> Given:
    options = {"backend": "kubernetes", **options}
    return desired_state(dataclasses.replace(OPTIONS, **options), "h2", {"ovn_hypervisors": group}, pods, chassis)


def images(plan: Given) -> Given:
    """What the pods of guests have in common with those of the hypervisors."""
    spec = plan["objects"][1]["spec"]
    (container,) = spec["containers"]
    return {
        "image": container["image"],
        "pull_policy": container["imagePullPolicy"],
        "pull_secrets": spec["imagePullSecrets"],
        "sockets": spec["volumes"][2]["hostPath"]["path"],
        "seconds": spec["activeDeadlineSeconds"],
    }


def created(plan: Given) -> list[str]:
    return [one["metadata"]["name"] for one in plan["objects"] if one["kind"] == "Pod"]


def pod(name: str, node: str, *, of: str = "", deleted: bool = False, phase: str = "Running", **spec: t.Any) -> Given:
    """`of`: the owner's prefix of generated names."""
    metadata: Given = {"name": name, "namespace": "ovn", "labels": {}}
    metadata |= {"generateName": of} if of else {}
    metadata |= {"deletionTimestamp": "2026-01-01T12:00:00Z"} if deleted else {}
    sockets = {"name": "sockets", "hostPath": {"path": "/run/x"}}
    container = {"name": "main", "image": "ovs:1", "imagePullPolicy": "Always"}
    whole = {"nodeName": node, "volumes": [sockets], "containers": [container], **spec}
    return {"metadata": metadata, "spec": whole, "status": {"phase": phase}}


def guest_pod(name: str, node: str, test: str = "c5c3-ping", **options: t.Any) -> Given:
    found = pod(name, node, **options)
    found["metadata"]["labels"] = {"app.kubernetes.io/component": "ping", "app.kubernetes.io/name": test}
    return found


AGENT = {"name": "agent", "image": "ovn:2", "imagePullPolicy": "Never"}
CONTROLLER = {"containers": [{**AGENT, "name": "controller", "image": "ovn:1"}, AGENT]}
SWITCHES = [pod("ovs-b", "b", of="ovs-"), pod("ovs-a", "a", of="ovs-"), pod("ovs-c", "c", of="ovs-", deleted=True)]
PODS = [*SWITCHES, pod("c-a", "a", of="controller-", **CONTROLLER), guest_pod("c5c3-ping-a", "a")]


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
    assert on_machine(group=hosts)["guests"] == [
        {
            "port": {"name": "c5c3-ping-h2", "mac": mac, "ip": ip},
            "address": f"{ip}/16",
            "target": {"name": "h2", "address": ip, "chassis": "id2"},
        }
    ]


def test_a_guest_with_ipv6() -> None:
    (guest,) = on_machine(ip_version=6)["guests"]
    assert guest["address"] == f"{guest['port']['ip']}/48"
    assert ipaddress.ip_address(guest["target"]["address"]) in ipaddress.ip_network("2001:2::/48")


def test_without_a_system_id_the_name_counts() -> None:
    assert on_machine(system_id=None)["guests"][0]["target"]["chassis"] == "h2"


def test_the_guests_of_nodes() -> None:
    found = in_cluster(PODS, [{"metadata": {"name": "a"}, "spec": {"systemId": "id-a"}}])
    assert found["guests"] == [
        {
            "pod": f"c5c3-ping-{node}",
            "via": f"h2/{node}",
            "port": {"name": f"c5c3-ping-h2-{node}", "mac": f"02:c5:c3:00:81:0{number}", "ip": f"198.18.129.{number}"},
            "address": f"198.18.129.{number}/16",
            "target": {"name": node, "address": f"198.18.129.{number}", "chassis": chassis_name},
        }
        for number, node, chassis_name in ((1, "a", "id-a"), (2, "b", "b"))
    ]
    assert images(found) == {
        "image": "ovn:2",
        "pull_policy": "Never",
        "pull_secrets": [],
        "sockets": "/run/x",
        "seconds": 3600,
    }


@pytest.mark.parametrize(("nodes", "names"), [(0, ["a", "b"]), (1, ["a"]), (5, ["a", "b"])])
def test_on_how_many_nodes(nodes: int, names: list[str]) -> None:
    found = in_cluster(PODS, nodes=nodes)
    assert [guest["target"]["name"] for guest in found["guests"]] == names


def test_hypervisors_without_an_agent() -> None:
    found = images(in_cluster(SWITCHES))
    assert (found["image"], found["pull_policy"]) == ("ovs:1", "Always")
    private = pod("ovs-a", "a", of="ovs-", imagePullSecrets=[{"name": "theirs"}])
    assert images(in_cluster([private]))["pull_secrets"] == [{"name": "theirs"}]


def controller(node: str, phase: str = "Running", **spec: t.Any) -> Given:
    """As a DaemonSet of the collection makes it."""
    raw = {"imagePullSecrets": [{"name": "theirs"}], "ovnImage": {"repository": "ovn", "tag": "1"}, **spec}
    template = controller_pod(parse_spec(raw, name="ovn", namespace="ovn"), None)
    return pod(f"ovn-controller-{node}", node, of="ovn-controller-", phase=phase, **template)


def test_where_open_vswitch_belongs_to_the_nodes() -> None:
    """Only ovn-controller has pods there, and its sockets are those of the node."""
    host: Given = {"ovs": {"mode": "host"}}
    pods = [
        controller("b", **host),
        controller("a", **host),
        controller("c", "Pending", **host),
        guest_pod("c5c3-ping-a", "a"),
    ]
    found = in_cluster(pods)
    assert [guest["pod"] for guest in found["guests"]] == created(found) == ["c5c3-ping-a", "c5c3-ping-b"]
    assert images(found) == {
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
    with pytest.raises(Refused, match=r"No hypervisor runs in namespace ovn of h2: .* or set ovn_namespace"):
        in_cluster(pods)
    assert in_cluster(pods, state="absent") == {"guests": [], "objects": [], "pods_to_delete": []}


def test_a_removal_takes_whatever_is_there() -> None:
    """The hypervisor may have left its group, and Open vSwitch the nodes."""
    pods = [
        guest_pod("c5c3-ping-a", "a"),
        guest_pod("u-a", "a", "u"),
        guest_pod("c5c3-ping-d", "d"),
        guest_pod("c5c3-ping-e", "e", deleted=True),
    ]
    assert in_cluster([*SWITCHES, *pods], group=[], state="absent")["guests"] == [
        {"pod": f"c5c3-ping-{node}", "via": f"h2/{node}", "target": {"name": node}} for node in ("a", "d")
    ]


STOPPED = [guest_pod("c5c3-ping-a", "a", phase="Running"), guest_pod("c5c3-ping-b", "b", phase="Failed")]
STOPPED += [guest_pod("u-b", "b", "u", phase="Failed"), guest_pod("c5c3-ping-d", "d", phase="Succeeded")]


@pytest.mark.parametrize(
    ("state", "guests", "missing", "deleted"),
    [
        pytest.param(
            "tested", ["c5c3-ping-a", "c5c3-ping-b"], ["c5c3-ping-a", "c5c3-ping-b"], ["c5c3-ping-b"], id="a ping"
        ),
        # Nobody can unplug a guest where there is no Open vSwitch any more: its pod is deleted with the others.
        pytest.param("absent", ["c5c3-ping-a", "c5c3-ping-b"], ["c5c3-ping-b"], ["c5c3-ping-b"], id="a removal"),
    ],
)
def test_guests_that_do_not_run_are_recreated(
    state: str, guests: list[str], missing: list[str], deleted: list[str]
) -> None:
    found = in_cluster([*SWITCHES, *STOPPED], state=state)
    assert [guest["pod"] for guest in found["guests"]] == guests
    assert created(found) == missing
    assert found["pods_to_delete"] == [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "ovn"}} for name in deleted
    ]


def test_a_guest_that_waits_for_its_image_is_recreated() -> None:
    waiting = guest_pod("c5c3-ping-b", "b", phase="Pending")
    found = in_cluster([*SWITCHES, waiting])
    assert [one["metadata"]["name"] for one in found["pods_to_delete"]] == ["c5c3-ping-b"]


HOSTS: dict[str, Given] = {"db1": {}, "k": {"ovn_backend": "kubernetes", "ovn_kubeconfig": "/k"}, "h2": {}}
GUESTS: list[Given] = [
    {"via": "k/a", "target": {"name": "a"}, "pod": "c5c3-ping-a"},
    {"target": {"name": "b"}, "pod": "c5c3-ping-b"},
]


def writer_of(
    *central: str, host: str = "h2", hosts: dict[str, Given] | None = None, endpoints: t.Any = None
) -> NetworkWriter:
    return choose_writer(hosts or HOSTS, {"ovn_central": central}, host, endpoints)


FILES = {
    "private_key": "/etc/ovn/tls/central-key.pem",
    "certificate": "/etc/ovn/tls/central-cert.pem",
    "ca_certificate": "/etc/ovn/tls/ca.pem",
}


@pytest.mark.parametrize("central", [["db1"], []])
def test_a_machine_writes_through_its_socket(central: list[str]) -> None:
    arguments = {
        "northbound": ["unix:/run/ovn/ovnnb_db.sock"],
        "client": "ovsdbapp" if central else "json_rpc",
        **FILES,
    }
    assert writer_of(*central) == NetworkWriter("db1" if central else "h2", True, arguments)


def test_the_socket_of_another_distribution() -> None:
    hosts = {**HOSTS, "db1": {"ovn_central_distribution": {"run_directory": "/var/run/openvswitch"}}}
    assert writer_of("db1", hosts=hosts).arguments["northbound"] == ["unix:/run/openvswitch/ovnnb_db.sock"]


@pytest.mark.parametrize("host", ["h2", "k"])
@pytest.mark.parametrize("endpoints", [None, ["ssl:c:1"]])
def test_a_cluster_is_written_in_its_own_pods(host: str, endpoints: t.Any) -> None:
    """Whether the hypervisor is a machine or a cluster: neither has a key that opens the Northbound database."""
    arguments = {"namespace": "ovn-system", "cluster": "ovn", "kubeconfig": "/k", "context": None}
    assert writer_of("k", host=host, endpoints=endpoints) == NetworkWriter("localhost", False, arguments)


def test_endpoints_count_without_central_hosts() -> None:
    assert writer_of("db1", endpoints=["ssl:c:1"]).arguments["northbound"] == ["unix:/run/ovn/ovnnb_db.sock"]
    found = writer_of(endpoints=["ssl:c:1"])
    assert (found.host, found.become, found.arguments) == (
        "h2",
        True,
        {"northbound": ["ssl:c:1"], "client": "json_rpc", **FILES},
    )


def test_files_of_the_user_count() -> None:
    hosts = {**HOSTS, "k": {"ovn_backend": "kubernetes", "ovn_central_private_key": "/own"}}
    found = writer_of(host="k", hosts=hosts, endpoints=["ssl:c:1"])
    assert (found.host, found.become, found.arguments["client"]) == ("k", False, "json_rpc")
    assert (found.arguments["private_key"], found.arguments["certificate"]) == ("/own", None)


def test_a_cluster_of_hypervisors_alone_has_no_writer() -> None:
    with pytest.raises(Refused, match="the group ovn_central is empty"):
        writer_of(host="k")


FAILED = {"failed": True, "module_stderr": "Error\n  from server", "msg": "MODULE FAILURE"}


@pytest.mark.parametrize(
    ("result", "left"),
    [
        pytest.param({"results": [{"item": GUESTS[0]}, {"item": GUESTS[1]}]}, [], id="all answer"),
        pytest.param(
            {"results": [{"item": GUESTS[0], **FAILED}, {"item": GUESTS[1]}]},
            [{"name": "a", "pod": "c5c3-ping-a", "why": "Error from server"}],
            id="one does not",
        ),
        pytest.param(
            {"results": [{"item": guest, "unreachable": True, "module_stderr": "", "msg": "away"} for guest in GUESTS]},
            [{"name": name, "pod": f"c5c3-ping-{name}", "why": "away"} for name in "ab"],
            id="none does",
        ),
        pytest.param(
            {"results": [{"item": {"target": {"name": "h2"}}, "unreachable": True, "msg": "away"}]},
            [{"name": "h2", "pod": "", "why": "away"}],
            id="a machine does not",
        ),
    ],
)
def test_who_was_not_unplugged(result: Given, left: list[Given]) -> None:
    assert guests_left(result) == left


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
    """A host that has skipped the removal takes no part in it."""
    hostvars: dict[str, Given] = {host: {"ovn_ping_unplugged": {"skipped": True}} for host in "abc"}
    for host, answers in facts.items():
        results = [{"item": GUESTS[0], "failed": not answers}]
        hostvars[host]["ovn_ping_unplugged"] = {"results": results}
    assert choose_remover(hostvars, "abca") == remover


def test_what_remains() -> None:
    left = [{"name": "a", "pod": "c5c3-ping-a", "why": "no answer"}]
    pods = [guest_pod("c5c3-ping-a", "a"), guest_pod("c5c3-ping-b", "b")]

    def made(kind: str, name: str) -> Given:
        return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "ovn"}}

    assert judge_removal(left, {}, pods) == {
        "objects": [made("Pod", "c5c3-ping-b")],
        "remains": ["The guest of a: no answer"],
    }
    assert judge_removal([], {"unreachable": True, "msg": "not\nthere"}, []) == {
        "objects": [],
        "remains": ["The logical switch: not there"],
    }
    assert judge_removal([], {"changed": True}, pods) == {
        "objects": [made("Pod", "c5c3-ping-a"), made("Pod", "c5c3-ping-b"), made("ServiceAccount", "c5c3-ping")],
        "remains": [],
    }


def test_guests_and_reports_of_all_hosts() -> None:
    hostvars: dict[str, Given] = {
        "k": {
            "ovn_ping_plan": {"guests": GUESTS},
            "ovn_ping_result": {"results": [{"report": ["c"]}, {"skipped": True}]},
        },
        "m": {"ovn_ping_plan": {"guests": [GUESTS[0]]}, "ovn_ping_result": {"results": [{"report": ["a", "b"]}]}},
        "failed": {"ovn_ping_plan": {"failed": True}},
        "none": {},
    }
    assert play_guests(hostvars, hostvars) == [*GUESTS, GUESTS[0]]
    assert report_lines(hostvars, hostvars) == ["c", "a", "b"]


def test_single_guest_is_refused() -> None:
    check_guests(GUESTS, 2)
    with pytest.raises(Refused, match=r"needs two guests, and this run has 1 \(a\)\. .* raise ovn_ping_nodes \(1\)"):
        check_guests(GUESTS[:1], 1)
    with pytest.raises(Refused, match=r"this run has 0 \(none\)"):
        check_guests([], 2)


def test_a_host_outside_of_the_group_is_named() -> None:
    with pytest.raises(InvalidInput, match="h2 is not in the group ovn_hypervisors"):
        on_machine(group=[])


RACK: Given = {"ovn_backend": "kubernetes"}


@pytest.mark.parametrize(
    ("hosts", "options", "problem"),
    [
        pytest.param({"a": {}, "b": {}}, {}, "", id="two machines"),
        pytest.param({"k": RACK}, {}, "", id="a cluster has nodes"),
        pytest.param({"k": RACK}, {"nodes": 0}, "", id="all nodes of a cluster"),
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
    given = HostsOptions("p", options.get("state", "tested"), options.get("nodes", 2))
    expected = pytest.raises(Refused, match=re.escape(problem)) if problem else contextlib.nullcontext()
    with expected:
        check_hosts(list(hosts), hosts, given, limit=options.get("limit", ""))
