"""Each role in a play of its own, without the playbooks: what it lacks is named, with what brings it."""

from __future__ import annotations

import json
import pathlib
import typing as t

import pytest
from _local_site import LocalSite
from conftest import MakeCluster, run

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


def test_missing_variables_are_reported(site: LocalSite) -> None:
    certificates = {
        "ovn_central_certificate": f"{site.folder}/none.pem",
        "ovn_hypervisor_certificate": f"{site.folder}/none.pem",
    }
    plays = [
        play(1, "h1", "ovn_central"),
        play(2, "c1", "ovn_central", **certificates),
        play(3, "h1", "ovn_hypervisor", **certificates),
        play(4, "localhost", "ovn_verify"),
        play(5, "c1", "ovn_ping"),
    ]
    file = site.folder / "alone.yml"
    file.write_text(json.dumps(plays))
    ran = site.run(str(file), hypervisors=("h1",))
    expected = (
        "refused 1: h1 is no member of the control plane, whose members are c1. Put all of them into the group ovn_central",
        f"refused 2: There is no {site.folder}/none.pem on c1, and the databases use TLS. Run the role c5c3.ovn.ovn_pki before this one",
        f"refused 3: There is no {site.folder}/none.pem on h1, and the chassis uses TLS. Run the role c5c3.ovn.ovn_pki before this one",
        "refused 4: None of c1 was asked in this run",
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
        {**include, "vars": {"ovn_system_id": "first"}},
        {**written, "check_mode": False},
        {**include, "vars": {"ovn_system_id": "second"}},
    ]
    file = site.folder / "twice.yml"
    file.write_text(json.dumps([{"hosts": "h1", "gather_facts": False, "tasks": tasks}]))
    arguments = ("--check", "-e", f"_ovn_hypervisor_unit_directory={units}")
    options = {"ovn_hypervisor_distribution": {"system_id_file": f"{site.folder}/id", "packages": []}}
    ran = site.run(str(file), *arguments, hypervisors=("h1",), **options)
    assert ran.tasks.count("Compare the host with the chassis that it has to be") == 2, ran.output
    assert 'h1 is the chassis "first" and cannot become "second" while it is one' in ran.output
    assert ran.code != 0


def test_name_of_another_chassis_is_refused_before_the_certificate(site: LocalSite, raft_cluster: MakeCluster) -> None:
    """The playbook of hypervisors has no precheck, so the role asks the Southbound."""
    (socket,) = raft_cluster(1, "southbound").sockets
    sbctl = ("ovn-sbctl", f"--db={socket}", "--timeout=20")
    run(*sbctl, "chassis-add", "former", "geneve", "127.0.0.21")
    # What a run writes to /etc ends with it.
    site.prepare = (
        "mkdir /run/new /run/work /run/ovn; mount -t overlay -o lowerdir=/etc,upperdir=/run/new,workdir=/run/work overlay /etc; "
        f"ln -s {socket.removeprefix('unix:')} /run/ovn/ovnsb_db.sock"
    )
    options: dict[str, t.Any] = {"ovn_hypervisor_distribution": {"packages": []}, "ovn_encapsulation_ip": "127.0.0.21"}
    refused = site.run("c5c3.ovn.hypervisors", hypervisors=("h1",), **options)
    assert refused.code != 0
    assert '127.0.0.21 (geneve) belongs to chassis "former"' in refused.output, refused.output
    assert "Nothing was changed." in refused.output
    assert not list(site.folder.glob("h1/*")), refused.output
    assert not (site.folder / "ca").exists()
    assert refused.recap["h1"]["changed"] == 0
    # The former name is that of the machine.
    same = {**options, "ovn_system_id": "former"}
    assert site.run("c5c3.ovn.hypervisors", "--check", hypervisors=("h1",), **same).code == 0
