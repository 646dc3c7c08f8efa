"""The OpenStack side of `make openstack`: Neutron on the machines, then a proof that it works with the OVN there.

    cloud.py install FOLDER NEUTRON   put Neutron (a virtual environment) and its database on the machines; c5c3.ovn.neutron starts it
    cloud.py outages FOLDER           how long API calls get no answer when the leader of the Northbound ends, dies, or its machine loses its power
    cloud.py gateways FOLDER          how long a floating IP does not answer when the machine of its gateway loses its power, with BFD and without
    cloud.py vlan FOLDER              a provider network with a VLAN, from outside to an instance
    cloud.py distributed FOLDER       the floating IP answers although both gateways are dead; enable_distributed_floating_ip is on
    cloud.py added FOLDER             an instance on a compute node that came later, compute3
    cloud.py ports FOLDER [NUMBER]    seconds from the call that creates a port until its flows are there, beside that many ports
    cloud.py prove FOLDER             networks, instances, metadata, a floating IP, and the death of the leader's machine while the API is called

Nobody here knows what c5c3.ovn.neutron does: the file that it writes is the only thing about OVN that Neutron gets.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import secrets
import shutil
import subprocess
import sys
import time
import urllib.error
from pathlib import Path
from typing import Any

from cloud_gateways import gateway, gateway_death, gateways
from cloud_machines import (
    ADDED,
    COMPUTES,
    CONTROLLER,
    GATEWAYS,
    HERE,
    OUTSIDE,
    STATE,
    Failed,
    answers,
    everywhere,
    machines,
    outside,
    say,
    ssh,
    step,
    wait_until,
)
from cloud_neutron import Api, Guest, allow, create_guest, ready_api, rules_of
from cloud_outages import OUTAGES, leader_death, outages
from cloud_ports import ports

FILES = HERE / "cloud"
_PROVIDER = "203.0.113.0/24"
_VLAN, _TAGGED = "192.0.2.128/25", 3


def install(folder: Path, neutron: Path) -> None:
    start = time.monotonic()
    say("Neutron: installing it and its database on the controller, metadata agents on compute nodes")
    secret = folder / "metadata-secret"
    if not secret.exists():
        secret.write_text(secrets.token_hex(16) + "\n", encoding="utf-8")
    computes = [name for name in (*COMPUTES, *ADDED) if (STATE / name).exists()]
    everywhere(lambda name: _install_neutron(name, neutron), [*CONTROLLER, *computes])
    for name in CONTROLLER:
        _copy(name, "neutron.conf", "/etc/neutron/neutron.conf")
        shutil.copy(secret, STATE / name / "root" / "etc" / "neutron" / "metadata-secret")
        _copy(name, "nova_metadata.py", "/opt/nova_metadata.py")
        for unit in ("neutron-api", "neutron-ovn-maintenance-worker", "neutron-periodic-workers", "nova-metadata"):
            _copy(name, f"{unit}.service", f"/etc/systemd/system/{unit}.service")
        _copy(name, "uwsgi.ini", "/etc/neutron/uwsgi.ini")
        ssh(name, "systemctl daemon-reload && systemctl restart nova-metadata && systemctl start mariadb")
        ssh(name, "mariadb -e 'create database if not exists neutron character set utf8mb4; "
                  "grant all on neutron.* to neutron@localhost identified by \"neutron\"'")  # fmt: skip
        ssh(
            name,
            "PYTHONPATH=/opt/neutron python3 /opt/neutron/bin/neutron-db-manage --config-file /etc/neutron/neutron.conf upgrade heads",
        )
    for name in computes:
        _copy(name, "neutron-ovn-metadata-agent.service", "/etc/systemd/system/neutron-ovn-metadata-agent.service")
        _copy(name, "udhcpc.sh", "/opt/udhcpc.sh", 0o755)
        ssh(name, "systemctl daemon-reload")
    say(f"  {time.monotonic() - start:.1f} s")


def _install_neutron(name: str, neutron: Path) -> None:
    root = STATE / name / "root"
    there = root / "opt" / "neutron"
    if not there.exists():
        part = root / "opt" / "neutron.new"
        shutil.rmtree(part, ignore_errors=True)
        subprocess.run(["cp", "-a", str(neutron), str(part)], check=True)
        part.rename(there)
    ssh(
        name,
        "id neutron >/dev/null 2>&1 || useradd --system --home-dir /var/lib/neutron neutron; "
        "install -d -o neutron -g neutron /etc/neutron /var/lib/neutron /var/lib/neutron/lock; "
        "cp -rn /opt/neutron/etc/neutron/. /etc/neutron/",
    )
    _copy(name, "privsep-helper", "/usr/local/bin/privsep-helper", 0o755)  # where sudo looks


def _copy(name: str, file: str, path: str, mode: int = 0o644) -> None:
    target = STATE / name / "root" / path.lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(FILES / file, target)
    target.chmod(mode)


def prove(folder: Path) -> None:
    api = ready_api()
    with step("Networks: a tenant's, a router, the provider's"):
        tenant, provider = _networks(api)
    with step("Instances: an address by DHCP and metadata from 169.254.169.254, on both compute nodes"):
        guests = _guests(api, tenant)
        for guest in guests:
            _check_metadata(guest)
    with step("East-west: a ping between them through the tunnel"):
        guests[0].run(f"ping -c 3 -i 0.2 -W 2 {guests[1].ip}")
    with step("Floating IP: nobody passes the security group, then a ping and HTTP from outside"):
        _floating_ip(api, provider, guests[0])
    with step("Death of the gateway that has the floating IP"):
        say("  " + gateway_death(api))
    with step("Death of the machine that leads the Northbound, while two clients call the API"):
        say("  " + leader_death(api))


def vlan(_folder: Path) -> None:
    api = ready_api()
    with step("VLAN 100 of the provider: two instances reach each other over it, and not through a tunnel"):
        network = api.named(
            "network",
            "vlan",
            **{
                "provider:network_type": "vlan",
                "provider:physical_network": "physnet1",
                "provider:segmentation_id": 100,
            },
        )
        api.named("subnet", "vlan", network_id=network["id"], ip_version=4, cidr=_VLAN, gateway_ip=None)
        guests = [create_guest(api, network, f"vlan{number}", node) for number, node in enumerate(COMPUTES, 1)]
        for guest in guests:
            guest.dhcp()
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            tagged = pool.submit(
                ssh, guests[1].node, "timeout 20 tcpdump -nn -c 3 -i prov0 vlan 100 and icmp 2>/dev/null | wc -l"
            )
            time.sleep(2)  # tcpdump runs on another machine: nothing tells that it listens
            guests[0].run(f"ping -c 5 -i 0.2 -W 2 {guests[1].ip}")
            if int(tagged.result()) != _TAGGED:
                raise Failed(f"{guests[1].node} has no packets with the VLAN on prov0")


def distributed(_folder: Path) -> None:
    api = ready_api()
    floating = api.call("GET", "floatingips")["floatingips"][0]["floating_ip_address"]
    with step("Distributed floating IP: it answers although both gateways are dead"):
        wait_until(
            lambda: bool(
                ssh(
                    "central1",
                    f"ovn-nbctl --no-leader-only --bare --columns=external_mac find NAT external_ip={floating}",
                ).strip()
            ),
            f"{floating} is not distributed",
        )
        machines("crash", *GATEWAYS)
        try:
            time.sleep(10)  # BFD and the tables of the router have noticed then
            wait_until(lambda: answers(floating), f"{floating} does not answer without gateways")
        finally:
            machines("boot", *GATEWAYS)


def added(_folder: Path) -> None:
    api = ready_api()
    (node,) = ADDED
    with step(f"An instance on {node}, which came later: address, metadata, a ping to compute1"):
        tenant = api.call("GET", "networks?name=tenant")["networks"][0]
        guest = create_guest(api, tenant, "vm3", node)
        guest.dhcp()
        _check_metadata(guest)
        other = api.call("GET", "ports?name=vm1")["ports"][0]["fixed_ips"][0]["ip_address"]
        guest.run(f"ping -c 3 -i 0.2 -W 2 {other}")


def _networks(api: Api) -> tuple[dict[str, Any], dict[str, Any]]:
    tenant = api.named("network", "tenant")
    inside = api.named("subnet", "tenant", network_id=tenant["id"], ip_version=4, cidr="10.0.0.0/24")
    provider = api.named(
        "network",
        "provider",
        **{"router:external": True, "provider:network_type": "flat", "provider:physical_network": "physnet1"},
    )
    api.named(
        "subnet",
        "provider",
        network_id=provider["id"],
        ip_version=4,
        cidr=_PROVIDER,
        gateway_ip=OUTSIDE,
        enable_dhcp=False,
    )
    router = api.named("router", "router", external_gateway_info={"network_id": provider["id"]})
    interfaces = api.call("GET", f"ports?device_id={router['id']}&network_id={tenant['id']}")["ports"]
    if not interfaces:
        api.call("PUT", f"routers/{router['id']}/add_router_interface", {"subnet_id": inside["id"]})
    return tenant, provider


def _guests(api: Api, tenant: dict[str, Any]) -> list[Guest]:
    guests = [create_guest(api, tenant, f"vm{number}", node) for number, node in enumerate(COMPUTES, 1)]
    for guest in guests:
        guest.dhcp()
    return guests


def _check_metadata(guest: Guest) -> None:
    def has_answered() -> bool:
        text = guest.run("curl -s -m 5 http://169.254.169.254/latest/meta-data/instance-id", check=False)
        return bool(text == guest.port["device_id"])

    wait_until(has_answered, f"{guest.name} gets no metadata of its own")


def _floating_ip(api: Api, provider: dict[str, Any], guest: Guest) -> None:
    # A userspace datapath drops what has no checksum yet.
    outside(f"ip link set prov0 up && ethtool -K prov0 tx off >/dev/null && ip address replace {OUTSIDE}/24 dev prov0")
    found = api.call("GET", f"floatingips?port_id={guest.port['id']}")["floatingips"]
    floating = (
        found[0] if found else api.create("floatingip", floating_network_id=provider["id"], port_id=guest.port["id"])
    )
    ip = floating["floating_ip_address"]
    if not rules_of(api, guest, _PROVIDER) and answers(ip):
        raise Failed(f"{ip} answers although no security group rule allows it")
    allow(api, guest, _PROVIDER, {"protocol": "icmp"}, {"protocol": "tcp", "port_range_min": 80, "port_range_max": 80})
    wait_until(lambda: answers(ip), f"{ip} does not answer")
    ssh(
        guest.node,
        f"mkdir -p /srv/{guest.name} && echo hello from {guest.name} > /srv/{guest.name}/index.html && "
        f"{{ systemctl is-active -q web-{guest.name} || "
        f"systemd-run -q --collect --unit=web-{guest.name} -p NetworkNamespacePath=/run/netns/{guest.name} "
        f"python3 -m http.server 80 --directory /srv/{guest.name}; }}",
    )
    wait_until(
        lambda: f"hello from {guest.name}" in outside(f"curl -s -m 3 http://{ip}/index.html", check=False),
        f"{ip} serves no HTTP",
    )
    say(f"  {ip} is {guest.ip} on {guest.node}, through {gateway()}")


COMMANDS = {"prove": prove, "vlan": vlan, "distributed": distributed, "added": added, "gateways": gateways}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    installing = commands.add_parser("install")
    installing.add_argument("folder", type=Path)
    installing.add_argument("neutron", type=Path)
    for command in COMMANDS:
        commands.add_parser(command).add_argument("folder", type=Path)
    measuring = commands.add_parser("outages")
    measuring.add_argument("folder", type=Path)
    measuring.add_argument("kinds", nargs="*", choices=[[], *OUTAGES])
    timing = commands.add_parser("ports")
    timing.add_argument("folder", type=Path)
    timing.add_argument("others", nargs="?", type=int, default=0)
    arguments = parser.parse_args()
    try:
        if arguments.command == "install":
            install(arguments.folder, arguments.neutron)
        elif arguments.command == "outages":
            outages(arguments.folder, arguments.kinds)
        elif arguments.command == "ports":
            ports(arguments.folder, arguments.others)
        else:
            COMMANDS[arguments.command](arguments.folder)
    except (Failed, urllib.error.HTTPError, subprocess.SubprocessError) as e:
        body = e.read().decode()[:400] if isinstance(e, urllib.error.HTTPError) else ""
        sys.stderr.write(f"openstack: {e} {body}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
