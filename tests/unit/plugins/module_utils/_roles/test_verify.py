"""How an installation is asked: on machines, in Kubernetes, with and without TLS."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._roles import verify
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.verify import CallLimits, MemberOptions, limits_of

Vars = dict[str, t.Any]
WRITABLE, READ_ONLY = {"writable": True}, {"writable": False}
FILES = {"private_key": "/k", "certificate": "/c", "ca_certificate": "/a"}
OWN_FILES: Vars = {f"ovn_central_{option}": file for option, file in FILES.items()}
DEFAULT_FILES = {
    "private_key": "/etc/ovn/tls/central-key.pem",
    "certificate": "/etc/ovn/tls/central-cert.pem",
    "ca_certificate": "/etc/ovn/tls/ca.pem",
}
OPTIONS: Vars = {"ovn_verify_central": ["c1", "c2"]}


def desired_state(hosts: dict[str, Vars], host: str = "localhost", **options: t.Any) -> Vars:
    return verify.desired_state({**OPTIONS, **options}, {"localhost": {}, **hosts}, host)


def machines(**hosts: Vars) -> dict[str, Vars]:
    return {"c1": {"ovn_address": "192.0.2.1"}, "c2": {}, **hosts}


def plane(**endpoints: str) -> dict[str, Vars]:
    cluster = {"endpoints": endpoints, "tls_secret": "found"}
    return {"plane": {"ovn_backend": "kubernetes", "ovn_kubeconfig": "/kube", "ovn_verify_cluster": cluster}}


INSIDE = {"southbound_unrestricted": "ssl:inside:16642", "southbound_unrestricted_inside": "ssl:inside:16642"}
EXPOSED = {"northbound": "ssl:n:1,ssl:n:2", "southbound": "ssl:s:1", "southbound_inside": "ssl:inside:1"}


def test_endpoints_of_machines() -> None:
    found = desired_state(machines())
    assert found["northbound_endpoints"] == ["ssl:192.0.2.1:6641", "ssl:c2:6641"]
    assert found["southbound_endpoints"] == ["ssl:192.0.2.1:16642", "ssl:c2:16642"]
    assert (found["cluster"], found["ports"]) == ("", [])


def test_own_endpoints_and_files() -> None:
    found = desired_state(machines(), "c1")
    assert found["own_endpoints"] == ["ssl:192.0.2.1:6641", "ssl:192.0.2.1:6642", "ssl:192.0.2.1:16642"]
    found = desired_state(machines(), "c1", ovn_tls="no")
    assert found["own_endpoints"][0] == "tcp:192.0.2.1:6641"
    assert found["files"] == {}


@pytest.mark.parametrize(
    ("host", "c1", "expected"),
    [
        pytest.param("c1", OWN_FILES, FILES, id="named by the inventory"),
        pytest.param("c2", OWN_FILES, DEFAULT_FILES, id="of another host"),
        pytest.param("localhost", OWN_FILES, DEFAULT_FILES, id="nobody to ask from"),
        pytest.param("localhost", {**OWN_FILES, "ovn_verify_info": {"northd": {}}}, FILES, id="asked from"),
    ],
)
def test_files_are_those_of_the_central_host_that_connects(host: str, c1: Vars, expected: Vars) -> None:
    assert desired_state(machines(c1=c1), host)["files"] == expected


@pytest.mark.parametrize(
    ("here", "central", "expected"),
    [
        pytest.param({}, {}, True, id="by default"),
        pytest.param({}, {"ovn_tls": False}, False, id="group of central hosts"),
        pytest.param({"ovn_tls": ""}, {"ovn_tls": "no"}, False, id="empty text is absent"),
        pytest.param({"ovn_tls": "yes"}, {"ovn_tls": False}, True, id="own value counts more"),
        pytest.param({"ovn_tls": False}, {}, False, id="all hosts"),
    ],
)
def test_localhost_has_tls_if_the_control_plane_has(here: Vars, central: Vars, expected: bool) -> None:
    assert verify.uses_tls(here, [{}, central]) is expected
    assert bool(desired_state(machines(c2=central), **here)["files"]) is expected


def test_sockets_of_another_distribution() -> None:
    """Those of the host that runs the task, and of the one that sends the heartbeat."""
    other = {"ovn_central_distribution": {"run_directory": "/var/run/openvswitch"}}
    found = desired_state(machines(c2={**other, **answered(WRITABLE, WRITABLE)}), "c1")
    assert (found["run_directory"], found["asked_from"]) == ("/run/ovn", "c2")
    assert found["sockets"] == {
        "northbound": ["unix:/run/openvswitch/ovnnb_db.sock"],
        "southbound": ["unix:/run/openvswitch/ovnsb_db.sock"],
    }
    assert desired_state(machines(), "c2", **other)["run_directory"] == "/run/openvswitch"
    assert desired_state(machines())["sockets"] == {"northbound": [], "southbound": []}


class Undefined(dict[str, t.Any]):
    """Variables of a host whose address is a template of what it does not have, as `ovn_address: "{{ ansible_host }}"` on localhost."""

    def get(self, name: str, default: t.Any = None) -> t.Any:
        if name == "ovn_address":
            raise AssertionError("the address of localhost was asked for")
        return super().get(name, default)


def test_localhost_needs_no_address() -> None:
    assert desired_state({**machines(), "localhost": Undefined()})["own_endpoints"] == []


@pytest.mark.parametrize("value", [["ssl:x:1", "ssl:y:1"], "ssl:x:1,ssl:y:1"])
@pytest.mark.parametrize("hosts", [machines(), plane(**EXPOSED)], ids=["machines", "Kubernetes"])
def test_declared_endpoints_count(hosts: dict[str, Vars], value: t.Any) -> None:
    found = desired_state(hosts, ovn_verify_central=[*hosts], ovn_southbound_endpoints=value)
    assert found["southbound_endpoints"] == ["ssl:x:1", "ssl:y:1"]
    assert len(found["northbound_endpoints"]) == 2


def answered(northbound: Vars, southbound: Vars) -> Vars:
    """What a host registers whose northd gave any answer."""
    return {"ovn_verify_info": {"northd": {}, "raft": {"northbound": northbound, "southbound": southbound}}}


FAILED = {"failed": True, "msg": "x"}


@pytest.mark.parametrize(
    ("hosts", "expected"),
    [
        pytest.param(machines(), "", id="nobody answered"),
        pytest.param(machines(c2=answered(READ_ONLY, FAILED)), "c2", id="any that answered"),
        pytest.param(
            machines(c1=answered(WRITABLE, READ_ONLY), c2=answered(WRITABLE, WRITABLE)),
            "c2",
            id="whose members take part",
        ),
        pytest.param(machines(c1={"ovn_verify_info": {"unreachable": True, "msg": "x"}}), "", id="no answer"),
    ],
)
def test_asked_from(hosts: dict[str, Vars], expected: str) -> None:
    found = desired_state(hosts)
    assert found["asked_from"] == expected
    assert found["sends_heartbeat"] == bool(expected)
    assert found["heartbeat_problem"] == ("" if expected else "no central host could be asked")


def test_a_control_plane_in_kubernetes_with_ports_outside() -> None:
    found = desired_state(plane(**EXPOSED), "plane", ovn_verify_central=["plane"])
    assert (found["cluster"], found["tls_secret"]) == ("plane", "found")
    assert found["ports"] == ["ssl:n:1", "ssl:n:2", "ssl:s:1"]
    assert (found["exposed"], found["sends_heartbeat"], found["heartbeat_problem"]) == (True, False, "")


@pytest.mark.parametrize("unrestricted", [INSIDE, {**INSIDE, "southbound_unrestricted": "ssl:s:30001"}])
def test_neutron_gets_the_port_without_a_role_and_the_heartbeat_the_one_that_is_reached(unrestricted: Vars) -> None:
    found = desired_state(plane(**EXPOSED, **unrestricted), "plane", ovn_verify_central=["plane"])
    assert found["southbound_endpoints"] == ["ssl:s:1"]
    assert found["neutron_southbound_endpoints"] == [unrestricted["southbound_unrestricted"]]
    declared = {"ovn_southbound_endpoints": "ssl:a:1"}
    found = desired_state(plane(**EXPOSED, **unrestricted), "plane", ovn_verify_central=["plane"], **declared)
    assert found["southbound_endpoints"] == found["neutron_southbound_endpoints"] == ["ssl:a:1"]
    assert desired_state(machines())["neutron_southbound_endpoints"] == ["ssl:192.0.2.1:16642", "ssl:c2:16642"]


@pytest.mark.parametrize(
    "hosts",
    [
        pytest.param(plane(northbound="ssl:n:1", southbound="ssl:s:1", southbound_inside="ssl:s:1"), id="inside only"),
        pytest.param(plane(), id="no endpoints"),
        pytest.param({"plane": {"ovn_backend": "kubernetes"}}, id="not asked"),
    ],
)
def test_a_control_plane_that_the_control_node_does_not_reach(hosts: dict[str, Vars]) -> None:
    found = desired_state(hosts, ovn_verify_central=["plane"])
    assert (found["exposed"], found["ports"], found["sends_heartbeat"]) == (False, [], False)
    assert "reaches no database port of plane (" in found["heartbeat_problem"]


def test_secret_of_the_specification_is_used() -> None:
    spec = {"tls": {"certSecretRef": {"name": "a"}}}
    hosts = {"plane": {"ovn_backend": "kubernetes"}}
    assert desired_state(hosts, "plane", ovn_verify_central=["plane"], ovn_cluster_spec=spec)["tls_secret"] == "a"


FOREIGN: Vars = {"ovn_central_managed": False}
NAMED: Vars = {
    "ovn_northbound_endpoints": "ssl:n1:6641,ssl:n2:6641",
    "ovn_southbound_endpoints": ["ssl:192.0.2.1:7642"],
}


def test_the_ports_of_others() -> None:
    """They have one for the Southbound."""
    found = desired_state(machines(), "c1", **FOREIGN)
    assert found["southbound_endpoints"] == ["ssl:192.0.2.1:6642", "ssl:c2:6642"]
    assert found["own_endpoints"] == ["ssl:192.0.2.1:6641", "ssl:192.0.2.1:6642"]
    assert found["raft_endpoints"] == {name: found[f"{name}_endpoints"] for name in ("northbound", "southbound")}
    assert (found["members"], found["only_endpoints"]) == (None, False)
    found = desired_state(machines(), "c1")
    assert (found["members"], found["raft_endpoints"], found["only_endpoints"]) == (2, {}, False)


def test_named_ports_of_others() -> None:
    found = desired_state(machines(), "c1", **FOREIGN, **NAMED)
    assert found["own_endpoints"] == ["ssl:192.0.2.1:7642"]
    assert found["only_endpoints"] is False


@pytest.mark.parametrize("options", [FOREIGN, {}])
def test_from_the_control_node_others_are_known_by_their_endpoints(options: Vars) -> None:
    hosts: dict[str, Vars] = {"c1": {"ansible_connection": "local", **answered(WRITABLE, WRITABLE)}}
    found = desired_state(hosts, "c1", ovn_verify_central=["c1"], **NAMED, **options)
    assert found["only_endpoints"] is bool(options)
    assert bool(found["sockets"]["northbound"]) is not bool(options)
    if options:
        assert found["own_endpoints"] == ["ssl:n1:6641", "ssl:n2:6641", "ssl:192.0.2.1:7642"]


def recorded(value: bool) -> Vars:
    return {"ovn_verify_info": {"northd": {}, "raft": {}, "recorded": value}}


@pytest.mark.parametrize(
    ("hosts", "options", "expected"),
    [
        pytest.param({}, {}, "hv", id="nobody was asked"),
        pytest.param({"c1": recorded(True), "c2": recorded(False)}, {}, "hv", id="a record is enough"),
        pytest.param({"c1": recorded(False), "c2": {}}, {}, "none", id="no record at all"),
        pytest.param({"c1": recorded(True)}, FOREIGN, "none", id="of others"),
        pytest.param({"c1": recorded(False)}, {"ovn_verify_wait_for": "hv"}, "hv", id="no record, asked for"),
        pytest.param({}, {**FOREIGN, "ovn_verify_wait_for": "sb"}, "sb", id="of others, asked for"),
        pytest.param({}, {"ovn_verify_wait_for": "sb"}, "sb", id="as wanted"),
    ],
)
def test_who_gets_a_heartbeat(hosts: dict[str, Vars], options: Vars, expected: str) -> None:
    found = desired_state(machines(**hosts), **options)
    assert found["wait_for"] == expected


def limits(timeout: int, connection: float = 10, wait_for: str | None = None) -> CallLimits:
    return limits_of(MemberOptions(timeout, wait_for, True, "", "", "", ""), connection)


@pytest.mark.parametrize(
    ("found", "first", "again"),
    [
        pytest.param(limits(30), (7.5, 12.5, 12.5, 30), (7.5, 30, 60, 90), id="by default"),
        pytest.param(limits(30, wait_for="none"), (7.5, 0, 12.5, 30), (7.5, 0, 60, 90), id="nothing is awaited"),
        pytest.param(limits(40, 20), (10, 10, 10, 40), (10, 40, 80, 120), id="slow connections"),
        pytest.param(limits(4), (1, 1, 1, 4), (1, 4, 8, 12), id="never without any time"),
    ],
)
def test_limits(found: CallLimits, first: tuple[float, ...], again: tuple[float, ...]) -> None:
    assert found == (first, again)


def test_the_first_call_ends_before_its_host_counts_as_dead() -> None:
    for host in range(16, 200):
        first = limits(host).first
        assert 10 + first.answers + max(first.northd, first.contents) <= first.host


PAIR = {
    "private_key": "/etc/ovn/tls/chassis-key.pem",
    "certificate": "/etc/ovn/tls/chassis-cert.pem",
    "ca_certificate": "/etc/ovn/tls/ca.pem",
}
AS_DECLARED: Vars = {"ovn_hypervisor_check": {"certificate_due": False}}


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        pytest.param({}, [PAIR], id="by default"),
        pytest.param({"ovn_hypervisor_certificate": "/x"}, [{**PAIR, "certificate": "/x"}], id="another file"),
        pytest.param({**AS_DECLARED, "ovn_pki_declared": {"pairs": [PAIR]}}, [], id="compared earlier in the run"),
        pytest.param(AS_DECLARED, [PAIR], id="not declared by us"),
        pytest.param(
            {"ovn_hypervisor_check": {"certificate_due": True}, "ovn_pki_declared": {"pairs": [PAIR]}},
            [PAIR],
            id="it was to be replaced after that",
        ),
    ],
)
def test_certificate_of_a_chassis_is_read_once_in_a_run(variables: Vars, expected: list[dict[str, str]]) -> None:
    assert verify.chassis_pairs(variables) == expected


@pytest.mark.parametrize(
    ("variables", "directory"),
    [
        pytest.param({}, None, id="no agent of ours"),
        pytest.param({"ovn_metadata_agent_nova_host": "nova"}, "/etc/neutron", id="by default"),
        pytest.param(
            {"ovn_metadata_agent_nova_host": "nova", "ovn_metadata_agent_config_file": "/srv/a.ini"}, "/srv", id="file"
        ),
    ],
)
def test_certificate_of_a_metadata_agent(variables: Vars, directory: str | None) -> None:
    found = verify.metadata_agent_pair(variables, "hv1", {"ovn_gateways": ["gw1"]})
    assert [pair["certificate"] for pair in found] == (
        [f"{directory}/ovn-metadata-agent/chassis-cert.pem"] if directory else []
    )
    assert verify.metadata_agent_pair(variables, "gw1", {"ovn_gateways": ["gw1"]}) == []
