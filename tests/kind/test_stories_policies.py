"""Who reaches which port of the control plane: real connections, in clusters whose pod network enforces NetworkPolicies.

The expected answers are written down here, not taken from our table of flows, and each is seen to change when the policies are away.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import ipaddress
import subprocess
import typing as t

import pytest
from clusters import (
    CENTRAL,
    HYPERVISORS,
    NAME,
    SCHEMAS,
    Cluster,
    Object,
    endpoints,
    extra,
    hypervisor_nodes,
    place,
    playbook,
    pod_of,
    pod_on,
    run,
    wait_for,
    wait_whole,
)
from pods import named, nodes, start

ELSEWHERE = Cluster(CENTRAL.name, "kindtest-elsewhere")
GUESTS = Cluster(HYPERVISORS.name, "kindtest-elsewhere")
# Of each database: the port for clients, that of Raft, and in the Southbound that of clients without a role.
PORTS = {"northbound": (6641, 6643), "southbound": (6642, 6644, 16642)}
CLIENTS, OURS, ALL = {6641, 6642}, {6641, 6642, 16642}, {6641, 6642, 6643, 6644, 16642}
# Not ours: the resolver, something else that listens in a pod, and the API server.
DNS, METRICS, API = 53, 9153, 6443
OTHERS = {DNS, METRICS, API}
# northd and the observer listen nowhere; the tests start something that does.
STARTED = 9999
# Prints those of its arguments, each ADDRESS/PORT, at which a connection is accepted. A policy refuses it or drops its packets.
PROBE = """
for target; do (timeout 5 bash -c ': >/dev/tcp/$0' "$target" && echo "$target") 2>/dev/null & done
wait
"""

Port = tuple[str, int]  # of which pod or other thing, at which address


@dataclasses.dataclass(frozen=True)
class Origin:
    """Where connections come from. `within` runs there what follows; `name` is that of the pod, or of the node if it has its network."""

    within: tuple[str, ...]
    name: str

    def reached(self, targets: dict[str, Port]) -> set[Port]:
        return {targets[where] for where in run(*self.within, "bash", "-c", PROBE, "probe", *targets).split()}


def pod(name: str, cluster: Cluster = CENTRAL) -> Origin:
    return Origin((*cluster.command("exec", name), "--"), name)


def node(cluster: Cluster, index: int) -> Origin:
    name = named(nodes(cluster)[index])
    return Origin(("docker", "exec", name), name)


# Each origin, with the ports of members and of others that it reaches.
TABLE: dict[str, tuple[t.Callable[[], Origin], set[int]]] = {
    "a pod elsewhere": (lambda: pod("stranger", ELSEWHERE), CLIENTS | OTHERS),
    "a pod elsewhere with the labels of a member": (lambda: pod("disguised", ELSEWHERE), CLIENTS | OTHERS),
    "a pod beside ours": (lambda: pod("neighbour"), CLIENTS | OTHERS),
    "a node of this cluster": (lambda: node(CENTRAL, -1), CLIENTS | OTHERS),
    "a node of hypervisors": (lambda: node(HYPERVISORS, -1), CLIENTS | OTHERS),
    "a pod on hypervisors": (lambda: pod("guest", GUESTS), CLIENTS | OTHERS),
    "northd": (lambda: pod(named(idle("northd"))), OURS | OTHERS),
    "observer": (lambda: pod(named(idle("observer"))), OURS | OTHERS),
    "northbound": (lambda: pod(pod_of("northbound", 0)), {6641, 6643, DNS}),
    "southbound": (lambda: pod(pod_of("southbound", 2)), {6642, 16642, 6644, DNS}),
}
# Who reaches a Northbound that is open to that node of hypervisors alone.
INSIDE = {"a node of hypervisors", "northd", "observer", "northbound"}


def targets(origin: Origin, listening: list[Object]) -> dict[str, Port]:
    """Every port, but those of the pod itself, and those of members on the same node: each network lets the kubelet in."""
    resolver = Cluster(CENTRAL.name, "kube-system").list("pods", "k8s-app=kube-dns")[0]
    open_ports = [(member, PORTS[database]) for database in SCHEMAS for member in CENTRAL.pods(database)]
    open_ports += [(owner, (STARTED,)) for owner in listening]
    others = [
        (named(owner), address["ip"], port)
        for owner, ports in open_ports
        if origin.name not in (named(owner), owner["spec"]["nodeName"])
        for address in owner["status"]["podIPs"]
        for port in ports
    ]
    others += [("resolver", address["ip"], port) for address in resolver["status"]["podIPs"] for port in (DNS, METRICS)]
    others += [("API server", addresses(nodes(CENTRAL)[0])[0], API)]
    return {f"{address}/{port}": (f"{name} at {address}", port) for name, address, port in others}


def idle(component: str) -> Object:
    """The pod in which a port is opened."""
    return CENTRAL.get("pod", min(CENTRAL.ready(component))) or {}


def addresses(of: Object) -> list[str]:
    """Those of a node, the primary one first."""
    return [str(one["address"]) for one in of["status"]["addresses"] if one["type"] == "InternalIP"]


def wait_open(table: t.Iterable[tuple[Origin, set[int]]], listening: list[Object]) -> None:
    """These ports are open to each origin at each target, and all others at none. A closed port proves nothing where nobody listens."""
    for name in map(named, listening):
        itself = functools.partial(pod(name).reached, {f"localhost/{STARTED}": (name, STARTED)})
        wait_for(f"port {STARTED} of {name} is open in that pod itself", itself, 10)
    for origin, ports in table:
        wait_open_to(origin, ports, listening)


def wait_open_to(origin: Origin, ports: set[int], listening: list[Object]) -> None:
    """A network takes a moment for a new pod or policy."""
    there = targets(origin, listening)
    expected = {target for target in there.values() if target[1] in ports}

    def as_expected() -> bool:
        reached = origin.reached(there)
        assert reached == expected, f"Not open: {sorted(expected - reached)}. Open: {sorted(reached - expected)}."
        return True

    wait_for(f"{origin.name} reaches the ports {sorted(ports)} and no other", as_expected, 30)


# --- those who attack ---------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def routes() -> t.Iterator[None]:
    """The networks of the pods of both clusters reach each other: what keeps a hypervisor away has to be the policy."""
    pairs = [(CENTRAL, HYPERVISORS), (HYPERVISORS, CENTRAL)]
    ways = [
        (named(at), network, address)
        for here, there in pairs
        for at in nodes(here)
        for to in nodes(there)
        for network in to["spec"]["podCIDRs"]
        for address in addresses(to)
        if (":" in network) == (":" in address)
    ]
    try:
        for at, network, via in ways:
            run("docker", "exec", at, "ip", "route", "replace", network, "via", via)
        yield
    finally:
        for at, network, _via in ways:
            run("docker", "exec", at, "ip", "route", "delete", network, check=False)


@contextlib.contextmanager
def listeners() -> t.Iterator[list[Object]]:
    """A pod of northd and that of the observer, in which a port is open but for the policies."""
    server = ("timeout", "1800", "python3", "-m", "http.server", "--directory", "/tmp", str(STARTED))
    listening = [idle(component) for component in ("northd", "observer")]
    names = [named(owner) for owner in listening]
    started = [
        subprocess.Popen(CENTRAL.command("exec", name, "--", *server), stderr=subprocess.DEVNULL) for name in names
    ]
    try:
        yield listening
    finally:
        for name, process in zip(names, started):
            CENTRAL.exec(name, "pkill", "-f", "http.server", check=False)
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def opened() -> t.Iterator[list[Object]]:
    """With those who attack around them, the pods in which a port was opened."""
    member = (CENTRAL.get("pod", pod_of("southbound", 0)) or {})["metadata"]["labels"]
    ours = {key: value for key, value in member.items() if key.startswith("app.kubernetes.io/")}
    with routes(), listeners() as pods:
        try:
            for cluster in (ELSEWHERE, GUESTS):
                cluster.kubectl("create", "namespace", cluster.namespace)
            start(ELSEWHERE, "stranger")
            start(ELSEWHERE, "disguised", ours)
            start(CENTRAL, "neighbour")
            start(GUESTS, "guest", on=min(hypervisor_nodes()))
            for cluster, names in (
                (ELSEWHERE, ("stranger", "disguised")),
                (CENTRAL, ("neighbour",)),
                (GUESTS, ("guest",)),
            ):
                cluster.kubectl("wait", "pod", *names, "--for=condition=Ready", "--timeout=60s", timeout=90)
            yield pods
        finally:
            CENTRAL.kubectl("delete", "pod", "neighbour", "--ignore-not-found")
            for cluster in (ELSEWHERE, GUESTS):
                delete = ("delete", "namespace", cluster.namespace, "--ignore-not-found", "--timeout=60s")
                cluster.kubectl(*delete, timeout=90)


def shakes_hands(server: str, port: int) -> bool:
    """Whether this port of a Southbound pod takes the key of a node of hypervisors."""
    files = "-cert /tls/tls.crt -key /tls/tls.key -CAfile /tls/ca.crt -verify_return_error"
    where = f"[{server}]" if ":" in server else server
    client = f"sleep 3 | timeout 10 openssl s_client -connect {where}:{port} {files} -brief 2>&1; true"
    controller = pod_on("controller", named(nodes(HYPERVISORS)[-1]))
    said = HYPERVISORS.exec(controller, "sh", "-c", client, container="ovn-controller")
    return "CONNECTION ESTABLISHED" in said and "alert" not in said


# --- the stories --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("origin", TABLE)
def test_the_ports_that_are_open_to(origin: str, opened: list[Object]) -> None:
    source, ports = TABLE[origin]
    wait_open([(source(), ports)], opened)


@pytest.mark.usefixtures("healthy_after")
def test_without_the_policies_all_ports_are_open_to_all(opened: list[Object]) -> None:
    """So it was the policies. Then the key of a hypervisor still opens nothing but the port of the relay. The next run brings them back."""
    member = str((CENTRAL.get("pod", pod_of("southbound", 1)) or {})["status"]["podIP"])
    CENTRAL.kubectl("delete", "networkpolicies", f"--selector=app.kubernetes.io/instance={NAME}")
    try:
        wait_open(((source(), ALL | OTHERS | {STARTED}) for source, _ports in TABLE.values()), opened)
        assert [port for port in PORTS["southbound"] if shakes_hands(member, port)] == [6642]
    finally:
        ran = playbook("site")
    assert ran.changed
    wait_open(((source(), ports) for source, ports in TABLE.values()), opened)


@pytest.mark.usefixtures("healthy_after")
def test_a_database_is_open_to_the_named_networks_alone(opened: list[Object]) -> None:
    """With `allowedCidrs`, at the address of the pod and at the port of its node; to the control plane itself in any case."""
    spec = {key: value for key, value in (CENTRAL.get("ovncluster", NAME) or {})["spec"].items() if key != "tls"}
    inside, outside = node(HYPERVISORS, -1), node(HYPERVISORS, -2)
    networks = [str(ipaddress.ip_network(one)) for one in addresses(nodes(HYPERVISORS)[-1])]
    service = {"type": "NodePort", "externalTrafficPolicy": "Local", "allowedCidrs": networks}
    exposed: dict[str, Port] = {
        f"{host}/{port}": (endpoint, port) for endpoint in endpoints("northbound") for host, port in [place(endpoint)]
    }
    everything = set(exposed.values())
    assert len(exposed) == 3
    assert outside.reached(exposed) == everything
    try:
        limited = {**spec, "northbound": {**spec["northbound"], "service": service}}
        playbook("central", *extra({"ovn_cluster_spec": limited}))
        wait_open(
            ((source(), ports if what in INSIDE else ports - {6641}) for what, (source, ports) in TABLE.items()), opened
        )
        assert inside.reached(exposed) == everything
        assert outside.reached(exposed) == set()
        for database in SCHEMAS:
            wait_whole(database)
    finally:
        playbook("site")
    wait_open([(outside, CLIENTS | OTHERS)], opened)
    assert outside.reached(exposed) == everything
