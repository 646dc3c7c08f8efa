"""Each role in a play of its own, without the playbooks: what it lacks is named, with what brings it."""

from __future__ import annotations

import json
import pathlib
import typing as t

import pytest
from _local_site import LocalSite

pytestmark = pytest.mark.timeout(1500)


@pytest.fixture
def site(daemons: None, short_dir: pathlib.Path, collection_path: str) -> LocalSite:
    return LocalSite(short_dir, collection_path)


def play(number: int, hosts: str, role: str, **variables: t.Any) -> dict[str, t.Any]:
    """The role, and what it was refused with."""
    refused = {"ansible.builtin.debug": {"msg": f"refused {number}: {{{{ ansible_failed_result.msg }}}}"}}
    include = {"ansible.builtin.include_role": {"name": f"c5c3.ovn.{role}"}}
    tasks = [{"block": [include], "rescue": [refused], "vars": variables}]
    return {"hosts": hosts, "gather_facts": False, "tasks": tasks}


def test_what_is_missing_is_named(site: LocalSite) -> None:
    nobody: dict[str, t.Any] = {"ovn_central_members": []}
    nowhere = {"ovn_hypervisor_southbound_endpoints": []}
    certificates = {
        "ovn_central_certificate": f"{site.folder}/none.pem",
        "ovn_hypervisor_certificate": f"{site.folder}/none.pem",
    }
    plays = [
        play(1, "c1", "ovn_central", **nobody),
        play(2, "c1", "ovn_central", **certificates),
        play(3, "h1", "ovn_hypervisor", **nowhere),
        play(4, "h1", "ovn_hypervisor", **certificates),
        play(5, "localhost", "ovn_verify"),
        play(6, "c1", "ovn_ping"),
    ]
    file = site.folder / "alone.yml"
    file.write_text(json.dumps(plays))
    ran = site.run(str(file), hypervisors=("h1",))
    expected = (
        "refused 1: c1 is no member of the control plane, whose members are unknown. Put all of them into the group ovn_central",
        f"refused 2: There is no {site.folder}/none.pem on c1, and the databases use TLS. Run the role c5c3.ovn.ovn_pki before this one",
        "refused 3: No endpoint of the Southbound database is known to h1. Put the central hosts into the group ovn_central",
        f"refused 4: There is no {site.folder}/none.pem on h1, and the chassis uses TLS. Run the role c5c3.ovn.ovn_pki before this one",
        "refused 5: None of c1 was asked in this run",
        "c1 is not in the group ovn_hypervisors. Put it there",
    )
    assert [words for words in expected if words not in ran.output] == [], ran.output
    assert ran.locks == ""
    assert not list(site.folder.glob("*/lib"))


def test_a_role_that_is_included_again_reads_the_machine_again(site: LocalSite) -> None:
    """In check mode, so that the chassis of another name comes from somebody else in between."""
    units = site.folder / "units"
    units.mkdir()
    include: dict[str, t.Any] = {"ansible.builtin.include_role": {"name": "c5c3.ovn.ovn_hypervisor"}}
    written = {
        "ansible.builtin.shell": f"echo first > {site.folder}/id; echo '[Unit]' > {units}/c5c3-ovn-controller.service"
    }
    tasks = [
        {**include, "vars": {"ovn_hypervisor_system_id": "first"}},
        {**written, "check_mode": False},
        {**include, "vars": {"ovn_hypervisor_system_id": "second"}},
    ]
    file = site.folder / "twice.yml"
    file.write_text(json.dumps([{"hosts": "h1", "gather_facts": False, "tasks": tasks}]))
    arguments = ("--check", "-e", f"_ovn_hypervisor_unit_directory={units}")
    options = {"ovn_hypervisor_distribution": {"system_id_file": f"{site.folder}/id"}, "ovn_hypervisor_packages": []}
    ran = site.run(str(file), *arguments, hypervisors=("h1",), **options)
    assert ran.tasks.count("Read the name of the chassis, its packages, units and certificate") == 2, ran.output
    assert 'h1 is the chassis "first" and cannot become "second" while it is one' in ran.output
    assert ran.code != 0
