"""ovn_central_info asks a control plane in Kubernetes with the certificate in its Secret: a real API server and real databases, but no pods."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
from _apiserver import ApiServer
from conftest import MakeCluster, Member, Pki, RunModule, run, within

Object = dict[str, t.Any]


class Plane:
    """`ask()`: the result, with the temporary directory of the module in `directory`."""

    def __init__(self, server: ApiServer, namespace: str, run_module: RunModule, directory: pathlib.Path) -> None:
        self.server, self.namespace, self.run_module, self.directory = server, namespace, run_module, directory
        self.endpoints: dict[str, list[str]] = {}
        self.northbound: Member | None = None

    def write_secret(self, pki: Pki, without: str = "") -> None:
        secret = pki.issue("client").secret("ovn-tls", without)
        self.server.request("POST", f"/api/v1/namespaces/{self.namespace}/secrets", secret)

    def ask(self, *, check: bool = False, **options: t.Any) -> Object:
        place = {"kubeconfig": self.server.kubeconfig, "namespace": self.namespace, "cluster": "ovn"}
        heartbeat = {**self.endpoints, "wait_for": "sb", "timeout": round(within(2))}
        asked = {
            "endpoints": self.endpoints["northbound"],
            "tls_secret": "ovn-tls",
            "heartbeat": heartbeat,
            "_ansible_tmpdir": str(self.directory),
        }
        result = self.run_module("ovn_central_info", {**place, **asked, **options}, check).result
        assert list(self.directory.iterdir()) == [], "the key stays on the control node"
        return result


@pytest.fixture
def plane(
    api_server: ApiServer, namespace: str, run_module: RunModule, raft_cluster: MakeCluster, tmp_path: pathlib.Path
) -> Plane:
    made = Plane(api_server, namespace, run_module, tmp_path)
    clusters = {database: raft_cluster(1, database, tls=True) for database in ("northbound", "southbound")}
    made.endpoints = {database: cluster.endpoints for database, cluster in clusters.items()}
    (made.northbound,) = clusters["northbound"].members
    return made


def test_the_certificate_of_a_secret(plane: Plane, pki: Pki) -> None:
    """There is no northd, which the heartbeat tells."""
    plane.write_secret(pki)
    assert plane.northbound is not None
    assert "no row in NB_Global" in plane.ask()["heartbeat"]["msg"]
    run("ovn-nbctl", f"--db={plane.northbound.socket}", "init")
    found = plane.ask(**dict.fromkeys(("private_key", "certificate", "ca_certificate"), "/defaults/of/a/group.pem"))
    assert [(one["subject"], one["problem"]) for one in found["certificates"]] == [("m1-nb0", "")]
    assert (found["heartbeat"]["nb_cfg"], found["heartbeat"]["northd_alive"]) == (1, False)
    assert plane.ask(check=True)["heartbeat"]["nb_cfg"] == 1
    assert plane.ask()["heartbeat"]["nb_cfg"] == 2


@pytest.mark.parametrize("name", ["tls.key", "ca.crt", "all"])
def test_a_secret_that_lacks_something(name: str, plane: Plane, pki: Pki) -> None:
    if name != "all":
        plane.write_secret(pki, without=name)
    found = plane.ask()
    assert "private_key is missing" in found["certificates"][0]["problem"]
    assert found["heartbeat"]["failed"]
    assert "private_key is missing" in found["heartbeat"]["msg"]


@pytest.mark.parametrize("option", [{"tls_secret": "ovn-tls"}, {"heartbeat": {"northbound": [], "southbound": []}}])
def test_a_machine_has_no_secret(option: Object, run_module: RunModule) -> None:
    ran = run_module("ovn_central_info", option, may_fail=True)
    assert ran.failed
    assert f"{next(iter(option))} needs cluster" in ran["msg"]
