"""The list of issued certificates: runs write it, in files of central hosts and beside an OVNCluster, and lose nothing of one another."""

from __future__ import annotations

import concurrent.futures
import json
import pathlib
import re
import typing as t

import pytest
from _local_site import LocalSite, Outcome

from ansible_collections.c5c3.ovn.plugins.module_utils._api.names import API_VERSION
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.client import Cluster
from ansible_collections.c5c3.ovn.plugins.module_utils._pki.issued import IssuedCertificate, parse_list, render_list

if t.TYPE_CHECKING:
    from _apiserver import ApiServer
    from conftest import RunModule

pytestmark = pytest.mark.timeout(1500)

FILE = "issued-certificates.json"
RECORD = "Record the certificates of chassis and clients on the central hosts"
MODULE = "ovn_issued_certificates"
HOSTS = ("c1", "c2", "c3")
AWAY = {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 9}
HYPERVISORS = {"h1": "127.0.0.21", "h2": "127.0.0.22"}
CLIENTS, CHASSIS = ["client neutron", "client operator"], ["chassis h1", "chassis h2"]


def entry(holder: str, kind: str = "chassis", serial_number: str = "1f", year: int = 2030) -> IssuedCertificate:
    return IssuedCertificate(kind, holder, "CA", serial_number, f"{year}-01-01T00:00:00Z")


def options(*entries: IssuedCertificate, issued: bool = False, **more: t.Any) -> dict[str, t.Any]:
    return {"certificates": [{**one._asdict(), "issued": issued} for one in entries], **more}


class Lists:
    """Three central hosts, and hypervisors whose certificates are issued without anything being installed."""

    def __init__(self, site: LocalSite) -> None:
        self.site = site

    def run(
        self,
        playbook: str,
        *arguments: str,
        host_variables: t.Mapping[str, t.Mapping[str, t.Any]] | None = None,
        **variables: t.Any,
    ) -> Outcome:
        distribution = {"system_id_file": f"{self.site.folder}/{{{{ inventory_hostname }}}}/id"}
        addresses = {name: {"ovn_address": address} for name, address in HYPERVISORS.items()}
        variables = {
            "ovn_hypervisor_certificate": f"{self.site.folder}/{{{{ inventory_hostname }}}}/tls/chassis-cert.pem",
            "central": HOSTS,
            "hypervisors": tuple(HYPERVISORS),
            "host_variables": {
                name: {**addresses.get(name, {}), **(host_variables or {}).get(name, {})}
                for name in (*HOSTS, *HYPERVISORS)
            },
            "ovn_hypervisor_distribution": distribution,
            "ovn_pki_clients": ["neutron", "operator"],
            **variables,
        }
        ran = self.site.run(playbook, *arguments, **variables)
        assert ran.code == 0, ran.output
        assert ran.locks == ""
        assert {counts["unreachable"] + counts["failed"] for counts in ran.recap.values()} == {0}
        return ran

    def pki(self, playbook: str, *arguments: str, **more: t.Any) -> Outcome:
        return self.run(f"c5c3.ovn.{playbook}", "--tags", "pki", *arguments, **more)

    def file(self, host: str) -> pathlib.Path:
        return self.site.folder / host / "etc" / FILE

    def read(self, host: str) -> dict[str, IssuedCertificate]:
        found = parse_list(self.file(host).read_text())
        assert found is not None
        return {f"{one.kind} {one.holder}": one for one in found}

    def all(self) -> dict[str, IssuedCertificate]:
        """The list, which is the same on all hosts."""
        found = [self.read(host) for host in HOSTS]
        assert found[0] == found[1] == found[2]
        return found[0]


@pytest.fixture
def lists(daemons: None, short_dir: pathlib.Path, collection_path: str) -> Lists:
    return Lists(LocalSite(short_dir, collection_path))


def test_central_hosts_of_others_get_no_list(lists: Lists) -> None:
    """Nor anything else: hypervisors are set up for their control plane, which is not ours."""
    lists.pki("hypervisors", ovn_central_managed=False)
    assert all((lists.site.folder / name / "tls" / "chassis-cert.pem").exists() for name in HYPERVISORS)
    assert [path for name in HOSTS for path in (lists.site.folder / name).rglob("*")] == []


@pytest.mark.rotations
def test_what_runs_record_complete_and_remove(lists: Lists) -> None:
    lists.pki("central")
    assert list(lists.all()) == CLIENTS

    # A central host that is away keeps no hypervisor from its rollout, and is told later: so is one whose run was killed.
    ran = lists.pki("hypervisors", host_variables={"c2": AWAY})
    assert re.search(rf"/c2/etc/{FILE} of c2 was not updated: [^.]", ran.output), ran.output
    assert re.search(
        r"[^.]\. Its observer does not know when the certificates of this run end\. Correct that; ", ran.output
    ), ran.output
    first = lists.read("c1")
    assert list(first) == [*CHASSIS, *CLIENTS]
    assert {name: one.issuer.partition(" CA ")[0] for name, one in first.items()} == {
        **dict.fromkeys(CHASSIS, "OVN chassis"),
        **dict.fromkeys(CLIENTS, "OVN"),
    }
    assert list(lists.read("c2")) == CLIENTS
    predicted = lists.pki("hypervisors", "--check", "--diff")
    assert predicted.output.count(f"+chassis h1 until {first['chassis h1'].not_after}") == 1
    assert list(lists.read("c2")) == CLIENTS
    lists.pki("hypervisors")
    assert lists.all() == first

    # A renewal of one host, by a run for that host alone
    lists.pki("hypervisors", "--limit", "h1", ovn_pki_rotate="certificates")
    renewed = lists.all()
    assert {name for name, one in renewed.items() if one != first[name]} == {"chassis h1"}

    # Nothing to do: the host was read anyway
    files = [lists.file(host).stat() for host in HOSTS]
    assert RECORD not in lists.pki("central").tasks
    assert [lists.file(host).stat() for host in HOSTS] == files

    predicted = lists.pki("central", "--check", "--diff", ovn_pki_clients=["neutron", "operator", "exporter"])
    assert "+client exporter until a time that is not known yet" in predicted.output
    assert predicted.output.count("+client ") == len(HOSTS)

    # Who is removed leaves the list, also with a certificate of its own, and a chassis that the inventory no longer has.
    leaving = {"h1": {"ovn_hypervisor_certificate": "/etc/own.pem"}, "h2": {"ovn_hypervisor_state": "gone"}}
    lists.pki("hypervisors", host_variables=leaving)
    assert list(lists.all()) == CLIENTS
    for host in HOSTS:
        lists.file(host).write_text(render_list([*lists.read(host).values(), entry("lost"), entry("other")]))
    lists.pki("central", "-e", "ovn_pki_removed_chassis=lost", ovn_pki_clients=["operator"])
    assert list(lists.all()) == ["chassis other", "client operator"]


INCLUDE = {"ansible.builtin.include_role": {"name": "c5c3.ovn.ovn_pki", "tasks_from": "issued"}}


def play(hosts: str, certificate: str, **variables: t.Any) -> dict[str, t.Any]:
    """A play that issues certificates and records them."""
    role = {"role": "c5c3.ovn.ovn_pki", "vars": {"ovn_pki_certificate": certificate}}
    tasks = [{**INCLUDE, "vars": {"ovn_pki_certificate": certificate}}]
    return {"hosts": hosts, "gather_facts": False, "vars": variables, "roles": [role], "post_tasks": tasks}


def test_plays_of_ones_own(lists: Lists) -> None:
    """Without our playbooks, and on a host that is both: c1."""
    plays: list[dict[str, t.Any]] = [
        # before anything of the role has run, and without a word which certificate is meant
        {"hosts": "ovn_central", "gather_facts": False, "tasks": [INCLUDE]},
        play("ovn_central", "central"),
        play("ovn_hypervisors", "chassis", ovn_pki_common_name="chassis-{{ inventory_hostname }}"),
    ]
    file = lists.site.folder / "own.yml"
    file.write_text(json.dumps(plays))
    more: dict[str, t.Any] = {"hypervisors": ("h1", "c1")}
    lists.run(str(file), **more)
    first = lists.all()
    assert list(first) == ["chassis chassis-c1", "chassis chassis-h1", *CLIENTS]
    assert {one.issuer.partition(" CA ")[0] for one in first.values() if one.kind == "chassis"} == {"OVN chassis"}

    # A run that was killed after it had issued them: the next one finds them, and issues nothing.
    for host in HOSTS:
        lists.file(host).unlink()
    lists.run(str(file), **more)
    assert lists.all() == first
    assert sum(counts["changed"] for counts in lists.run(str(file), **more).recap.values()) == 0


def test_the_certificate_of_neutron_counts_when_its_hosts_have_it(lists: Lists) -> None:
    """The warning about the former one stays, although central and reconcile renew it on the control node."""
    file = lists.site.folder / "own.yml"
    add = {"ansible.builtin.add_host": {"name": "controller1", "groups": "ovn_controllers"}}
    hand_out = {"ansible.builtin.set_fact": {"ovn_neutron_handed_out": True}}  # as the role ovn_neutron at its end
    add_controller = {"hosts": "localhost", "gather_facts": False, "tasks": [add]}

    def run(*, handed_out: bool, **variables: t.Any) -> dict[str, IssuedCertificate]:
        tasks = [hand_out] if handed_out else []
        controllers = {"hosts": "ovn_controllers", "gather_facts": False, "tasks": tasks}
        file.write_text(json.dumps([add_controller, controllers, play("ovn_central", "central")]))
        lists.run(str(file), **variables)
        return lists.all()

    assert list(run(handed_out=False)) == ["client operator"]
    first = run(handed_out=True)
    assert list(first) == CLIENTS
    renewed = run(handed_out=False, ovn_pki_rotate="certificates")
    assert {name for name in CLIENTS if renewed[name] != first[name]} == {"client operator"}
    assert run(handed_out=True)["client neutron"] != first["client neutron"]


def test_a_file_is_changed_and_then_left_alone(run_module: RunModule, short_dir: pathlib.Path) -> None:
    file = short_dir / "etc" / FILE
    given = options(entry("a"), entry("b"), path=str(file))
    predicted = run_module(MODULE, given, True, True)
    assert predicted["changed"]
    assert predicted["diff"]["after"] == "".join(f"chassis {name} until 2030-01-01T00:00:00Z\n" for name in "ab")
    assert not file.parent.exists()
    assert run_module(MODULE, given)["changed"]
    assert file.stat().st_mode & 0o777 == 0o644
    assert not run_module(MODULE, given)["changed"]
    assert not run_module(MODULE, options(entry("a"), path=str(file)))["changed"]
    assert run_module(MODULE, options(path=str(file), removed_chassis=["a"]))["changed"]
    assert parse_list(file.read_text()) == [entry("b")]
    file.write_text("half of i")
    assert run_module(MODULE, given)["changed"]
    assert parse_list(file.read_text()) == [entry("a"), entry("b")]
    # Another run may have renewed what this one has only found.
    assert not run_module(MODULE, options(entry("a", year=2029), path=str(file)))["changed"]
    assert run_module(MODULE, options(entry("a", year=2029), issued=True, path=str(file)))["changed"]
    assert parse_list(file.read_text()) == [entry("a", year=2029), entry("b")]


def test_a_time_that_is_none_spoils_nothing(run_module: RunModule, short_dir: pathlib.Path) -> None:
    file = short_dir / FILE
    given = options(entry("a")._replace(not_after=""), issued=True, path=str(file))
    assert run_module(MODULE, given, True)["changed"]
    refused = run_module(MODULE, given, may_fail=True)
    assert 'not_after of chassis a is "". Give a time like 2027-11-21T16:00:00Z.' in refused["msg"]
    assert not file.exists()


def test_runs_at_once_lose_nothing(run_module: RunModule, short_dir: pathlib.Path) -> None:
    file = short_dir / FILE
    names = [f"h{number}" for number in range(24)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        ran = list(pool.map(lambda name: run_module(MODULE, options(entry(name), path=str(file))), names))
    assert all(one["changed"] for one in ran)
    assert parse_list(file.read_text()) == sorted(entry(name) for name in names)


def created_cluster(api_server: ApiServer, namespace: str) -> str:
    """Create the OVNCluster prod, with the definitions if they are not there yet; return its uid."""
    api_server.define()
    manifest = {
        "apiVersion": API_VERSION,
        "kind": "OVNCluster",
        "metadata": {"name": "prod", "namespace": namespace},
        "spec": {},
    }
    return str(Cluster({"kubeconfig": api_server.kubeconfig}).apply(manifest)["metadata"]["uid"])


def test_a_list_beside_an_ovncluster(run_module: RunModule, api_server: ApiServer, namespace: str) -> None:
    place = {"kubeconfig": api_server.kubeconfig, "namespace": namespace, "cluster": "prod"}
    path = f"/api/v1/namespaces/{namespace}/configmaps"

    def read() -> dict[str, t.Any]:
        found: dict[str, t.Any] = json.loads(api_server.request("GET", f"{path}/prod-issued-certificates"))
        return found

    assert run_module(MODULE, options(entry("rack1"), **place), True)["changed"]
    assert "prod-issued-certificates" not in api_server.request("GET", path).decode()
    assert run_module(MODULE, options(entry("rack1"), **place))["changed"]
    assert not run_module(MODULE, options(entry("rack1"), **place))["changed"]
    assert read()["metadata"]["labels"]["app.kubernetes.io/instance"] == "prod"
    names = [f"rack{number}" for number in range(2, 8)]
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        ran = list(pool.map(lambda name: run_module(MODULE, options(entry(name), **place)), names))
    assert all(one["changed"] for one in ran)
    assert parse_list(read()["data"][FILE]) == [entry(f"rack{number}") for number in range(1, 8)]
    before = read()["metadata"]["resourceVersion"]
    assert run_module(MODULE, options(removed_chassis=["rack1"], **place), True)["changed"]
    assert read()["metadata"]["resourceVersion"] == before

    # It is deleted with its OVNCluster, also if it was there before.
    assert "ownerReferences" not in read()["metadata"]
    uid = created_cluster(api_server, namespace)
    assert run_module(MODULE, options(removed_chassis=["rack1"], **place))["changed"]
    assert [one["uid"] for one in read()["metadata"]["ownerReferences"]] == [uid]
    api_server.request("DELETE", f"{path}/prod-issued-certificates")
    assert run_module(MODULE, options(entry("rack1"), **place))["changed"]
    assert [one["uid"] for one in read()["metadata"]["ownerReferences"]] == [uid]
