"""What the options of ovn_neutron mean."""

from __future__ import annotations

import pathlib
import typing as t

import jinja2
import pytest
import yaml

from ansible_collections.c5c3.ovn.plugins.module_utils._base.databases import Database
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.neutron import desired_neutron, neutron_endpoints

COLLECTION = pathlib.Path(__file__).resolve().parents[5]
ENDPOINTS: dict[Database, list[str]] = {
    "northbound": ["ssl:192.0.2.1:6641", "ssl:192.0.2.2:6641"],
    "southbound": ["ssl:192.0.2.1:16642", "ssl:192.0.2.2:16642"],
}
MACHINE = {"host": "controller1", "backend": "host", "directory": "/etc/neutron/ovn"}
CLUSTER = {**MACHINE, "backend": "kubernetes", "secret": "ovn-client-neutron"}
HOSTS = {"db1": {"ovn_address": "192.0.2.1"}, "db2": {"ovn_address": "192.0.2.2"}}


def options_of(text: str, section: str) -> dict[str, str]:
    part = text.partition(f"[{section}]\n")[2].partition("\n\n")[0]
    return {name.strip(): value.strip() for name, _sign, value in (line.partition("=") for line in part.splitlines())}


def test_a_machine_connects_through_the_proxy_which_knows_the_members() -> None:
    desired = desired_neutron(MACHINE, ENDPOINTS)
    options = options_of(desired["config"], "ovn")
    assert set(options["ovn_nb_connection"].split(",")) == {"ssl:127.0.0.1:26641"}
    assert set(options["ovn_sb_connection"].split(",")) == {"ssl:127.0.0.1:26642"}
    assert desired["proxy_endpoints"] == {"northbound": ["ssl:127.0.0.1:26641"], "southbound": ["ssl:127.0.0.1:26642"]}
    assert options["ovn_nb_private_key"] == "/etc/neutron/ovn/current/key.pem"
    environment = desired["proxy"]["environment"]
    assert environment["OVN_NORTHBOUND"] == "ssl:192.0.2.1:6641,ssl:192.0.2.2:6641"
    assert environment["OVN_SOUTHBOUND"] == "ssl:192.0.2.1:16642,ssl:192.0.2.2:16642"
    assert environment["OVN_NORTHBOUND_LISTEN"] == "tcp:127.0.0.1:26641"
    assert environment["OVN_SOUTHBOUND_LISTEN"] == "tcp:127.0.0.1:26642"
    assert environment["OVN_PRIVATE_KEY"] == "/etc/neutron/ovn/current/key.pem"


def test_without_the_proxy_it_connects_to_the_members() -> None:
    desired = desired_neutron({**MACHINE, "leader_proxy": False}, ENDPOINTS)
    assert desired["proxy"] == {}
    assert options_of(desired["config"], "ovn")["ovn_nb_connection"] == "ssl:192.0.2.1:6641,ssl:192.0.2.2:6641"


def test_pods_connect_to_the_members_with_the_files_of_their_secret() -> None:
    desired = desired_neutron(CLUSTER, ENDPOINTS)
    options = options_of(desired["config"], "ovn")
    assert desired["proxy"] == {}
    assert options["ovn_nb_connection"] == "ssl:192.0.2.1:6641,ssl:192.0.2.2:6641"
    assert options["ovn_nb_private_key"] == "/etc/neutron/ovn/tls.key"
    assert options["ovn_nb_ca_cert"] == "/etc/neutron/ovn/ca.crt"
    assert desired["neutron_patch"] == {
        "ovn": {
            "nbConnection": "ssl:192.0.2.1:6641,ssl:192.0.2.2:6641",
            "sbConnection": "ssl:192.0.2.1:16642,ssl:192.0.2.2:16642",
        }
    }
    mounts = desired["helm"]["pod"]["mounts"]["neutron_server"]["neutron_server"]
    assert mounts["volumes"][0]["secret"]["secretName"] == "ovn-client-neutron"


def test_without_tls_there_are_no_files() -> None:
    plain: dict[Database, list[str]] = {"northbound": ["tcp:192.0.2.1:6641"], "southbound": ["tcp:192.0.2.1:16642"]}
    desired = desired_neutron({**MACHINE, "tls": False}, plain)
    assert desired["files"] == {}
    assert "private_key" not in desired["config"]
    assert "pod" not in desired["helm"]
    assert options_of(desired["config"], "ovn")["ovn_nb_connection"].startswith("tcp:127.0.0.1:26641")


def test_services_run() -> None:
    given = {**MACHINE, "services": ["neutron-api", "x.service"]}
    assert desired_neutron(given, ENDPOINTS)["service_units"] == [
        {"name": "neutron-api.service", "state": "started"},
        {"name": "x.service", "state": "started"},
    ]


@pytest.mark.parametrize(("mode", "warned"), [("off", False), ("log", False), ("repair", True), ("migrate", True)])
def test_a_mode_that_deletes_rows_is_a_warning(mode: str, warned: bool) -> None:
    warnings = desired_neutron({**MACHINE, "sync_mode": mode}, ENDPOINTS)["warnings"]
    assert bool(warnings) is warned
    assert all(f"ovn_neutron_sync_mode of controller1 is {mode}: each " in text for text in warnings)
    assert any("start of Neutron" in text for text in warnings) is (mode == "repair")


def test_names_are_a_warning_where_nobody_resolves_them() -> None:
    named: dict[Database, list[str]] = {
        "northbound": ["ssl:ovn-nb-0.ovn:6641", "ssl:192.0.2.1:6641"],
        "southbound": ["ssl:[2001:db8::1]:16642"],
    }
    (warning,) = desired_neutron(CLUSTER, named)["warnings"]
    assert warning.startswith("Neutron of controller1 gets names of members: ovn-nb-0.ovn. ")
    assert desired_neutron(MACHINE, named)["warnings"] == []  # the proxy resolves them


def test_off_without_quotes_is_off() -> None:
    """YAML reads it as false."""
    assert (
        options_of(desired_neutron({**MACHINE, "sync_mode": False}, ENDPOINTS)["config"], "ovn")["neutron_sync_mode"]
        == "off"
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sync_mode": "fix"}, r"ovn_neutron_sync_mode is fix\. Use one of off, log, repair, migrate\."),
        ({"leader_proxy_address": "localhost"}, r'ovn_neutron_leader_proxy_address is "localhost"\. Give an address'),
        ({"leader_proxy_southbound_port": 26641}, r"are both 26641\. Give each database a port of its own\."),
        ({"leader_proxy_northbound_port": 0}, r"are 0 and 26642\. Use ports from 1 to 65535\."),
        ({"leader_proxy_southbound_port": 70000}, r"are 26641 and 70000\. Use ports from 1 to 65535\."),
        ({"config": {"ovn": {"ovn_nb_connection": "x"}}}, r"ovn_neutron_config sets ovn_nb_connection in \[ovn\]"),
        ({"connection_timeout": "soon"}, r'ovn_neutron_connection_timeout is "soon"'),
    ],
)
def test_what_cannot_be_meant_is_refused(given: dict[str, t.Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        desired_neutron({**MACHINE, **given}, ENDPOINTS)


def test_an_ipv6_proxy_has_brackets() -> None:
    desired = desired_neutron({**MACHINE, "leader_proxy_address": "::1"}, ENDPOINTS)
    assert "ssl:[::1]:26641" in desired["config"]
    assert desired["proxy"]["environment"]["OVN_NORTHBOUND_LISTEN"] == "tcp:[::1]:26641"


def test_machines_give_the_ports_without_a_role() -> None:
    assert neutron_endpoints(HOSTS, ["db1", "db2"], {}) == ENDPOINTS
    plain = neutron_endpoints(HOSTS, ["db1"], {}, tls=False)
    assert plain == {"northbound": ["tcp:192.0.2.1:6641"], "southbound": ["tcp:192.0.2.1:16642"]}


def test_what_is_declared_counts() -> None:
    given = {"northbound_endpoints": "ssl:192.0.2.9:6641", "southbound_endpoints": []}
    assert neutron_endpoints(HOSTS, ["db1", "db2"], given) == {**ENDPOINTS, "northbound": ["ssl:192.0.2.9:6641"]}


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
    assert neutron_endpoints(hosts, ["cluster"], {}, answer=answer) == {
        "northbound": ["ssl:192.0.2.1:31641", "ssl:192.0.2.2:31642"],
        "southbound": ["ssl:192.0.2.1:31661"],
    }
    assert neutron_endpoints(hosts, ["cluster"], {}, answer=answer, inside=True) == {
        "northbound": ["ssl:198.51.100.1:6641"],
        "southbound": ["ssl:198.51.100.1:6642"],
    }
    assert neutron_endpoints(hosts, ["cluster"], {}) == {"northbound": [], "southbound": []}


def test_helm_gets_the_members_and_the_names_of_the_secret_wherever_the_role_runs() -> None:
    ovn = desired_neutron({**MACHINE, "secret": "s"}, ENDPOINTS)["helm"]["conf"]["plugins"]["ml2_conf"]["ovn"]
    assert ovn["ovn_nb_connection"] == "ssl:192.0.2.1:6641,ssl:192.0.2.2:6641"
    assert ovn["ovn_nb_private_key"] == "/etc/neutron/ovn/tls.key"


def test_service_plugins_reach_the_file_and_helm_and_are_set_in_one_place() -> None:
    plugins = {"service_plugins": ["ovn-router", "trunk"]}
    for place in (MACHINE, CLUSTER):
        desired = desired_neutron({**place, **plugins}, ENDPOINTS)
        assert options_of(desired["config"], "DEFAULT")["service_plugins"] == "ovn-router,trunk"
        assert desired["helm"]["conf"]["neutron"]["DEFAULT"]["service_plugins"] == "ovn-router,trunk"
    by_hand = {"config": {"DEFAULT": {"service_plugins": "ovn-router"}}}
    assert "service_plugins = ovn-router\n" in desired_neutron({**MACHINE, **by_hand}, ENDPOINTS)["config"]
    with pytest.raises(InvalidInput, match="sets service_plugins in"):
        desired_neutron({**MACHINE, **by_hand, **plugins}, ENDPOINTS)


def test_an_ovn_of_others_has_one_southbound_port_and_says_where_it_is() -> None:
    foreign = {name: {**variables, "ovn_central_managed": False} for name, variables in HOSTS.items()}
    assert neutron_endpoints(foreign, ["db1"], {}) == {
        "northbound": ["ssl:192.0.2.1:6641"],
        "southbound": ["ssl:192.0.2.1:6642"],
    }
    named = {"db1": {**foreign["db1"], "ovn_northbound_endpoints": ["tcp:192.0.2.7:6641"]}}
    assert neutron_endpoints(named, ["db1"], {})["northbound"] == ["tcp:192.0.2.7:6641"]


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
        (ANSWER, {"inside_cluster": True, "leader_proxy": False}, {"ssl:10.96.0.1:6641"}, {"ssl:10.96.0.2:16642"}),
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
    given = {**CLUSTER, **options, "control_plane": answer}
    endpoints = neutron_endpoints(
        IN_CLUSTER, ["cluster"], given, answer=answer, inside=bool(options.get("inside_cluster"))
    )
    desired = desired_neutron(given, endpoints)
    ours = options_of(desired["config"], "ovn")
    helm = desired["helm"]["conf"]["plugins"]["ml2_conf"]["ovn"]
    patch = desired["neutron_patch"]["ovn"]
    for short, expected in (("nb", northbound), ("sb", southbound)):
        texts = (ours[f"ovn_{short}_connection"], helm[f"ovn_{short}_connection"], patch[f"{short}Connection"])
        assert len(set(texts)) == 1
        assert set(texts[0].split(",")) == expected
    through_proxy = "leader_proxy" not in options and options == {"inside_cluster": True} and answer is ANSWER
    assert len(patch["nbConnection"].split(",")) == (20 if through_proxy else 1)
    has_names = any("ovn-" in one for one in northbound)
    assert any("gets names of members" in text for text in desired["warnings"]) is has_names


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
                "Nobody could ask the Northbound database of controller1 first: with ovn_neutron_inside_cluster, ovn_neutron_northbound_endpoints are "
                "addresses inside of its cluster."
            ],
        ),
        (
            answer_without("southbound_unrestricted"),
            {"inside_cluster": True, "northbound_endpoints": ["ssl:192.0.2.7:1"]},
            ([], []),
            [
                "Nobody could ask the Northbound database of controller1 first: with ovn_neutron_inside_cluster, ovn_neutron_northbound_endpoints are "
                "addresses inside of its cluster.",
                f"Nobody could ask the Southbound database of controller1 first: {OUTSIDE_ALONE}",
            ],
        ),
        ({}, {"inside_cluster": True}, (["ssl:192.0.2.1:6641"], ["ssl:192.0.2.1:16642"]), []),
        (answer_without("southbound_unrestricted"), {"ask_databases": "no"}, (["ssl:192.0.2.1:31641"], []), []),
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
    desired = desired_neutron({**CLUSTER, **options, "control_plane": answer}, endpoints)
    assert (desired["members_to_ask"]["northbound"], desired["members_to_ask"]["southbound"]) == asked
    told = [text for text in desired["warnings"] if text.startswith("Nobody could ask")]
    assert told == [f"{text} See in the log of Neutron that it connects." for text in warned]
    assert desired_neutron(MACHINE, endpoints)["members_to_ask"] == {}


def test_before_the_first_run_nobody_is_told_that_there_is_nobody_to_ask() -> None:
    """Check mode comes here without endpoints."""
    desired = desired_neutron(CLUSTER, {"northbound": [], "southbound": []})
    assert (desired["members_to_ask"], desired["warnings"]) == ({"northbound": [], "southbound": []}, [])


@pytest.mark.parametrize(
    ("registered", "cause"),
    [
        (
            {"results": [{"failed": True, "msg": "A."}, {"failed": False, "msg": "B."}, {"failed": True, "msg": "C."}]},
            "A. C.",
        ),
        ({"failed": True, "msg": "The loop failed."}, "The task failed."),
        (None, "The task failed."),
    ],
    ids=["each database", "no database", "nothing was registered"],
)
def test_who_stops_says_why(registered: dict[str, t.Any] | None, cause: str) -> None:
    """As the template of the role does."""
    tasks = yaml.safe_load((COLLECTION / "roles/ovn_neutron/tasks/ask.yml").read_text(encoding="utf-8"))
    (message,) = (one["ansible.builtin.fail"]["msg"] for task in tasks for one in task.get("rescue", ()))
    known = {} if registered is None else {"ovn_neutron_asked": registered}
    template = jinja2.Environment(undefined=jinja2.StrictUndefined).from_string(message)
    question = {"asker": "the control node", "next": "Correct the endpoints."}
    failed = {"msg": "The task failed."}
    told = template.render(
        inventory_hostname="cloud", ansible_failed_result=failed, ovn_neutron_question=question, **known
    )
    assert told.startswith("The databases did not answer the control node with the certificate for Neutron of cloud: ")
    assert told.endswith(f"of cloud: {cause} Correct the endpoints.")
