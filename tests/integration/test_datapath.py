"""What guests notice of restarts, updates and outages of a hypervisor: packets that go through Geneve from one machine to another, in the kernel's datapath
and in userspace. Each event prints a line: lost datagrams of those sent every 10 ms, longest pauses, seconds until br-int has its flows again.

DATAPATH_PORTS=5000 plays the restarts once more with as many ports on the guests' switch.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
import typing as t

import pytest
from _datapath import NORTHBOUND, SOUTHBOUND, Site, add_ports, copy_stream, running_site, watch
from _waits import until

pytestmark = pytest.mark.own_machines
HANDLERS = "cat /proc/$(pidof ovs-vswitchd)/task/*/comm | grep -c ^handler"
LEFT = "ip -o address; ip -o link; ovs-vsctl show; ovs-dpctl dump-dps 2>/dev/null || true"
PORTS = [0, *map(int, os.environ.get("DATAPATH_PORTS", "").split())]  # beside those of guests
POSTINST = "/var/lib/dpkg/info"  # what dpkg runs at the end of an upgrade


@pytest.fixture(
    scope="module",
    params=[(suite, kind) for kind in ("kernel", "ipv6", "userspace") for suite in ("bookworm", "trixie")],
    ids="-".join,
)
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Site]:
    site = Site(tmp_path_factory.mktemp("datapath"), *request.param)
    with running_site(site, request.config) as report:
        assert re.search(r"hypervisor1 -> hypervisor2: 5 of 5 answers.*geneve", report)
        yield site


def test_a_rollout_and_the_run_after_it(site: Site) -> None:
    assert re.findall(r"ok, (\d+) changed", site.sandbox("up")) == ["0", "0"]
    datapath = "system@ovs-system" if site.has_kernel else "netdev@ovs-netdev"
    assert datapath in site.on("hypervisor1", "ovs-appctl dpctl/show")


def outside(command: str) -> subprocess.CompletedProcess[str]:
    """Run the command on the provider network, where its gateway is: 192.0.2.1."""
    words = ["ip", "netns", "exec", "tdatapath", "sh", "-c", command]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)


GUESTS = {  # name: host, MAC address, address
    "web": ("hypervisor1", "02:00:00:00:00:0a", "10.0.0.10/24"),
    "app": ("hypervisor2", "02:00:00:00:00:0b", "10.0.0.11/24"),
    "inner": ("hypervisor3", "02:00:00:00:00:0e", "10.0.0.12/24"),
    "tagged1": ("hypervisor1", "02:00:00:00:00:0c", "198.51.100.129/25"),
    "tagged2": ("hypervisor2", "02:00:00:00:00:0d", "198.51.100.130/25"),
}


@pytest.fixture(scope="module")
def networks(site: Site) -> Site:
    """A router with two gateways and addresses of its own, guests behind it on all hypervisors, two guests in a VLAN of the provider network."""
    done = outside("ip address replace 192.0.2.1/24 dev br2")
    assert done.returncode == 0, done.stderr
    commands = [
        "ls-add inside",
        *(f"lsp-add {'provider100' if name.startswith('tagged') else 'inside'} {name}" for name in GUESTS),
        *(
            f"lsp-set-addresses {name} '{mac} {address.partition('/')[0]}'"
            for name, (_h, mac, address) in GUESTS.items()
        ),
        "lr-add router",
        "lrp-add router router-inside 02:00:00:00:01:01 10.0.0.1/24",
        "lsp-add inside inside-router",
        "lsp-set-type inside-router router",
        "lsp-set-addresses inside-router router",
        "lsp-set-options inside-router router-port=router-inside",
        "ls-add provider",
        "lsp-add provider provider-net",
        "lsp-set-type provider-net localnet",
        "lsp-set-addresses provider-net unknown",
        "lsp-set-options provider-net network_name=physnet1",
        "lrp-add router router-provider 02:00:00:00:01:02 192.0.2.10/24",
        "lrp-set-gateway-chassis router-provider hypervisor1 20",
        "lrp-set-gateway-chassis router-provider hypervisor2 10",
        "lsp-add provider provider-router",
        "lsp-set-type provider-router router",
        "lsp-set-addresses provider-router router",
        "lsp-set-options provider-router router-port=router-provider",
        "lr-route-add router 0.0.0.0/0 192.0.2.1",
        "lr-nat-add router snat 192.0.2.10 10.0.0.0/24",
        "lr-nat-add router dnat_and_snat 192.0.2.20 10.0.0.10",
        "lr-nat-add router dnat_and_snat 192.0.2.21 10.0.0.11 app 02:00:00:00:02:21",
        "ls-add provider100",
        "lsp-add provider100 provider100-net '' 100",
        "lsp-set-type provider100-net localnet",
        "lsp-set-addresses provider100-net unknown",
        "lsp-set-options provider100-net network_name=physnet1",
    ]
    commands.sort(key=lambda one: not one.startswith("ls-add"))
    site.on("central1", f"{NORTHBOUND} {' -- '.join(commands)}")
    for name, (host, mac, address) in GUESTS.items():
        mtu = largest_packet(site)
        route = "" if name.startswith("tagged") else f"ip -n {name} route add default via 10.0.0.1"
        site.on(
            host,
            f"""set -e; ip netns add {name}; ip link add {name} type veth peer name eth0 netns {name}; ip link set {name} up
            ip -n {name} link set eth0 address {mac} mtu {mtu} up; ip -n {name} link set lo up; ip -n {name} address add {address} dev eth0
            {route}
            ip netns exec {name} ethtool -K eth0 tx off >/dev/null
            ovs-vsctl add-port br-int {name} -- set Interface {name} external_ids:iface-id={name}""",
        )
    site.on("central1", f"{NORTHBOUND} --wait=hv --timeout=60 sync")
    return site


def largest_packet(site: Site) -> int:
    """Of a guest, where the underlay has 1500 octets: Geneve, its option, UDP and Ethernet take 38, and IP 20 or 40."""
    return 1422 if site.kind == "ipv6" else 1442


def in_guest(site: Site, name: str, command: str) -> str:
    return site.on(GUESTS[name][0], f"ip netns exec {name} {command} 2>&1 || true")


def answers(text: str) -> int:
    return int(re.findall(r"(\d+) received", text)[0])


PING = "ping -q -c 5 -i 0.2 -W 3"


def test_guests_reach_the_provider_network_and_are_reached(networks: Site) -> None:
    """Source NAT by the gateway, a floating IP there, and one on the hypervisor of its guest; a VLAN whose packets have their tag and no tunnel."""
    for name in ("web", "app", "inner"):
        in_guest(networks, name, f"{PING} 192.0.2.1")  # ARP
        assert answers(in_guest(networks, name, f"{PING} 192.0.2.1")) == 5
    for address in ("192.0.2.20", "192.0.2.21"):
        outside(f"{PING} {address}")
        assert answers(outside(f"{PING} {address}").stdout) == 5
    # The MAC address of the second one is its own: no packet of it goes by the gateway.
    macs = {"192.0.2.10": "02:00:00:00:01:02", "192.0.2.20": "02:00:00:00:01:02", "192.0.2.21": "02:00:00:00:02:21"}
    for address, mac in macs.items():
        assert mac in outside(f"ip neighbor show {address}").stdout
    listening = networks.start("hypervisor2", "timeout 20 tcpdump -c 2 -e -n -i prov0 vlan 100 and icmp 2>&1")
    time.sleep(2)  # tcpdump runs on another machine: nothing tells that it listens
    assert answers(in_guest(networks, "tagged1", f"{PING} 198.51.100.130")) >= 4
    seen, _none = listening.communicate(timeout=30)
    assert "vlan 100" in seen


def test_packets_as_large_as_the_tunnel_allows(networks: Site) -> None:
    """8 octets of ICMP and 20 of IP go off. With that MTU, larger ones are refused where they begin, not lost."""
    largest = largest_packet(networks) - 28
    in_guest(networks, "web", f"{PING} 10.0.0.11")
    assert answers(in_guest(networks, "web", f"{PING} -M do -s {largest} 10.0.0.11")) == 5
    assert "too long" in in_guest(networks, "web", f"ping -c 1 -W 3 -M do -s {largest + 1} 10.0.0.11")


def test_stateful_rules(networks: Site) -> None:
    """A guest may begin connections and gets the answers; nobody begins one with it, but for what a rule allows."""
    site = networks
    rules = (
        "acl-add inside to-lport 1000 'outport == \"app\" && ip4' drop",
        "acl-add inside from-lport 1001 'inport == \"app\" && ip4' allow-related",
        "acl-add inside to-lport 1001 'outport == \"app\" && tcp.dst == 5001' allow-related",
    )
    site.on("central1", f"{NORTHBOUND} --wait=hv --timeout=60 {' -- '.join(rules)}")
    try:
        assert answers(in_guest(site, "app", f"{PING} 10.0.0.10")) == 5
        assert answers(in_guest(site, "web", f"{PING} -W 1 10.0.0.11")) == 0
        server = "systemd-run --quiet --unit=rules-{port} ip netns exec app python3 /run/stream.py serve {port}"
        for port in (5001, 5002):
            site.on("hypervisor2", server.format(port=port))
        time.sleep(1)  # the servers of stream.py on another machine listen then
        sent = json.loads(in_guest(site, "web", "python3 /run/stream.py send 10.0.0.11 5001 2").splitlines()[-1])
        assert (sent["received"], sent["error"]) == (sent["sent"], "")
        assert sent["udp"]["received"] == 0
        assert "timed out" in in_guest(site, "web", "python3 /run/stream.py send 10.0.0.11 5002 2")
        assert "zone=" in site.on("hypervisor2", "ovs-appctl dpctl/dump-conntrack")
    finally:
        site.on("central1", f"{NORTHBOUND} acl-del inside")


EVENTS = {  # program, command
    "ovs-vswitchd restarts": ("ovs-vswitchd", "systemctl restart ovs-vswitchd"),
    "Open vSwitch restarts": ("ovs-vswitchd", "systemctl restart openvswitch-switch"),
    "Open vSwitch is upgraded": ("ovs-vswitchd", f"{POSTINST}/openvswitch-switch.postinst configure 1.0"),
    "ovs-vswitchd is killed": ("ovs-vswitchd", "kill -9 $(pidof ovs-vswitchd)"),
    "ovn-controller restarts": ("ovn-controller", "systemctl restart c5c3-ovn-controller"),
    "ovn-controller is upgraded": (
        "ovn-controller",
        f"{POSTINST}/ovn-host.postinst configure 1.0; systemctl restart c5c3-ovn-controller",
    ),
    "ovn-controller is killed": ("ovn-controller", "kill -9 $(pidof ovn-controller)"),
}


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("ports", PORTS)
def test_guests_go_on_while_a_daemon_restarts(site: Site, ports: int, event: str) -> None:
    """In the kernel, flows that are there go on; the stream goes on in both.

    A new ovs-vswitchd creates some of them again, and a host that is short of processors loses a packet more meanwhile, not each time. Packets of the gap
    of the tunnels' device come on top; `watch` limits it. Without any flows, hundreds are lost. A restart of ovn-controller loses none.
    """
    add_ports(site, ports)
    program, command = EVENTS[event]
    most, attempts = (5, 3) if program == "ovs-vswitchd" else (0, 1)
    for _attempt in range(attempts):
        pid = site.on("hypervisor1", f"pidof {program}")
        seen = watch(site, event, command, (60 if ports else 30) if most else 15)
        assert site.on("hypervisor1", f"until pidof {program}; do sleep 0.2; done") != pid, "nothing was restarted"
        assert (seen.stream_lost, seen.error) == (0, "")
        # In userspace ovs-vswitchd itself switches; and with thousands of ports on a busy host ovn-controller may clear flows before it has new ones.
        if seen.lost_outside_tunnel_gap <= most or (not site.has_kernel and (most or ports)):
            return
        assert seen.lost_outside_tunnel_gap < 50
    pytest.fail(f"More than {most} packets were lost each time: {site.seen[-attempts:]}")


def first_gateway_is_in_use(site: Site) -> bool:
    """Return whether it has claimed the port, and the third hypervisor hears both. After a restart of Open vSwitch this takes seconds."""
    heard = site.on("hypervisor3", "ovs-appctl bfd/show").count("Forwarding: true")
    claim, chassis = "Port_Binding logical_port=cr-router-provider", "Chassis name=hypervisor1"
    columns = f"--columns=chassis find {claim} && {SOUTHBOUND} --bare --columns=_uuid find {chassis}"
    found = site.on("central1", f"{SOUTHBOUND} --bare {columns}").split()
    return heard == 2 and len(found) == 2 and len(set(found)) == 1


def test_another_gateway_takes_over(networks: Site) -> None:
    """BFD notices that the first gateway is gone. The guest is on a third hypervisor: a gateway that hears nobody believes that it is cut off itself."""
    site = networks
    assert answers(in_guest(site, "inner", f"{PING} 192.0.2.1")) == 5
    until(lambda: first_gateway_is_in_use(site), "the first gateway to be in use", timeout=60)
    pings = site.start("hypervisor3", "ip netns exec inner ping -D -i 0.1 -w 40 192.0.2.1 2>&1")
    # The pause is compared with answers of these seconds; on a busy host SSH takes as long.
    site.on("hypervisor3", "until pidof ping >/dev/null; do sleep 0.1; done; sleep 3")
    site.machines("crash", "hypervisor1")
    try:
        output, _none = pings.communicate(timeout=90)
    finally:
        site.machines("boot", "hypervisor1")
    times = [float(one) for one in re.findall(r"^\[([\d.]+)\] \d+ bytes", output, re.MULTILINE)]
    pause = max(later - sooner for sooner, later in zip(times, times[1:]))
    site.seen.append(f"a gateway loses its power: the provider network answers again after {pause:.1f} s")
    assert times[-1] - times[0] > 30, f"no answers at the end: {output[-500:]}"
    assert pause > 1, "the gateway was not in use"


@pytest.mark.parametrize("verb", ["poweroff", "crash"])
def test_a_hypervisor_boots_and_answers(site: Site, verb: str) -> None:
    """Its guests are gone, as where nobody started instances: the ping plugs them again. ovs-vswitchd takes what the kernel does not know."""
    began = time.monotonic()
    site.machines(verb, "hypervisor1")
    site.machines("boot", "hypervisor1")
    booted = time.monotonic() - began
    if site.has_kernel:
        assert (
            site.on("hypervisor1", f"until pidof ovs-vswitchd >/dev/null; do sleep 0.2; done; sleep 1; {HANDLERS}")
            != "0"
        )
    text = site.playbook("ping", "-e", "ovn_ping_state=present")
    assert re.search(r"hypervisor1 -> hypervisor2: 5 of 5 answers", text), text
    copy_stream(site, "hypervisor1")
    took = f"SSH after {booted:.1f} s, guests answer each other after {time.monotonic() - began:.1f} s"
    site.seen.append(f"{verb} and boot: {took}")


def test_tunnels_pass_a_managed_firewall(site: Site) -> None:
    """The kernel asks its packet filter about them."""
    networks = ["fd31::/64" if site.kind == "ipv6" else "172.31.0.0/24"]
    options = json.dumps({"ovn_firewall": "managed", "ovn_hypervisor_tunnel_networks": networks})
    site.playbook("hypervisors", "-e", options)
    if site.has_kernel:  # a datapath in userspace passes no packet to the kernel's filter
        assert networks[0] in site.on("hypervisor1", "nft list ruleset")
    text = site.playbook("ping", "-e", "ovn_ping_state=present")
    assert re.search(r"hypervisor1 -> hypervisor2: 5 of 5 answers", text), text


def test_an_uplink_that_is_down_is_a_problem(site: Site) -> None:
    # The network's manager would bring it up again.
    site.on("hypervisor2", "systemctl stop systemd-networkd.socket systemd-networkd; ip link set prov0 down")
    try:
        text = site.playbook("verify", fails=True)
    finally:
        site.on("hypervisor2", "systemctl start systemd-networkd.socket systemd-networkd; ip link set prov0 up")
    assert re.search(r"Chassis hypervisor2: bridge br-ex of physical network physnet1 .*prov0 is down", text), text


def test_absent_leaves_nothing_in_the_kernel(site: Site) -> None:
    """Neither a datapath nor a device of tunnels nor a flow, but the bridges of others with their interfaces."""
    site.playbook("ping")  # which removes its guests
    kind = "system" if site.has_kernel else "netdev"
    foreign = f"ovs-vsctl add-br foreign -- set Bridge foreign datapath_type={kind}"
    site.on("hypervisor1", f"{foreign} && ip link set foreign up && ip address add 192.0.2.200/32 dev foreign")
    for name, (host, _mac, _address) in GUESTS.items():
        site.on(host, f"ovs-vsctl --if-exists del-port {name}")
    site.playbook("hypervisors", "-e", "ovn_hypervisor_state=absent")
    left = {host: site.on(host, LEFT) for host in ("hypervisor1", "hypervisor2", "hypervisor3")}
    for host, text in left.items():
        assert not re.search(r"genev_sys|br-int|br-ex|br-phy", text), (host, text)
    for host in ("hypervisor2", "hypervisor3"):
        assert not re.search(r"ovs-system|ovs-netdev|system@|netdev@", left[host]), left
    assert "192.0.2.200/32" in left["hypervisor1"]
    assert "tunnel(" not in site.on("hypervisor1", "ovs-appctl dpctl/dump-flows")


def test_what_a_kernel_lacks_is_named(site: Site) -> None:
    """A module that is missing, and one that was built for another kernel."""
    if not site.has_kernel:
        pytest.skip("a datapath in userspace needs no module")
    find = 'find /lib/modules/"$(uname -r)" -name {}.ko'
    unload = "{ ovs-dpctl del-dp ovs-system || true; } && modprobe -r vport_geneve openvswitch geneve"
    site.on("hypervisor3", f"systemctl stop openvswitch-switch && {unload}")
    damage = f"rm $({find.format('geneve')}) && sed -i s/vermagic=6/vermagic=5/ $({find.format('openvswitch')})"
    site.on("hypervisor3", f"{damage} && depmod")
    text = site.playbook("precheck", "--limit", "hypervisor3", fails=True)
    assert re.search(r"kernel_module hypervisor3: kernel \S+ has no .*geneve", text), text
    assert re.search(r"kernel_module hypervisor3: kernel \S+ cannot load .*openvswitch, built for another", text), text
