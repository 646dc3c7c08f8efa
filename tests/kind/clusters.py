"""The two kind clusters as the tests see them: kubectl, the daemons in the pods, the nodes' containers, and the operator's playbooks."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import time
import typing as t

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".kind"
LOGS = FOLDER / "tests"
NAMESPACE = "ovn-system"
NAME = "ovn"
SCHEMAS = {"northbound": "OVN_Northbound", "southbound": "OVN_Southbound"}
SOCKETS = {"northbound": "ovnnb_db", "southbound": "ovnsb_db"}
MEMBERS = [(database, index) for database in SCHEMAS for index in range(3)]

Object = dict[str, t.Any]


def run(*command: str, timeout: float = 60, check: bool = True, stdin: str | None = None) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False, input=stdin)
    if check and done.returncode:
        raise AssertionError(f"`{' '.join(command)}` returned {done.returncode}: {done.stderr or done.stdout}")
    return done.stdout


def wait_for(what: str, condition: t.Callable[[], t.Any], timeout: float = 120, pause: float = 1) -> t.Any:
    """The first true answer. A kubectl that fails meanwhile counts as no."""
    deadline, last = time.monotonic() + timeout, ""
    while True:
        try:
            answer = condition()
        except (AssertionError, subprocess.TimeoutExpired) as e:
            answer, last = None, f" Last error: {e}"
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not within {timeout:g} s.{last}")
        time.sleep(pause)  # kubectl asks, nothing wakes us


@dataclasses.dataclass(frozen=True)
class Cluster:
    """One kind cluster, through kubectl, and the namespace that is looked at."""

    name: str
    namespace: str = NAMESPACE

    @property
    def kubeconfig(self) -> str:
        return str(FOLDER / f"{self.name}.kubeconfig")

    def command(self, *arguments: str) -> list[str]:
        return ["kubectl", "--kubeconfig", self.kubeconfig, "--namespace", self.namespace, *arguments]

    def kubectl(self, *arguments: str, timeout: float = 60, check: bool = True, stdin: str | None = None) -> str:
        return run(*self.command(*arguments), timeout=timeout, check=check, stdin=stdin)

    def list(self, kind: str, labels: str = "") -> list[Object]:
        return list(json.loads(self.kubectl("get", kind, "--output", "json", "--selector", labels))["items"])

    def get(self, kind: str, name: str) -> Object | None:
        found = self.kubectl("get", kind, name, "--ignore-not-found", "--output", "json")
        return json.loads(found) if found else None

    def exec(self, pod: str, *command: str, container: str = "", check: bool = True, timeout: float = 30) -> str:
        chosen = ["--container", container] if container else []
        return self.kubectl("exec", pod, *chosen, "--", *command, check=check, timeout=timeout)

    def pods(self, component: str) -> list[Object]:
        return self.list("pods", f"app.kubernetes.io/instance={NAME},app.kubernetes.io/component={component}")

    def ready(self, component: str) -> list[str]:
        """Names of the pods that are ready and stay."""
        return [
            pod["metadata"]["name"]
            for pod in self.pods(component)
            if "deletionTimestamp" not in pod["metadata"]
            and any(c["type"] == "Ready" and c["status"] == "True" for c in pod["status"].get("conditions", []))
        ]


CENTRAL = Cluster("control-plane")
HYPERVISORS = Cluster("hypervisors")


# --- the databases ----------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Member:
    """What one member says of its cluster, with OVN's own tool: our modules must not be proved by our modules."""

    cluster_id: str
    server_id: str
    role: str
    addresses: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Member:
        def field(name: str) -> str:
            found = re.search(rf"^{name}: (.*)$", text, re.MULTILINE)
            return found[1] if found else ""

        ids = [re.search(r"\(([0-9a-f-]{36})\)", field(name)) for name in ("Cluster ID", "Server ID")]
        servers = re.findall(r"^    [0-9a-f]{4} .* at (\S+?)\)", text, re.MULTILINE)
        return cls(ids[0][1] if ids[0] else "", ids[1][1] if ids[1] else "", field("Role"), tuple(sorted(servers)))


def pod_of(database: str, index: int) -> str:
    return f"{NAME}-{database}-{index}"


def member(database: str, index: int, cluster: Cluster = CENTRAL) -> Member:
    control = f"/run/ovn/{SOCKETS[database]}.ctl"
    return Member.parse(
        cluster.exec(
            pod_of(database, index), "ovs-appctl", "-T", "5", "-t", control, "cluster/status", SCHEMAS[database]
        )
    )


def members(database: str, cluster: Cluster = CENTRAL, size: int = 3) -> list[Member]:
    return [member(database, index, cluster) for index in range(size)]


def leader(database: str) -> int:
    """Index of the member that leads."""
    roles = [member(database, index).role for index in range(3)]
    assert roles.count("leader") == 1, roles
    return roles.index("leader")


def labeled(database: str) -> list[str]:
    """Pods that are said to lead."""
    key = {"northbound": "ovn-nb-leader", "southbound": "ovn-sb-leader"}[database]
    return [pod["metadata"]["name"] for pod in CENTRAL.pods(database) if pod["metadata"]["labels"].get(key) == "true"]


def whole(database: str, cluster: Cluster = CENTRAL, size: int = 3) -> list[Member] | None:
    """All members, if they agree: one cluster of that size, one leader, nobody else in it."""
    seen = members(database, cluster, size)
    good = (
        len({m.cluster_id for m in seen}) == 1
        and len({m.server_id for m in seen}) == size
        and sorted(m.role for m in seen) == ["follower"] * (size - 1) + ["leader"]
        and len({m.addresses for m in seen}) == 1
        and len(seen[0].addresses) == size
    )
    return seen if good else None


def wait_whole(database: str, timeout: float = 120, cluster: Cluster = CENTRAL, size: int = 3) -> list[Member]:
    what = f"{database}: {size} members of one cluster"
    return list(wait_for(what, lambda: whole(database, cluster, size), timeout))


def client(database: str, *arguments: str, index: int = 0, timeout: float = 30, cluster: Cluster = CENTRAL) -> str:
    """ovn-nbctl or ovn-sbctl in the pod of a member, on its socket."""
    tool = {"northbound": "ovn-nbctl", "southbound": "ovn-sbctl"}[database]
    socket = f"unix:/run/ovn/{SOCKETS[database]}.sock"
    command = [tool, f"--db={socket}", "--no-leader-only", "--timeout=15", *arguments]
    return cluster.exec(pod_of(database, index), *command, timeout=timeout)


def endpoints(database: str, cluster: Cluster = CENTRAL) -> list[str]:
    """The addresses for clients in the status of the OVNCluster."""
    return list((cluster.get("ovncluster", NAME) or {})["status"]["endpoints"][database].split(","))


def place(endpoint: str) -> tuple[str, int]:
    """Host and port of ssl:HOST:PORT; an address of IPv6 stands in brackets there."""
    host, _colon, port = endpoint.partition(":")[2].rpartition(":")
    return host.strip("[]"), int(port)


def silent_addresses(database: str, cluster: Cluster = CENTRAL) -> list[str]:
    """Advertised endpoints at which nobody accepts a connection."""
    silent = []
    for endpoint in endpoints(database, cluster):
        try:
            socket.create_connection(place(endpoint), timeout=5).close()
        except OSError:
            silent.append(endpoint)
    return silent


def mark(name: str) -> None:
    """A row in each database that has to survive what comes."""
    client("northbound", "--may-exist", "ls-add", name)
    client("southbound", *southbound_mark(name))


def southbound_mark(name: str) -> tuple[str, ...]:
    """A row of its own would be northd's to remove."""
    return "set", "SB_Global", ".", f"external_ids:mark-{name}=set"


def marks(index: int = 0) -> tuple[set[str], set[str]]:
    """The names of all marks, northbound and southbound."""
    northbound = client("northbound", "--bare", "--columns=name", "list", "Logical_Switch", index=index).split()
    southbound = client("southbound", "get", "SB_Global", ".", "external_ids", index=index)
    return set(northbound), set(re.findall(r"mark-([\w-]+)=set", southbound))


# --- chassis ----------------------------------------------------------------------------------------------------------


def chassis() -> set[str]:
    """The host names of all chassis in the Southbound database."""
    return set(client("southbound", "--bare", "--columns=hostname", "list", "Chassis").split())


def hypervisor_nodes() -> set[str]:
    return {node["metadata"]["name"] for node in HYPERVISORS.list("nodes", "node-role.kubernetes.io/hypervisor")}


def pod_on(component: str, node: str) -> str:
    pods = [pod for pod in HYPERVISORS.pods(component) if pod["spec"].get("nodeName") == node]
    assert pods, f"no {component} pod on {node}"
    return str(pods[0]["metadata"]["name"])


# --- what the operator runs -------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Ran:
    """One run of a playbook: which tasks changed something, which failed, and what was reported."""

    rc: int
    seconds: float
    log: str
    changed: list[str]
    failed: list[str]
    messages: list[str]


def playbook(name: str, *arguments: str, ok: bool = True, timeout: float = 600) -> Ran:
    """Run c5c3.ovn.NAME with .kind/inventory.yml, as an operator would."""
    runner = ROOT / "molecule" / "shared" / "run_playbook.py"
    collections = next((ROOT / ".venv" / "lib").glob("python3*/site-packages"))
    options = ["--log", str(LOGS), "--timeout", str(timeout), "--", f"--inventory={FOLDER / 'inventory.yml'}"]
    done = subprocess.run(
        [sys.executable, str(runner), *options, f"c5c3.ovn.{name}", *arguments],
        env=os.environ | {"ANSIBLE_COLLECTIONS_PATH": str(collections), "ANSIBLE_LOCALHOST_WARNING": "false"},
        capture_output=True,
        text=True,
        timeout=timeout + 60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    ran = Ran(*(told[field.name] for field in dataclasses.fields(Ran)))
    if ok:
        assert ran.rc == 0, f"c5c3.ovn.{name} {' '.join(arguments)} failed, see {ran.log}: {ran.failed or ran.messages}"
    return ran


def extra(variables: Object) -> tuple[str, str]:
    return "--extra-vars", json.dumps(variables)


def small_control_plane(**database: t.Any) -> Object:
    """The specification of a small control plane beside the large one, with a Secret of its own. `database` is for both databases."""
    large = (CENTRAL.get("ovncluster", NAME) or {})["spec"]
    return {
        **{key: value for key, value in large.items() if key != "tls"},
        **{name: {"replicas": 1, "storage": {"size": "100Mi"}, **database} for name in SCHEMAS},
        "northd": {"replicas": 1},
    }


def uninstall(cluster: Cluster = CENTRAL) -> None:
    """Take the control plane away; data stays, since nobody asked for its end."""
    module = [
        "--module-name=c5c3.ovn.ovn_cluster",
        f"--args=state=absent namespace={cluster.namespace} kubeconfig={cluster.kubeconfig}",
    ]
    ansible = str(pathlib.Path(sys.executable).with_name("ansible"))
    run(ansible, f"--inventory={FOLDER / 'inventory.yml'}", *module, "control-plane", timeout=300)


# --- nodes ------------------------------------------------------------------------------------------------------------


class Guest:
    """A network namespace of this host whose interface is plugged into br-int of a hypervisor node.

    It belongs to no pod, so it sees what happens to the packets while pods come and go.
    """

    def __init__(self, node: str, number: int) -> None:
        self.node, self.name, self.address = node, f"kindtest{number}", f"198.19.0.{number}"
        self.mac = f"02:c5:c3:ff:00:{number:02x}"

    def _in_node(self, *command: str) -> str:
        pid = run("docker", "inspect", "--format", "{{.State.Pid}}", self.node).strip()
        return run("nsenter", f"--net=/proc/{pid}/ns/net", *command)

    def plug(self, switch: str) -> None:
        client("northbound", "--may-exist", "lsp-add", switch, self.name)
        client("northbound", "lsp-set-addresses", self.name, f"{self.mac} {self.address}")
        self.connect(self.name)

    def connect(self, port: str) -> None:
        """Be the interface of this logical port."""
        run("ip", "netns", "add", self.name)
        peer = f"p{self.name}"
        self._in_node("ip", "link", "add", self.name, "type", "veth", "peer", "name", peer)
        self._in_node("ip", "link", "set", peer, "netns", self.name)
        self._in_node("ip", "link", "set", self.name, "up")
        inside = ["ip", "-n", self.name]
        run(*inside, "link", "set", peer, "address", self.mac, "mtu", "1400", "up")
        run(*inside, "address", "add", f"{self.address}/24", "dev", peer)
        vsctl = ["ovs-vsctl", "--timeout=15", "--may-exist", "add-port", "br-int", self.name]
        settings = ["--", "set", "Interface", self.name, f"external_ids:iface-id={port}"]
        HYPERVISORS.exec(pod_on("ovs", self.node), *vsctl, *settings)

    def unplug(self) -> None:
        pod = pod_on("ovs", self.node)
        HYPERVISORS.exec(pod, "ovs-vsctl", "--timeout=15", "--if-exists", "del-port", self.name, check=False)
        run("ip", "netns", "delete", self.name, check=False)
        client("northbound", "--if-exists", "lsp-del", self.name)

    def ping(self, other: Guest, count: int = 1, interval: float = 0.2) -> subprocess.Popen[str]:
        command = ["ping", "-n", "-q", "-c", str(count), "-i", str(interval), "-W", "1", other.address]
        return subprocess.Popen(["ip", "netns", "exec", self.name, *command], stdout=subprocess.PIPE, text=True)

    def answered(self, other: Guest) -> bool:
        ping = self.ping(other)
        ping.communicate(timeout=10)
        return ping.returncode == 0


def losses(ping: subprocess.Popen[str], timeout: float) -> tuple[int, int]:
    """Packets sent and lost, when the ping has ended."""
    out, _err = ping.communicate(timeout=timeout)
    found = re.search(r"(\d+) packets transmitted, (\d+) received", out)
    assert found, out
    return int(found[1]), int(found[1]) - int(found[2])
