"""Which of the two CAs signs, and who is trusted."""

from __future__ import annotations

import typing as t

import pytest
from built_manifests import hypervisor_manifests_of

from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.compare import is_applied
from ansible_collections.c5c3.ovn.plugins.module_utils._roles import authorities
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.authorities import node_authorities
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.variables import Backend

Vars = dict[str, t.Any]
ALL = {"active": "A", "next": "N", "previous": "P"}
ALL_CHASSIS = {"active": "a", "next": "n", "previous": "p"}
ACTIVE, ACTIVE_CHASSIS = {"active": "A"}, {"active": "a"}
GIVEN = {"ovn_pki_ca": {"certificate": "G"}}


def phase(name: str, *rotated: str) -> Vars:
    return {"ovn_pki_ca_rotation": name, **({"ovn_pki_rotate": list(rotated)} if rotated else {})}


def found(
    options: Vars,
    central: Vars,
    chassis: Vars | None = None,
    certificate: authorities.AuthorityName = "central",
    **other: t.Any,
) -> Vars:
    files = {"central": central, "chassis": chassis or {}}
    return authorities.authority(
        options, files, certificate, **{"chassis_ca": True, "central_backend": "host", **other}
    )


def lines(text: str) -> str:
    return text.replace("\n", "")


@pytest.mark.parametrize(
    ("certificate", "backend", "central", "chassis_ca", "has_chassis_ca", "expected"),
    [
        pytest.param("chassis", "host", "host", True, True, "chassis", id="a hypervisor"),
        pytest.param("central", "host", "host", True, True, "central", id="a member"),
        pytest.param("chassis", "host", "host", False, True, "central", id="members let chassis in"),
        pytest.param("chassis", "host", None, None, True, "chassis", id="a control plane elsewhere"),
        pytest.param("chassis", "host", None, None, False, "central", id="a control plane elsewhere with one CA"),
        pytest.param("chassis", "host", "host", True, False, "central", id="from before there were two"),
        pytest.param("chassis", "kubernetes", "host", True, True, "central", id="nodes connect to port 16642"),
        pytest.param("chassis", "kubernetes", None, None, True, "central", id="nodes, a control plane elsewhere"),
        pytest.param("chassis", "kubernetes", "kubernetes", True, True, "chassis", id="nodes"),
        pytest.param("chassis", "kubernetes", "kubernetes", False, True, "central", id="nodes, a given Secret"),
        pytest.param("chassis", "kubernetes", "kubernetes", True, False, "central", id="nodes with one CA"),
        pytest.param("chassis", "host", "kubernetes", True, True, "chassis", id="a hypervisor of a cluster"),
        pytest.param("central", "kubernetes", "kubernetes", True, True, "central", id="a control plane in Kubernetes"),
    ],
)
def test_who_signs(
    certificate: authorities.AuthorityName,
    backend: Backend,
    central: Backend | None,
    chassis_ca: bool | None,
    has_chassis_ca: bool,
    expected: str,
) -> None:
    known = {"chassis_ca": chassis_ca, "central_backend": central, "has_chassis_ca": has_chassis_ca}
    assert authorities.authority_of(certificate, backend, **known) == expected


@pytest.mark.parametrize(
    ("options", "central", "chassis", "issuers", "bundle", "client_bundle"),
    [
        pytest.param({}, {}, {}, ("", ""), "", "", id="no CA yet"),
        pytest.param({}, ACTIVE, ACTIVE_CHASSIS, ("A", "a"), "A", "Aa", id="files"),
        pytest.param({}, ACTIVE, {}, ("A", "A"), "A", "A", id="from before there were two"),
        pytest.param({}, ALL, ALL_CHASSIS, ("A", "a"), "ANP", "ANPanp", id="all are trusted"),
        pytest.param(phase("prepare"), ALL, ALL_CHASSIS, ("A", "a"), "ANP", "ANPanp", id="prepared"),
        pytest.param(
            phase("prepare"), {**ACTIVE, "next": "N"}, {"next": "n"}, ("A", "A"), "AN", "ANn", id="carried over"
        ),
        pytest.param(phase("switch"), ALL, ALL_CHASSIS, ("N", "n"), "NAP", "NAPnap", id="the next ones sign"),
        pytest.param(phase("switch", "chassis"), ALL, ALL_CHASSIS, ("A", "n"), "ANP", "ANPnap", id="chassis alone"),
        pytest.param(phase("switch", "central"), ALL, ALL_CHASSIS, ("N", "a"), "NAP", "NAPanp", id="central alone"),
        pytest.param(phase("switch"), ACTIVE, {"next": "n"}, ("A", "n"), "A", "An", id="cut off between the two"),
        pytest.param(phase("finish"), ALL, ALL_CHASSIS, ("A", "a"), "AN", "ANan", id="the former ones leave"),
        pytest.param(phase("finish", "central"), ALL, ALL_CHASSIS, ("A", "a"), "AN", "ANanp", id="one of them leaves"),
        pytest.param({"ovn_pki_ca_rotation": ""}, ALL, ALL_CHASSIS, ("A", "a"), "ANP", "ANPanp", id="empty is none"),
        pytest.param(GIVEN, ALL, ALL_CHASSIS, ("G", "a"), "G", "Ganp", id="a given central CA"),
        pytest.param(
            {"ovn_pki_chassis_ca": {"certificate": "g"}},
            ALL,
            ALL_CHASSIS,
            ("A", "g"),
            "ANP",
            "ANPg",
            id="a given chassis CA",
        ),
        pytest.param(
            {"ovn_pki_ca": {"certificate": "G", "bundle_extra": "X"}}, {}, {}, ("G", "G"), "GX", "GX", id="extra"
        ),
        pytest.param(
            {"ovn_pki_chassis_ca": {"bundle_extra": "x"}},
            ACTIVE,
            ACTIVE_CHASSIS,
            ("A", "a"),
            "A",
            "Aax",
            id="extra for relays",
        ),
        pytest.param({"ovn_pki_ca": {"certificate": " \n"}}, ACTIVE, {}, ("A", "A"), "A", "A", id="blank is absent"),
    ],
)
def test_issuers_and_bundles(
    options: Vars, central: Vars, chassis: Vars, issuers: tuple[str, str], bundle: str, client_bundle: str
) -> None:
    results = [found(options, central, chassis, name) for name in authorities.AUTHORITIES]
    assert tuple(result["issuer"] for result in results) == issuers
    assert {lines(result["bundle"]) for result in results} == {bundle}
    assert {lines(result["client_bundle"]) for result in results} == {client_bundle}
    assert results[0]["given"] == (issuers[0] == "G")


def test_given_ca_that_is_no_dictionary_is_refused() -> None:
    """Absent, it would make another CA."""
    with pytest.raises(InvalidInput, match="ovn_pki_ca is no dictionary"):
        found({"ovn_pki_ca": "PEM"}, ALL, ALL_CHASSIS)


def test_without_a_server_of_chassis_nobody_lets_the_chassis_ca_in() -> None:
    result = found({}, ACTIVE, ACTIVE_CHASSIS, "chassis", chassis_ca=False)
    assert (result["name"], lines(result["client_bundle"]), result["former_layout"]) == ("central", "A", False)


@pytest.mark.parametrize(
    ("options", "central", "chassis", "chassis_ca", "missing"),
    [
        pytest.param({}, {}, {}, True, ["chassis", "central"], id="the chassis CA first"),
        pytest.param({}, {}, ACTIVE_CHASSIS, True, ["central"], id="cut off between the two"),
        pytest.param({}, ACTIVE, ACTIVE_CHASSIS, True, [], id="both are there"),
        pytest.param({}, ACTIVE, {}, True, [], id="from before there were two"),
        pytest.param({}, {}, {}, False, ["central"], id="no relays"),
        pytest.param(GIVEN, {}, {}, True, ["chassis"], id="beside a given one"),
        pytest.param(GIVEN, {}, {}, None, [], id="a control plane elsewhere does not know ours"),
        pytest.param(GIVEN, {}, {"next": "n"}, True, [], id="it comes with the phases"),
        pytest.param({"ovn_pki_chassis_ca": {"certificate": "g"}}, {}, {}, True, ["central"], id="given for chassis"),
    ],
)
def test_which_cas_have_to_be_made(
    options: Vars, central: Vars, chassis: Vars, chassis_ca: bool | None, missing: list[str]
) -> None:
    assert found(options, central, chassis, chassis_ca=chassis_ca)["missing"] == missing


@pytest.mark.parametrize(
    ("options", "central", "chassis", "chassis_ca", "rotates"),
    [
        pytest.param({}, ACTIVE, ACTIVE_CHASSIS, True, [], id="no phase"),
        pytest.param(phase("prepare"), ACTIVE, ACTIVE_CHASSIS, True, ["central", "chassis"], id="both"),
        pytest.param(phase("prepare", "chassis"), ACTIVE, ACTIVE_CHASSIS, True, ["chassis"], id="one"),
        pytest.param(phase("prepare"), ACTIVE, {}, True, ["central", "chassis"], id="the chassis CA comes"),
        pytest.param(phase("prepare"), ACTIVE, {}, False, ["central"], id="no relays"),
        pytest.param(phase("prepare"), {}, {}, True, [], id="no CA yet"),
        pytest.param(
            {**GIVEN, **phase("prepare")}, {}, ACTIVE_CHASSIS, True, ["chassis"], id="a given one has no file"
        ),
        pytest.param({**GIVEN, **phase("prepare")}, {}, {}, True, ["chassis"], id="the chassis CA comes beside it"),
    ],
)
def test_which_files_a_phase_moves(
    options: Vars, central: Vars, chassis: Vars, chassis_ca: bool, rotates: list[str]
) -> None:
    assert found(options, central, chassis, chassis_ca=chassis_ca)["rotates"] == rotates


def test_an_installation_from_before_there_were_two() -> None:
    assert found({}, ACTIVE)["former_layout"]
    assert found(GIVEN, {})["former_layout"]
    assert found(phase("prepare"), ACTIVE, {"next": "n"})["former_layout"]
    assert not found(phase("switch"), ACTIVE, {"next": "n"})["former_layout"]
    assert not found({}, {})["former_layout"]
    assert not found({}, ACTIVE, ACTIVE_CHASSIS)["former_layout"]


@pytest.mark.parametrize("given", ["leaves", ["central", "x"], ["central", "certificates"], []])
def test_what_cannot_be_rotated(given: t.Any) -> None:
    with pytest.raises(InvalidInput, match="Give central, chassis or both"):
        authorities.rotated_authorities(given)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("", ["central", "chassis"]),
        (None, ["central", "chassis"]),
        ("chassis,central", ["central", "chassis"]),
        ("certificates", []),
    ],
)
def test_both_are_rotated_unless_one_is_named(given: t.Any, expected: list[str]) -> None:
    assert authorities.rotated_authorities(given) == expected


def test_only_who_lets_clients_in_has_a_bundle_for_them() -> None:
    signed = {"issuer": "a", "bundle": "A", "client_bundle": "Aa"}
    chassis = authorities.pair_options({"pair": {"common_name": "h1"}}, signed, {"renew_before": 3})
    assert chassis == {"common_name": "h1", "issuer": "a", "ca_bundle": "A", "renew_before": 3}
    member = authorities.pair_options({"pair": {"client_ca_certificate": "/relay-ca.pem"}}, signed)
    assert member["client_ca_bundle"] == "Aa"


def test_the_kinds_of_certificates_of_a_run() -> None:
    """A chassis in Kubernetes, while the control plane is on machines: nodes share a certificate that no relay could take for that of a chassis."""
    desired = {"certificate": "chassis", "backend": "kubernetes", "chassis_ca": True, "central_backend": "host"}
    kinds = authorities.authorities({}, {"central": ACTIVE, "chassis": ACTIVE_CHASSIS}, desired)
    assert {kind: (one["name"], one["issuer"]) for kind, one in kinds.items()} == {
        "own": ("central", "A"),
        "central": ("central", "A"),
        "chassis": ("chassis", "a"),
        "hypervisor_cluster": ("central", "A"),
    }


OWN = {"ovn_backend": "kubernetes", "ovn_node_certificates": "own"}


def of_module(name: str, namespace: str, bundle: str) -> dict[str, t.Any]:
    spec = parse_spec({"tls": {"nodeCertificates": "own"}}, name=name, namespace=namespace)
    manifests = hypervisor_manifests_of(spec, name=name, namespace=namespace, authorities=bundle)
    (found,) = [one for one in manifests if one["metadata"]["name"] == "ovn-chassis-ca"]
    return found


@pytest.mark.parametrize(
    ("variables", "name", "namespace"),
    [
        ({}, "ovn", "ovn-system"),
        ({"ovn_namespace": "net", "ovn_cluster_name": "prod"}, "prod", "net"),
    ],
)
def test_it_is_the_object_of_the_module(variables: dict[str, t.Any], name: str, namespace: str) -> None:
    """Else both would write it again and again."""
    found = node_authorities({**OWN, **variables}, "CAs")
    assert is_applied(of_module(name, namespace, "CAs"), found)
    assert not is_applied(of_module(name, namespace, "other CAs"), found)


@pytest.mark.parametrize(
    "variables",
    [
        {"ovn_node_certificates": "shared"},
        {"ovn_cluster_spec": {"tls": {"caConfigMapRef": {"name": "trusted"}}}},
        {"ovn_hypervisor_state": "absent"},
    ],
    ids=["they share", "CAs of another owner", "it is to be removed"],
)
def test_clusters_that_need_none(variables: dict[str, t.Any]) -> None:
    assert node_authorities(OWN, "CAs")
    assert node_authorities({**OWN, **variables}, "CAs") == {}
    assert node_authorities(OWN, "") == {}, "a Secret without CAs takes none away"
