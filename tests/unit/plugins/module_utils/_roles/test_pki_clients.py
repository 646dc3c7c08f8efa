"""Which certificates clients get that are no hosts of the inventory."""

from __future__ import annotations

import pathlib
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.pki_clients import (
    client_pairs,
    clients_problem,
    desired_clients,
    is_client_due,
    served_clients,
)

GROUPS = {"ovn_hypervisors": ["compute1", "compute2"]}
HOSTVARS: dict[str, dict[str, t.Any]] = {"compute1": {"ovn_system_id": "chassis-1"}, "compute2": {"ovn_system_id": ""}}


def desired(*clients: t.Any, directory: str = "/srv/clients") -> list[dict[str, t.Any]]:
    return desired_clients(clients, directory, "ovn", HOSTVARS, GROUPS)


def test_a_name_is_enough() -> None:
    assert desired("neutron") == [
        {
            "name": "neutron",
            "pair": {
                "private_key": "/srv/clients/neutron-key.pem",
                "certificate": "/srv/clients/neutron-cert.pem",
                "ca_certificate": "/srv/clients/ca.pem",
                "common_name": "neutron",
                "subject_alt_names": [],
                "extended_key_usage": ["clientAuth"],
            },
            "access": "central",
            "secret": "ovn-client-neutron",
        }
    ]


def test_what_a_dictionary_says_counts_and_what_is_empty_is_absent() -> None:
    names = ["DNS:a.example", "192.0.2.1"]
    found = desired(
        {"name": "a", "common_name": "x", "subject_alt_names": names, "secret": "s"},
        {"name": "b", "common_name": "", "subject_alt_names": "", "secret": None},
    )
    assert [(one["pair"]["common_name"], one["pair"]["subject_alt_names"], one["secret"]) for one in found] == [
        ("x", names, "s"),
        ("b", [], "ovn-client-b"),
    ]


def test_a_text_with_commas_is_a_list() -> None:
    assert [one["name"] for one in desired_clients("a, b", "/srv/clients")] == ["a", "b"]


@pytest.mark.parametrize("clients", [[], "", None])
def test_what_is_empty_is_no_client(clients: t.Any) -> None:
    assert desired_clients(clients, "/srv/clients") == []


@pytest.mark.parametrize("clients", [5, True, {"name": "neutron"}])
def test_what_is_no_list_is_refused(clients: t.Any) -> None:
    with pytest.raises(InvalidInput, match=r"ovn_pki_clients is .*, not a list\. Give a list .* like \[neutron\]"):
        desired_clients(clients, "/srv/clients")


@pytest.mark.parametrize(
    ("clients", "words"),
    [
        pytest.param(["a", {"name": "a"}], "has a twice", id="twice"),
        pytest.param(["../ca"], "cannot be the name", id="a path"),
        pytest.param(["Neutron"], "cannot be the name", id="upper case"),
        pytest.param(["a" * 41], "cannot be the name", id="too long"),
        pytest.param([{"common_name": "a"}], "name has no value", id="without a name"),
        pytest.param(
            [{"name": "a", "san": []}], "Give a name, or a dictionary with name, common_name", id="unknown key"
        ),
        pytest.param([5], "Give a name, or a dictionary", id="a number"),
        pytest.param(["compute2"], "compute2 is the name of a chassis", id="an inventory name of a chassis"),
        pytest.param([{"name": "a", "common_name": "chassis-1"}], "chassis-1 is the name", id="a system id"),
        pytest.param([{"name": "a", "access": "root"}], 'the access "root". Give central or chassis', id="access"),
        pytest.param(
            [{"name": "a", "access": "chassis"}],
            "takes ovn_tls and a control plane in this inventory",
            id="no chassis CA",
        ),
    ],
)
def test_what_is_refused(clients: list[t.Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        desired(*clients)


def test_a_client_beside_a_chassis_has_its_name_and_its_rights() -> None:
    agent = {"name": "metadata-compute1", "common_name": "chassis-1", "access": "chassis"}
    (found,) = desired_clients([agent], "/srv/clients", "ovn", HOSTVARS, GROUPS, chassis_ca=True)
    assert (found["access"], found["pair"]["common_name"]) == ("chassis", "chassis-1")
    common = {"issuer": "host's", "owner": "ovn", "client_ca_certificate": "/etc/relay-ca.pem", "ca_bundle": "C"}
    (options,) = client_pairs([found], common, {"central": {"issuer": "C"}, "chassis": {"issuer": "H"}})
    assert options == {
        **found["pair"],
        "issuer": "H",
        "owner": None,
        "group": None,
        "client_ca_certificate": None,
        "client_ca_bundle": "",
        "ca_bundle": "C",
    }


@pytest.mark.parametrize(
    ("reasons", "certificate", "due"),
    [
        pytest.param([], "/srv/clients/neutron-cert.pem", False, id="as declared"),
        pytest.param(["missing"], "/srv/clients/neutron-cert.pem", True, id="not issued yet"),
        pytest.param(["renewal"], "/srv/clients/neutron-cert.pem", True, id="about to end"),
        pytest.param(["issuer", "ca_added"], "/srv/clients/neutron-cert.pem", True, id="of another CA"),
        pytest.param(["ca_removed"], "/srv/clients/neutron-cert.pem", True, id="the CAs alone"),
        pytest.param(["permissions", "modification_times"], "/srv/clients/neutron-cert.pem", False, id="same contents"),
        pytest.param(["permissions", "expired"], "/srv/clients/neutron-cert.pem", True, id="others, too"),
        pytest.param(["expired"], "/srv/clients//neutron-cert.pem", True, id="spelled differently"),
        pytest.param(["expired"], "/srv/vault/neutron-cert.pem", False, id="files of somebody else"),
    ],
)
def test_check_mode_foresees_other_files_of_a_client(reasons: list[str], certificate: str, due: bool) -> None:
    """One of the central hosts has compared them. What others have of this run says nothing about this client."""
    other = {"path": "/srv/clients/octavia-cert.pem", "reasons": []}
    mine = {"path": "/srv/clients/neutron-cert.pem", "reasons": reasons}
    hostvars = {"c1": {}, "c2": {"ovn_pki_clients_issued": {"clients": {"octavia": other, "neutron": mine}}}}
    assert is_client_due(hostvars, ["c1", "c2"], certificate) is due
    assert not is_client_due(hostvars, ["c1"], certificate)


def test_client_with_the_rights_of_a_chassis_waits_for_its_ca(tmp_path: pathlib.Path) -> None:
    """One that has a certificate of before keeps it."""
    clients = desired_clients(
        [{"name": "a", "access": "chassis"}, {"name": "b", "access": "chassis"}, "n"],
        str(tmp_path),
        chassis_ca=True,
    )
    (tmp_path / "b-cert.pem").write_text("PEM")
    assert [one["name"] for one in served_clients(clients, former_layout=True)] == ["b", "n"]
    assert served_clients(clients, former_layout=False) == clients


@pytest.mark.parametrize(
    ("waiting", "has_issuer", "may_wait", "message"),
    [
        ([], False, False, "there is no ca.pem in /ca. Run c5c3.ovn.central first"),
        (["agent"], True, False, "The certificates of agent in ovn_pki_clients are not issued"),
        (["agent"], True, True, ""),
        ([], True, False, ""),
    ],
)
def test_clients_without_a_ca_get_no_certificate(
    waiting: list[str], has_issuer: bool, may_wait: bool, message: str
) -> None:
    found = clients_problem(waiting, "c1", "/ca", has_issuer=has_issuer, may_wait=may_wait)
    assert message in found
    assert bool(found) is bool(message)
