"""The commands that pages show can be typed: their playbooks exist, their queries parse, and each variable of ours on a page is known."""

from __future__ import annotations

import functools
import re
import shlex
from pathlib import Path

import pytest
from ansible.parsing.splitter import parse_kv
from inventory_names import known_variables

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._base.query import check_query

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md")), *sorted(ROOT.glob("roles/*/README.md"))]
CONSOLE = re.compile(r"```(?:console|sh)\n(.*?)```", re.DOTALL)
PLAYBOOK = re.compile(r"\bansible-playbook\b[^`\n]*?\bc5c3\.ovn\.(\w+)")
INVENTORY_VARIABLE = re.compile(r"\b(ov[ns]_[a-z0-9_]*[a-z0-9])(?![\w.*]|/)")
MODULES = {path.stem for path in ROOT.glob("plugins/modules/*.py")}
ROLES = {path.name for path in ROOT.glob("roles/*")}
GROUPS = {"ovn_central", "ovn_hypervisors", "ovn_gateways"}
# In ml2_conf.ini of Neutron.
NEUTRON = {
    f"ovn_{side}_{key}" for side in ("nb", "sb") for key in ("connection", "private_key", "certificate", "ca_cert")
}
# Containers of Kolla.
KOLLA = {"ovn_nb_db", "ovn_sb_db", "ovn_northd"}
# A key of the chart's values.
OPENSTACK_HELM = {"ovn_vpn"}
# Names of rows.
OVN_KUBERNETES = {"ovn_cluster_router"}


def commands(text: str) -> list[list[str]]:
    """Return the commands of the blocks that show a terminal, each as the shell would split it. Lines without a prompt are output, but not in `sh`."""
    lines = [line.lstrip("$# ") for block in CONSOLE.findall(text) for line in block.splitlines()]
    return [shlex.split(line, comments=True) for line in lines if line.startswith(("ansible", ".venv/bin/ansible"))]


def extra_variables(command: list[str]) -> dict[str, str]:
    """Return what `-e` sets, as Ansible reads it, without what files have (`-e @FILE`)."""
    found: dict[str, str] = {}
    for option, value in zip(command, command[1:], strict=False):
        if option in ("-e", "--extra-vars") and not value.startswith("@"):
            found |= parse_kv(value)
    return found


def query_problems(text: str) -> list[str]:
    """Return what is wrong with each `ovn_query`: Ansible splits at a space, and what remains may be no JMESPath."""
    problems = []
    for command in commands(text):
        variables = extra_variables(command)
        if "_raw_params" in variables:
            problems.append(f"{variables['_raw_params']} is cut off: {' '.join(command)}")
        try:
            if "ovn_query" in variables:
                check_query(variables["ovn_query"])
        except InvalidInput as e:
            problems.append(str(e))
    return problems


@functools.cache
def variables() -> frozenset[str]:
    """Return what users set, read as facts, or find as a name of a module, role or group."""
    facts = set[str]()
    for pattern in ("roles/*/tasks/*.yml", "roles/*/vars/*.yml", "playbooks/**/*.yml"):
        for path in ROOT.glob(pattern):
            facts |= set(re.findall(r"\bov[ns]_\w+", path.read_text(encoding="utf-8")))
    for path in ROOT.glob("plugins/module_utils/**/*.py"):
        facts |= set(re.findall(r'"(ovn_\w+)"', path.read_text(encoding="utf-8")))
    of_others = NEUTRON | KOLLA | OPENSTACK_HELM | OVN_KUBERNETES
    return frozenset(known_variables() | facts | MODULES | ROLES | GROUPS | of_others)


def unknown_variables(text: str) -> list[str]:
    return sorted({name for name in INVENTORY_VARIABLE.findall(text) if name not in variables()})


def missing_playbooks(text: str) -> list[str]:
    return [name for name in PLAYBOOK.findall(text) if not (ROOT / "playbooks" / f"{name}.yml").is_file()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
class TestPage:
    def test_its_playbooks_exist(self, page: Path) -> None:
        assert missing_playbooks(page.read_text(encoding="utf-8")) == []

    def test_its_queries_reach_us_as_they_are_written(self, page: Path) -> None:
        assert query_problems(page.read_text(encoding="utf-8")) == []

    def test_its_variables_are_known(self, page: Path) -> None:
        assert unknown_variables(page.read_text(encoding="utf-8")) == []


def test_the_pages_have_such_commands() -> None:
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    assert sum("ovn_query" in extra_variables(command) for text in texts for command in commands(text)) >= 5
    assert sum(len(PLAYBOOK.findall(text)) for text in texts) >= 15


def console(command: str) -> str:
    return f"```console\n$ {command}\n```\n"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        pytest.param("-e ovn_query=northbound.leader", "", id="a path"),
        pytest.param("-e \"ovn_query='findings[].[severity, code]'\"", "", id="quoted for Ansible"),
        pytest.param("-e ovn_query='findings[].[severity, code]'", "is cut off", id="quoted for the shell alone"),
        pytest.param("-e ovn_query=findings[", "query", id="no JMESPath"),
    ],
)
def test_what_is_wrong_with_a_query(options: str, problem: str) -> None:
    problems = query_problems(console(f"ansible-playbook -i hosts.yml c5c3.ovn.status {options}"))
    assert problem in " ".join(problems) if problem else problems == []


def test_what_does_not_exist_is_found() -> None:
    text = console("ansible-playbook -i hosts.yml c5c3.ovn.sight -e ovn_central_acept_rollback=true")
    assert missing_playbooks(text) == ["sight"]
    assert unknown_variables(text) == ["ovn_central_acept_rollback"]
