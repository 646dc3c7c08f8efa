"""c5c3.ovn.show against the overviews of the real commands, and queries of playbooks."""

from __future__ import annotations

import json
import pathlib
import shlex
import typing as t

import _playbooks
import pytest
import yaml
from conftest import RunModule, run
from test_database_info import Server

from ansible_collections.c5c3.ovn.plugins.module_utils._report.show import QUESTIONS, show_lines

pytestmark = pytest.mark.timeout(300)

PLAYBOOK = pathlib.Path(__file__).resolve().parents[2] / "playbooks" / "show.yml"
SCHEMAS = {
    "northbound": "/usr/share/ovn/ovn-nb.ovsschema",
    "southbound": "/usr/share/ovn/ovn-sb.ovsschema",
    "open_vswitch": "/usr/share/openvswitch/vswitch.ovsschema",
}
COMMANDS = {"northbound": ["ovn-nbctl"], "southbound": ["ovn-sbctl"], "open_vswitch": ["ovs-vsctl", "--no-wait"]}
FILL = {
    "northbound": r"""
        ls-add sw0 -- set logical_switch sw0 external_ids:neutron\\:network_name=net1
        lsp-add sw0 p1 -- lsp-set-addresses p1 "02:00:00:00:00:01 10.0.0.1" unknown -- set logical_switch_port p1 external_ids:neutron\\:port_name=web
        lsp-add sw0 p2 p1 5 -- set logical_switch_port p2 tag=5
        lsp-add sw0 r0 -- lsp-set-type r0 router -- lsp-set-addresses r0 router -- lsp-set-options r0 router-port=lrp0
        lsp-add sw0 localnet -- lsp-set-type localnet localnet -- lsp-set-addresses localnet unknown
        ls-add "a name" -- lsp-add "a name" 'q"x'
        lr-add lr0 -- lrp-add lr0 lrp0 02:00:00:00:01:01 10.0.0.254/24 fd00::1/64 -- set logical_router lr0 external_ids:neutron\\:router_name=r1
        lrp-set-options lrp0 route_table=rt1
        lrp-set-gateway-chassis lrp0 c1 5 -- lrp-set-gateway-chassis lrp0 c2 10 -- lrp-set-gateway-chassis lrp0 c0 10
        lr-nat-add lr0 snat 192.0.2.1 10.0.0.0/24
        --portrange lr-nat-add lr0 dnat 192.0.2.2 10.0.0.1 1000-2000
        lr-add lr1""",
    "southbound": r"""
        chassis-add c1 geneve,vxlan 192.0.2.1 -- set chassis c1 hostname=host-1.example.com
        chassis-add ad4ae12a-5b56-4b8a-8b5b-2f5b3a3f0c11 geneve 192.0.2.2
        --id=@d create datapath_binding tunnel_key=1 -- create port_binding logical_port=p1 datapath=@d tunnel_key=1 -- lsp-bind p1 c1
        --id=@d create datapath_binding tunnel_key=2 -- create port_binding logical_port=cr-lrp.1 datapath=@d tunnel_key=1 -- lsp-bind cr-lrp.1 c1
        --id=@d create datapath_binding tunnel_key=3 -- create port_binding logical_port='"5 x"' datapath=@d tunnel_key=1 -- lsp-bind "5 x" c1
        --id=@d create datapath_binding tunnel_key=4 -- create port_binding logical_port=unbound datapath=@d tunnel_key=1""",
    "open_vswitch": r"""
        add-br br-int -- set bridge br-int fail_mode=secure datapath_type=netdev -- set-controller br-int tcp:127.0.0.1:6653
        add-port br-int t0 -- set interface t0 type=geneve options:remote_ip=192.0.2.9 options:key=flow options:csum=true
        add-port br-int v1 tag=0 -- add-port br-int v2 trunks=1,2
        add-bond br-int bond0 e1 e2 -- set interface e1 error='"could not open \"e1\""' -- set interface e2 bfd_status:state=up
        set-manager ptcp:6640:127.0.0.1 -- set open . ovs_version=3.1.0
        add-br "br ex"
        set controller br-int is_connected=true""",
}


def options_of(database: str) -> dict[str, t.Any]:
    """What the playbook reads of a database: of Open vSwitch in a task, of the others in a step."""
    if database in QUESTIONS:
        return {"database": database, **QUESTIONS[database]}
    tasks = [task for play in yaml.safe_load(PLAYBOOK.read_text()) for task in play.get("tasks", ())]
    (options,) = (task["c5c3.ovn.ovn_database_info"] for task in tasks if task["name"] == "Read the bridges")
    return {key: value for key, value in options.items() if key != "endpoints"}


def tree(lines: t.Sequence[str]) -> t.Any:
    """Lines without the order of those that have the same indent.

    Nor that of gateway chassis: ovn-nbctl does not read their priorities for it, so it prints them in the order of UUIDs.
    """
    blocks: list[tuple[str, list[str]]] = []
    for line in lines:
        if line.startswith("    "):
            blocks[-1][1].append(line[4:])
        else:
            words = line.strip("]").partition("gateway chassis: [")[2].split()
            blocks.append((f"gateway chassis: {sorted(words)}" if words else line, []))
    return sorted((head, tree(below)) for head, below in blocks)


Servers = dict[str, Server]


@pytest.fixture
def servers(daemons: None, short_dir: pathlib.Path) -> t.Iterator[Servers]:
    """An empty server for each database."""
    started: Servers = {}
    for database, schema in SCHEMAS.items():
        (short_dir / database).mkdir()
        started[database] = Server(short_dir / database, pathlib.Path(schema).read_text())
    yield started
    for server in started.values():
        server.daemon.kill()


def command(database: str, server: Server, *words: str) -> str:
    return run(COMMANDS[database][0], f"--db={server.endpoint}", *COMMANDS[database][1:], *words)


def fill(database: str, server: Server) -> None:
    command(database, server, "init")
    for line in FILL[database].strip().splitlines():
        command(database, server, *shlex.split(line))


@pytest.mark.parametrize("database", SCHEMAS)
def test_the_text_is_that_of_the_command(database: str, servers: Servers, run_module: RunModule) -> None:
    fill(database, servers[database])
    options = {**options_of(database), "endpoints": servers[database].endpoint}
    shown = show_lines(run_module("ovn_database_info", options).result)
    printed = command(database, servers[database], "show").splitlines()
    assert len(printed) > 10
    if not any("ipv6-lla: " in line for line in printed):  # older than OVN 24.09
        shown = [line for line in shown if "ipv6-lla: " not in line]
    assert tree(shown) == tree(printed)


Play = t.Callable[..., tuple[int, str]]


@pytest.fixture
def play(collection_path: str, short_dir: pathlib.Path, servers: Servers) -> Play:
    """`play("show", "-e", ...)`: exit code and output of a playbook with two central hosts, one of them dead, and a hypervisor."""

    def execute(
        playbook: str, *arguments: str, central: dict[str, t.Any] | None = None, dead: bool = False
    ) -> tuple[int, str]:
        gone = {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1}
        variables = {
            "ansible_become": False,
            "ovn_hypervisor_openvswitch_database": servers["open_vswitch"].endpoint,
            "ovn_tls": False,
        }
        silent = {"ovn_hypervisor_openvswitch_database": "unix:/nowhere/db.sock"}
        # One is named by its endpoint, the other is where the daemons of its host have their sockets.
        link = short_dir / "ovnsb_db.sock"
        link.unlink(missing_ok=True)
        link.symlink_to(servers["southbound"].endpoint.removeprefix("unix:"))
        asked = {
            "ovn_show_northbound_endpoints": servers["northbound"].endpoint,
            "ovn_central_distribution": {"run_directory": str(short_dir)},
        }
        groups = {
            "ovn_central": {"hosts": {"dead": gone, "db1": asked} if central is None else central},
            "ovn_hypervisors": {"hosts": {"compute1": {}, **({"compute2": gone, "compute3": silent} if dead else {})}},
        }
        if central == {}:
            variables["ovn_central_elsewhere"] = True
        inventory = _playbooks.write_inventory(short_dir / "hosts.yml", groups, **variables)
        scratch = short_dir / "tmp"
        env = _playbooks.environment(scratch, collection_path, ANSIBLE_REMOTE_TEMP=str(scratch))
        done = _playbooks.run(["-i", str(inventory), f"c5c3.ovn.{playbook}", *arguments], env, timeout=240)
        return done.returncode, done.stdout + done.stderr

    return execute


def test_the_playbook(servers: Servers, play: Play) -> None:
    code, output = play("show")
    assert code == 0, output
    assert "The Northbound database has neither logical switches nor logical routers." in output
    assert "The Southbound database has no chassis." in output
    assert "The Open_vSwitch database is empty: it was never initialized." in output

    for database, server in servers.items():
        fill(database, server)
    code, output = play("show")
    assert code == 0, output
    lines = output.splitlines()
    for database, server in servers.items():
        for line in command(database, server, "show").splitlines():
            assert line in lines or "gateway chassis" in line, line
    assert "        gateway chassis: [c2 c0 c1]" in output
    assert "changed=0" in output
    assert "changed=1" not in output

    query = "{switches: sort(northbound.tables.Logical_Switch[].name), chassis: length(southbound.tables.Chassis), on: keys(open_vswitch)}"
    code, output = play("show", "-e", json.dumps({"ovn_query": query}))
    assert code == 0, output
    printed = output.partition("Show the data that the query selects")[2].partition('"msg": ')[2]
    found, _end = json.JSONDecoder().raw_decode(printed)
    assert found == {"switches": ["a name", "sw0"], "chassis": 2, "on": ["compute1"]}
    assert "    port p1" not in output
    code, output = play("show", "-e", json.dumps({"ovn_query": "sort(northbound.tables.Logical_Switch[].name)"}))
    assert code == 0, output
    assert {"a name", "sw0"} <= set(output.splitlines())

    servers["southbound"].daemon.kill()
    code, output = play("show")
    assert code == 2, output
    assert "No member of the Southbound database can answer; each said why, see above." in " ".join(output.split())
    assert "Connection refused" in output


def test_hypervisors_alone(servers: Servers, play: Play) -> None:
    """Their control plane is in another inventory: no host answers for the databases."""
    fill("open_vswitch", servers["open_vswitch"])
    code, output = play("show", central={})
    assert code == 0, output
    assert "    Bridge br-int" in output.splitlines()


def test_a_dead_hypervisor_hides_nothing(servers: Servers, play: Play) -> None:
    for database, server in servers.items():
        fill(database, server)
    code, output = play("show", dead=True)
    assert code == 0, output
    lines = output.splitlines()
    assert "Chassis c1" in lines
    assert "    Bridge br-int" in lines
    unread = {line.partition(":")[0]: line for line in lines if ": not read: " in line}
    assert set(unread) == {"compute2", "compute3"}
    assert "Connection refused" in unread["compute2"]
    assert "/nowhere/db.sock" in unread["compute3"]


def test_a_limit_without_localhost_is_refused(play: Play) -> None:
    """Ansible runs the plays of the hosts that are left, and the one that prints has none."""
    code, output = play("show", "--limit", "compute1")
    assert code == 2, output
    message = "Nothing would be printed: the output comes from localhost, which --limit 'compute1' leaves out."
    assert message in " ".join(output.split())
    assert "--limit 'compute1,localhost'. Nothing was done." in " ".join(output.split())
    assert "Read the bridges" not in output


def test_a_limit_shows_what_is_left(servers: Servers, play: Play) -> None:
    fill("open_vswitch", servers["open_vswitch"])
    code, output = play("show", "--limit", "compute1,localhost", dead=True)
    assert code == 0, output
    assert "    Bridge br-int" in output.splitlines()
    assert "compute2: not read: it does not take part in this run (--limit)." in output
    assert "db1: not read: it does not take part in this run (--limit)." in output


def test_a_control_plane_in_kubernetes_is_asked_with_its_kubeconfig(play: Play) -> None:
    """Pods that answer are in test_database_info.py."""
    cluster = {"ovn_backend": "kubernetes", "ovn_kubeconfig": "/nowhere/kubeconfig", "ovn_context": "blue"}
    code, output = play("show", central={"control-plane": cluster})
    assert code == 2, output
    assert "Cannot connect: kubeconfig /nowhere/kubeconfig, context blue: no such file" in " ".join(output.split())


@pytest.mark.parametrize("name", ["show", "status", "verify"])
def test_a_wrong_query_ends_the_run_before_anything_is_asked(name: str, play: Play) -> None:
    code, output = play(name, "-e", "ovn_query=tables[")
    assert code == 2, output
    assert "query 'tables[' is not complete: it ends after character 7. Nothing was done." in " ".join(output.split())
    assert "db1" not in output


def test_status_prints_what_the_query_selects(play: Play) -> None:
    code, output = play("status", "-e", "ovn_query='northbound.verdict'")
    assert code == 0, output
    assert "unreachable" in output.splitlines()
    assert "OVN has" not in output


def usual_commands() -> t.Iterator[tuple[str, dict[str, t.Any]]]:
    """Each command in the table of docs/monitoring.md with its options; the database is that of the row before if it is not named."""
    database = ""
    page = (PLAYBOOK.parents[1] / "docs" / "monitoring.md").read_text(encoding="utf-8")
    table = page.partition("| command | options |")[2].partition("\n\n")[0]
    for line in table.splitlines():
        words = line.split("`")
        if len(words) < 4:
            continue
        options: dict[str, t.Any] = {}
        for option in words[3::2]:
            options |= yaml.safe_load(option)
        database = options.setdefault("database", database)
        yield words[1], options


def test_the_usual_commands_of_the_page(servers: Servers, run_module: RunModule) -> None:
    for database, server in servers.items():
        fill(database, server)
    asked = dict(usual_commands())
    assert {options["database"] for options in asked.values()} == set(servers)
    answers = {
        shown: run_module("ovn_database_info", {**options, "endpoints": servers[options["database"]].endpoint})
        for shown, options in asked.items()
    }
    rows = {shown: answer["tables"][asked[shown]["tables"][0]] for shown, answer in answers.items()}
    assert sorted(row["name"] for row in rows["ovn-nbctl ls-list"]) == ["a name", "sw0"]
    assert [port["name"] for port in rows["ovn-nbctl lsp-list sw0"][0]["ports"]] != []
    assert len(rows["ovn-nbctl lr-nat-list lr0"][0]["nat"]) == 2
    assert rows["ovn-nbctl find Logical_Switch_Port type=router"][0]["name"] == "r0"
    assert {row["encaps"][0]["ip"] for row in rows["ovn-sbctl list Chassis"]} == {"192.0.2.1", "192.0.2.2"}
    assert {row["chassis"]["name"] for row in rows["ovn-sbctl find Port_Binding chassis!=[]"]} == {"c1"}
    assert "t0" in [port["name"] for port in rows["ovs-vsctl list-ports br-int"][0]["ports"]]
