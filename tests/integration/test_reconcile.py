"""c5c3.ovn.reconcile, unattended: it ends while another run works, starts with no option of a single run, and one lost hypervisor keeps no other back."""

from __future__ import annotations

import pathlib
import shlex
import sys

import pytest
from _local_site import LocalSite

pytestmark = pytest.mark.timeout(900)

PASS = ("c5c3.ovn.reconcile", "--tags", "pki")
# Another control node's run, so nobody here can tell whether its process exists.
OTHER = "2026-11-21T16:00:00Z on deploy9, process 4711 [4e0b8d5e-6f4e-4f52-9d8c-1c1f6ed22f0a/4026531836/123456]"
HOLD = """
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.lock import DEFAULT_PATH, LockRequest, acquire
acquire(DEFAULT_PATH, LockRequest({holder!r}, "join central2", 300, (), False), 0, False)
"""
HOSTS = ("h1", "h2", "h3")
UNREACHABLE = {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 9}


@pytest.fixture
def site(daemons: None, short_dir: pathlib.Path, collection_path: str) -> LocalSite:
    return LocalSite(short_dir, collection_path)


def options(site: LocalSite) -> dict[str, object]:
    folder = f"{site.folder}/{{{{ inventory_hostname }}}}"
    return {
        "ovn_hypervisor_distribution": {"system_id_file": f"{folder}/id"},
        "ovn_hypervisor_certificate": f"{folder}/tls/chassis-cert.pem",
        "ovn_hypervisor_private_key": f"{folder}/tls/chassis-key.pem",
        "ovn_hypervisor_ca_certificate": f"{folder}/tls/ca.pem",
    }


def test_a_lost_hypervisor_keeps_no_other_back(site: LocalSite) -> None:
    """The run fails at its end and names it. The next pass, with it in reach again, changes it alone; one more changes nothing."""
    addresses = {host: {"ovn_address": f"127.0.0.{21 + number}"} for number, host in enumerate(HOSTS)}
    apart = {**addresses, "h2": {**addresses["h2"], **UNREACHABLE}}
    lost = site.run(*PASS, hypervisors=HOSTS, host_variables=apart, **options(site))
    assert lost.code != 0
    assert "Not brought to their state: h2. See above" in lost.output
    for host in ("h1", "h3"):
        assert (site.folder / host / "tls" / "chassis-cert.pem").exists()
    healed = site.run(*PASS, hypervisors=HOSTS, host_variables=addresses, **options(site))
    assert healed.code == 0, healed.output
    changed = {host: counts["changed"] for host, counts in healed.recap.items()}
    assert changed["h2"] > 0
    assert (changed["c1"], changed["h3"]) == (0, 0)  # what h1 changed is the list of certificates on c1
    again = site.run(*PASS, hypervisors=HOSTS, host_variables=addresses, **options(site))
    assert again.code == 0, again.output
    assert healed.recap["h3"]["ok"] >= again.recap["h3"]["ok"]
    assert [host for host, counts in again.recap.items() if counts["changed"]] == []
    assert again.locks == ""


def test_another_run_is_at_work(site: LocalSite) -> None:
    """Nothing is done, the pass succeeds and names the run, whose name tells since when."""
    program = HOLD.format(holder=OTHER)
    site.prepare = f"{shlex.quote(sys.executable)} -c {shlex.quote(program)}"
    ran = site.run(*PASS, hypervisors=("h1",), **options(site))
    assert ran.code == 0, ran.output
    assert OTHER in ran.output
    assert "Nothing was done; the next pass looks again." in ran.output
    assert "deploy9" in ran.locks
    assert not (site.folder / "c1" / "tls").exists()
    assert not (site.folder / "h1" / "tls").exists()


@pytest.mark.parametrize(
    ("option", "value"),
    [("ovn_central_permit", "outage"), ("ovn_break_lock", True), ("ovn_hypervisor_state", "absent")],
)
def test_an_option_of_a_single_run_is_refused(site: LocalSite, option: str, value: object) -> None:
    ran = site.run(*PASS, hypervisors=("h1",), **{**options(site), option: value})
    assert ran.code != 0
    assert f"{option} is set for {'h1' if 'hypervisor' in option else 'c1'}." in ran.output
    assert not (site.folder / "c1" / "tls").exists()
