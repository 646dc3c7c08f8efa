"""How reports are printed under different callback plugins, and which warnings can be acknowledged. What is in a report: test_sync.py and unit tests."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import typing as t

import pytest
from report_page import differences

pytestmark = pytest.mark.timeout(180)

DEAD = {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1}
LINES = ["OVN is healthy", '  it\'s \\ "quoted"  ', "", "Northbound    healthy     leader: central1"]
Play = t.Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def play(collection_path: str, tmp_path: pathlib.Path) -> Play:
    """`play("c5c3.ovn.status", "-e", ..., CALLBACK="minimal")`: a run with a control plane whose only host is dead."""

    def execute(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        variables = {"ansible_python_interpreter": sys.executable, "ovn_tls": False}
        groups = {"ovn_central": {"hosts": {"db1": DEAD}}, "ovn_hypervisors": {"hosts": {"compute1": DEAD}}}
        inventory = tmp_path / "hosts.yml"
        inventory.write_text(json.dumps({"all": {"vars": variables, "children": groups}}))
        return subprocess.run(
            [str(pathlib.Path(sys.executable).with_name("ansible-playbook")), "-i", str(inventory), *arguments],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env={
                **os.environ,
                "ANSIBLE_COLLECTIONS_PATH": collection_path,
                "ANSIBLE_LOCAL_TEMP": str(tmp_path / "tmp"),
                "ANSIBLE_NOCOLOR": "1",
                **{f"ANSIBLE_{name}": value for name, value in environment.items()},
            },
        )

    return execute


@pytest.mark.parametrize(
    ("settings", "given"),
    [
        pytest.param({}, LINES, id="default"),
        pytest.param({}, "\n".join(LINES), id="default, a text"),
        pytest.param({"CALLBACK_RESULT_FORMAT": "yaml"}, LINES, id="default with YAML"),
        pytest.param({"STDOUT_CALLBACK": "ansible.builtin.minimal"}, LINES, id="minimal"),
        pytest.param({"STDOUT_CALLBACK": "ansible.builtin.oneline"}, LINES, id="oneline"),
    ],
)
def test_lines_are_printed_as_they_are(settings: dict[str, str], given: object, play: Play) -> None:
    """A query may select what no report has: a literal."""
    done = play("c5c3.ovn.status", "-e", json.dumps({"ovn_query": f"`{json.dumps(given)}`"}), **settings)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\n".join(["", *LINES, ""]) in f"\n{done.stdout}"


@pytest.mark.parametrize(
    ("query", "printed"),
    [
        pytest.param("northbound.verdict", "unreachable\n", id="a text"),
        pytest.param("northbound.members[].member | [@[0], @[0]]", "db1\ndb1\n", id="texts"),
        pytest.param("healthy", '    "msg": false\n', id="a boolean"),
        pytest.param("{a: healthy}", '        "a": false\n', id="a structure"),
        pytest.param("addresses", '    "msg": []\n', id="an empty list"),
    ],
)
def test_what_a_query_selects(query: str, printed: str, play: Play) -> None:
    """Texts as they are, for scripts, and data with its structure."""
    done = play("c5c3.ovn.status", "-e", json.dumps({"ovn_query": query}))
    assert done.returncode == 0, done.stdout + done.stderr
    shown = done.stdout.partition("TASK [c5c3.ovn.ovn_verify : Show the report]")[2]
    assert f"\n{printed}" in shown, shown
    assert "OVN has" not in done.stdout


def test_a_callback_plugin_that_writes_json_still_does(play: Play) -> None:
    """The fact in its output has the documented structure, and known codes can be acknowledged."""
    acknowledge = ["-e", "ovn_verify_acknowledge=fault_join,fault_leave"]
    done = play("c5c3.ovn.status", *acknowledge, STDOUT_CALLBACK="ansible.posix.json")
    assert done.returncode == 0, done.stdout + done.stderr
    tasks = json.loads(done.stdout)["plays"][-1]["tasks"]
    # What only includes other tasks has no result.
    results = {task["task"]["name"].rpartition(" : ")[2]: task["hosts"].get("localhost") for task in tasks}
    report = results["Record the report"]["ansible_facts"]["ovn_verify_report"]
    assert differences(report) == []
    assert {finding["code"] for finding in report["findings"]} >= {"host_unreachable", "northd_none_active"}
    assert results["Show the report"]["lines"] == report["lines"]


def test_a_code_that_cannot_be_acknowledged_ends_the_run_before_anything_is_asked(play: Play) -> None:
    done = play("c5c3.ovn.status", "-e", "ovn_verify_acknowledge=fault_join,fault_jion,ghost")
    assert done.returncode == 2, done.stdout + done.stderr
    output = " ".join((done.stdout + done.stderr).split())
    assert (
        "fault_jion: no such code; ghost: problems cannot be acknowledged, only warnings. Use codes of these: "
        in output
    )
    assert "fault_pre_vote, " in output
    assert "Read the state of the control plane" not in output
