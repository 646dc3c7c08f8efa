"""Which nodes may still use a certificate of a CA that is to be retired."""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._api.names import labels
from ansible_collections.c5c3.ovn.plugins.module_utils._api.spec import parse_spec
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput, Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._manifests.hypervisor_pods import controller_pod
from ansible_collections.c5c3.ovn.plugins.module_utils._roles import former_nodes as rotation
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.former_nodes import former_nodes

Object = dict[str, t.Any]
NEW = "-----BEGIN CERTIFICATE-----\nYmI=\n-----END CERTIFICATE-----\n"
FORMER = "-----BEGIN CERTIFICATE-----\nYWE=\n-----END CERTIFICATE-----\n"
CENTRAL = "-----BEGIN CERTIFICATE-----\nY2M=\n-----END CERTIFICATE-----\n"


def template(issuer: str = NEW, certificates: str = "own") -> Object:
    spec = parse_spec({"tls": {"enabled": True, "nodeCertificates": certificates}}, name="ovn", namespace="x")
    return controller_pod(spec, "ovn-tls", issuer if certificates == "own" else "")


def pod(
    issuer: str = NEW, *, ready: bool = True, certificates: str = "own", phase: str = "Running", **more: str
) -> Object:
    metadata = {"name": "ovn-controller-x", "namespace": "x", "labels": labels("ovn", "controller"), **more}
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    spec = {**template(issuer, certificates), "nodeName": "a"}
    return {
        "kind": "Pod",
        "metadata": metadata,
        "spec": spec,
        "status": {"phase": phase, "conditions": conditions},
    }


def daemon_set(issuer: str = NEW, certificates: str = "own", **status: int) -> Object:
    numbers = {"desiredNumberScheduled": 2, "updatedNumberScheduled": 2, "numberReady": 2, "numberMisscheduled": 0}
    metadata = {"name": "ovn-controller", "namespace": "x", "labels": labels("ovn", "controller"), "generation": 3}
    spec = {"template": {"spec": template(issuer, certificates)}}
    return {
        "kind": "DaemonSet",
        "metadata": metadata,
        "spec": spec,
        "status": {**numbers, "observedGeneration": 3, **status},
    }


POD, DAEMON_SET = "Pod x/ovn-controller-x on node a ", "DaemonSet x/ovn-controller "


@pytest.mark.parametrize(
    ("one", "reason"),
    [
        pytest.param(pod(), "", id="ready"),
        pytest.param(pod(FORMER), f"{POD}has another CA", id="not replaced yet"),
        pytest.param(pod(""), f"{POD}does not name the CA that signs", id="started by a run without the CA"),
        pytest.param(
            pod(ready=False), f"{POD}is not ready", id="without a certificate of the new CA, or on a dead node"
        ),
        pytest.param(pod(deletionTimestamp="2026-01-01T00:00:00Z"), f"{POD}is terminating", id="on a dead node"),
        pytest.param(pod(FORMER, phase="Failed"), "", id="ended"),
        pytest.param(
            pod(ready=False, certificates="shared"), "", id="that of the Secret, which is looked at elsewhere"
        ),
        pytest.param({**pod(FORMER), "metadata": {"name": "y", "namespace": "x"}}, "", id="a pod of others"),
        pytest.param(daemon_set(), "", id="rolled out"),
        pytest.param(daemon_set(FORMER), f"{DAEMON_SET}has another CA", id="no run since the CA was replaced"),
        pytest.param(daemon_set(certificates="shared", numberReady=0), "", id="shared"),
        pytest.param(daemon_set(observedGeneration=2), f"{DAEMON_SET}was not observed by", id="changed just now"),
        pytest.param(daemon_set(numberReady=1), f"{DAEMON_SET}is rolled out on 1 of 2 nodes", id="not ready"),
        pytest.param(daemon_set(updatedNumberScheduled=1), f"{DAEMON_SET}is rolled out on 1 of 2", id="not replaced"),
        pytest.param(
            daemon_set(numberMisscheduled=1), f"{DAEMON_SET}has pods on 1 nodes", id="a taint that came later"
        ),
    ],
)
def test_who_needs_the_former_ca(one: Object, reason: str) -> None:
    found = former_nodes([{"resources": []}, {"resources": [one]}], CENTRAL + NEW)
    assert len(found) == bool(reason)
    assert all(text.startswith(reason) for text in found)


def test_a_ca_that_stays_is_no_problem() -> None:
    assert former_nodes([{"resources": [pod(FORMER), daemon_set(FORMER)]}], CENTRAL + NEW + FORMER) == []
    assert len(former_nodes([{"resources": [pod(), daemon_set()]}], "")) == 2


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
        ([], "none", None, {"ovn_pki_ca": {"certificate": "G"}}, "central and chassis would have to be in /srv/ca"),
        (
            [],
            "none",
            ["chassis"],
            {"ovn_pki_ca": {"certificate": "G"}, "ovn_pki_chassis_ca": {"certificate": "G"}},
            "chassis would",
        ),
        ([], "none", ["chassis"], {"ovn_pki_ca": {"certificate": "G"}}, ""),
        ([], "none", "certificates", {"ovn_pki_ca": {"certificate": "G"}}, ""),
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
