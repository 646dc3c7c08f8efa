"""What a client with the certificate of one chassis can claim through a listener with the role ovn-controller, and what the report says of it."""

from __future__ import annotations

import pathlib
import subprocess
import threading
import typing as t

import pytest
from _beside import beside
from conftest import Daemon, MakeCluster, Pki, RaftCluster, RunModule, run, until

from ansible_collections.c5c3.ovn.plugins.module_utils._report.installation import Installation
from ansible_collections.c5c3.ovn.plugins.module_utils._report.report import build_report

CODES = {"port_bound_elsewhere", "duplicate_encapsulation_ip", "duplicate_hostname", "chassis_unexpected"}


class Site:
    """Both databases, northd, and three chassis without machines: `victim` and `other` in the inventory, and `evil`, whose key the attacker has."""

    def __init__(self, northbound: RaftCluster, southbound: RaftCluster, pki: Pki) -> None:
        self.northbound, self.southbound, self._pki = northbound, southbound, pki
        _scheme, host, _port = southbound.members[0].endpoint.split(":")
        self.listener = f"ssl:{host}:16642"

    def nbctl(self, *arguments: str) -> str:
        return run("ovn-nbctl", f"--db={self.northbound.sockets[0]}", "--timeout=20", *arguments).strip()

    def sbctl(self, *arguments: str) -> str:
        return run("ovn-sbctl", f"--db={self.southbound.sockets[0]}", "--timeout=20", *arguments).strip()

    def attack(self, *arguments: str, name: str = "evil") -> subprocess.CompletedProcess[str]:
        """Run ovn-sbctl with the certificate of a chassis through the listener of chassis."""
        files = self._pki.issue(name)
        tls = [f"--private-key={files.private_key}", f"--certificate={files.certificate}"]
        tls.append(f"--ca-cert={files.ca_certificate}")
        command = ["ovn-sbctl", f"--db={self.listener}", *tls, "--timeout=20", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def may(self, *arguments: str) -> bool:
        done = self.attack(*arguments)
        assert done.returncode == 0 or "permission error" in done.stderr, done.stderr
        return done.returncode == 0

    def register(self, name: str, ip: str, *, hostname: str) -> None:
        """As ovn-controller does, by the chassis itself."""
        commands = [
            *("--id=@e", "create", "Encap", "type=geneve", f"ip={ip}", f"chassis_name={name}"),
            *("--", "--id=@c", "create", "Chassis", f"name={name}", f"hostname={hostname}", "encaps=@e"),
            *("--", "--id=@p", "create", "Chassis_Private", f"name={name}", "chassis=@c"),
        ]
        done = self.attack(*commands, name=name)
        assert done.returncode == 0, done.stderr

    def uuid(self, table: str, condition: str) -> str:
        return self.sbctl("--bare", "--columns=_uuid", "find", table, condition)

    def answer(self, ended: threading.Event) -> None:
        """Answer each heartbeat as the chassis do, so that nobody is late."""
        answered = ""
        while not ended.wait(0.05):
            number = self.sbctl("--bare", "--columns=nb_cfg", "list", "SB_Global").strip()
            for name in ("evil", "other", "victim") if number != answered else ():
                assert self.attack("set", "Chassis_Private", name, f"nb_cfg={number}", name=name).returncode == 0
            answered = number


@pytest.fixture
def site(raft_cluster: MakeCluster, pki: Pki, short_dir: pathlib.Path) -> t.Iterator[Site]:
    southbound = raft_cluster(0, "southbound", tls=pki)
    member = southbound.new_member()
    member.create()
    member.start(options=["--remote=db:OVN_Southbound,SB_Global,connections"])
    northbound = raft_cluster(1, "northbound")
    databases = [f"--ovnnb-db={northbound.members[0].socket}", f"--ovnsb-db={member.socket}"]
    command = ["ovn-northd", "-vconsole:off", "--no-chdir", f"--unixctl={short_dir}/northd.ctl", *databases]
    northd = Daemon(command, short_dir / "northd.out")
    try:
        built = Site(northbound, southbound, pki)
        until(lambda: built.sbctl("--bare", "list", "RBAC_Role"), "northd to write its rules", 20)
        _scheme, host, port = built.listener.split(":")
        built.sbctl("set-connection", "role=ovn-controller", f"pssl:{port}:{host}")
        until(lambda: built.attack("show", name="victim").returncode == 0, "the listener", 20)
        for number, name in enumerate(("evil", "other", "victim"), 1):
            built.register(name, f"192.0.2.{number}", hostname=f"{name}.example.com")
        built.nbctl("ls-add", "net")
        for name, requested in (("vm1", "victim"), ("vm2", "victim.example.com"), ("vm3", "victim,other"), ("vm4", "")):
            built.nbctl("lsp-add", "net", name)
            if requested:
                built.nbctl("set", "Logical_Switch_Port", name, f'options:requested-chassis="{requested}"')
        until(lambda: built.uuid("Port_Binding", "logical_port=vm4"), "the ports", 20)
        for name in ("vm1", "vm2", "vm3"):
            chassis = built.uuid("Chassis", "name=other" if name == "vm3" else "name=victim")
            built.sbctl("set", "Port_Binding", name, f"chassis={chassis}")
        yield built
    finally:
        northd.kill()


def claims(site: Site, run_module: RunModule) -> dict[str, str]:
    """Return the findings of the report about claims by their code."""
    endpoints = {"northbound": site.northbound.sockets, "southbound": site.southbound.sockets, "timeout": 20}
    with beside(site.answer):
        heartbeat = run_module("ovn_sync", endpoints).result
    assert heartbeat["probed"]
    assert heartbeat["late"] == []
    expected = {"victim": "victim", "other": "other"}
    report = build_report(Installation(central={}, chassis=expected, heartbeat=heartbeat))
    return {finding["code"]: finding["message"] for finding in report["findings"] if finding["code"] in CODES}


def test_a_chassis_of_no_inventory_is_named_with_its_machine(site: Site, run_module: RunModule) -> None:
    assert claims(site, run_module) == {
        "chassis_unexpected": "Chassis evil (evil.example.com, 192.0.2.1) is alive, but is not in the inventory."
    }


def test_ports_that_are_requested_elsewhere_can_be_bound_and_are_reported(site: Site, run_module: RunModule) -> None:
    evil = site.uuid("Chassis", "name=evil")
    assert site.may("set", "Port_Binding", "vm1", f"chassis={evil}")
    assert site.may("set", "Port_Binding", "vm2", f"additional_chassis={evil}")
    assert site.may("set", "Port_Binding", "vm4", f"chassis={evil}"), "nobody has requested a place for it"
    message = claims(site, run_module)["port_bound_elsewhere"]
    assert message.startswith(
        "Chassis evil has bound ports that are requested elsewhere: "
        "vm1 (requested: victim), vm2 (requested: victim.example.com). "
    )


def test_a_tunnel_address_can_be_claimed_and_is_reported(site: Site, run_module: RunModule) -> None:
    encap = site.uuid("Encap", "chassis_name=victim")
    assert site.may("add", "Chassis", "evil", "encaps", encap)
    assert (
        "Chassis evil, victim have the same encapsulation address 192.0.2.3"
        in claims(site, run_module)["duplicate_encapsulation_ip"]
    )
    assert site.may("remove", "Chassis", "evil", "encaps", encap)
    assert "duplicate_encapsulation_ip" not in claims(site, run_module)
    other_type = ("--id=@e", "create", "Encap", "type=vxlan", "ip=192.0.2.3", "chassis_name=evil")
    assert site.may(*other_type, "--", "add", "Chassis", "evil", "encaps", "@e")
    assert "duplicate_encapsulation_ip" in claims(site, run_module)


def test_a_host_name_can_be_claimed_and_is_reported(site: Site, run_module: RunModule) -> None:
    for table in ("Chassis", "Chassis_Private"):
        assert site.may("destroy", table, "evil")
    site.register("evil", "192.0.2.1", hostname="victim.example.com")
    evil = site.uuid("Chassis", "name=evil")
    assert site.may("set", "Port_Binding", "vm2", f"chassis={evil}")
    found = claims(site, run_module)
    assert "Chassis evil, victim have the same host name victim.example.com" in found["duplicate_hostname"]


def test_role_of_a_chassis_rejects_foreign_rows_only(site: Site) -> None:
    """docs/security.md"""
    evil = site.uuid("Chassis", "name=evil")
    datapath = site.uuid("Datapath_Binding", "tunnel_key=1")
    prevented = {
        "rename": ("set", "Chassis", "evil", "name=victim2"),
        "change another chassis": ("set", "Chassis", "victim", "other_config:a=b"),
        "delete another chassis": ("destroy", "Chassis", "victim"),
        "answer for another chassis": ("set", "Chassis_Private", "victim", "nb_cfg=2000"),
        "register another chassis": ("create", "Chassis_Private", "name=new"),
        "an address in the name of another": (
            *("--id=@e", "create", "Encap", "type=vxlan", "ip=192.0.2.3", "chassis_name=victim"),
            *("--", "add", "Chassis", "evil", "encaps", "@e"),
        ),
        "delete a port": ("destroy", "Port_Binding", "vm1"),
        "request a port": ("set", "Port_Binding", "vm1", f"requested_chassis={evil}"),
        "flows": ("--all", "destroy", "Logical_Flow"),
        "globals": ("set", "SB_Global", ".", "options:a=b"),
        "listeners": ("del-connection",),
        "the role of the listener": ("set", "Connection", ".", 'role=""'),
    }
    assert [name for name, command in prevented.items() if site.may(*command)] == []
    allowed = {
        "options of a port": ("set", "Port_Binding", "vm1", "options:requested-chassis=evil"),
        "a learned address": ("create", "MAC_Binding", "logical_port=x", "ip=192.0.2.9", 'mac="00:00:00:00:00:01"', f"datapath={datapath}"),
        "delete what others learned": ("--all", "destroy", "MAC_Binding"),
        "a place of an address": ("create", "FDB", 'mac="00:00:00:00:00:01"', "dp_key=1", "port_key=1"),
    }  # fmt: skip
    assert [name for name, command in allowed.items() if not site.may(*command)] == []
