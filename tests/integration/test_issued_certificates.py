"""The list of issued certificates: runs write it, in files of central hosts and beside an OVNCluster, and lose nothing of one another."""

from __future__ import annotations

import concurrent.futures
import json
import pathlib
import typing as t

import pytest
from _local_site import LocalSite, Outcome

from ansible_collections.c5c3.ovn.plugins.module_utils._pki.issued import IssuedCertificate, parse_list

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


def options(*entries: IssuedCertificate, **more: t.Any) -> dict[str, t.Any]:
    return {"certificates": [one._asdict() for one in entries], **more}


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
            "central": HOSTS,
            "hypervisors": tuple(HYPERVISORS),
            "host_variables": {**addresses, **(host_variables or {})},
            "ovn_hypervisor_distribution": distribution,
            "ovn_pki_clients": ["neutron", "operator"],
            **variables,
        }
        ran = self.site.run(f"c5c3.ovn.{playbook}", "--tags", "pki", *arguments, **variables)
        assert ran.code == 0, ran.output
        assert ran.locks == ""
        return ran

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


def test_what_runs_record_complete_and_remove(lists: Lists) -> None:
    lists.run("central")
    assert list(lists.all()) == CLIENTS

    # A central host that is away keeps no hypervisor from its rollout, and is told later: so is one whose run was killed.
    ran = lists.run("hypervisors", host_variables={"c2": AWAY})
    assert "The observer of c2 was not told when the certificates of this run end: " in ran.output
    assert "unreachable=1" not in ran.output
    first = lists.read("c1")
    assert list(first) == [*CHASSIS, *CLIENTS]
    assert {name: one.issuer.partition(" CA ")[0] for name, one in first.items()} == {
        **dict.fromkeys(CHASSIS, "OVN chassis"),
        **dict.fromkeys(CLIENTS, "OVN"),
    }
    assert list(lists.read("c2")) == CLIENTS
    predicted = lists.run("hypervisors", "--check", "--diff")
    assert predicted.output.count(f"+chassis h1 until {first['chassis h1'].not_after}") == 1
    assert list(lists.read("c2")) == CLIENTS
    lists.run("hypervisors")
    assert lists.all() == first

    # A renewal of one host, by a run for that host alone
    lists.run("hypervisors", "--limit", "h1", ovn_pki_renew=True)
    renewed = lists.all()
    assert {name for name, one in renewed.items() if one != first[name]} == {"chassis h1"}

    # Nothing to do: the host was read anyway
    files = [lists.file(host).stat() for host in HOSTS]
    assert RECORD not in lists.run("central").tasks
    assert [lists.file(host).stat() for host in HOSTS] == files

    # Who is removed leaves the list.
    lists.run("hypervisors", "--limit", "h2", "-e", "ovn_hypervisor_state=gone")
    assert list(lists.all()) == ["chassis h1", *CLIENTS]
    lists.run("central", ovn_pki_clients=["operator"])
    assert list(lists.all()) == ["chassis h1", "client operator"]


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


def test_a_time_that_is_none_spoils_nothing(run_module: RunModule, short_dir: pathlib.Path) -> None:
    file = short_dir / FILE
    given = options(entry("a")._replace(not_after=""), path=str(file))
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
