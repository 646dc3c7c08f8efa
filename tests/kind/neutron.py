"""Neutron beside the control plane: its namespace, the leader proxies for it, and its API in a pod with what c5c3.ovn.neutron writes."""

from __future__ import annotations

import contextlib
import json
import typing as t

import yaml
from cloud_neutron import Api
from clusters import CENTRAL, FOLDER, LOGS, ROOT, Cluster, Object, Ran, client, extra, playbook, wait_for
from metadata import IMAGE
from pods import apply, manifest, named

NEUTRON = Cluster(CENTRAL.name, "kindtest-neutron")
COMPONENT = "leader-proxy"
NODES = {"nodeSelector": {"kubernetes.io/os": "linux"}}  # all
POD = "neutron-api"
_PORT = 9696
_FILES = ROOT / "tests" / "testbed" / "cloud"  # those of `make openstack`
_INVENTORY = FOLDER / "neutron.yml"  # beside the other one, for the CA in its folder
_SQL = """
create database if not exists neutron character set utf8mb4;
grant all on neutron.* to neutron@localhost identified by 'neutron';
"""
_FIELDS = {"northbound": "leaderProxyNorthbound", "southbound": "leaderProxySouthbound"}

# --- the leader proxies -----------------------------------------------------------------------------------------------


def specification(declared: Object | None = None, **proxy: t.Any) -> tuple[str, str]:
    """The arguments of a run with this `leaderProxy` on all nodes, and Neutron's namespace let in; `declared` is that of the inventory."""
    inventory = yaml.safe_load((FOLDER / "inventory.yml").read_text(encoding="utf-8"))
    spec = declared or inventory["kind"]["vars"]["ovn_cluster_spec"]
    integration = {"sbConnection": {"allowedNamespaces": [NEUTRON.namespace]}}
    ours = {"leaderProxy": {**NODES, **proxy}, "neutronIntegration": integration}
    return extra({"ovn_cluster_spec": {**spec, **ours}})


def published() -> dict[str, str]:
    """The addresses of the proxy in the status of the OVNCluster."""
    endpoints = (CENTRAL.get("ovncluster", "ovn") or {})["status"]["endpoints"]
    return {database: endpoints[field] for database, field in _FIELDS.items() if field in endpoints}


def proxy_on(node: str) -> str:
    """The pod of the proxy there that stays."""
    pods = [pod for pod in CENTRAL.pods(COMPONENT) if "deletionTimestamp" not in pod["metadata"]]
    return next(named(pod) for pod in pods if pod["spec"]["nodeName"] == node)


@contextlib.contextmanager
def leader_proxies() -> t.Iterator[None]:
    """A control plane with them, and the namespace; then as before."""
    try:
        playbook("central", *specification(enabled=True))
        NEUTRON.kubectl("create", "namespace", NEUTRON.namespace)
        yield
    finally:
        NEUTRON.kubectl("delete", "namespace", NEUTRON.namespace, "--ignore-not-found", "--timeout=60s", timeout=90)
        playbook("central", *specification(enabled=True, published=False))
        playbook("site")
    wait_for("the proxies end", lambda: CENTRAL.pods(COMPONENT) == [], 60)
    assert playbook("site").changed == []


# --- Neutron ----------------------------------------------------------------------------------------------------------


def connect(*arguments: str, ok: bool = True) -> Ran:
    """Run c5c3.ovn.neutron for the namespace."""
    variables = {"ovn_neutron_namespace": NEUTRON.namespace, "ovn_neutron_inside_cluster": True}
    hosts = {"openstack": {"ovn_kubeconfig": NEUTRON.kubeconfig}}
    groups = {"kind": {"children": {"ovn_controllers": {"vars": variables, "hosts": hosts}}}}
    _INVENTORY.write_text(json.dumps(groups), encoding="utf-8")
    try:
        return playbook("neutron", f"--inventory={_INVENTORY}", *arguments, ok=ok)
    finally:
        _INVENTORY.unlink()


def start_api(node: str) -> Api:
    """Neutron and its database on that node; `connect` has run."""
    files = {name: (_FILES / name).read_text(encoding="utf-8") for name in ("neutron.conf", "uwsgi.ini")}
    service = {
        "type": "NodePort",
        "externalTrafficPolicy": "Local",
        "selector": {"app": POD},
        "ports": [{"port": _PORT}],
    }
    apply(
        NEUTRON,
        manifest("v1", "ConfigMap", POD, data=files),
        manifest("v1", "Service", POD, spec=service),
        manifest("v1", "Pod", POD, labels={"app": POD}, spec=_pod(node)),
    )
    NEUTRON.kubectl("wait", f"pod/{POD}", "--for=condition=Ready", "--timeout=300s", timeout=310)
    port = (NEUTRON.get("service", POD) or {})["spec"]["ports"][0]["nodePort"]
    api = Api(f"{(NEUTRON.get('pod', POD) or {})['status']['hostIP']}:{port}")
    api.wait()
    return api


def _pod(node: str) -> Object:
    files = [_mount("files", f"/etc/neutron/{name}", subPath=name) for name in ("neutron.conf", "uwsgi.ini")]
    # What c5c3.ovn.neutron writes, where its settings look for it
    ours = [_mount("ovn-settings", "/etc/neutron/neutron.conf.d"), _mount("ovn-client", "/etc/neutron/ovn")]
    database = "mariadb-install-db --user=root >/dev/null && exec mariadbd --user=root --skip-networking"
    schema = 'mariadb -e "$SQL" && neutron-db-manage --config-file /etc/neutron/neutron.conf upgrade heads'
    environment = {"OS_NEUTRON_CONFIG_DIR": "/etc/neutron", "OS_NEUTRON_CONFIG_FILES": "neutron.conf", "SQL": _SQL}
    common = {
        "image": IMAGE,
        "env": [{"name": name, "value": value} for name, value in environment.items()],
        "volumeMounts": [*files, *ours, _mount("socket", "/run/mysqld"), _mount("state", "/var/lib/neutron")],
    }
    answers = {"exec": {"command": ["mariadb", "-e", "select 1"]}, "periodSeconds": 2, "failureThreshold": 60}
    beside: Object = {"restartPolicy": "Always", "startupProbe": answers}
    ready = {"httpGet": {"path": "/", "port": _PORT}, "periodSeconds": 2, "timeoutSeconds": 10}
    return {
        "nodeName": node,
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 1,
        "initContainers": [
            {"name": "database", "command": ["sh", "-c", database], **common, **beside},
            {"name": "schema", "command": ["sh", "-c", schema], **common},
        ],
        "containers": [
            {"name": "api", "command": ["uwsgi", "--ini", "/etc/neutron/uwsgi.ini"], **common, "readinessProbe": ready}
        ],
        "volumes": [
            {"name": "files", "configMap": {"name": POD}},
            {"name": "ovn-settings", "configMap": {"name": "ovn-neutron"}},
            {"name": "ovn-client", "secret": {"secretName": "ovn-client-neutron"}},
            {"name": "socket", "emptyDir": {}},
            {"name": "state", "emptyDir": {}},
        ],
    }


def _mount(volume: str, path: str, **fields: str) -> Object:
    return {"name": volume, "mountPath": path, **fields}


def save_log() -> None:
    """Keep what Neutron has said for whoever looks for the cause of a failure."""
    said = NEUTRON.kubectl("logs", POD, "--container=api", check=False)
    (LOGS / f"{POD}.log").write_text(said, encoding="utf-8")


def switches(index: int = 0) -> set[str]:
    """The names of all logical switches that a member of the Northbound has."""
    return set(
        client("northbound", "--bare", "--columns=name", "list", "Logical_Switch", index=index, timeout=60).split()
    )
