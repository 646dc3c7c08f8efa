"""An OVN that this collection did not create: c5c3.ovn.status and c5c3.ovn.verify read it and report what it is, and no playbook changes it.

It is the distribution's own ovn-ctl that starts it, with one server for each database or a Raft cluster; or only its endpoints are known, as kube-ovn's.
"""

from __future__ import annotations

import json
import pathlib
import re
import typing as t

import _ovn_ctl
import _playbooks
import pytest
from _installation import heartbeat_number, running
from _local_site import LocalSite, Outcome
from conftest import MakeCluster, RaftCluster, run

pytestmark = pytest.mark.timeout(300)

FOREIGN = {"ovn_tls": False, "ovn_central_managed": False}
NAMES = ("c1", "c2", "c3")
DIRECTORIES = {
    name: {"ovn_central_distribution": {"run_directory": _ovn_ctl.run_directory(number)}}
    for number, name in enumerate(NAMES, 1)
}


@pytest.fixture
def site(daemons: None, short_dir: pathlib.Path, collection_path: str) -> LocalSite:
    return LocalSite(short_dir, collection_path)


def is_untouched(outcome: Outcome) -> bool:
    """Whether neither database has another content than before, that of the run included."""
    return "state: unchanged" in outcome.output and "nb_cfg: 1" in outcome.output


@pytest.mark.parametrize("name", ["status", "verify"])
def test_servers_of_ovn_ctl_without_raft(name: str, site: LocalSite) -> None:
    site.prepare = _ovn_ctl.standalone()
    done = site.run(f"c5c3.ovn.{name}", "-e", "ovn_verify_fail=true", **FOREIGN)
    assert done.code == 0, done.output
    for line in (
        "OVN is healthy Owner foreign this collection has not created it and only reads it",
        "Northbound standalone c1, no Raft cluster Southbound standalone c1, no Raft cluster",
        "northd healthy active on c1 Heartbeat not sent the last one was number 1, northd answered it",
        "ovn_sb_connection = tcp:127.0.0.11:6642",
    ):
        assert line in done.output
    assert "Read again what changed meanwhile or takes longer" not in done.tasks
    assert is_untouched(done), done.output


def test_a_cluster_of_ovn_ctl(site: LocalSite) -> None:
    site.prepare = _ovn_ctl.clustered()
    done = site.run("c5c3.ovn.verify", central=NAMES, host_variables=DIRECTORIES, **FOREIGN)
    assert done.code == 0, done.output
    assert re.search(
        r"Owner foreign .* Northbound healthy leader c\d, 3/3 members, term \d+, timer 1000 ms", done.output
    )
    assert re.search(r"northd healthy active on c\d; standby on c\d, c\d ", done.output)
    assert "6/6 answer clients" in done.output
    assert is_untouched(done), done.output


def test_a_cluster_of_which_the_inventory_has_one_host(site: LocalSite) -> None:
    """Others decide how many members there are, so that is no problem; what was not asked is named."""
    site.prepare = _ovn_ctl.clustered()
    done = site.run("c5c3.ovn.status", host_variables=DIRECTORIES, **FOREIGN)
    assert re.search(r"Northbound: Not asked: tcp:127.0.0.1[23]:6643, tcp:127.0.0.1[23]:6643", done.output), done.output
    assert "expected are" not in done.output


def test_a_dead_member_of_others_is_a_problem(site: LocalSite) -> None:
    site.prepare = _ovn_ctl.clustered() + f"kill -9 $(cat {_ovn_ctl.run_directory(3)}/ovnnb_db.pid); "
    done = site.run("c5c3.ovn.verify", central=NAMES, host_variables=DIRECTORIES, **FOREIGN)
    assert done.code != 0
    assert "Northbound degraded" in done.output
    assert "Southbound healthy" in done.output


def test_a_heartbeat_only_if_it_is_allowed(site: LocalSite) -> None:
    site.prepare = _ovn_ctl.standalone()
    done = site.run("c5c3.ovn.verify", ovn_verify_wait_for="hv", **FOREIGN)
    assert done.code == 0, done.output
    assert "Heartbeat healthy northd" in done.output
    assert "nb_cfg: 2" in done.output


def test_undeclared_foreign_ovn_is_not_written(site: LocalSite) -> None:
    """No host has a record of this collection."""
    site.prepare = _ovn_ctl.clustered()
    done = site.run("c5c3.ovn.verify", central=NAMES, host_variables=DIRECTORIES, ovn_tls=False)
    assert (
        "Warning: c1, c2, c3: no state record of this collection, so it gets no heartbeat. If others run this control plane, set "
        "ovn_central_managed: false;" in done.output
    )
    assert is_untouched(done), done.output


def test_with_a_record_it_is_ours(site: LocalSite) -> None:
    records = site.folder / "c2" / "etc" / "northbound"
    records.mkdir(parents=True)
    site.prepare = _ovn_ctl.clustered()
    done = site.run("c5c3.ovn.verify", central=NAMES, host_variables=DIRECTORIES, ovn_tls=False)
    assert "no state record" not in done.output
    assert "nb_cfg: 2" in done.output


@pytest.mark.parametrize("name", ["central", "site", "rotate", "adopt", "ping", "reconcile"])
def test_changes_of_a_foreign_ovn_are_refused(name: str, site: LocalSite) -> None:
    site.prepare = _ovn_ctl.standalone()
    done = site.run(f"c5c3.ovn.{name}", hypervisors=["h1", "h2"], **FOREIGN)
    assert done.code != 0
    assert "Others run the control plane on c1 (ovn_central_managed is false), so it is only read." in done.output
    assert "Nothing was done." in done.output
    assert is_untouched(done), done.output
    assert not list(site.folder.glob("c1/*/*")), "files of ours"


def test_the_role_alone_refuses_it_too(site: LocalSite) -> None:
    playbook = site.folder / "alone.yml"
    playbook.write_text(
        json.dumps([{"hosts": "ovn_central", "gather_facts": False, "roles": ["c5c3.ovn.ovn_central"]}])
    )
    site.prepare = _ovn_ctl.standalone()
    done = site.run(str(playbook), **FOREIGN)
    assert done.code != 0
    assert "Others run the control plane of c1 (ovn_central_managed is false)" in done.output
    assert is_untouched(done), done.output


def test_kollas_containers(site: LocalSite) -> None:
    """Its files and listeners have other names and places than those of ovn-ctl alone; its relays are not members."""
    site.prepare = _ovn_ctl.kolla()
    done = site.run("c5c3.ovn.verify", **FOREIGN)
    assert done.code == 0, done.output
    for line in (
        "OVN is healthy",
        "Northbound healthy leader c1, 1/1 members, term 1",
        "Southbound healthy leader c1, 1/1 members, term 1",
        "northd healthy active on c1 Heartbeat not sent the last one was number 1, northd answered it",
        "Addresses healthy 2/2 answer clients",
    ):
        assert line in done.output
    assert is_untouched(done), done.output


def test_a_census_of_kollas_databases(site: LocalSite) -> None:
    site.prepare = _ovn_ctl.kolla()
    done = site.run("c5c3.ovn.census", **FOREIGN)
    assert done.code == 0, done.output
    assert "rows unknown NB_Global 1 Connection 1 No warnings." in done.output
    assert is_untouched(done), done.output


# --- interconnection --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("clustered", "line"),
    [
        (False, "IC Northbound standalone c1, no Raft cluster IC Southbound standalone c1, no Raft cluster"),
        (True, "IC Northbound healthy leader c1, 1/1 members, term 1, timer 1000 ms"),
    ],
    ids=["standalone", "clustered"],
)
@pytest.mark.parametrize("name", ["status", "verify"])
def test_databases_of_interconnection(name: str, clustered: bool, line: str, site: LocalSite) -> None:
    site.prepare = _ovn_ctl.standalone(_ovn_ctl.interconnection(clustered=clustered))
    done = site.run(f"c5c3.ovn.{name}", "-e", "ovn_verify_fail=true", **FOREIGN)
    assert done.code == 0, done.output
    assert line in done.output


@pytest.mark.parametrize("fails", [(), ("-e", "ovn_verify_fail=true")], ids=["shown", "fails"])
def test_a_database_of_interconnection_that_hangs(fails: tuple[str, ...], site: LocalSite) -> None:
    stop = "kill -STOP $(cat /run/ovn/ovn_ic_sb_db.pid); "
    site.prepare = _ovn_ctl.standalone(_ovn_ctl.interconnection(clustered=True), stop)
    done = site.run("c5c3.ovn.status", *fails, **FOREIGN)
    assert bool(done.code) == bool(fails), done.output
    assert re.search(r"Problem: IC Southbound: .*ovn_ic_sb_db.* within", done.output), done.output
    assert "IC Northbound healthy" in done.output


# --- known by endpoints alone -----------------------------------------------------------------------------------------

Look = t.Callable[..., tuple[int, str]]


@pytest.fixture
def look(collection_path: str, short_dir: pathlib.Path) -> Look:
    """`look("verify", northbound endpoints, southbound endpoints)`: exit code and output of a playbook with an inventory that has these alone."""

    def execute(name: str, northbound: list[str], southbound: list[str], **variables: t.Any) -> tuple[int, str]:
        inventory = _playbooks.write_inventory(
            short_dir / "hosts.yml",
            {"ovn_central": {"hosts": {"kube-ovn": {}}}},
            ansible_become=False,
            ovn_central_managed=False,
            ovn_northbound_endpoints=northbound,
            ovn_southbound_endpoints=southbound,
            **variables,
        )
        env = _playbooks.environment(short_dir / "tmp", collection_path, ANSIBLE_REMOTE_TEMP=str(short_dir / "tmp"))
        done = _playbooks.run(["-i", str(inventory), f"c5c3.ovn.{name}"], env, timeout=240)
        return done.returncode, re.sub(r"\s+", " ", done.stdout + done.stderr)

    return execute


def test_a_cluster_behind_endpoints(look: Look, raft_cluster: MakeCluster, short_dir: pathlib.Path) -> None:
    with running(raft_cluster, short_dir) as installation:
        before = heartbeat_number(installation.northbound)
        endpoints = (installation.northbound.endpoints, installation.southbound.endpoints)
        for name in ("status", "verify"):
            code, output = look(name, *endpoints, ovn_tls=False)
            assert code == 0, output
            assert re.search(
                r"OVN is healthy Owner foreign .* Northbound healthy leader \S+, 3/3 members, cluster", output
            ), output
            assert "northd not asked no control socket of it is known" in output
            assert "Versions equal Northbound schema 7.0.0, Southbound schema 20.27.0" in output
        assert heartbeat_number(installation.northbound) == before

        follower = next(member for member in installation.northbound.members if not member.is_leader)
        follower.kill()
        code, output = look("verify", *endpoints, ovn_tls=False)
        assert code != 0
        assert "Northbound degraded" in output
        assert "Southbound healthy" in output


def test_a_service_that_leads_to_the_leader_or_to_any_member(
    look: Look, raft_cluster: MakeCluster, short_dir: pathlib.Path
) -> None:
    """kube-ovn's Services select the leader's pod; a load balancer may not."""
    with running(raft_cluster, short_dir) as installation:
        leaders = [[cluster.leader.endpoint] for cluster in (installation.northbound, installation.southbound)]
        code, output = look("verify", *leaders, ovn_tls=False)
        assert (code, "1/1 members" in output, "OVN is healthy Owner" in output) == (0, True, True), output

        others = [
            [next(member.endpoint for member in cluster.members if not member.is_leader)]
            for cluster in (installation.northbound, installation.southbound)
        ]
        code, output = look("verify", *others, ovn_tls=False)
        assert code == 0, output
        assert "none of them leads. Name the endpoints of all members to see the leader." in output


def test_endpoints_with_tls(look: Look, raft_cluster: MakeCluster) -> None:
    """With a client certificate of its CA, and with files that are not there."""
    clusters: list[RaftCluster] = [raft_cluster(3, name, tls=True) for name in ("northbound", "southbound")]
    for cluster, program in zip(clusters, ("ovn-nbctl", "ovn-sbctl")):
        run(program, f"--db={','.join(cluster.sockets)}", "init")
    files = clusters[0].members[0].tls
    assert files is not None
    names = {
        f"ovn_central_{name}": str(getattr(files, name)) for name in ("private_key", "certificate", "ca_certificate")
    }
    code, output = look("verify", clusters[0].endpoints, clusters[1].endpoints, **names)
    assert code == 0, output
    assert re.search(r"Northbound healthy leader \S+, 3/3 members, cluster", output), output
    assert "days left, earliest expiry: kube-ovn at ssl:" in output

    code, output = look("verify", clusters[0].endpoints, clusters[1].endpoints)
    assert code != 0
    assert "/etc/ovn/tls/central-key.pem" in output
