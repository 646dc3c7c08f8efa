"""Which phases of a rotation are left, and what listeners serve between them."""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput, Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._roles import rotation

BOTH = ["central", "chassis"]
ALL = ["prepare", "switch", "finish"]


def note(phase: str, *rotates: str) -> str:
    return json.dumps({"phase": phase, "rotate": list(rotates) or BOTH})


def plan(recorded: str = "", rotates: t.Any = None, central: str = "", chassis: str = "", **options: bool) -> t.Any:
    files = {
        name: dict.fromkeys(states.split(), "PEM") for name, states in (("central", central), ("chassis", chassis))
    }
    return rotation.rotation_plan(recorded, files, rotates, **{"has_clients": False, **options})


@pytest.mark.parametrize(
    ("recorded", "central", "chassis", "phases"),
    [
        pytest.param("", "active", "active", ALL, id="a new rotation"),
        pytest.param("", "active", "", ALL, id="from before there were two"),
        pytest.param("", "active next", "active", ALL, id="prepared by hand"),
        pytest.param("", "active previous", "active next", ALL, id="cut off between the two"),
        pytest.param("", "active previous", "active", ["switch", "finish"], id="switched by hand"),
        pytest.param(note("prepare"), "active next", "next", ALL, id="cut off while it was prepared"),
        pytest.param(note("switch"), "active next", "next", ["switch", "finish"], id="prepared"),
        pytest.param(note("finish"), "active", "active", ["finish"], id="cut off after the files were moved"),
    ],
)
def test_phases(recorded: str, central: str, chassis: str, phases: list[str]) -> None:
    found = plan(recorded, central=central, chassis=chassis)
    assert (found["phases"], found["rotate"], found["last"]) == (phases, BOTH, len(phases) == 1)


@pytest.mark.parametrize("option", ["has_clients", "check_mode"])
def test_one_phase_at_a_time(option: str) -> None:
    assert plan(**{option: True})["phases"] == ["prepare"]
    assert plan(note("switch"), **{option: True})["phases"] == ["switch"]


def test_a_rotation_ends_with_the_cas_that_it_began_with() -> None:
    assert plan(note("switch", "chassis"), BOTH)["rotate"] == ["chassis"]
    assert plan(note("switch", "chassis"), "chassis")["rotate"] == ["chassis"]
    with pytest.raises(InvalidInput, match="A rotation of chassis is under way, ovn_pki_rotate is central"):
        plan(note("switch", "chassis"), "central")
    assert plan(rotates="chassis")["rotate"] == ["chassis"]


HOSTVARS: dict[str, t.Any] = {"c1": {"ovn_address": "192.0.2.1"}, "c2": {"ovn_address": "2001:db8::2"}}


def test_a_chassis_opens_one_port() -> None:
    assert rotation.expected_listeners({"c1": "a1", "c2": "b2"}, HOSTVARS, "chassis") == {
        "ssl:192.0.2.1:6642": "a1",
        "ssl:[2001:db8::2]:6642": "b2",
    }


def test_a_member_opens_all() -> None:
    found = rotation.expected_listeners({"c1": "a1"}, HOSTVARS, "central")
    assert found == {f"ssl:192.0.2.1:{port}": "a1" for port in (6641, 6642, 6643, 6644, 16642)}


OURS = {"central": {"active": "C"}, "chassis": {"active": "H"}}


@pytest.mark.parametrize(
    ("left_out", "phase", "rotates", "given", "message"),
    [
        (["h1"], "none", None, {}, "h1 are not part of this run"),
        ([], "prepare", None, {}, "ovn_pki_ca_rotation is prepare"),
        ([], "none", None, {"ovn_pki_ca_certificate": "G"}, "central and chassis would have to be in /srv/ca"),
        (
            [],
            "none",
            ["chassis"],
            {"ovn_pki_ca_certificate": "G", "ovn_pki_chassis_ca_certificate": "G"},
            "chassis would",
        ),
        ([], "none", ["chassis"], {"ovn_pki_ca_certificate": "G"}, ""),
        ([], "none", None, {"ovn_pki_ca_certificate": "G", "ovn_pki_renew": "true"}, ""),
        ([], "none", None, {}, ""),
    ],
)
def test_rotation_without_all_hosts_or_of_a_given_ca_is_refused(
    left_out: list[str], phase: str, rotates: t.Any, given: dict[str, t.Any], message: str
) -> None:
    variables = {"ovn_pki_ca_directory": "/srv/ca", **given}
    if not message:
        rotation.check_rotation(left_out, phase, rotates, OURS, variables)
        return
    with pytest.raises(Refused, match=message):
        rotation.check_rotation(left_out, phase, rotates, OURS, variables)


def test_next_run_goes_on_after_the_phase_that_is_done() -> None:
    for phase, following in (("prepare", "switch"), ("switch", "finish")):
        recorded = rotation.next_note(phase, ["chassis"])
        found = rotation.rotation_plan(recorded, OURS, None, has_clients=True)
        assert (found["phases"], found["rotate"]) == ([following], ["chassis"])
    assert rotation.next_note("finish", ["chassis"]) == ""
