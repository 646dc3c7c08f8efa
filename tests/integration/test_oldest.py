"""The roles with whatever versions the tests run with; `nox -s oldest` runs these with the oldest ones that the collection declares.

Before 2.19 ansible-core templates dictionaries of variables as a whole, and makes dictionaries of texts that look like one.
"""

from __future__ import annotations

import json
import pathlib
import shutil
import typing as t

import pytest
from _local_site import LocalSite
from conftest import MakeCluster, RunModule, RunPlaybook, run

pytestmark = pytest.mark.timeout(1500)

CID = "11111111-1111-4111-8111-111111111111"


@pytest.fixture
def site(daemons: None, short_dir: pathlib.Path, collection_path: str) -> LocalSite:
    return LocalSite(short_dir, collection_path)


def test_a_rollout_in_check_mode(site: LocalSite) -> None:
    """Checks, certificates, units, plan and report of a control plane and a hypervisor that are new."""
    ran = site.run(
        "c5c3.ovn.site",
        "--check",
        "--diff",
        hypervisors=("h1",),
        ovn_hypervisor_datapath_type="netdev",
        ovn_precheck_ignore=[
            "address_unusable",
            "archive_unreachable",
        ],  # all hosts are on loopback, which leads nowhere
    )
    assert ran.code == 0, ran.output
    expected = {
        "Compare the installed certificate with the declared one",
        "Install the launcher, settings and units of the databases",
        "Plan the next step",
        "Compare the host with the chassis that it has to be",
        "Show the report",
    }
    assert expected <= set(ran.tasks)
    assert "OVN_LOCAL_ADDRESS=ssl:127.0.0.11:6643" in ran.output  # from the template of the settings


def play_of_the_role(site: LocalSite, *before: dict[str, t.Any]) -> str:
    """The role in a play that says nothing about errors. It can write nothing outside of the folder of the site."""
    mounts = [
        f"mount {words}"
        for path in ("/usr", "/etc")
        for words in (f"--bind {path} {path}", f"-o remount,bind,ro {path}")
    ]
    protect = [{"ansible.builtin.command": mount, "run_once": True} for mount in mounts]
    lock = {"c5c3.ovn.ovn_run_lock": {"path": f"{site.folder}/{{{{ inventory_hostname }}}}/run.lock"}}
    include = {"ansible.builtin.include_role": {"name": "c5c3.ovn.ovn_central"}}
    play = {
        "hosts": "ovn_central",
        "gather_facts": False,
        "module_defaults": lock,
        "tasks": [*protect, *before, include],
    }
    file = site.folder / "play.yml"
    file.write_text(json.dumps([play]))
    return str(file)


INSTALL = "Install the launcher, settings and units of the databases"
FAILED = "c2 failed or became unreachable in this run, see above. Every step needs all members"


def test_a_member_that_failed_before_the_role_ends_the_run(site: LocalSite) -> None:
    failing = {"ansible.builtin.fail": {"msg": "refused"}, "when": "inventory_hostname == 'c2'"}
    ran = site.run(play_of_the_role(site, failing), central=("c1", "c2", "c3"), ovn_tls=False)
    assert ran.code != 0
    assert FAILED in ran.output
    assert "Plan the next step" not in ran.tasks
    assert INSTALL not in ran.tasks


def test_a_member_that_fails_in_the_role_ends_the_run_and_releases_the_locks(site: LocalSite) -> None:
    """c2 gets no lock. In a block with `always`, ansible-core 2.16 goes on with c1 and c3."""
    (site.folder / "c2").write_text("no folder")
    ran = site.run(
        play_of_the_role(site),
        central=("c1", "c2", "c3"),
        ovn_tls=False,
        ovn_central_config_directory=f"{site.folder}/{{{{ inventory_hostname }}}}-etc",
        ovn_central_database_directory=f"{site.folder}/{{{{ inventory_hostname }}}}-lib",
    )
    assert ran.code != 0
    assert f"The lock {site.folder}/c2/run.lock cannot be used" in ran.output
    assert "Mask the distribution's units, and keep needrestart from restarting ours" not in ran.tasks
    assert INSTALL not in ran.tasks
    assert [path.read_text() for path in site.folder.glob("c[13]/run.lock")] == ["", ""]


def test_the_note_beside_the_ca(run_playbook: RunPlaybook, short_dir: pathlib.Path, pki: t.Any) -> None:
    """JSON that is read, compared and written as a text."""
    directory = short_dir / "ca"
    directory.mkdir()
    shutil.copy(pki.issue("any").ca_certificate, directory / "ca.pem")
    inventory = short_dir / "hosts.json"
    hosts = {"localhost": {"ansible_connection": "local"}}
    central = {"hosts": {"c1": {}}}
    inventory.write_text(json.dumps({"all": {"hosts": hosts, "children": {"ovn_central": central}}}))
    tasks = [
        {"c5c3.ovn.pki_note": {"cluster_ids": {"northbound": CID}}},
        {"c5c3.ovn.pki_note": {}, "register": "note"},
        {"ansible.builtin.assert": {"that": ["note.text is string", f"'{CID}' in note.text"]}},
    ]
    variables = {"ovn_pki_ca_directory": str(directory)}
    play = {"hosts": "localhost", "gather_facts": False, "vars": variables, "tasks": tasks}
    assert "changed=1 " in run_playbook([play], inventory=str(inventory))
    assert list(json.loads((directory / "clusters.json").read_text())["clusters"]) == [CID]
    assert "changed=0 " in run_playbook([play], inventory=str(inventory))


def test_facts_of_a_database(raft_cluster: MakeCluster, run_module: RunModule) -> None:
    """Over TLS, with the modules' own client, the one of Open vSwitch and the commands of ovsdbapp."""
    member = raft_cluster(1, "northbound", tls=True).members[0]
    assert member.tls is not None
    tls = member.tls.options()
    port = {"name": "p", "mac": "02:00:00:00:00:01", "ip": "198.18.0.1"}
    network = {"northbound": [member.endpoint], "ports": [port], **tls}
    assert run_module("ovn_test_network", network)["changed"]
    assert not run_module("ovn_test_network", network)["changed"]
    read = {"database": "northbound", "endpoints": [member.endpoint], "tables": ["Logical_Switch"], **tls}
    assert [row["name"] for row in run_module("ovn_database_info", read)["tables"]["Logical_Switch"]] == ["c5c3-ping"]
    run("ovn-nbctl", f"--db={member.socket}", "--timeout=20", "init")
    southbound = raft_cluster(1, "southbound").members[0]
    beat = {"northbound": [member.endpoint], "southbound": [southbound.socket], "wait_for": "sb", "timeout": 8, **tls}
    assert run_module("ovn_sync", beat)["nb_cfg"] == 1  # no northd answers, so this takes the whole time
