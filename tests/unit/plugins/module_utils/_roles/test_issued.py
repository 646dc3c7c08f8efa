"""What a run knows of the certificates of chassis and clients, and whom it has to tell."""

from __future__ import annotations

import pathlib
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._pki.issued import IssuedCertificate, render_list
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.issued import issued_change

FILE = "/etc/c5c3-ovn/issued-certificates.json"
GROUPS = {"ovn_central": ["central1", "central2"], "ovn_hypervisors": ["a", "b", "cluster"]}
KUBERNETES = {"ovn_backend": "kubernetes"}


def state(number: int, **more: t.Any) -> dict[str, t.Any]:
    found = {"issuer_name": "CA", "serial_number": str(number), "not_after": f"202{number}-01-01T00:00:00Z"}
    return {"needed": False, **found, **more}


def entry(holder: str, number: int, kind: str = "chassis") -> IssuedCertificate:
    return IssuedCertificate(kind, holder, "CA", str(number), f"202{number}-01-01T00:00:00Z")


def compared(number: int, **more: t.Any) -> dict[str, t.Any]:
    return {"ovn_hypervisor_found": {"certificates": [state(number, **more)]}}


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
        # as it was compared; as it was issued after that
        (compared(7), entry("a", 7)),
        ({**compared(7, needed=True), "ovn_pki_issued": {"chassis": state(8, needed=True)}}, entry("a", 8)),
        # not that of the same machine as a central host
        ({**compared(7), "ovn_pki_issued": {"central": state(8)}, "ovn_pki_state": state(9)}, entry("a", 7)),
        # another name
        ({**compared(7), "ovn_system_id": "chassis-a"}, entry("chassis-a", 7)),
        ({**compared(7), "ovn_system_id": "x", "ovn_hypervisor_system_id": "y"}, entry("y", 7)),
        # a renewal that did not come to its end: the old one is still in use
        (compared(7, needed=True), entry("a", 7)),
        # nothing is known: no library, no certificate, none of ours
        ({"ovn_hypervisor_found": {"certificates": [{"failed": True, "library_missing": True}]}}, None),
        (compared(7, serial_number="", not_after="", issuer_name=""), None),
        ({"ovn_hypervisor_found": {"certificates": []}}, None),
        ({"ovn_pki_state": state(7)}, None),
        # a cluster: its own Secret, not that of another owner, nor that of the control plane
        ({**KUBERNETES, "ovn_pki_state": state(7)}, entry("a", 7)),
        ({**KUBERNETES, "ovn_pki_state": state(7, needed=True), "ovn_pki_issued": {"chassis": state(8)}}, entry("a", 8)),
        ({**KUBERNETES, "ovn_pki_state": state(7), "ovn_pki_kubernetes_secret_given": True}, None),
    ],
)  # fmt: skip
def test_the_certificate_of_a_chassis(variables: dict[str, t.Any], expected: IssuedCertificate | None) -> None:
    found = change({"a": variables})["change"]
    assert found == {"certificates": [expected._asdict()] if expected else [], "removed_chassis": []}


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
    found = change({"a": compared(7, **said), "b": compared(8)})["change"]["certificates"]
    assert [one["issuer"] for one in found] == (["CA"] if expected is None else [expected, "CA"])
    assert [one["holder"] for one in found] == (["b"] if expected is None else ["a", "b"])


def test_a_cluster_with_the_secret_of_the_control_plane_has_no_certificate_of_its_own() -> None:
    both = {**KUBERNETES, "ovn_pki_state": state(7)}
    groups = {"ovn_central": ["both"], "ovn_hypervisors": ["both"]}
    assert change({"both": both}, ["both"], groups)["change"]["certificates"] == []


@pytest.mark.parametrize("removed", ["absent", "gone"])
def test_a_chassis_that_is_removed(removed: str) -> None:
    more = {"ovn_hypervisor_state": removed, "ovn_system_id": "x", **compared(7)}
    assert change({"a": more, "b": compared(8)})["change"] == {
        "certificates": [entry("b", 8)._asdict()],
        "removed_chassis": ["x"],
    }


def test_only_hosts_of_the_run_count() -> None:
    assert change({"a": compared(7), "b": compared(8)}, ["b", "central1"])["change"]["certificates"] == [
        entry("b", 8)._asdict()
    ]


def test_check_mode_knows_that_there_will_be_another_one() -> None:
    found = change({"a": compared(7, needed=True), "b": compared(8)}, check_mode=True)
    assert [(one["holder"], one["not_after"]) for one in found["change"]["certificates"]] == [
        ("a", ""),
        ("b", entry("b", 8).not_after),
    ]


@pytest.mark.parametrize(
    ("central1", "central2", "machines"),
    [
        # the list was not read in this run; nothing differs; one differs
        ({}, {}, ["central1", "central2"]),
        ({FILE: [entry("a", 7)]}, {FILE: [entry("a", 7), entry("other", 5)]}, []),
        ({FILE: [entry("a", 6)]}, {FILE: [entry("a", 7)]}, ["central1"]),
        # no list yet
        ({"/other": []}, {FILE: [entry("a", 7)]}, ["central1"]),
    ],
)
def test_whom_a_run_has_to_tell(
    central1: dict[str, list[IssuedCertificate]],
    central2: dict[str, list[IssuedCertificate]],
    machines: list[str],
) -> None:
    def read(files: dict[str, list[IssuedCertificate]]) -> dict[str, t.Any]:
        texts = {name: render_list(content) for name, content in files.items()}
        return {"ovn_central_found": {"files": texts}} if files else {}

    found = change({"a": compared(7), "central1": read(central1), "central2": read(central2)})
    assert (found["machines"], found["clusters"]) == (machines, [])


def test_the_file_may_lie_elsewhere() -> None:
    text = render_list([entry("a", 7)])
    there = {
        "ovn_central_config_directory": "/srv",
        "ovn_central_found": {"files": {"/srv/issued-certificates.json": text}},
    }
    assert change({"a": compared(7), "central1": there, "central2": there})["machines"] == []


def test_who_knows_nothing_tells_nobody() -> None:
    found = change({"central1": KUBERNETES})
    assert (found["machines"], found["clusters"]) == ([], [])
    found = change({"central1": KUBERNETES, "a": compared(7)})
    assert (found["machines"], found["clusters"]) == (["central2"], ["central1"])


def test_clients_are_read_where_they_are_made(tmp_path: pathlib.Path) -> None:
    broken, missing = tmp_path / "broken", tmp_path / "missing"
    broken.write_text("no certificate")
    clients = [{"name": path.name, "pair": {"certificate": str(path)}} for path in (broken, missing)]
    assert change({}, ["central1"], clients=clients)["change"] == {
        "certificates": [],
        "removed_chassis": [],
        "clients": ["broken", "missing"],
    }
    # No client is left; that has to be told only where one is known.
    known = {"ovn_central_found": {"files": {FILE: render_list([entry("neutron", 7, "client")])}}}
    none = {"ovn_central_found": {"files": {}}}
    assert change({"central1": known, "central2": none}, ["central1"], clients=[])["machines"] == ["central1"]
