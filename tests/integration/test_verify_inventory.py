"""Playbooks with an inventory whose groups are empty or misspelt: they end with an error, before anything is done."""

from __future__ import annotations

import json
import pathlib
import re
import sys
import typing as t

import _playbooks
import pytest
import report_page
from conftest import RunPlaybook

pytestmark = pytest.mark.timeout(180)

Group = dict[str, t.Any]
EMPTY: Group = {"hosts": {}}
HOST: Group = {"hosts": {"192.0.2.1": {}}}


@pytest.fixture
def play(collection_path: str, tmp_path: pathlib.Path) -> t.Callable[..., tuple[int, str]]:
    """`play("verify", groups, "--limit=h1")`: exit code and output of a playbook of the collection; no host of it may be needed."""

    def execute(name: str, groups: dict[str, Group], *arguments: str, **variables: t.Any) -> tuple[int, str]:
        settings = {name: variables.pop(name) for name in list(variables) if name.startswith("ANSIBLE_")}
        inventory = _playbooks.write_inventory(tmp_path / "hosts.yml", groups, **variables)
        scratch = tmp_path / "tmp"
        env = _playbooks.environment(scratch, collection_path, ANSIBLE_REMOTE_TEMP=str(scratch), **settings)
        done = _playbooks.run(["-i", str(inventory), *arguments, f"c5c3.ovn.{name}"], env, timeout=120)
        return done.returncode, re.sub(r"\s+", " ", done.stdout + done.stderr)

    return execute


@pytest.mark.parametrize(
    ("name", "groups", "found"),
    [
        pytest.param("verify", {"ovn_central": EMPTY}, "The group ovn_central has no hosts.", id="verify, empty"),
        pytest.param("status", {"ovn_centrals": HOST}, "ovn_centrals is: check the spelling.", id="status, misspelt"),
        pytest.param("central", {}, "The group ovn_central is not in the inventory.", id="central, absent"),
        pytest.param("site", {"ovn-central": HOST}, "ovn-central is: check the spelling.", id="site, misspelt"),
    ],
)
def test_a_control_plane_without_hosts_is_an_error(
    name: str, groups: dict[str, Group], found: str, play: t.Callable[..., tuple[int, str]]
) -> None:
    code, output = play(name, groups)
    assert code == 2, output
    assert found in output
    assert "set ovn_central_elsewhere: true in this one. Nothing was done." in output
    assert "\\n" not in output


@pytest.mark.parametrize("name", ["verify", "status", "site"])
def test_a_control_plane_elsewhere_is_no_error(name: str, play: t.Callable[..., tuple[int, str]]) -> None:
    code, output = play(name, {"ovn_central": EMPTY}, ovn_central_elsewhere=True)
    assert code == 0, output
    assert "so nothing was verified" in output
    assert "OVN is healthy" not in output


def test_a_misspelt_control_plane_is_not_elsewhere(play: t.Callable[..., tuple[int, str]]) -> None:
    code, output = play("verify", {"ovn_centrals": HOST}, ovn_central_elsewhere=True)
    assert code == 2, output
    assert "but ovn_centrals is: check the spelling." in output
    assert "set ovn_central_elsewhere" not in output


@pytest.mark.parametrize(
    ("name", "groups", "limit", "found"),
    [
        pytest.param("verify", {"ovn_centrals": HOST}, "all", "ovn_centrals is: check", id="verify"),
        pytest.param("status", {"ovn_centrals": HOST}, "192.0.2.1", "ovn_centrals is: check", id="status"),
        pytest.param("central", {"ovn_centrals": HOST}, "ovn_centrals", "ovn_centrals is: check", id="central"),
        pytest.param("adopt", {"ovn_centrals": HOST}, "ovn_centrals", "ovn_centrals is: check", id="adopt"),
        pytest.param("precheck", {"ovn_centrals": HOST}, "all", "ovn_centrals is: check", id="precheck"),
        pytest.param("site", {"ovn_centrals": HOST}, "all", "ovn_centrals is: check", id="site"),
        pytest.param("hypervisors", {"ovn_hypervisor": HOST}, "all", "ovn_hypervisor is: check", id="hypervisors"),
        pytest.param(
            "ping", {"ovn_central": HOST, "ovn_hypervisor": HOST}, "all", "ovn_hypervisor is: check", id="ping"
        ),
    ],
)
def test_a_misspelt_group_is_an_error_also_without_localhost(
    name: str, groups: dict[str, Group], limit: str, found: str, play: t.Callable[..., tuple[int, str]]
) -> None:
    """The host that is left is not connected to: its connection plugin is not even installed."""
    code, output = play(name, groups, f"--limit={limit}", ansible_connection="nowhere.none.none")
    assert code == 2, output
    assert f"but {found}" in output
    assert "192.0.2.1 : ok=0" in output


@pytest.mark.parametrize("strategy", ["linear", "free"])
def test_a_refusal_is_printed_once(strategy: str, play: t.Callable[..., tuple[int, str]]) -> None:
    groups = {"ovn_centrals": {"hosts": {f"192.0.2.{number}": {} for number in range(1, 6)}}}
    code, output = play("site", groups, "--limit=all", ANSIBLE_STRATEGY=strategy)
    assert code == 2, output
    assert output.count("FAILED!") == 1
    assert "PLAY [Check the hosts" not in output


SITE: dict[str, Group] = {
    "ovn_central": {"hosts": {"192.0.2.1": {}, "192.0.2.2": {}}},
    "ovn_hypervisors": {"hosts": {"h1": {}}},
}
NO_LOCALHOST = (
    "the output comes from localhost, which --limit '192.0.2.1' leaves out. Use --limit '192.0.2.1,localhost'."
)


@pytest.mark.parametrize("name", ["verify", "status"])
@pytest.mark.parametrize(
    ("limit", "found"),
    [
        pytest.param("192.0.2.1", NO_LOCALHOST, id="no localhost"),
        pytest.param("h1", "--limit 'h1' leaves out all central hosts. Run it without --limit.", id="neither"),
        pytest.param("h1,localhost", "leaves out all central hosts. Run it without --limit.", id="no central host"),
    ],
)
def test_a_limit_that_permits_no_report_is_refused(
    name: str, limit: str, found: str, play: t.Callable[..., tuple[int, str]]
) -> None:
    code, output = play(name, SITE, f"--limit={limit}")
    assert code == 2, output
    assert f"{found} Nothing was done." in output
    assert "PLAY [Read the state" not in output


@pytest.mark.parametrize("limit", ["h1", "h1,localhost"])
def test_a_rollout_with_a_limit_says_that_nothing_was_verified(
    limit: str, play: t.Callable[..., tuple[int, str]]
) -> None:
    """Once, and it is no failure. The hypervisor is not asked for a report that nobody makes."""
    code, output = play("site", SITE, f"--limit={limit}", "--tags=verify")
    assert code == 0, output
    words = f"Not verified: --limit '{limit}' leaves out all central hosts. Run c5c3.ovn.verify without --limit."
    assert output.count(words) == 1
    assert "OVN has" not in output
    assert "Read the datapath and the certificate of the chassis" not in output


def test_some_central_hosts_are_enough_for_a_report(play: t.Callable[..., tuple[int, str]]) -> None:
    dead = {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1}
    code, output = play("status", {"ovn_central": {"hosts": {"c1": dead, "c2": dead}}}, "--limit=c1,localhost")
    assert code == 0, output
    assert "Problem: c1 cannot be reached" in output
    assert "c2: the host was not asked." in output


def test_a_rollout_of_the_control_plane_that_ended_stops_the_run_also_without_localhost(
    play: t.Callable[..., tuple[int, str]],
) -> None:
    """After a host that cannot be reached Ansible ends the play, and would go on with the hypervisors."""
    dead = {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1}
    groups = {"ovn_central": {"hosts": {"c1": dead}}, "ovn_hypervisors": {"hosts": {"h1": {}}}}
    code, output = play("site", groups, "--limit=c1,h1", "--tags=databases", "--check", ovn_tls=False)
    assert code != 0, output
    assert "fatal: [h1]: FAILED! => {" in output
    assert "The control plane was not rolled out: the run ended on c1" in output
    assert "c5c3.ovn.ovn_hypervisor" not in output


def test_a_report_of_nothing_has_the_documented_keys(
    play: t.Callable[..., tuple[int, str]], tmp_path: pathlib.Path, collection_path: str
) -> None:
    """A play that hands the report on goes on working, and a query is answered."""
    answer = tmp_path / "report.json"
    plays = [
        {"ansible.builtin.import_playbook": "c5c3.ovn.status"},
        {
            "hosts": "localhost",
            "gather_facts": False,
            "tasks": [
                {
                    "ansible.builtin.copy": {
                        "content": "{{ ovn_verify_report | to_json }}",
                        "dest": str(answer),
                        "mode": "0600",
                    }
                }
            ],
        },
    ]
    playbook = tmp_path / "hand-on.yml"
    playbook.write_text(json.dumps(plays))
    inventory = _playbooks.write_inventory(tmp_path / "hosts.yml", {"ovn_central": EMPTY}, ovn_central_elsewhere=True)
    env = _playbooks.environment(tmp_path / "tmp", collection_path, ANSIBLE_REMOTE_TEMP=str(tmp_path / "tmp"))
    done = _playbooks.run(["-i", str(inventory), "-e", "ovn_query=lines", str(playbook)], env, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\nThe control plane is not in this inventory" in done.stdout
    report = json.loads(answer.read_text())
    assert set(report) == {key.partition(".")[0].partition("[")[0] for key in report_page.documented()}
    assert report["healthy"] is None
    assert len(report["lines"]) == 1


@pytest.mark.parametrize(
    ("groups", "found"),
    [
        pytest.param({"ovn_hypervisors": EMPTY}, "The group ovn_hypervisors has no hosts.", id="empty"),
        pytest.param({"ovn_hypervisor": HOST}, "but ovn_hypervisor is: check the spelling.", id="misspelt"),
    ],
)
def test_no_hypervisors_is_an_error_for_the_playbook_about_them(
    groups: dict[str, Group], found: str, play: t.Callable[..., tuple[int, str]]
) -> None:
    code, output = play("hypervisors", groups)
    assert code == 2, output
    assert found in output


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        pytest.param([], "there is only one: ovn_ping_hosts (ovn_hypervisors[0:1]) is h1 alone.", id="one hypervisor"),
        pytest.param(["-e", "ovn_ping_hosts=h9"], "ovn_ping_hosts (h9) matches none.", id="misspelt"),
        pytest.param(["--limit=192.0.2.1"], "matches none within --limit '192.0.2.1'.", id="limited away"),
        pytest.param(["--tags=ping"], "--tags ping would do nothing: this playbook has no tags.", id="tags"),
    ],
)
def test_a_ping_of_nobody_is_refused(arguments: list[str], found: str, play: t.Callable[..., tuple[int, str]]) -> None:
    code, output = play("ping", SITE, *arguments)
    assert code == 2, output
    assert found in output
    assert "PLAY [Ping through the tunnels]" not in output


def test_everything_wrong_is_told_at_once(play: t.Callable[..., tuple[int, str]]) -> None:
    options = {"ovn_verify_acknowledge": "x, fault_join", "ovn_query": "chassis["}
    code, output = play("status", {"ovn_centrals": HOST, "ovn_hypervisor": HOST}, **options)
    assert code == 2, output
    assert "but ovn_centrals is: check the spelling." in output
    assert "but ovn_hypervisor is: check the spelling." in output
    assert "ovn_verify_acknowledge: x: no such code." in output
    assert "query 'chassis[' is not complete: it ends after character 8. Nothing was done." in output


def test_options_for_machines_refuse_a_control_plane_in_pods_before_its_certificates(
    play: t.Callable[..., tuple[int, str]], tmp_path: pathlib.Path
) -> None:
    plane = {"ovn_backend": "kubernetes", "ansible_connection": "local", "ovn_kubeconfig": "/nowhere"}
    made = tmp_path / "ca"
    options = {"ovn_central_log_level": "dbg", "ovn_pki_ca_directory": str(made)}
    code, output = play("central", {"ovn_central": HOST}, **plane, **options)
    assert code == 2, output
    assert "ovn_central_log_level: for machines only; on 192.0.2.1" in output
    assert not made.exists()


def test_a_value_that_is_not_allowed_is_one_line(play: t.Callable[..., tuple[int, str]]) -> None:
    """Option, value and what is allowed, before anything is done. What cannot be read yet is left to the task that reads it."""
    groups = {"ovn_central": HOST, "ovn_hypervisors": HOST}
    options = {"ovn_central_log_level": "inof", "ovn_wait_timeout": "soon", "ovn_pki_ca_directory_is_kept": ""}
    later = {"ovn_central_election_timer": "{{ found_by_a_later_task }}"}
    code, output = play("site", groups, **options, **later)
    assert code == 2, output
    assert 'ovn_central_log_level of 192.0.2.1 is "inof", which is not allowed: give one of ' in output
    assert 'ovn_wait_timeout of 192.0.2.1 is "soon", which is not allowed: give an integer.' in output
    assert (
        "ovn_pki_ca_directory_is_kept of 192.0.2.1 is empty, which is not allowed: give true or false, or leave it out."
        in output
    )
    assert "ovn_central_election_timer" not in output
    assert len(output) < 2000, output


def test_a_misspelt_group_of_hypervisors_is_an_error_for_verify(play: t.Callable[..., tuple[int, str]]) -> None:
    code, output = play("verify", {"ovn_central": HOST, "ovn_hypervisor": HOST})
    assert code == 2, output
    assert "The group ovn_hypervisors is not in the inventory, but ovn_hypervisor is" in output
    assert "Read the state of the control plane" not in output


PROBE = """
import sys


class FilterModule:
    def filters(self):
        return {"is_loaded": lambda name: f"loaded: {name in sys.modules}"}
"""


def test_filters_are_loaded_once_for_the_processes_of_all_tasks(
    run_playbook: RunPlaybook, short_dir: pathlib.Path
) -> None:
    """Not by each of them: that would be half a second of a processor for a task on a host."""
    (short_dir / "filter_plugins").mkdir()
    (short_dir / "filter_plugins" / "probe.py").write_text(PROBE)
    name = "ansible_collections.c5c3.ovn.plugins.filter.raft_verdict"
    probe = {"ansible.builtin.debug": {"msg": f"{{{{ '{name}' | is_loaded }}}}"}}
    check: dict[str, t.Any] = {"c5c3.ovn.verify_inventory": {}}
    plays = [
        {"hosts": "localhost", "gather_facts": False, "tasks": [check], "vars": {"ovn_central_elsewhere": True}},
        {"hosts": "localhost", "gather_facts": False, "tasks": [probe]},
    ]
    assert "loaded: False" in run_playbook(plays[1:])
    assert "loaded: True" in run_playbook(plays)


@pytest.mark.parametrize(
    ("groups", "arguments"),
    [
        pytest.param({"ovn_centrals": HOST, "ovn_hypervisor": HOST}, [], id="groups"),
        pytest.param({"ovn_central": HOST}, ["--skip-tags", "pki"], id="skipped tags"),
    ],
)
def test_a_refusal_is_one_line(
    groups: dict[str, Group], arguments: list[str], tmp_path: pathlib.Path, collection_path: str
) -> None:
    """As it is printed: a text folded in YAML may keep line breaks and indentation."""
    inventory = _playbooks.write_inventory(tmp_path / "hosts.yml", groups)
    env = _playbooks.environment(tmp_path / "tmp", collection_path)
    done = _playbooks.run(["-i", str(inventory), *arguments, "c5c3.ovn.site"], env, timeout=120)
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("fatal: ")]
    message = json.loads(line.partition(" => ")[2])["msg"]
    assert message.endswith(" Nothing was done.")
    assert message == " ".join(message.split())


def test_the_certificate_of_a_metadata_agent_counts_where_it_has_one(
    tmp_path: pathlib.Path, collection_path: str
) -> None:
    """Without TLS of its own nobody renews what a former run has left."""
    nova = {"ovn_metadata_agent_nova_host": "192.0.2.30"}
    hosts = {
        "a": {**nova, "expected": True},
        "b": {**nova, "ovn_tls": True, "expected": True},
        "c": {**nova, "ovn_tls": False, "expected": False},
        "d": {**nova, "ovn_tls": "no", "expected": False},
        "e": {**nova, "ovn_tls": "", "expected": True},
        "h": {"ovn_tls": True, "expected": False},
    }
    role = {"name": "c5c3.ovn.ovn_verify", "tasks_from": "chassis"}
    look = {"ansible.builtin.include_role": role}
    check = {
        "ansible.builtin.assert": {
            "that": ["ovn_verify_chassis is success", "(ovn_verify_chassis.metadata_agent | length > 0) == expected"]
        }
    }
    playbook = tmp_path / "play.yml"
    playbook.write_text(json.dumps([{"hosts": "ovn_hypervisors", "gather_facts": False, "tasks": [look, check]}]))
    inventory = _playbooks.write_inventory(
        tmp_path / "hosts.yml",
        {"ovn_hypervisors": {"hosts": hosts}},
        ansible_connection="local",
        ansible_python_interpreter=sys.executable,
        ovn_hypervisor_openvswitch_database=f"unix:{tmp_path}/nowhere.sock",
    )
    scratch = tmp_path / "tmp"
    env = _playbooks.environment(scratch, collection_path, ANSIBLE_REMOTE_TEMP=str(scratch))
    done = _playbooks.run(["-i", str(inventory), str(playbook)], env)
    assert done.returncode == 0, done.stdout + done.stderr
