"""When a new pair is needed, and which CA changes are refused."""

from __future__ import annotations

import dataclasses
import datetime
import pathlib
import typing as t

import pytest
import yaml

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput, Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._pki import decision

NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
DAY = datetime.timedelta(days=1)
LEAF = decision.Leaf(
    common_name="ovn-1",
    subject_alt_names=frozenset({"DNS:ovn-1", "IP:192.0.2.11"}),
    extended_key_usage=decision.BOTH_USAGES,
    not_before=NOW - DAY,
    not_after=NOW + 300 * DAY,
    signed_by_issuer=True,
)
GOOD = decision.Pair("usable", "usable", True, LEAF)
DESIRED = decision.DesiredCertificate("ovn-1", frozenset({"DNS:ovn-1", "IP:192.0.2.11"}), 30, True)


def with_leaf(**changes: t.Any) -> decision.Pair:
    return dataclasses.replace(GOOD, leaf=dataclasses.replace(LEAF, **changes))


@pytest.mark.parametrize(
    ("pair", "codes"),
    [
        pytest.param(GOOD, [], id="a good pair stays"),
        pytest.param(decision.Pair("missing", "missing"), ["missing"], id="nothing there"),
        pytest.param(
            dataclasses.replace(GOOD, private_key="missing", matches=False), ["private_key_missing"], id="key lost"
        ),
        pytest.param(
            dataclasses.replace(GOOD, private_key="unreadable", matches=False),
            ["private_key_unreadable"],
            id="key broken",
        ),
        pytest.param(decision.Pair("usable", "missing"), ["certificate_missing"], id="certificate lost"),
        pytest.param(decision.Pair("usable", "unreadable"), ["certificate_unreadable"], id="certificate broken"),
        pytest.param(dataclasses.replace(GOOD, matches=False), ["key_mismatch"], id="cut off between the two renames"),
        pytest.param(with_leaf(common_name="ovn-2"), ["common_name"], id="another name"),
        pytest.param(
            with_leaf(subject_alt_names=frozenset({"DNS:ovn-1"})), ["subject_alt_names"], id="the address changed"
        ),
        pytest.param(
            with_leaf(extended_key_usage=frozenset({"serverAuth"})), ["extended_key_usage"], id="cannot be a client"
        ),
        pytest.param(
            with_leaf(extended_key_usage=decision.BOTH_USAGES | {"1.2.3"}),
            ["extended_key_usage"],
            id="a further usage",
        ),
        pytest.param(with_leaf(is_ca=True), ["is_ca"], id="a CA certificate as leaf"),
        pytest.param(with_leaf(signed_by_issuer=False), ["issuer"], id="the CA changed"),
        pytest.param(with_leaf(not_after=NOW + 30 * DAY), [], id="exactly the limit left"),
        pytest.param(with_leaf(not_after=NOW + 30 * DAY - DAY / 86400), ["renewal"], id="a second less"),
        pytest.param(with_leaf(not_after=NOW), ["expired"], id="ends now"),
        pytest.param(with_leaf(not_before=NOW + DAY), ["not_yet_valid"], id="begins tomorrow"),
        pytest.param(
            with_leaf(common_name="ovn-2", not_after=NOW - DAY), ["common_name", "expired"], id="all reasons are listed"
        ),
    ],
)
def test_reasons(pair: decision.Pair, codes: list[str]) -> None:
    reasons = decision.reasons_for_new_pair(pair, DESIRED, NOW)
    assert [reason.code for reason in reasons] == codes
    assert all(reason.message for reason in reasons)


@pytest.mark.parametrize(
    ("usages", "codes"),
    [
        pytest.param({"clientAuth"}, [], id="for a client"),
        pytest.param(decision.BOTH_USAGES, ["extended_key_usage"], id="a server, too: clients would believe it"),
    ],
)
def test_the_certificate_of_a_chassis_is_for_a_client_alone(usages: set[str], codes: list[str]) -> None:
    desired = dataclasses.replace(DESIRED, extended_key_usage=frozenset({"clientAuth"}))
    reasons = decision.reasons_for_new_pair(with_leaf(extended_key_usage=frozenset(usages)), desired, NOW)
    assert [reason.code for reason in reasons] == codes


def test_a_renewal_can_be_declared() -> None:
    reasons = decision.reasons_for_new_pair(GOOD, dataclasses.replace(DESIRED, renew=True), NOW)
    assert [reason.code for reason in reasons] == ["renewal_declared"]


def test_a_certificate_of_the_former_ca_stays_while_the_new_one_becomes_known() -> None:
    desired = dataclasses.replace(DESIRED, renew_on_issuer_change=False)
    assert decision.reasons_for_new_pair(with_leaf(signed_by_issuer=False), desired, NOW) == []


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        (GOOD, True),
        (with_leaf(signed_by_issuer=False, common_name="other"), True),
        (dataclasses.replace(GOOD, matches=False), False),
        (with_leaf(not_after=NOW), False),
        (with_leaf(not_before=NOW + DAY), False),
        (decision.Pair("missing", "missing"), False),
    ],
)
def test_in_service(pair: decision.Pair, expected: bool) -> None:
    assert decision.is_in_service(pair, NOW) is expected


OLD = decision.Authority("aa" * 32, "old CA", signed_installed=True)
NEW = decision.Authority("bb" * 32, "new CA")


@pytest.mark.parametrize(
    ("installed", "desired", "removal", "expected"),
    [
        pytest.param([], [NEW], False, ([NEW], []), id="first installation"),
        pytest.param([NEW], [NEW], False, ([], []), id="nothing changes"),
        pytest.param([OLD], [OLD, NEW], False, ([NEW], []), id="overlap begins"),
        pytest.param([OLD, NEW], [NEW, OLD], False, ([], []), id="order does not matter"),
        pytest.param([dataclasses.replace(OLD, signed_installed=False), NEW], [NEW], True, None, id="overlap ends"),
    ],
)
def test_bundle(
    installed: list[decision.Authority],
    desired: list[decision.Authority],
    removal: bool,
    expected: tuple[list[decision.Authority], list[decision.Authority]] | None,
) -> None:
    if expected is None:
        expected = ([], [installed[0]])
    assert decision.bundle_change(installed, desired, removal, "/ca.pem") == expected


def test_another_ca_without_overlap_is_refused() -> None:
    with pytest.raises(Refused, match=r"'old CA'.*ovn_pki_ca.bundle_extra.*ovn_pki_ca_rotation: finish"):
        decision.bundle_change([OLD], [NEW], False, "/ca.pem")


def test_the_ca_of_the_pair_in_use_never_goes() -> None:
    with pytest.raises(Refused, match=r"ovn_pki_ca_rotation: switch first"):
        decision.bundle_change([OLD, NEW], [NEW], True, "/ca.pem")


def test_the_issuer_has_to_be_in_the_bundle() -> None:
    with pytest.raises(InvalidInput, match="new CA"):
        decision.require_issuer_in_bundle(NEW, [OLD])


def test_the_default_of_the_role_is_that_of_reports_and_conditions() -> None:
    spec = pathlib.Path(__file__).parents[5] / "roles" / "ovn_pki" / "meta" / "argument_specs.yml"
    options = yaml.safe_load(spec.read_text())["argument_specs"]["main"]["options"]
    assert options["ovn_pki_renew_before_days"]["default"] == decision.RENEW_BEFORE_DAYS
