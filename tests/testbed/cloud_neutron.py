"""Neutron's API, and what stands in for an instance."""

from __future__ import annotations

import dataclasses
import http.client
import json
import urllib.request
import uuid
from typing import Any

from cloud_machines import Failed, address, ssh, wait_until


@dataclasses.dataclass
class Api:
    """Requests as the administrator of one project."""

    place: str

    def call(self, method: str, path: str, body: Any = None, timeout: float = 300) -> Any:
        request = urllib.request.Request(
            f"http://{self.place}/v2.0/{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def create(self, kind: str, **fields: Any) -> dict[str, Any]:
        made: dict[str, Any] = self.call("POST", f"{kind}s", {kind: {"project_id": "demo", **fields}})[kind]
        return made

    def named(self, kind: str, name: str, **fields: Any) -> dict[str, Any]:
        """Return the object of this name, created if there is none: the proof can be repeated."""
        found = self.call("GET", f"{kind}s?name={name}")[f"{kind}s"]
        return found[0] if found else self.create(kind, name=name, **fields)

    def wait(self, seconds: float = 90) -> None:
        error = ""

        def answers() -> bool:
            nonlocal error
            try:
                self.call("GET", "networks?limit=1", timeout=10)
            except (OSError, http.client.HTTPException) as e:
                error = str(e)
                return False
            return True

        try:
            wait_until(answers, "Neutron's API does not answer", seconds)
        except Failed as e:
            raise Failed(f"{e}: {error}. See: journalctl -u neutron-api") from e


@dataclasses.dataclass
class Guest:
    """What stands in for an instance: a network namespace with a port of Neutron in it."""

    name: str
    node: str
    port: dict[str, Any]

    @property
    def ip(self) -> str:
        return str(self.port["fixed_ips"][0]["ip_address"])

    @property
    def tap(self) -> str:
        return f"tap{self.port['id'][:11]}"

    def unplug(self) -> None:
        ssh(self.node, f"ovs-vsctl --if-exists del-port br-int {self.tap}; ip netns delete {self.name}")

    def plug(self) -> None:
        tap = self.tap
        ssh(
            self.node,
            f"ip netns list | grep -qw {self.name} || {{ ip netns add {self.name}; ip -n {self.name} link set lo up; }}; "
            f"ovs-vsctl --may-exist add-port br-int {tap} -- set Interface {tap} type=internal "
            f"external_ids:iface-id={self.port['id']} external_ids:iface-status=active external_ids:attached-mac={self.port['mac_address']}; "
            f"for i in 1 2 3 4 5 6 7 8 9 10; do ip link show {tap} >/dev/null 2>&1 && break; sleep 0.2; done; "
            f"ip link set {tap} netns {self.name} 2>/dev/null; "
            f"ip -n {self.name} link set {tap} address {self.port['mac_address']} && ip -n {self.name} link set {tap} up && "
            # A userspace datapath passes packets on without the checksums that a card would add.
            f"ip netns exec {self.name} ethtool -K {tap} tx off >/dev/null",
        )

    def run(self, command: str, *, check: bool = True) -> str:
        return ssh(self.node, f"ip netns exec {self.name} {command}", check=check)

    def dhcp(self) -> None:
        """Ask OVN for the address, as an instance does when it boots."""
        self.run(f"udhcpc -f -n -q -t 10 -T 1 -i {self.tap} -s /opt/udhcpc.sh")
        found = self.run("ip -4 -o address show scope global")
        if f" {self.ip}/" not in found:
            raise Failed(f"{self.name} got {found.strip() or 'no address'} by DHCP, not {self.ip}")


def ready_api() -> Api:
    api = Api(f"{address('controller1')}:9696")
    api.wait()
    return api


def create_port(api: Api, network: dict[str, Any], name: str, node: str) -> dict[str, Any]:
    return api.named(
        "port",
        name,
        network_id=network["id"],
        device_owner="compute:nova",
        device_id=str(uuid.uuid4()),
        **{"binding:host_id": node},
    )


def create_guest(api: Api, network: dict[str, Any], name: str, node: str) -> Guest:
    guest = Guest(name, node, create_port(api, network, name, node))
    guest.plug()
    wait_until(lambda: _is_active(api, guest.port["id"]), f"{guest.name} is not ACTIVE")
    return guest


def rules_of(api: Api, guest: Guest, prefix: str) -> list[dict[str, Any]]:
    group = guest.port["security_groups"][0]
    found = api.call("GET", f"security-group-rules?security_group_id={group}&remote_ip_prefix={prefix}")
    rules: list[dict[str, Any]] = found["security_group_rules"]
    return rules


def allow(api: Api, guest: Guest, prefix: str, *rules: dict[str, Any]) -> None:
    """Let in what the rules say, from a network."""
    if rules_of(api, guest, prefix):
        return
    group = guest.port["security_groups"][0]
    for fields in rules:
        rule = {
            "security_group_id": group,
            "direction": "ingress",
            "ethertype": "IPv4",
            "remote_ip_prefix": prefix,
            **fields,
        }
        api.call("POST", "security-group-rules", {"security_group_rule": {"project_id": "demo", **rule}})


def _is_active(api: Api, port: str) -> bool:
    return bool(api.call("GET", f"ports/{port}")["port"]["status"] == "ACTIVE")
