"""The role ovn_neutron in a Kubernetes cluster: what Neutron's pods, its resource and a Helm chart get from a real API server."""

from __future__ import annotations

import base64
import json
import pathlib
import typing as t

import _control_plane
import _owners
import _playbooks
import pytest
import yaml
from conftest import until

if t.TYPE_CHECKING:
    from _apiserver import ApiServer
    from _control_plane import ControlPlane
    from _pki import Pki
    from conftest import MakeCluster

plane = _control_plane.plane  # fixture
COLLECTION = pathlib.Path(__file__).resolve().parents[2]
GROUP = "/apis/neutron.openstack.c5c3.io/v1alpha1"
ENDPOINTS = {
    "ovn_northbound_endpoints": ["ssl:192.0.2.1:31641", "ssl:192.0.2.2:31641"],
    "ovn_neutron_southbound_endpoints": ["ssl:192.0.2.1:31642"],
}


class Cloud:
    """A cluster where Neutron runs, and the files of its certificate on the control node."""

    def __init__(self, root: pathlib.Path, server: ApiServer, namespace: str, pki: Pki) -> None:
        self.root, self.server, self.namespace, self.authority = root, server, namespace, pki
        self.clients = root / "clients"
        self.clients.mkdir()
        files = pki.issue("neutron")
        self.files = {"tls.key": files.private_key, "tls.crt": files.certificate, "ca.crt": files.ca_certificate}
        for name, path in zip(("neutron-key.pem", "neutron-cert.pem", "ca.pem"), self.files.values()):
            (self.clients / name).write_bytes(pathlib.Path(path).read_bytes())
        self.helm = root / "overrides.yaml"
        playbook = root / "play.yml"
        playbook.write_text(
            json.dumps([{"hosts": "ovn_controllers", "gather_facts": False, "roles": ["c5c3.ovn.ovn_neutron"]}])
        )
        self.playbook = str(playbook)

    def run(self, *arguments: str, central: dict[str, t.Any] | None = None, **variables: t.Any) -> tuple[int, str]:
        """`central` are the variables of the cluster of the control plane; without it no database is asked, unless a variable says so."""
        host = {
            "ovn_backend": "kubernetes",
            "ovn_kubeconfig": self.server.kubeconfig,
            "ovn_neutron_namespace": self.namespace,
            "ovn_pki_ca_directory": str(self.clients.parent),
            "ovn_neutron_helm_file": str(self.helm),
            **({} if central else {**ENDPOINTS, "ovn_neutron_ask_databases": False}),
            **variables,
        }
        groups: dict[str, t.Any] = {"ovn_controllers": {"hosts": {"cloud": host}}}
        if central:
            groups["ovn_central"] = {"hosts": {"control-plane": {"ovn_backend": "kubernetes", **central}}}
        inventory = _playbooks.write_inventory(self.root / "inventory.yml", groups)
        done = _playbooks.run(
            ["-i", str(inventory), self.playbook, *arguments], _playbooks.environment(self.root / "scratch")
        )
        return done.returncode, done.stdout + done.stderr

    def get(self, path: str) -> t.Any:
        return json.loads(self.server.request("GET", path))

    def names(self, kind: str) -> set[str]:
        items = self.get(f"/api/v1/namespaces/{self.namespace}/{kind}")["items"]
        return {item["metadata"]["name"] for item in items}


@pytest.fixture
def cloud(short_dir: pathlib.Path, api_server: ApiServer, namespace: str, pki: Pki) -> Cloud:
    return Cloud(short_dir, api_server, namespace, pki)


def changed(output: str) -> int:
    return int(output.rpartition("changed=")[2].split()[0])


def test_pods_get_a_secret_a_config_map_and_overrides_and_a_second_run_changes_nothing(cloud: Cloud) -> None:
    code, output = cloud.run("--check")
    assert code == 0, output
    predicted = changed(output)
    assert "ovn-client-neutron" not in cloud.names("secrets")
    assert "ovn-neutron" not in cloud.names("configmaps")
    assert not cloud.helm.exists()

    code, output = cloud.run()
    assert code == 0, output
    assert changed(output) == predicted == 2, "what pods read, and the overrides"
    secret = cloud.get(f"/api/v1/namespaces/{cloud.namespace}/secrets/ovn-client-neutron")
    assert {name: base64.b64decode(text) for name, text in secret["data"].items()} == {
        name: pathlib.Path(path).read_bytes() for name, path in cloud.files.items()
    }
    (text,) = cloud.get(f"/api/v1/namespaces/{cloud.namespace}/configmaps/ovn-neutron")["data"].values()
    assert "ovn_nb_connection = ssl:192.0.2.1:31641,ssl:192.0.2.2:31641\n" in text
    assert "ovn_nb_private_key = /etc/neutron/ovn/tls.key\n" in text
    overrides = yaml.safe_load(cloud.helm.read_text())
    assert overrides["conf"]["plugins"]["ml2_conf"]["ovn"]["ovn_sb_connection"] == "ssl:192.0.2.1:31642"
    assert cloud.helm.stat().st_mode & 0o077 == 0

    code, output = cloud.run()
    assert (code, changed(output)) == (0, 0), output

    code, output = cloud.run(ovn_neutron_southbound_endpoints=["ssl:192.0.2.9:31642"])
    assert (code, changed(output)) == (0, 2), output
    (text,) = cloud.get(f"/api/v1/namespaces/{cloud.namespace}/configmaps/ovn-neutron")["data"].values()
    assert "ovn_sb_connection = ssl:192.0.2.9:31642\n" in text


def test_check_mode_foresees_the_secrets_of_a_certificate_that_the_same_run_issues(cloud: Cloud) -> None:
    """That of Neutron, and that of the control plane, which are in one namespace here."""
    for path in cloud.clients.iterdir():
        path.unlink()
    cloud.playbook = "c5c3.ovn.neutron"
    certificate, private_key = cloud.authority.as_texts()
    central = {
        "ovn_kubeconfig": cloud.server.kubeconfig,
        "ovn_namespace": cloud.namespace,
        "ovn_pki_ca": {"certificate": certificate, "private_key": private_key},
        "ovn_pki_ca_directory_is_kept": True,
        "ovn_pki_ca_directory": str(cloud.clients.parent),
        "ovn_pki_clients": [{"name": "neutron", "secret": "central-neutron"}],
    }
    hosts, written = ("cloud", "control-plane"), "Issue the certificate of each client"
    read_by_pods = "Write what the pods of Neutron read"

    def changes(**variables: t.Any) -> dict[str, list[str]]:
        code, output = cloud.run("--check", central={**central, **variables}, **asking)
        assert code == 0, output
        tasks = {host: _playbooks.changed_tasks(output, host) for host in hosts}
        code, output = cloud.run(central={**central, **variables}, **asking)
        assert code == 0, output
        real = {host: _playbooks.changed_tasks(output, host) for host in hosts}
        assert tasks["cloud"] == real["cloud"]
        assert (written in tasks["control-plane"]) is (written in real["control-plane"])
        return real

    asking = {**ENDPOINTS, "ovn_neutron_ask_databases": False}
    assert changes()["cloud"] == [read_by_pods, "Write the overrides for Helm"]
    assert {"ovn-client-neutron", "central-neutron"} <= cloud.names("secrets")
    real = changes(ovn_pki_renew_before_days=370, ovn_pki_validity_days=400)
    assert real["cloud"] == [read_by_pods]
    assert written in real["control-plane"]
    secret = cloud.get(f"/api/v1/namespaces/{cloud.namespace}/secrets/central-neutron")
    renewed = (cloud.clients / "neutron-cert.pem").read_bytes()
    assert base64.b64decode(secret["data"]["tls.crt"]) == renewed
    assert not any(changes().values())


def test_the_key_is_in_no_output(cloud: Cloud) -> None:
    code, output = cloud.run("--diff", "-vvv")
    assert code == 0, output
    key = (cloud.clients / "neutron-key.pem").read_text().splitlines()[1]
    assert key not in output
    assert base64.b64encode((cloud.clients / "neutron-key.pem").read_bytes()).decode() not in output


def test_a_neutron_resource_gets_the_endpoints_or_the_run_fails(cloud: Cloud) -> None:
    (definition,) = (
        one
        for one in yaml.safe_load_all((COLLECTION / "tests/testbed/operator/neutron.yaml").read_text())
        if one["kind"] == "CustomResourceDefinition"
    )
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    cloud.server.request("POST", definitions, definition)
    try:
        code, output = cloud.run(ovn_neutron_resource="neutron")
        assert code != 0, output
        assert "There is no Neutron neutron in the namespace" in output

        place = f"{GROUP}/namespaces/{cloud.namespace}/neutrons"
        cloud.server.request(
            "POST",
            place,
            {
                "apiVersion": "neutron.openstack.c5c3.io/v1alpha1",
                "kind": "Neutron",
                "metadata": {"name": "neutron"},
                "spec": {"ovn": {"enabled": True, "nbConnection": "tcp:192.0.2.77:6641"}},
            },
        )
        code, output = cloud.run(ovn_neutron_resource="neutron")
        assert code == 0, output
        assert cloud.get(f"{place}/neutron")["spec"]["ovn"] == {
            "enabled": True,
            "nbConnection": "ssl:192.0.2.1:31641,ssl:192.0.2.2:31641",
            "sbConnection": "ssl:192.0.2.1:31642",
        }
        code, output = cloud.run(ovn_neutron_resource="neutron")
        assert (code, changed(output)) == (0, 0), output

        # Another release of the operator, whose resource has other fields: the API server drops ours and reports success.
        (version,) = definition["spec"]["versions"]
        properties = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["ovn"]["properties"]
        for field in ("enabled", "clusterRef", "nbConnection", "sbConnection"):
            del properties[field]
        cloud.server.request(
            "PATCH", f"{definitions}/{definition['metadata']['name']}", {"spec": {"versions": [version]}}
        )
        until(lambda: not cloud.get(f"{place}/neutron")["spec"]["ovn"], "the API server to drop the fields")
        cloud.server.request("PATCH", f"{place}/neutron", {"spec": {"ovn": {"centralRef": {"name": "ovn"}}}})
        code, output = cloud.run("--check", ovn_neutron_resource="neutron")
        assert code != 0, output
        assert "Nothing was written in check mode." in " ".join(output.split())
        code, output = cloud.run(ovn_neutron_resource="neutron")
        assert code != 0, output
        told = " ".join(output.split())
        assert "Its Secret and ConfigMap were written." in told
        assert "Neutron neutron of cloud did not get nbConnection and sbConnection: with spec.ovn.centralRef" in told, (
            told
        )
        secret = cloud.get(f"/api/v1/namespaces/{cloud.namespace}/secrets/neutron-ovn-connection")["data"]
        assert {name: base64.b64decode(text).decode() for name, text in secret.items()} == {
            "nbConnection": "ssl:192.0.2.1:31641,ssl:192.0.2.2:31641",
            "sbConnection": "ssl:192.0.2.1:31642",
        }
    finally:
        cloud.server.request("DELETE", f"{definitions}/{definition['metadata']['name']}")


def test_what_is_missing_is_named_and_nothing_is_written(cloud: Cloud) -> None:
    (cloud.clients / "neutron-cert.pem").unlink()
    code, output = cloud.run()
    assert code != 0
    assert "neutron-cert.pem is not on the control node. Give ovn_pki_clients the entry neutron" in output
    assert "ovn-neutron" not in cloud.names("configmaps")

    code, output = cloud.run(ovn_northbound_endpoints=[])
    assert code != 0
    assert "No endpoint of the databases is known to cloud." in output


def test_the_cluster_of_the_control_plane_is_asked_for_its_endpoints(cloud: Cloud) -> None:
    """Nothing is rolled out there, so it has none to tell; what it tells is in test_cluster_endpoints.py."""
    central = {"ovn_backend": "kubernetes", "ovn_kubeconfig": cloud.server.kubeconfig, "ovn_namespace": cloud.namespace}
    nothing: dict[str, list[str]] = {name: [] for name in ENDPOINTS}
    code, output = cloud.run(central=central, **nothing)
    assert code != 0
    assert "TASK [c5c3.ovn.ovn_central : Read the endpoints from the cluster of the control plane]" in output
    assert "No endpoint of the databases is known to cloud." in output
    code, output = cloud.run(central={**central, "ovn_kubeconfig": "/nowhere"}, **nothing)
    assert code != 0
    assert "/nowhere" in output
    assert "ovn-neutron" not in cloud.names("configmaps")


def test_the_databases_are_asked_before_anything_is_written(
    cloud: Cloud, raft_cluster: MakeCluster, make_pki: t.Callable[[str], Pki]
) -> None:
    clusters = {database: raft_cluster(1, database, tls=True) for database in ("northbound", "southbound")}
    real = dict(zip(ENDPOINTS, (list(one.endpoints) for one in clusters.values())))
    asking = {"ovn_neutron_ask_databases": True, "_ovn_neutron_wait_timeout": 5, **real}

    dead = {**asking, "ovn_northbound_endpoints": ["ssl:127.0.0.1:9"]}
    code, output = cloud.run("--check", **dead)
    assert code != 0, "check mode asks, too"
    code, output = cloud.run(**dead)
    assert code != 0
    told = " ".join(output.split())
    assert "The databases did not answer the control node with the certificate for Neutron of cloud: " in told
    assert "set ovn_neutron_ask_databases to false. Nothing was written to this cluster." in told
    assert not {"ovn-client-neutron"} & cloud.names("secrets")
    assert not {"ovn-neutron"} & cloud.names("configmaps")

    good = (cloud.clients / "neutron-cert.pem").read_bytes(), (cloud.clients / "neutron-key.pem").read_bytes()
    foreign = make_pki("foreign").issue("neutron")
    (cloud.clients / "neutron-cert.pem").write_bytes(pathlib.Path(foreign.certificate).read_bytes())
    (cloud.clients / "neutron-key.pem").write_bytes(pathlib.Path(foreign.private_key).read_bytes())
    code, output = cloud.run(**asking)
    assert code != 0, output
    assert "did not answer the control node with the certificate for Neutron of cloud" in " ".join(output.split())
    assert "ovn-client-neutron" not in cloud.names("secrets")

    (cloud.clients / "neutron-cert.pem").write_bytes(good[0])
    (cloud.clients / "neutron-key.pem").write_bytes(good[1])
    code, output = cloud.run(**asking)
    assert (code, changed(output)) == (0, 2), output
    assert "Nobody could ask" not in output
    code, output = cloud.run(**asking)
    assert (code, changed(output)) == (0, 0), output

    # Rows of others, which Neutron with repair deletes as soon as a pod starts
    repair = {**asking, "ovn_neutron_sync_mode": "repair"}
    assert cloud.run("--check", **repair)[0] == 0
    _owners.fill(clusters["northbound"].members[0].socket)
    for arguments in ([], ["--check"]):
        code, output = cloud.run(*arguments, **repair)
        assert code != 0, output
        assert "Neutron of cloud does not get ovn_neutron_sync_mode repair, with which Neutron deletes" in output
    code, output = cloud.run(**{**repair, "ovn_neutron_ask_databases": False})
    assert code != 0, output
    assert "nobody could be asked which rows the Northbound has." in output
    code, output = cloud.run(**repair, ovn_neutron_permit=["delete_foreign_rows"])
    assert (code, changed(output)) == (0, 2), output


def test_inside_pods_get_what_they_can_resolve(cloud: Cloud, plane: ControlPlane) -> None:
    plain = {"ovn_tls": "false", "ovn_neutron_inside_cluster": True}
    neutron = {"sbConnection": {"allowedNamespaces": ["openstack"]}}
    proxy = {"enabled": True, "nodeSelector": {"kubernetes.io/os": "linux"}}
    plane.late(spec={**_control_plane.SPEC, "neutronIntegration": neutron, "leaderProxy": proxy})
    central = {"ovn_kubeconfig": cloud.server.kubeconfig, "ovn_namespace": plane.namespace}

    def connection() -> str:
        (text,) = cloud.get(f"/api/v1/namespaces/{cloud.namespace}/configmaps/ovn-neutron")["data"].values()
        overrides = yaml.safe_load(cloud.helm.read_text())["conf"]["plugins"]["ml2_conf"]["ovn"]["ovn_nb_connection"]
        found = t.cast("str", text).partition("ovn_nb_connection = ")[2].partition("\n")[0]
        assert found == overrides
        return found

    code, output = cloud.run(central=central, **plain)
    assert code == 0, output
    assert "ovn-client-neutron" not in cloud.names("secrets"), "the text false is taken as true"
    members = [plane.get("Service", f"ovn-northbound-{index}")["spec"]["clusterIP"] for index in range(3)]
    assert connection() == ",".join(f"tcp:{address}:6641" for address in members)
    assert "Nobody could ask the Northbound and the Southbound databases of cloud" in " ".join(output.split())
    assert "gets names of members" not in output

    address = plane.get("Service", "ovn-leader-proxy")["spec"]["clusterIP"]
    published = {"leaderProxyNorthbound": f"tcp:{address}:6641", "leaderProxySouthbound": f"tcp:{address}:16642"}
    plane.patch("OVNCluster", "ovn/status", {"status": {"endpoints": published}})
    code, output = cloud.run(central=central, **plain)
    assert code == 0, output
    assert connection() == ",".join([f"tcp:{address}:6641"] * 20)

    code, output = cloud.run(central=central, **plain, ovn_neutron_leader_proxy="none")
    assert code == 0, output
    assert connection() == ",".join(f"tcp:{address}:6641" for address in members)
