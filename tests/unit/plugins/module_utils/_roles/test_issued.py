"""What a run knows of the certificates of chassis and clients, and whose list it has to change."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._pki.issued import IssuedCertificate, render_list
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.issued import issued_change, issued_path, issued_place

FILE = "/etc/c5c3-ovn/issued-certificates.json"
GROUPS = {"ovn_central": ["central1", "central2"], "ovn_hypervisors": ["a", "b", "cluster"]}
KUBERNETES = {"ovn_backend": "kubernetes"}
PAIR = "/etc/ovn/tls/chassis-cert.pem"
NOBODY_LEAVES: dict[str, list[str]] = {"removed_chassis": [], "removed_metadata_agents": []}


def state(number: int, **more: t.Any) -> dict[str, t.Any]:
    found = {"issuer_name": "CA", "serial_number": str(number), "not_after": f"202{number}-01-01T00:00:00Z"}
    return {"needed": False, **found, **more}


def entry(holder: str, number: int, kind: str = "chassis") -> IssuedCertificate:
    return IssuedCertificate(kind, holder, "CA", str(number), f"202{number}-01-01T00:00:00Z")


def option(holder: str, number: int, kind: str = "chassis", *, issued: bool = False) -> dict[str, t.Any]:
    return {**entry(holder, number, kind)._asdict(), "issued": issued}


def compared(number: int, holder: str = "a", **more: t.Any) -> dict[str, t.Any]:
    """As the look at the machine has found it, in a run that had nothing to do for the role ovn_pki."""
    pair = {"common_name": holder, "certificate": PAIR}
    return {
        "ovn_pki_declared": {"certificate": "chassis", "pairs": [pair], "due": False},
        "ovn_hypervisor_check": {"certificates": [state(number, **more)]},
    }


def recorded(number: int, holder: str = "a", kind: str = "chassis", **more: t.Any) -> dict[str, t.Any]:
    """As the role ovn_pki has found or issued it."""
    known = {**state(number), "holder": holder, "path": PAIR, "issued": False, **more}
    return {"ovn_pki_recorded": {kind: known}}


def change(
    hostvars: dict[str, dict[str, t.Any]],
    hosts: t.Sequence[str] = ("a", "b", "cluster"),
    groups: t.Mapping[str, t.Sequence[str]] | None = None,
    **more: t.Any,
) -> dict[str, t.Any]:
    groups = groups or GROUPS
    every = {host: hostvars.get(host, {}) for group in groups.values() for host in group}
    return issued_change(hosts, every, groups, **more)


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        # compared with nothing to do; compared by the role, in plays without the look and in a rotation that goes on; issued after that
        (compared(7), option("a", 7)),
        (recorded(7), option("a", 7)),
        ({**compared(7, needed=True), **recorded(8, needed=True, issued=True)}, option("a", 8, issued=True)),
        # not that of the same machine as a central host, whatever was looked at last
        ({**compared(7), **recorded(8, kind="central"), "ovn_pki_state": state(9)}, option("a", 7)),
        ({**compared(7), "ovn_pki_declared": {"certificate": "central", "pairs": [{"common_name": "a", "certificate": PAIR}]}}, None),
        ({"ovn_pki_state": state(7)}, None),
        # the name that was signed, although the inventory knows another one
        ({**compared(7, "chassis-a"), "ovn_system_id": "x"}, option("chassis-a", 7)),
        ({**recorded(7, "chassis-a"), "ovn_system_id": "y"}, option("chassis-a", 7)),
        # a renewal that did not come to its end: the old one is still in use
        (compared(7, needed=True), option("a", 7)),
        # a host that says more than it was asked
        (compared(7, path="/x", issued=True), option("a", 7)),
        ({**compared(7), "ovn_hypervisor_check": {"certificates": [state(7, holder="b")]}}, option("a", 7)),
        # nothing is known: no library, no certificate, no CA
        ({**compared(7), "ovn_hypervisor_check": {"certificates": [{"failed": True, "library_missing": True}]}}, None),
        (compared(7, serial_number="", not_after="", issuer_name=""), None),
        ({**compared(7), "ovn_hypervisor_check": {"certificates": []}}, None),
        ({**compared(7), "ovn_pki_declared": {"certificate": "chassis", "pairs": [], "due": True}}, None),
        # a cluster: its own Secret
        ({**KUBERNETES, **recorded(7, path="")}, option("a", 7)),
        ({**KUBERNETES, **recorded(8, path="", issued=True)}, option("a", 8, issued=True)),
        ({**KUBERNETES, **recorded(8, kind="central", path=""), "ovn_pki_state": state(7)}, None),
    ],
)  # fmt: skip
def test_the_certificate_of_a_chassis(variables: dict[str, t.Any], expected: dict[str, t.Any] | None) -> None:
    found = change({"a": variables})["change"]
    assert found == {"certificates": [expected] if expected else [], **NOBODY_LEAVES}


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({"issuer_name": "{{ lookup('pipe', 'id') }}"}, "?? lookup('pipe', 'id') ??"),
        ({"issuer_name": "{% raw %}\n\x00"}, "?? raw ????"),
        ({"issuer_name": "x" * 10_000}, "x" * 200),
        ({"issuer_name": "Prüf-CA, O=Example (2026-01-01 10:00:00)"}, "Prüf-CA, O=Example (2026-01-01 10:00:00)"),
        ({"issuer_name": None}, ""),
        ({"serial_number": "{{ x }}"}, None),
        ({"serial_number": "f" * 41}, None),
        ({"serial_number": ["a"]}, None),
        ({"not_after": "{{ x }}"}, None),
        ({"not_after": "soon"}, None),
    ],
)
def test_a_hypervisor_that_was_taken_over_says_strange_things(said: dict[str, t.Any], expected: str | None) -> None:
    found = change({"a": compared(7, **said), "b": compared(8, "b")})["change"]["certificates"]
    assert [one["issuer"] for one in found] == (["CA"] if expected is None else [expected, "CA"])
    assert [one["holder"] for one in found] == (["b"] if expected is None else ["a", "b"])


@pytest.mark.parametrize(
    ("variables", "leaving"),
    [
        # it is removed, by the inventory or by a play, under the name of its chassis and that in its certificate; its metadata agent goes with it
        ({"ovn_hypervisor_state": "absent", "ovn_system_id": "x"}, ["x"]),
        ({"ovn_hypervisor_state": "gone", "ovn_system_id": "y"}, ["y"]),
        ({**recorded(7), "ovn_hypervisor_check": {"removed_chassis": "z"}}, ["z", "a"]),
        # it is a chassis again, in the same run
        ({**recorded(7), "ovn_hypervisor_check": {"asks": False}}, []),
        # it uses files of its own, by the inventory or by the options of the role
        ({**recorded(7, "x"), "ovn_hypervisor_certificate": "/own.pem"}, ["x"]),
        ({**recorded(7, "x"), "ovn_hypervisor_check": {"certificate": "/own.pem"}}, ["x"]),
        ({**recorded(7), "ovn_hypervisor_certificate": "/own.pem", "ovn_hypervisor_check": {"certificate": PAIR}}, []),
        ({**recorded(7), "ovn_hypervisor_certificate": PAIR}, []),
        ({"ovn_hypervisor_certificate": "/own.pem"}, []),
        # a cluster: with the Secret of another owner; files of machines say nothing about its own
        ({**KUBERNETES, "ovn_pki_kubernetes_secret_given": True}, ["a"]),
        ({**KUBERNETES, **recorded(7, path=""), "ovn_hypervisor_certificate": "/own.pem"}, []),
        (KUBERNETES, []),
    ],
)  # fmt: skip
def test_who_leaves_the_list(variables: dict[str, t.Any], leaving: list[str]) -> None:
    found = change({"a": variables, "b": recorded(8, "b")})["change"]
    assert found["removed_chassis"] == leaving
    checked = variables.get("ovn_hypervisor_check", {})
    is_removed = {"ovn_hypervisor_state", "removed_chassis"} & {*variables, *checked}
    assert found["removed_metadata_agents"] == (leaving if is_removed else [])
    others = [one["holder"] for one in found["certificates"]]
    knows = not leaving and {"ovn_pki_recorded", "ovn_hypervisor_check"} & set(variables)
    assert others == (["a", "b"] if knows else ["b"])


def test_a_cluster_with_the_secret_of_the_control_plane_has_no_certificate_of_its_own() -> None:
    both = {**KUBERNETES, **recorded(7, "both", "central", path=""), "ovn_pki_state": state(7)}
    groups = {"ovn_central": ["both"], "ovn_hypervisors": ["both"]}
    assert change({"both": both}, ["both"], groups)["change"] == {
        "certificates": [],
        **NOBODY_LEAVES,
        "removed_chassis": ["both"],
    }
    both["ovn_cluster_spec"] = {"tls": {"certSecretRef": {"name": "nodes"}}}
    both["ovn_pki_kubernetes_secret_given"] = False
    both["ovn_pki_recorded"]["chassis"] = {**state(8), "holder": "both", "issued": False}
    assert change({"both": both}, ["both"], groups)["change"]["certificates"] == [option("both", 8)]


@pytest.mark.parametrize("names", [["x", "a"], "x, a"])
def test_chassis_that_the_inventory_no_longer_has(names: t.Any) -> None:
    found = change({}, ["central1"], removed_chassis=names)
    assert found["change"] == {
        "certificates": [],
        "removed_chassis": ["x", "a"],
        "removed_metadata_agents": ["x", "a"],
    }
    assert found["machines"] == ["central1", "central2"]


def test_only_hosts_of_the_run_count() -> None:
    found = change({"a": compared(7), "b": compared(8, "b")}, ["b", "central1"])
    assert found["change"]["certificates"] == [option("b", 8)]


def test_check_mode_knows_that_there_will_be_another_one() -> None:
    clients = [{"name": "neutron"}, {"name": "operator"}]
    hostvars = {
        "a": compared(7, needed=True),
        "b": compared(8, "b"),
        "central1": {"ovn_pki_declared": {"clients": [state(5), state(6, needed=True)]}},
    }
    found = change(hostvars, ["a", "b", "central1"], clients=clients, check_mode=True)
    assert [(one["holder"], one["not_after"], one["issued"]) for one in found["change"]["certificates"]] == [
        ("a", "", True),
        ("b", entry("b", 8).not_after, False),
        ("neutron", entry("neutron", 5).not_after, False),
        ("operator", "", True),
    ]


@pytest.mark.parametrize(
    ("central1", "central2", "machines"),
    [
        # the list was not read in this run; nothing differs; one differs
        ({}, {}, ["central1", "central2"]),
        ({FILE: [entry("a", 7)]}, {FILE: [entry("a", 7), entry("other", 5)]}, []),
        ({FILE: [entry("a", 6)]}, {FILE: [entry("a", 7)]}, ["central1"]),
        # another run has renewed it meanwhile
        ({FILE: [entry("a", 8)]}, {FILE: [entry("a", 7)]}, []),
        # no list yet
        ({"/other": []}, {FILE: [entry("a", 7)]}, ["central1"]),
    ],
)
def test_whose_list_a_run_has_to_change(
    central1: dict[str, list[IssuedCertificate]],
    central2: dict[str, list[IssuedCertificate]],
    machines: list[str],
) -> None:
    def read(files: dict[str, list[IssuedCertificate]]) -> dict[str, t.Any]:
        texts = {name: render_list(content) for name, content in files.items()}
        return {"ovn_central_check": {"files": texts}} if files else {}

    found = change({"a": compared(7), "central1": read(central1), "central2": read(central2)})
    assert (found["machines"], found["clusters"]) == (machines, [])


def test_the_file_may_lie_elsewhere() -> None:
    text = render_list([entry("a", 7)])
    there = {
        "ovn_central_check": {
            "desired": {"issued_certificates": "/srv/issued-certificates.json"},
            "files": {"/srv/issued-certificates.json": text},
        },
    }
    assert change({"a": compared(7), "central1": there, "central2": there})["machines"] == []


def test_who_knows_nothing_changes_no_list() -> None:
    found = change({"central1": KUBERNETES})
    assert (found["machines"], found["clusters"]) == ([], [])
    found = change({"central1": KUBERNETES, "a": compared(7)})
    assert (found["machines"], found["clusters"]) == (["central2"], ["central1"])
    found = change({"central1": {"ovn_backend": "kubernetes"}, "central2": KUBERNETES, "a": compared(7)})
    assert (found["machines"], found["clusters"]) == ([], ["central1", "central2"])


CLIENTS = [{"name": "neutron"}, {"name": "operator"}]


@pytest.mark.parametrize(
    ("central1", "central2", "expected"),
    [
        ({}, {}, []),
        # as they were compared before the first change; as they were issued after that, by one of the hosts
        ({"ovn_pki_declared": {"clients": [state(5), state(6)]}}, {}, [option("neutron", 5, "client"), option("operator", 6, "client")]),
        (
            {"ovn_pki_declared": {"clients": [state(5), state(6)]}},
            {"ovn_pki_clients_issued": {"clients": {"operator": state(7, issued=True), "former": state(8)}}},
            [option("neutron", 5, "client"), option("operator", 7, "client", issued=True)],
        ),
        # no certificate yet, or none that could be compared
        ({"ovn_pki_declared": {"clients": [state(5, serial_number="", not_after=""), {"failed": True}]}}, {}, []),
        ({"ovn_pki_declared": {"clients": None}}, {}, []),
        ({"ovn_pki_declared": {"clients": [state(5)]}}, {}, []),
    ],
)  # fmt: skip
def test_certificates_of_clients(
    central1: dict[str, t.Any], central2: dict[str, t.Any], expected: list[dict[str, t.Any]]
) -> None:
    found = change({"central1": central1, "central2": central2}, ["central1", "central2"], clients=CLIENTS)["change"]
    assert found == {"certificates": expected, **NOBODY_LEAVES, "clients": ["neutron", "operator"]}


def test_the_last_client_leaves_where_one_is_known() -> None:
    known = {"ovn_central_check": {"files": {FILE: render_list([entry("neutron", 7, "client")])}}}
    none: dict[str, t.Any] = {"ovn_central_check": {"files": {}}}
    assert change({"central1": known, "central2": none}, ["central1"], clients=[])["machines"] == ["central1"]


AGENT = {"ovn_metadata_agent_nova_host": "192.0.2.30"}


@pytest.mark.parametrize(
    ("variables", "expected", "leaving"),
    [
        # found or issued by its role, which has looked at the certificate of the chassis last, or not at all in this run
        ({**AGENT, **recorded(7, kind="metadata-agent")}, option("a", 7, "metadata-agent"), []),
        ({**AGENT, **recorded(8, "x", "metadata-agent", issued=True)}, option("x", 8, "metadata-agent", issued=True), []),
        ({**AGENT, **recorded(7), **compared(7)}, None, []),
        # the host failed before
        (AGENT, None, []),
        # somebody else's, or none: on a gateway, in Kubernetes
        ({}, None, ["a"]),
        ({"ovn_metadata_agent_nova_host": "", "ovn_system_id": "x"}, None, ["x"]),
        ({**AGENT, **KUBERNETES}, None, []),
        # without TLS, whatever a former run has left
        ({**AGENT, "ovn_tls": "no", **recorded(7, kind="metadata-agent")}, None, ["a"]),
        ({**AGENT, "ovn_tls": False}, None, ["a"]),
    ],
)  # fmt: skip
def test_the_certificate_of_a_metadata_agent(
    variables: dict[str, t.Any], expected: dict[str, t.Any] | None, leaving: list[str]
) -> None:
    found = change({"a": variables}, ["a"], kind="metadata-agent")["change"]
    assert found == {
        "certificates": [expected] if expected else [],
        "removed_chassis": [],
        "removed_metadata_agents": leaving,
    }
    gateways = {**GROUPS, "ovn_gateways": ["a"]}
    if "ovn_backend" not in variables:
        found = change({"a": variables}, ["a"], gateways, kind="metadata-agent")["change"]
        assert found["removed_metadata_agents"] == [variables.get("ovn_system_id", "a")]


def test_a_chassis_is_not_taken_for_its_metadata_agent() -> None:
    """Which has the same name, in a run of both playbooks."""
    more = {"holder": "a", "path": PAIR, "issued": False}
    both = {**AGENT, "ovn_pki_recorded": {"chassis": state(7, **more), "metadata-agent": state(8, **more)}}
    assert change({"a": both}, ["a"])["change"]["certificates"] == [option("a", 7)]
    assert change({"a": both}, ["a"], kind="metadata-agent")["change"]["certificates"] == [
        option("a", 8, "metadata-agent")
    ]


HANDED_OUT = {"ovn_neutron_handed_out": True}


@pytest.mark.parametrize(
    ("controllers", "listed"),
    [
        ({}, ["neutron", "operator"]),
        # another playbook than c5c3.ovn.neutron may have renewed it; one host of several did not get it, or was left out by --limit
        ({"n1": {}}, ["operator"]),
        ({"n1": HANDED_OUT, "n2": {}}, ["operator"]),
        ({"n1": HANDED_OUT, "n2": HANDED_OUT}, ["neutron", "operator"]),
        # under another name
    ],
)
def test_the_certificate_of_neutron_counts_when_all_its_hosts_have_it(
    controllers: dict[str, dict[str, t.Any]], listed: list[str]
) -> None:
    """So that the warning about the former one stays until nobody uses it."""
    clients = {name: state(8, issued=True) for name in ("neutron", "operator")}
    groups = {**GROUPS, "ovn_controllers": list(controllers)}
    hostvars = {"central1": {"ovn_pki_clients_issued": {"clients": clients}}, **controllers}
    found = change(hostvars, ["central1"], groups, clients=CLIENTS)["change"]
    assert [one["holder"] for one in found["certificates"]] == listed
    assert found["clients"] == ["neutron", "operator"]


LIST = "issued-certificates.json"
CLUSTER = {"kubeconfig": "", "context": "", "namespace": "ovn-system", "cluster": "ovn"}


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, f"/etc/c5c3-ovn/{LIST}"),
        ({"ovn_central_config_directory": ""}, f"/etc/c5c3-ovn/{LIST}"),
        ({"ovn_central_config_directory": "/srv"}, f"/srv/{LIST}"),
        # where the observer reads it, whatever a play has said
        ({"ovn_central_config_directory": "/srv", "ovn_central_check": {"desired": {"issued_certificates": "/own/list"}}}, "/own/list"),
        ({**KUBERNETES, "ovn_backend": "host"}, f"/etc/c5c3-ovn/{LIST}"),
    ],
)  # fmt: skip
def test_the_file_of_a_machine(variables: dict[str, t.Any], expected: str) -> None:
    assert issued_path(variables) == expected
    assert issued_place({"c1": variables}, "c1") == {"title": expected, "path": expected}


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        (KUBERNETES, {}),
        ({"ovn_backend": "kubernetes"}, {}),
        (
            {**KUBERNETES, "ovn_kubeconfig": "/k", "ovn_context": "x", "ovn_namespace": "n", "ovn_cluster_name": "c"},
            {"kubeconfig": "/k", "context": "x", "namespace": "n", "cluster": "c"},
        ),
        (
            {
                **KUBERNETES,
                "ovn_kubeconfig": {"clusters": []}, "ovn_context": "y", "ovn_namespace": "m", "ovn_cluster_name": "d",
            },
            {"kubeconfig": {"clusters": []}, "context": "y", "namespace": "m", "cluster": "d"},
        ),
    ],
)  # fmt: skip
def test_a_control_plane_in_kubernetes(variables: dict[str, t.Any], expected: dict[str, t.Any]) -> None:
    found = issued_place({"c1": variables}, "c1")
    place = {**CLUSTER, **expected}
    assert found.pop("title") == f"ConfigMap {place['namespace']}/{place['cluster']}-issued-certificates"
    assert found == place
