"""Playbooks with --tags: a tag does its part and what that needs, nothing else, and leaves no lock behind."""

from __future__ import annotations

import json
import pathlib

import pytest
from _local_site import LocalSite

pytestmark = pytest.mark.timeout(1500)

CHECK, LOCK = "Check whether a safety rule forbids this run", "Acquire the lock"
UNITS, STEP = "Install the launcher, settings and units of the databases", "Plan the next step"
MASK = "Mask the distribution's units, and keep needrestart from restarting ours"
INSTALL = "Report what would be installed"
CERTIFICATE = "Compare the installed certificate with the declared one"


@pytest.fixture
def site(daemons: None, short_dir: pathlib.Path, collection_path: str) -> LocalSite:
    return LocalSite(short_dir, collection_path)


def test_pki_alone(site: LocalSite) -> None:
    """On fresh hosts; nothing is installed. Once more, nothing changes."""
    ran = site.run("c5c3.ovn.central", "--tags", "pki", central=("c1", "c2", "c3"))
    assert ran.code == 0, ran.output
    assert ran.locks == ""
    assert {LOCK, CHECK, CERTIFICATE} <= set(ran.tasks)
    assert UNITS not in ran.tasks
    for host in ("c1", "c2", "c3"):
        assert sorted(path.name for path in (site.folder / host / "tls").iterdir()) == [
            "ca.pem",
            "central-cert.pem",
            "central-key.pem",
            "relay-ca.pem",
        ]
        assert not (site.folder / host / "lib").exists()


def test_a_failure_leaves_no_lock(site: LocalSite) -> None:
    """The certificates are refused; the lock was acquired before."""
    ran = site.run("c5c3.ovn.central", "--tags", "pki", central=("c1", "c2", "c3"), ovn_pki_renew_before_days=365)
    assert ran.code != 0
    assert "With ovn_pki_renew_before_days (365) not below" in ran.output
    assert LOCK in ran.tasks
    assert ran.locks == ""


def test_parts_of_the_databases(site: LocalSite) -> None:
    """In check mode, which writes nothing."""
    config = site.run("c5c3.ovn.central", "--check", "--tags", "config")
    assert config.code == 0, config.output
    assert {LOCK, UNITS} <= set(config.tasks)
    assert CERTIFICATE not in config.tasks
    databases = site.run("c5c3.ovn.central", "--check", "--tags", "databases")
    assert databases.code == 0, databases.output
    assert LOCK in databases.tasks
    assert not {CERTIFICATE, UNITS} & set(databases.tasks)
    assert (config.tasks.count(CHECK), databases.tasks.count(CHECK)) == (1, 1)
    assert (config.tasks.count(STEP), databases.tasks.count(STEP)) == (0, 1)


def test_packages_alone(site: LocalSite) -> None:
    """needrestart is told before the first installation, whose end it would use to restart daemons."""
    directory = site.folder / "needrestart"
    directory.mkdir()
    words = ("c5c3.ovn.central", "--tags", "packages", "-e", f"_ovn_central_needrestart_directory={directory}")
    foreseen = site.run(*words, "--check", ovn_central_distribution={"packages": ["no-such-package"]})
    assert foreseen.code == 0, foreseen.output
    assert foreseen.tasks.index(MASK) < foreseen.tasks.index(INSTALL)
    assert list(directory.iterdir()) == []
    ran = site.run(*words, ovn_central_distribution={"packages": []})
    assert ran.code == 0, ran.output
    assert ran.locks == ""
    assert "$nrconf{override_rc}{qr(^c5c3-ovn-)} = 0;" in (directory / "c5c3-ovn.conf").read_text()
    assert LOCK in ran.tasks
    assert not {CERTIFICATE, UNITS} & set(ran.tasks)


def test_packages_of_hypervisors_alone(site: LocalSite) -> None:
    """In check mode. Nothing of the chassis is touched, and a controller that somebody runs is not stopped for a package."""
    system_id = site.folder / "id"
    words = ("c5c3.ovn.hypervisors", "--check", "--tags", "packages")
    options = {
        "ovn_hypervisor_distribution": {"system_id_file": str(system_id), "packages": ["no-such-package"]},
    }
    ran = site.run(*words, hypervisors=("h1",), **options)
    assert ran.code == 0, ran.output
    parts = [
        "Write the system id before Open vSwitch starts for the first time",
        "Mask the distribution's units before they exist, and restrict those that the packages start",
        INSTALL,
    ]
    assert [name for name in ran.tasks if name in parts] == parts
    chassis = {
        "Stop the distribution's ovn-controller and keep its flows",
        "Start Open vSwitch and mask the distribution's ovn-controller",
        CERTIFICATE,
        LOCK,
    }
    assert not chassis & set(ran.tasks)
    site.prepare = "mkdir /run/ovn; touch /run/ovn/ovn-controller.pid"
    refused = site.run(*words, hypervisors=("h1",), **options)
    assert refused.code != 0
    assert "An ovn-controller that this collection did not start runs on h1" in refused.output
    assert INSTALL not in refused.tasks
    # Once the chassis is ours, its packages are as well.
    units = site.folder / "units"
    units.mkdir()
    (units / "c5c3-ovn-controller.service").write_text("[Unit]\n")
    ours = site.run(*words, "-e", f"_ovn_hypervisor_unit_directory={units}", hypervisors=("h1",), **options)
    assert ours.code == 0, ours.output
    assert INSTALL in ours.tasks


def test_other_parts_leave_the_databases_alone(site: LocalSite) -> None:
    """A report on what is not there; no lock is acquired for it."""
    ran = site.run("c5c3.ovn.site", "--tags", "verify")
    assert "Show the report" in ran.tasks
    assert not {CHECK, LOCK, CERTIFICATE, UNITS, STEP} & set(ran.tasks)
    chassis = site.run("c5c3.ovn.site", "--check", "--tags", "chassis", hypervisors=("h1",))
    assert {
        "Compare the host with the chassis that it has to be",
        "Stop the distribution's ovn-controller and keep its flows",
    } <= set(chassis.tasks)
    assert not {LOCK, CERTIFICATE, UNITS, STEP, "Show the report"} & set(chassis.tasks)


@pytest.mark.parametrize(
    ("playbook", "tags", "known"),
    [
        ("site", "verfy", "precheck, packages, pki, config, databases, chassis, verify"),
        ("precheck", "verify", "precheck"),
        ("central", "database,verify", "pki, packages, config, databases"),
        ("hypervisors", "databases", "pki, packages, config, chassis"),
        ("status", "states", "verify"),
        ("verify", "pki", "verify"),
    ],
)
def test_tags_that_a_playbook_does_not_have_are_refused(site: LocalSite, playbook: str, tags: str, known: str) -> None:
    ran = site.run(f"c5c3.ovn.{playbook}", "--tags", tags, hypervisors=("h1",))
    assert ran.code == 2, ran.output
    assert (
        f"--tags {tags} would do nothing: this playbook has none of these tags. Use one or more of {known}."
        in ran.output
    )
    assert len(ran.tasks) == 1


def test_status_and_precheck_have_the_tags_of_their_parts(site: LocalSite) -> None:
    """The precheck measures all hosts before it judges them, whatever strategy the control node prefers."""
    assert "Show the report" in site.run("c5c3.ovn.status", "--tags", "verify").tasks
    site.folder.joinpath("ansible.cfg").write_text("[defaults]\nstrategy = free\n")
    ran = site.run("c5c3.ovn.precheck", "--tags", "precheck", central=("c1",), hypervisors=("h1",))
    assert ran.tasks.count("Show the report") == 1
    assert "no result" not in ran.output


def test_a_playbook_of_somebody_else_may_have_tags(site: LocalSite) -> None:
    playbook = site.folder / "own.yml"
    own = {
        "ansible.builtin.import_playbook": "c5c3.ovn.status",
        "tags": ["own"],
        "vars": {"ovn_verify_known_tags": ["own"]},
    }
    playbook.write_text(json.dumps([own]))
    assert "Show the report" in site.run(str(playbook), "--tags", "own").tasks
