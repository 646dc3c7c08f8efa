"""Who trusts a CA, and what keeps it from signing."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._host.ca_directory import KeyModes
from ansible_collections.c5c3.ovn.plugins.module_utils._roles import authority

Vars = dict[str, t.Any]


def facts(trusted: bool = True, in_service: bool = True, signed: bool = True, bundle: str = "B") -> Vars:
    return {
        "ca_installed": bool(bundle),
        "issuer_trusted": trusted,
        "in_service": in_service,
        "signed_by_issuer": signed,
        "ca_bundle": bundle,
        "client_ca_bundle": f"{bundle}+relay" if bundle else "",
        "issuer_accepted": trusted,
    }


def test_trust_brings_all_answers_together() -> None:
    results = [
        {"item": "c1", **facts(trusted=False)},
        {"item": ["h1", "chassis"], **facts(signed=False, bundle="C")},
        {"item": ["h1", "central"], **facts(signed=False, bundle="C")},
        {"item": "bare", **facts(trusted=False, in_service=False, signed=False, bundle="")},
        {"item": "skipped", "skipped": True},
    ]
    found = authority.trust(results, {"rack1": facts(trusted=False)}, {"own": facts(), "none": {}}, ["c1", "rack1"])
    assert found == {
        "trusting": ["own", "c1", "h1", "rack1"],
        "distrusting": ["c1", "rack1"],
        "rejecting": ["c1", "rack1"],
        "former": ["h1"],
        "bundles": ["B"],
        "client_bundles": ["B+relay"],
    }


def test_what_a_hypervisor_trusts_does_not_count() -> None:
    """Its owner could add a CA to the file, and all hosts would get it."""
    results = [{"item": ["h1", "chassis"], **facts(bundle="FOREIGN")}]
    found = authority.trust(results, {}, {"h2": facts(bundle="FOREIGN")}, ["c1"])
    assert (found["trusting"], found["bundles"], found["client_bundles"]) == (["h2", "h1"], [], [])


def test_a_host_without_a_bundle_for_its_relay_lets_no_chassis_in() -> None:
    """It trusts a CA, so chassis are connected to it, and its relay has no file with the chassis CA."""
    results = [{"item": "c1", **facts(), "client_ca_bundle": "", "issuer_accepted": False}]
    found = authority.trust(results, {}, {}, ["c1"])
    assert (found["distrusting"], found["rejecting"]) == ([], ["c1"])


@pytest.mark.parametrize(
    ("directory_mode", "key_mode", "encrypted", "expected"),
    [
        pytest.param(0o700, 0o600, False, "", id="as we make it"),
        pytest.param(0o700, 0o400, False, "", id="not even we write"),
        pytest.param(
            0o700, 0o640, False, "/ca/ca-key.pem has the mode 0640. Run: chmod 0600 /ca/ca-key.pem.", id="group"
        ),
        pytest.param(0o755, 0o600, False, "/ca has the mode 0755. Run: chmod 0700 /ca.", id="directory"),
        pytest.param(0o750, 0o604, False, "Run: chmod 0700 /ca && chmod 0600 /ca/ca-key.pem.", id="both"),
        pytest.param(0o755, 0o644, True, "", id="encrypted, from a repository"),
        pytest.param(0o755, 0o664, True, "can replace it, because /ca/ca-key.pem has the mode 0664", id="replaceable"),
    ],
)
def test_a_key_that_others_could_use(directory_mode: int, key_mode: int, encrypted: bool, expected: str) -> None:
    found = authority.key_problem("/ca/ca-key.pem", KeyModes(key_mode, directory_mode, encrypted))
    assert expected in found
    assert bool(found) == bool(expected)


SIGNING = authority.SigningOptions(
    ca_directory="/ca",
    ca_directory_is_kept=False,
    validity_days=365,
    renew_before_days=30,
    ca={"private_key": "key"},
    chassis_ca={"private_key": "chassis key"},
)


def test_passphrase_of_the_central_ca_is_the_default_of_the_other() -> None:
    both = dataclasses.replace(SIGNING, ca={"private_key": "key", "private_key_passphrase": "a"})
    assert (SIGNING.passphrase("central"), SIGNING.passphrase("chassis")) == ("", "")
    assert (both.passphrase("central"), both.passphrase("chassis")) == ("a", "a")
    assert dataclasses.replace(both, chassis_ca={"private_key_passphrase": "b"}).passphrase("chassis") == "b"
    assert (both.given_key("central"), both.given_key("chassis")) == ("key", "chassis key")
    assert "key'" not in repr(dataclasses.replace(both, ca={"private_key": "a key"}))


@pytest.mark.parametrize(
    ("options", "request_", "expected"),
    [
        pytest.param({}, [], "", id="it may be signed"),
        pytest.param({"has_key": False, "given": True}, [], "given without its key", id="given without key"),
        pytest.param({"has_key": False}, ["x"], "/ca on the control node has ca.pem, but not ca-key.pem", id="no key"),
        pytest.param(
            {"has_key": False, "authority": "chassis"},
            [],
            "has chassis-ca.pem, but not chassis-ca-key.pem",
            id="chassis",
        ),
        pytest.param(
            {"has_key": False, "given": True, "authority": "chassis"},
            [],
            "Give ovn_pki_chassis_ca.private_key, too.",
            id="given chassis CA without key",
        ),
        pytest.param({"renew_before": 365}, ["x"], "ovn_pki_renew_before_days (365) not below", id="each run"),
        pytest.param({}, ["one", "two"], "The request of h1 is not signed: one; two. Something", id="request"),
    ],
)
def test_signing_problem(options: Vars, request_: list[str], expected: str) -> None:
    usual = {"has_key": True, "given": False}
    renew_before = options.pop("renew_before", 30)
    signing = dataclasses.replace(SIGNING, renew_before_days=renew_before)
    found = authority.signing_problem("h1", request_, signing, **{**usual, **options})
    assert expected in found
    assert bool(expected) == bool(found)


STATE: Vars = {"missing": [], "in_service": True, "not_after": ""}


@pytest.mark.parametrize(
    ("exists", "state", "twin", "expected"),
    [
        pytest.param(True, STATE, "", "", id="fine"),
        pytest.param(False, STATE, "", "It was declared as given", id="absent"),
        pytest.param(False, STATE, "plane", "It is also that of plane in ovn_central", id="of the central host"),
        pytest.param(
            True, {**STATE, "missing": ["tls.key"]}, "", "Secret a/b lacks tls.key. It has to", id="incomplete"
        ),
        pytest.param(True, {**STATE, "in_service": False}, "", "(its end: unknown)", id="invalid"),
    ],
)
def test_given_secret_problem(exists: bool, state: Vars, twin: str, expected: str) -> None:
    found = authority.given_secret_problem("Secret a/b", exists, state, twin)
    assert expected in found
    assert found.endswith("Nothing was changed." if expected else "")
    assert bool(expected) == bool(found)


def test_a_given_secret_without_ca_is_fine_where_a_configmap_has_it() -> None:
    state = {**STATE, "missing": ["ca.crt"]}
    assert "lacks ca.crt. It has to have tls.crt, tls.key and ca.crt" in authority.given_secret_problem(
        "a", True, state
    )
    assert authority.given_secret_problem("a", True, state, ca_config_map="trusted") == ""
    state["missing"] = ["tls.key", "ca.crt"]
    found = authority.given_secret_problem("a", True, state, ca_config_map="trusted")
    assert found.startswith("a lacks tls.key. It has to have tls.crt and tls.key, as")


@pytest.mark.parametrize(
    ("signs", "kept", "refused"),
    [
        pytest.param({}, False, False, id="nothing is known"),
        pytest.param({"/.dockerenv": False, "POD": "", "X": "0", "Y": None}, False, False, id="a machine"),
        pytest.param({"/.dockerenv": True, "POD": ""}, False, True, id="a file"),
        pytest.param({"/.dockerenv": "True"}, False, True, id="as text"),
        pytest.param({"/.dockerenv": "False"}, "", False, id="as text, no"),
        pytest.param({"POD": "192.0.2.1"}, "false", True, id="a variable"),
        pytest.param({"POD": "192.0.2.1"}, "true", False, id="kept, from the command line"),
        pytest.param({"/.dockerenv": True}, True, False, id="kept"),
    ],
)
def test_where_a_ca_may_be_created(signs: Vars, kept: t.Any, refused: bool) -> None:
    problem = authority.ca_directory_problem(signs, "/srv/ovn-pki", kept)
    assert bool(problem) is refused
    if refused:
        (sign,) = [name for name, value in signs.items() if value]
        assert f"({sign})" in problem
        assert "/srv/ovn-pki" in problem


def test_validity_of_a_new_ca() -> None:
    assert SIGNING.ca_validity_days == 3650
    assert dataclasses.replace(SIGNING, ca={"validity_days": 20}).ca_validity_days == 20


def test_where_keys_of_clients_may_be_created() -> None:
    problem = authority.ca_directory_problem({"POD": "192.0.2.1"}, "/srv/clients", clients=True)
    assert "ovn_pki_clients would be created in it, in /srv/clients" in problem
    assert "ovn_pki_ca_directory" in problem
    assert authority.ca_directory_problem({"POD": "192.0.2.1"}, "/srv/clients", "true", clients=True) == ""
