"""What the options of ovn_neutron mean."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest
from neutron_options import OPTIONS

from ansible_collections.c5c3.ovn.plugins.module_utils._base.databases import Database
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.neutron import (
    DesiredNeutron,
    desired_neutron,
    endpoint_problem,
    helm_problem,
    missing_files_problem,
    neutron_endpoints,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.neutron_proxy import unanswered_problem

ENDPOINTS: dict[Database, list[str]] = {
    "northbound": ["ssl:192.0.2.1:6641", "ssl:192.0.2.2:6641"],
    "southbound": ["ssl:192.0.2.1:16642", "ssl:192.0.2.2:16642"],
}
MACHINE: dict[str, t.Any] = {"backend": "host"}
CLUSTER: dict[str, t.Any] = {"backend": "kubernetes"}
HOSTS = {"db1": {"ovn_address": "192.0.2.1"}, "db2": {"ovn_address": "192.0.2.2"}}


def desired(
    given: t.Mapping[str, t.Any],
    endpoints: t.Mapping[Database, t.Sequence[str]] | None = None,
    answer: dict[str, t.Any] | None = None,
) -> DesiredNeutron:
    return desired_neutron("controller1", dataclasses.replace(OPTIONS, **given), endpoints or ENDPOINTS, answer)


def endpoints_of(
    hosts: dict[str, dict[str, t.Any]],
    central: list[str],
    given: t.Mapping[str, t.Any],
    answer: dict[str, t.Any] | None = None,
) -> dict[Database, list[str]]:
    return neutron_endpoints(hosts, {"ovn_central": central}, dataclasses.replace(OPTIONS, **given), answer)


def options_of(text: str, section: str) -> dict[str, str]:
    part = text.partition(f"[{section}]\n")[2].partition("\n\n")[0]
    return {name.strip(): value.strip() for name, _sign, value in (line.partition("=") for line in part.splitlines())}


def test_a_machine_connects_through_the_proxy_which_knows_the_members() -> None:
    neutron = desired(MACHINE, ENDPOINTS)
    options = options_of(neutron.config, "ovn")
    assert set(options["ovn_nb_connection"].split(",")) == {"ssl:127.0.0.1:26641"}
    assert set(options["ovn_sb_connection"].split(",")) == {"ssl:127.0.0.1:26642"}
    assert neutron.proxy is not None
    assert neutron.proxy.endpoints == {"northbound": ["ssl:127.0.0.1:26641"], "southbound": ["ssl:127.0.0.1:26642"]}
    assert options["ovn_nb_private_key"] == "/etc/neutron/ovn/current/key.pem"
    for line in (
        "OVN_NORTHBOUND=ssl:192.0.2.1:6641,ssl:192.0.2.2:6641",
        "OVN_SOUTHBOUND=ssl:192.0.2.1:16642,ssl:192.0.2.2:16642",
        "OVN_NORTHBOUND_LISTEN=tcp:127.0.0.1:26641",
        "OVN_SOUTHBOUND_LISTEN=tcp:127.0.0.1:26642",
        "OVN_PRIVATE_KEY=/etc/neutron/ovn/current/key.pem",
    ):
        assert f'\nEnvironment="{line}"\n' in neutron.proxy.unit


def test_without_the_proxy_it_connects_to_the_members() -> None:
    neutron = desired({**MACHINE, "leader_proxy": "none"}, ENDPOINTS)
    assert neutron.proxy is None
    assert options_of(neutron.config, "ovn")["ovn_nb_connection"] == "ssl:192.0.2.1:6641,ssl:192.0.2.2:6641"


def test_pods_connect_to_the_members_with_the_files_of_their_secret() -> None:
    neutron = desired(CLUSTER, ENDPOINTS)
    options = options_of(neutron.config, "ovn")
    assert neutron.proxy is None
    assert options["ovn_nb_connection"] == "ssl:192.0.2.1:6641,ssl:192.0.2.2:6641"
    assert options["ovn_nb_private_key"] == "/etc/neutron/ovn/tls.key"
    assert options["ovn_nb_ca_cert"] == "/etc/neutron/ovn/ca.crt"
    assert neutron.connection == {
        "nbConnection": "ssl:192.0.2.1:6641,ssl:192.0.2.2:6641",
        "sbConnection": "ssl:192.0.2.1:16642,ssl:192.0.2.2:16642",
    }
    mounts = neutron.helm["pod"]["mounts"]["neutron_server"]["neutron_server"]
    assert mounts["volumes"][0]["secret"]["secretName"] == "ovn-client-neutron"


def test_without_tls_there_are_no_files() -> None:
    plain: dict[Database, list[str]] = {"northbound": ["tcp:192.0.2.1:6641"], "southbound": ["tcp:192.0.2.1:16642"]}
    neutron = desired({**MACHINE, "tls": False}, plain)
    assert neutron.files == {}
    assert "private_key" not in neutron.config
    assert "pod" not in neutron.helm
    assert options_of(neutron.config, "ovn")["ovn_nb_connection"].startswith("tcp:127.0.0.1:26641")


def test_services_run() -> None:
    given = {**MACHINE, "services": ["neutron-api", "x.service"]}
    assert desired(given, ENDPOINTS).service_units == [
        {"name": "neutron-api.service", "state": "started"},
        {"name": "x.service", "state": "started"},
    ]


@pytest.mark.parametrize(("mode", "warned"), [("off", False), ("log", False), ("repair", True), ("migrate", True)])
def test_a_mode_that_deletes_rows_is_a_warning(mode: str, warned: bool) -> None:
    warnings = desired({**MACHINE, "sync_mode": mode}, ENDPOINTS).warnings
    assert bool(warnings) is warned
    assert all(f"ovn_neutron_sync_mode of controller1 is {mode}: each " in text for text in warnings)
    assert any("start of Neutron" in text for text in warnings) is (mode == "repair")


def test_names_are_a_warning_where_nobody_resolves_them() -> None:
    named: dict[Database, list[str]] = {
        "northbound": ["ssl:ovn-nb-0.ovn:6641", "ssl:192.0.2.1:6641"],
        "southbound": ["ssl:[2001:db8::1]:16642"],
    }
    (warning,) = desired(CLUSTER, named).warnings
    assert warning.startswith("Neutron of controller1 gets names of members: ovn-nb-0.ovn. ")
    assert desired(MACHINE, named).warnings == []  # the proxy resolves them


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"leader_proxy": "localhost"}, 'ovn_neutron_leader_proxy is "localhost". Give an address'),
        ({"leader_proxy": "False"}, "such as 127.0.0.1, or none for no proxy."),
        ({"config": {"ovn": {"ovn_nb_connection": "x"}}}, "ovn_neutron_config sets ovn_nb_connection in [ovn]"),
        ({"config": {"ovn": {"neutron_sync_mode": "x"}}}, "ovn_neutron_config sets neutron_sync_mode in [ovn]"),
        ({"config": {"DEFAULT": {"a": "1\n2"}}}, "a in [DEFAULT] has more than one line"),
    ],
)
def test_what_cannot_be_meant_is_refused(given: dict[str, t.Any], message: str) -> None:
    (problem,) = desired({**MACHINE, **given}).problems
    assert message in problem


def test_all_problems_are_in_one_list() -> None:
    given = {"leader_proxy": "localhost", "config": {"ovn": {"ovn_nb_connection": "x"}}}
    assert len(desired(given).problems) == 2


def test_an_ipv6_proxy_has_brackets() -> None:
    neutron = desired({**MACHINE, "leader_proxy": "::1"}, ENDPOINTS)
    assert "ssl:[::1]:26641" in neutron.config
    assert neutron.proxy is not None
    assert "OVN_NORTHBOUND_LISTEN=tcp:[::1]:26641" in neutron.proxy.unit


def test_machines_give_the_ports_without_a_role() -> None:
    assert endpoints_of(HOSTS, ["db1", "db2"], {}) == ENDPOINTS
    plain = endpoints_of(HOSTS, ["db1"], {"tls": False})
    assert plain == {"northbound": ["tcp:192.0.2.1:6641"], "southbound": ["tcp:192.0.2.1:16642"]}


def test_what_is_declared_counts() -> None:
    given = {"northbound_endpoints": ["ssl:192.0.2.9:6641"], "southbound_endpoints": []}
    assert endpoints_of(HOSTS, ["db1", "db2"], given) == {**ENDPOINTS, "northbound": ["ssl:192.0.2.9:6641"]}
    given = {"southbound_endpoints": ["ssl:192.0.2.9:16642"]}
    assert endpoints_of(HOSTS, ["db1", "db2"], given) == {**ENDPOINTS, "southbound": ["ssl:192.0.2.9:16642"]}


def test_a_cluster_says_where_it_is() -> None:
    hosts = {"cluster": {"ovn_backend": "kubernetes"}}
    answer = {
        "endpoints": {
            "northbound": "ssl:192.0.2.1:31641,ssl:192.0.2.2:31642",
            "southbound": "ssl:192.0.2.1:31651",
            "southbound_unrestricted": "ssl:192.0.2.1:31661",
            "northbound_inside": "ssl:198.51.100.1:6641",
            "southbound_inside": "ssl:198.51.100.1:6642",
            "southbound_unrestricted_inside": "",
        }
    }
    assert endpoints_of(hosts, ["cluster"], {}, answer) == {
        "northbound": ["ssl:192.0.2.1:31641", "ssl:192.0.2.2:31642"],
        "southbound": ["ssl:192.0.2.1:31661"],
    }
    assert endpoints_of(hosts, ["cluster"], {"inside_cluster": True}, answer) == {
        "northbound": ["ssl:198.51.100.1:6641"],
        "southbound": ["ssl:198.51.100.1:6642"],
    }
    assert endpoints_of(hosts, ["cluster"], {}) == {"northbound": [], "southbound": []}


def test_helm_gets_the_members_and_the_names_of_the_secret_wherever_the_role_runs() -> None:
    ovn = desired(MACHINE).helm["conf"]["plugins"]["ml2_conf"]["ovn"]
    assert ovn["ovn_nb_connection"] == "ssl:192.0.2.1:6641,ssl:192.0.2.2:6641"
    assert ovn["ovn_nb_private_key"] == "/etc/neutron/ovn/tls.key"


def test_sections_of_users_reach_the_file_and_helm_and_replace_defaults() -> None:
    given = {
        "config": {"DEFAULT": {"service_plugins": ["ovn-router", "trunk"]}, "ovn": {"ovn_metadata_enabled": False}}
    }
    for place in (MACHINE, CLUSTER):
        neutron = desired({**place, **given})
        assert options_of(neutron.config, "DEFAULT")["service_plugins"] == "ovn-router,trunk"
        assert neutron.helm["conf"]["neutron"]["DEFAULT"]["service_plugins"] == "ovn-router,trunk"
        assert options_of(neutron.config, "ovn")["ovn_metadata_enabled"] == "false"
        assert not neutron.has_secret
    assert desired({"config": {"DEFAULT": {"transport_url": "rabbit://neutron:1234@192.0.2.9"}}}).has_secret


def test_an_ovn_of_others_has_one_southbound_port_and_says_where_it_is() -> None:
    foreign = {name: {**variables, "ovn_central_managed": False} for name, variables in HOSTS.items()}
    assert endpoints_of(foreign, ["db1"], {}) == {
        "northbound": ["ssl:192.0.2.1:6641"],
        "southbound": ["ssl:192.0.2.1:6642"],
    }
    named = {"db1": {**foreign["db1"], "ovn_northbound_endpoints": ["tcp:192.0.2.7:6641"]}}
    assert endpoints_of(named, ["db1"], {})["northbound"] == ["tcp:192.0.2.7:6641"]


ANSWER: dict[str, t.Any] = {
    "endpoints": {
        "northbound": "ssl:192.0.2.1:31641",
        "southbound": "ssl:192.0.2.1:31642",
        "southbound_unrestricted": "ssl:192.0.2.1:31643",
        "northbound_inside": "ssl:ovn-northbound-0:6641",
        "southbound_inside": "ssl:ovn-southbound-0:6642",
        "southbound_unrestricted_inside": "ssl:ovn-southbound-0:16642",
        "northbound_cluster_ips": "ssl:10.96.0.1:6641",
        "southbound_unrestricted_cluster_ips": "ssl:10.96.0.2:16642",
        "leader_proxy_northbound": "ssl:10.96.0.9:6641",
        "leader_proxy_southbound": "ssl:10.96.0.9:16642",
    }
}
IN_CLUSTER = {"cluster": {"ovn_backend": "kubernetes"}}


def answer_without(*words: str) -> dict[str, t.Any]:
    return {
        "endpoints": {name: text for name, text in ANSWER["endpoints"].items() if not any(w in name for w in words)}
    }


@pytest.mark.parametrize(
    ("answer", "options", "northbound", "southbound"),
    [
        (ANSWER, {"inside_cluster": True}, {"ssl:10.96.0.9:6641"}, {"ssl:10.96.0.9:16642"}),
        (ANSWER, {"inside_cluster": True, "leader_proxy": "none"}, {"ssl:10.96.0.1:6641"}, {"ssl:10.96.0.2:16642"}),
        (answer_without("leader"), {"inside_cluster": True}, {"ssl:10.96.0.1:6641"}, {"ssl:10.96.0.2:16642"}),
        (
            answer_without("leader", "ips"),
            {"inside_cluster": True},
            {"ssl:ovn-northbound-0:6641"},
            {"ssl:ovn-southbound-0:16642"},
        ),
        (ANSWER, {}, {"ssl:192.0.2.1:31641"}, {"ssl:192.0.2.1:31643"}),
        (
            ANSWER,
            {
                "inside_cluster": True,
                "northbound_endpoints": ["ssl:192.0.2.7:1"],
                "southbound_endpoints": ["ssl:192.0.2.7:2"],
            },
            {"ssl:192.0.2.7:1"},
            {"ssl:192.0.2.7:2"},
        ),
    ],
    ids=["proxy", "without it", "no proxy", "names", "outside", "given"],
)
def test_where_pods_connect(
    answer: dict[str, t.Any], options: dict[str, t.Any], northbound: set[str], southbound: set[str]
) -> None:
    given = {**CLUSTER, **options}
    endpoints = endpoints_of(IN_CLUSTER, ["cluster"], given, answer)
    neutron = desired(given, endpoints, answer)
    ours = options_of(neutron.config, "ovn")
    helm = neutron.helm["conf"]["plugins"]["ml2_conf"]["ovn"]
    patch = neutron.connection
    for short, expected in (("nb", northbound), ("sb", southbound)):
        texts = (ours[f"ovn_{short}_connection"], helm[f"ovn_{short}_connection"], patch[f"{short}Connection"])
        assert len(set(texts)) == 1
        assert set(texts[0].split(",")) == expected
    through_proxy = "leader_proxy" not in options and options == {"inside_cluster": True} and answer is ANSWER
    assert len(patch["nbConnection"].split(",")) == (20 if through_proxy else 1)
    has_names = any("ovn-" in one for one in northbound)
    assert any("gets names of members" in text for text in neutron.warnings) is has_names


OUTSIDE_ALONE = "no member has a port without a role for clients outside of its cluster."


@pytest.mark.parametrize(
    ("answer", "options", "asked", "warned"),
    [
        (ANSWER, {"inside_cluster": True}, (["ssl:192.0.2.1:31641"], ["ssl:192.0.2.1:31643"]), []),
        (ANSWER, {}, (["ssl:192.0.2.1:31641"], ["ssl:192.0.2.1:31643"]), []),
        (  # what is left are relays
            answer_without("southbound_unrestricted"),
            {},
            (["ssl:192.0.2.1:31641"], []),
            [f"Nobody could ask the Southbound database of controller1 first: {OUTSIDE_ALONE}"],
        ),
        (
            {"endpoints": {"northbound": "ssl:a:1", "northbound_inside": "ssl:a:1"}},
            {"inside_cluster": True},
            ([], []),
            [f"Nobody could ask the Northbound and the Southbound databases of controller1 first: {OUTSIDE_ALONE}"],
        ),
        ({}, {"northbound_endpoints": ["ssl:192.0.2.7:1"]}, (["ssl:192.0.2.7:1"], ["ssl:192.0.2.1:16642"]), []),
        (
            {},
            {"inside_cluster": True, "northbound_endpoints": ["ssl:192.0.2.7:1"]},
            ([], ["ssl:192.0.2.1:16642"]),
            [
                "Nobody could ask the Northbound database of controller1 first: with ovn_neutron_inside_cluster, ovn_northbound_endpoints are "
                "addresses inside of its cluster."
            ],
        ),
        (
            answer_without("southbound_unrestricted"),
            {"inside_cluster": True, "northbound_endpoints": ["ssl:192.0.2.7:1"]},
            ([], []),
            [
                "Nobody could ask the Northbound database of controller1 first: with ovn_neutron_inside_cluster, ovn_northbound_endpoints are "
                "addresses inside of its cluster.",
                f"Nobody could ask the Southbound database of controller1 first: {OUTSIDE_ALONE}",
            ],
        ),
        ({}, {"inside_cluster": True}, (["ssl:192.0.2.1:6641"], ["ssl:192.0.2.1:16642"]), []),
        (answer_without("southbound_unrestricted"), {"ask_databases": False}, (["ssl:192.0.2.1:31641"], []), []),
    ],
    ids=[
        "outside of the same cluster",
        "outside",
        "chassis alone",
        "not exposed",
        "given",
        "given inside",
        "given inside and chassis alone",
        "machines",
        "nobody asks",
    ],
)
def test_whom_the_control_node_can_ask(
    answer: dict[str, t.Any], options: dict[str, t.Any], asked: tuple[list[str], list[str]], warned: list[str]
) -> None:
    endpoints: dict[Database, list[str]] = {
        "northbound": list(options.get("northbound_endpoints", ["ssl:192.0.2.1:6641"])),
        "southbound": ["ssl:192.0.2.1:16642"],
    }
    neutron = desired({**CLUSTER, **options}, endpoints, answer)
    assert (neutron.members_to_ask["northbound"], neutron.members_to_ask["southbound"]) == asked
    told = [text for text in neutron.warnings if text.startswith("Nobody could ask")]
    assert told == [f"{text} See in the log of Neutron that it connects." for text in warned]
    assert desired(MACHINE, endpoints).members_to_ask == {}


def test_before_the_first_run_nobody_is_told_that_there_is_nobody_to_ask() -> None:
    """Check mode comes here without endpoints."""
    neutron = desired(CLUSTER, {"northbound": [], "southbound": []})
    assert (neutron.members_to_ask, neutron.warnings) == ({"northbound": [], "southbound": []}, [])


def test_who_stops_says_why() -> None:
    told = unanswered_problem("cloud", "the control node", ["A.", "C."], "Correct the endpoints.")
    start = "The databases did not answer the control node with the certificate for Neutron of cloud: "
    assert told == f"{start}A. C. Correct the endpoints."


def test_missing_endpoint_and_missing_file_are_problems() -> None:
    assert endpoint_problem("controller1", ENDPOINTS) == ""
    problem = endpoint_problem("controller1", {**ENDPOINTS, "southbound": []})
    assert problem.startswith("No endpoint of the databases is known to controller1.")
    assert "set ovn_northbound_endpoints and ovn_neutron_southbound_endpoints. Nothing was changed." in problem
    assert missing_files_problem("controller1", []) == ""
    assert "/x/ca.pem is not on the control node." in missing_files_problem("controller1", ["/x/ca.pem"])


FILE = {"ovn_neutron_helm_file": "/x/overrides.yaml"}
HELM_CLUSTER = {"ovn_backend": "kubernetes", **FILE}


@pytest.mark.parametrize(
    ("hosts", "refused"),
    [
        pytest.param({"a": HELM_CLUSTER, "b": HELM_CLUSTER}, True, id="two clusters"),
        pytest.param({"a": FILE, "b": FILE}, False, id="two controllers of one Neutron"),
        pytest.param({"a": HELM_CLUSTER, "b": FILE}, True, id="a cluster and a machine"),
        pytest.param({"a": HELM_CLUSTER, "b": {**FILE, "ovn_backend": "kubernetes"}}, True, id="by the role's option"),
        pytest.param(
            {"a": HELM_CLUSTER, "b": {**HELM_CLUSTER, "ovn_neutron_helm_file": "/y"}}, False, id="a file of its own"
        ),
        pytest.param({"a": HELM_CLUSTER, "b": {"ovn_backend": "kubernetes"}}, False, id="none"),
        pytest.param({"a": HELM_CLUSTER}, False, id="alone"),
    ],
)
def test_clusters_have_files_of_their_own(hosts: dict[str, dict[str, t.Any]], refused: bool) -> None:
    problem = helm_problem(hosts, list(hosts), "a", FILE["ovn_neutron_helm_file"])
    assert problem.startswith("ovn_neutron_helm_file of a, b is /x/overrides.yaml: ") is refused
    assert bool(problem) is refused
    assert helm_problem(hosts, list(hosts), "a", "") == ""
