"""What metadata agents on the nodes of `hypervisors` need in a test: their image, something that stands in for Nova, and a network as Neutron writes it."""

from __future__ import annotations

import dataclasses
import secrets
import typing as t
import uuid

import yaml
from clusters import FOLDER, HYPERVISORS, ROOT, Cluster, Guest, client, run
from pods import apply, manifest

IMAGE = "localhost/neutron:test"
NOVA, SECRET, KEY = "nova-metadata", "nova-metadata", "metadata_proxy_shared_secret"
METADATA = "169.254.169.254"
METADATA_AGENT, OVN_AGENT = "neutron-ovn-metadata-agent", "neutron-ovn-agent"
# How the keys start that each program writes into the row of its chassis.
KEYS = {METADATA_AGENT: "neutron:ovn-metadata", OVN_AGENT: "neutron:ovn-neutron-agent"}
_ADDRESS = "198.19.0.250"  # of the metadata port, in the network of the guests


def build_image(cluster: Cluster = HYPERVISORS) -> None:
    """Build it (once) and give it to the nodes."""
    run(str(ROOT / "tests/testbed/neutron-image/build"), timeout=900)
    run(str(ROOT / "tests/testbed/up"), "load", cluster.name, IMAGE, timeout=300)


def start_nova() -> None:
    """A pod that answers an instance with its own identifier, if the agent knows the secret."""
    volumes = [{"name": "secret", "secret": {"secretName": SECRET}}]
    container = {
        "name": NOVA,
        "image": IMAGE,
        "command": ["python3", "/opt/nova_metadata.py", f"/secret/{KEY}"],
        "ports": [{"containerPort": 8775}],
        "volumeMounts": [{"name": "secret", "mountPath": "/secret", "readOnly": True}],
    }
    labels = {"app": NOVA}
    apply(
        HYPERVISORS,
        manifest("v1", "Secret", SECRET, stringData={KEY: secrets.token_hex(16)}),
        manifest("v1", "Service", NOVA, spec={"selector": labels, "ports": [{"port": 8775}]}),
        manifest("v1", "Pod", NOVA, labels=labels, spec={"containers": [container], "volumes": volumes}),
    )
    HYPERVISORS.kubectl("wait", f"pod/{NOVA}", "--for=condition=Ready", "--timeout=60s", timeout=70)


def stop_nova() -> None:
    HYPERVISORS.kubectl(
        "delete", "--ignore-not-found", "--grace-period=1", f"pod/{NOVA}", f"service/{NOVA}", f"secret/{SECRET}"
    )


def specification(**agent: t.Any) -> dict[str, t.Any]:
    """The variables of a run with agents."""
    inventory = yaml.safe_load((FOLDER / "inventory.yml").read_text(encoding="utf-8"))
    repository, _colon, tag = IMAGE.partition(":")
    fields = {
        "enabled": True,
        "image": {"repository": repository, "tag": tag},
        "novaMetadata": {"host": f"{NOVA}.{HYPERVISORS.namespace}.svc.cluster.local"},
        "sharedSecretRef": {"name": SECRET},
    }
    return {"ovn_cluster_spec": {**inventory["kind"]["vars"]["ovn_cluster_spec"], "metadataAgent": {**fields, **agent}}}


@dataclasses.dataclass(frozen=True)
class Network:
    """A network of Neutron with its metadata port, and guests in it: what ML2/OVN would have written to the Northbound."""

    uuid: str = dataclasses.field(default_factory=lambda: str(uuid.uuid4()))
    port: str = dataclasses.field(default_factory=lambda: str(uuid.uuid4()))

    @property
    def switch(self) -> str:
        return f"neutron-{self.uuid}"

    @property
    def namespace(self) -> str:
        return f"ovnmeta-{self.uuid}"

    def create(self) -> None:
        client(
            "northbound",
            "ls-add",
            self.switch,
            "--",
            "set",
            "Logical_Switch",
            self.switch,
            *_ids(network_name="tenant", mtu="1400"),
        )
        self._add(
            self.port,
            f"fa:16:3e:00:00:02 {_ADDRESS}",
            device_id=self.namespace,
            device_owner="network:distributed",
            mtu="1400",
        )
        client("northbound", "lsp-set-type", self.port, "localport")

    def _add(self, port: str, addresses: str, **ids: str) -> None:
        ids |= {"network_name": self.switch, "cidrs": f"{addresses.split()[1]}/24", "project_id": "demo"}
        client("northbound", "--may-exist", "lsp-add", self.switch, port, "--", "lsp-set-addresses", port, addresses,
               "--", "set", "Logical_Switch_Port", port, *_ids(**ids))  # fmt: skip

    def delete(self) -> None:
        client("northbound", "--if-exists", "ls-del", self.switch)
        for row in client(
            "northbound", "--bare", "--columns=_uuid", "find", "DHCP_Options", *_ids(subnet_id=self.uuid)
        ).split():
            client("northbound", "dhcp-options-del", row)

    def plug(self, guest: Guest) -> str:
        """Have it ask for its address; the identifier of the instance that it is."""
        instance = str(uuid.uuid4())
        self._add(guest.name, f"{guest.mac} {guest.address}", device_id=instance, device_owner="compute:nova")
        options = {
            "server_id": "198.19.0.254",
            "server_mac": "fa:16:3e:00:00:01",
            "lease_time": "43200",
            "mtu": "1400",
            "classless_static_route": f"{{{METADATA}/32,{_ADDRESS}, 0.0.0.0/0,198.19.0.254}}",
        }
        words = [f'options:{key}="{value}"' for key, value in options.items()]
        made = client(
            "northbound", "create", "DHCP_Options", "cidr=198.19.0.0/24", *_ids(subnet_id=self.uuid), *words
        ).strip()
        client("northbound", "lsp-set-dhcpv4-options", guest.name, made)
        guest.plug(self.switch)
        ask_for_address(guest)
        return instance


def ask_for_address(guest: Guest) -> None:
    """By DHCP, in place of the one that it has."""
    interface, inside = f"p{guest.name}", ("ip", "netns", "exec", guest.name)
    run("ip", "-n", guest.name, "address", "flush", "dev", interface)
    # A datapath in userspace passes packets on without the checksums that a card would add.
    tcp = ("-p", "tcp", "-j", "CHECKSUM", "--checksum-fill")
    run(*inside, "iptables", "-t", "mangle", "-A", "POSTROUTING", *tcp)
    script = str(ROOT / "tests/testbed/cloud/udhcpc.sh")
    run(*inside, "udhcpc", "-f", "-n", "-q", "-t", "20", "-T", "1", "-i", interface, "-s", script)
    assert f" {guest.address}/24 " in run("ip", "-n", guest.name, "-4", "-o", "address")


def _ids(**values: str) -> list[str]:
    return [f'external_ids:"neutron:{key}"="{value}"' for key, value in values.items()]


def answers(guest: Guest, instance: str) -> bool:
    """Whether the guest is told the identifier of the instance at 169.254.169.254."""
    curl = ["curl", "--silent", "--show-error", "--fail", "--max-time", "3", f"http://{METADATA}/"]
    return run("ip", "netns", "exec", guest.name, *curl) == instance


def on_node(node: str, *command: str, check: bool = True) -> str:
    """What somebody sees who is logged in to the node."""
    return run("docker", "exec", node, *command, check=check)


def is_serving(node: str, network: Network) -> bool:
    """Whether haproxy listens in the namespace of the network, as seen on the node."""
    inside = on_node(node, "ip", "netns", "exec", network.namespace, "ss", "-ltn")
    return f"{METADATA}:80 " in inside
