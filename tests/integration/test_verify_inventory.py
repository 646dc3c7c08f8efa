"""Playbooks with an inventory whose groups are empty or misspelt: they end with an error, before anything is done."""

from __future__ import annotations

import pathlib
import re
import typing as t

import _playbooks
import pytest
from conftest import RunPlaybook

pytestmark = pytest.mark.timeout(180)

Group = dict[str, t.Any]
EMPTY: Group = {"hosts": {}}
HOST: Group = {"hosts": {"192.0.2.1": {}}}


@pytest.fixture
def play(collection_path: str, tmp_path: pathlib.Path) -> t.Callable[..., tuple[int, str]]:
    """`play("verify", groups)`: exit code and output of a playbook of the collection; no host of it may be needed."""

    def execute(name: str, groups: dict[str, Group], **variables: t.Any) -> tuple[int, str]:
        inventory = _playbooks.write_inventory(tmp_path / "hosts.yml", groups, **variables)
        scratch = tmp_path / "tmp"
        env = _playbooks.environment(scratch, collection_path, ANSIBLE_REMOTE_TEMP=str(scratch))
        done = _playbooks.run(["-i", str(inventory), f"c5c3.ovn.{name}"], env, timeout=120)
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
    assert "set ovn_central_elsewhere: true" in output


def test_a_control_plane_elsewhere_is_no_error(play: t.Callable[..., tuple[int, str]]) -> None:
    code, output = play("verify", {"ovn_central": EMPTY}, ovn_central_elsewhere=True)
    assert code == 0, output
    assert "so nothing was verified" in output
    assert "OVN is healthy" not in output


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


def test_everything_wrong_is_told_at_once(play: t.Callable[..., tuple[int, str]]) -> None:
    code, output = play("status", {"ovn_centrals": HOST, "ovn_hypervisor": HOST}, ovn_verify_acknowledge=["x"])
    assert code == 2, output
    assert "but ovn_centrals is: check the spelling." in output
    assert "but ovn_hypervisor is: check the spelling." in output
    assert "ovn_verify_acknowledge: x: no such code." in output


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
    name = "ansible_collections.c5c3.ovn.plugins.filter.verify_report"
    probe = {"ansible.builtin.debug": {"msg": f"{{{{ '{name}' | is_loaded }}}}"}}
    check = {"ansible.builtin.import_role": {"name": "c5c3.ovn.ovn_verify", "tasks_from": "inventory"}}
    plays = [
        {"hosts": "localhost", "gather_facts": False, "tasks": [check], "vars": {"ovn_central_elsewhere": True}},
        {"hosts": "localhost", "gather_facts": False, "tasks": [probe]},
    ]
    assert "loaded: False" in run_playbook(plays[1:])
    assert "loaded: True" in run_playbook(plays)
