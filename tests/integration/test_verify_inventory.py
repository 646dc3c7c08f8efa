"""Playbooks with an inventory whose groups are empty or misspelt: they end with an error, before anything is done."""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys
import typing as t

import pytest

pytestmark = pytest.mark.timeout(180)

Group = dict[str, t.Any]
EMPTY: Group = {"hosts": {}}
HOST: Group = {"hosts": {"192.0.2.1": {}}}


@pytest.fixture
def play(collection_path: str, tmp_path: pathlib.Path) -> t.Callable[..., tuple[int, str]]:
    """`play("verify", groups)`: exit code and output of a playbook of the collection; no host of it may be needed."""

    def execute(name: str, groups: dict[str, Group], **variables: t.Any) -> tuple[int, str]:
        inventory = tmp_path / "hosts.yml"
        common = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable, **variables}
        inventory.write_text(json.dumps({"all": {"vars": common, "children": groups}}))
        done = subprocess.run(
            [str(pathlib.Path(sys.executable).with_name("ansible-playbook")), "-i", str(inventory), f"c5c3.ovn.{name}"],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env={
                **os.environ,
                "ANSIBLE_COLLECTIONS_PATH": collection_path,
                "ANSIBLE_LOCAL_TEMP": str(tmp_path / "tmp"),
                "ANSIBLE_REMOTE_TEMP": str(tmp_path / "tmp"),
                "ANSIBLE_NOCOLOR": "1",
            },
        )
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


def test_a_misspelt_group_of_hypervisors_is_an_error_for_verify(play: t.Callable[..., tuple[int, str]]) -> None:
    code, output = play("verify", {"ovn_central": HOST, "ovn_hypervisor": HOST})
    assert code == 2, output
    assert "The group ovn_hypervisors is not in the inventory, but ovn_hypervisor is" in output
    assert "Read the state of the control plane" not in output
