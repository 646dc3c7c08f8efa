"""The base of the roles' steps with real ansible-playbook: what a step of the role ovn_packages reads, refuses and returns."""

from __future__ import annotations

import typing as t

import _playbooks
import pytest
from _apt_world import NAMES, AptWorld, Play, request_of

STEP = {
    "name": "Plan",
    "c5c3.ovn.packages_plan": {"request": request_of(NAMES), "source_directory": "/nowhere"},
    "register": "ovn_packages_plan",
}
SHOW = {"name": "Show", "ansible.builtin.debug": {"msg": "{{ ovn_packages_plan | to_json }}"}}


def play_of(*tasks: dict[str, t.Any], **keywords: t.Any) -> list[dict[str, t.Any]]:
    return [{"hosts": "all", "gather_facts": False, "tasks": list(tasks), **keywords}]


def test_all_problems_are_one_failure(world: AptWorld, play: Play) -> None:
    keywords = {"vars": {"ovn_packages_versions": "{{ nowhere }}"}}
    options = {"ovn_packages_hold": "", "ovn_packages_repository": {"urls": "http://mirror"}, "ovn_packages_proxy": [1]}
    assert not play.run(play_of(STEP, **keywords), **options)
    problems = [
        "ovn_packages_versions of h1 cannot be rendered",
        "ovn_packages_repository of h1 is \"{'urls': 'http://mirror'}\", which is not allowed: give a dictionary (",
    ]
    found = [play.output.find(problem) for problem in problems]
    assert found == sorted(found), play.output
    assert found[0] > 0, play.output
    assert "Traceback" not in play.output


def test_values_are_rendered_where_the_task_sees_them(world: AptWorld, play: Play) -> None:
    """Variables of the inventory, of the play and of the task; an empty text is absent; the module runs on the host."""
    world.release("1-1")
    world.add_source()
    world.refresh()
    request = request_of("{{ all_names[:1] }}")
    step = {**STEP, "c5c3.ovn.packages_plan": {"request": request, "source_directory": "/nowhere"}}
    keywords = {"vars": {"all_names": NAMES, "ovn_packages_versions": {"{{ 'ovn-*' }}": "{{ version }}"}}}
    assert play.run(play_of(step, SHOW, **keywords), version="1-*", ovn_packages_repository=""), play.output
    assert '"install": ["ovn-host=1-1", "ovn-common=1-1"]' in play.output.replace("\\", "").replace("\n", " "), (
        play.output
    )
    assert '"changed": false' in play.output.replace("\\", "")


def test_module_that_fails_fails_the_step(world: AptWorld, play: Play) -> None:
    (world.root / "var/lib/dpkg/status").write_text("Version: 1\n\n")
    assert not play.run(play_of(STEP))
    assert "dpkg-query --show failed" in play.output
    assert "Traceback" not in play.output


def test_interpreter_is_discovered_once(world: AptWorld, play: Play) -> None:
    """What a module says to Ansible reaches it, for example which Python was found."""
    show = {"ansible.builtin.debug": {"msg": "found {{ ansible_facts.discovered_interpreter_python is defined }}"}}
    assert play.run(
        play_of(STEP, show),
        ansible_python_interpreter="auto_silent",
        ansible_interpreter_python_fallback=["/usr/bin/python3"],
    ), play.output
    assert "found True" in play.output.replace("true", "True")


def test_variable_of_another_host_is_named_if_it_cannot_be_rendered(world: AptWorld, play: Play) -> None:
    folder = world.root / "host_vars"
    folder.mkdir()
    (folder / "h2.yml").write_text("ovn_packages_plan: '{{ nowhere }}'\nunread: '{{ nowhere }}'\n")
    compare = {"c5c3.ovn.packages_compare": {"hosts": "{{ compared }}"}, "run_once": True}
    options: dict[str, t.Any] = {"hosts": "h1,h2"}
    assert play.run(play_of(compare), **options, compared=["h1"]), play.output
    assert not play.run(play_of(compare), **options, compared=["h1", "h2"])
    assert "ovn_packages_plan of h2 cannot be rendered" in play.output
    assert "Traceback" not in play.output


CALLS = """
from ansible_collections.c5c3.ovn.plugins.plugin_utils._role_action import RoleAction

class ActionModule(RoleAction):
    ROLE = "ovn_packages"

    def step(self):
        return {"answers": [self.call("warn_once", about=about)["about"] for about in ("one", "two", "one")]}
"""
WARNS = """
from ansible.module_utils.basic import AnsibleModule

module = AnsibleModule({"about": {"type": "str"}})
module.warn("The first is not as it was.")
module.warn(f"Number {module.params['about']} is odd.")
module.deprecate(f"Option {module.params['about']} goes.", version="9.0.0", collection_name="c5c3.ovn")
module.exit_json(about=module.params["about"], ansible_facts={f"found_{module.params['about']}": True})
"""


def test_step_with_several_modules_keeps_what_each_reports(world: AptWorld, play: Play) -> None:
    """Each warning once, however many modules have it."""
    for folder, name, text in (("action_plugins", "call_twice", CALLS), ("library", "warn_once", WARNS)):
        (world.root / folder).mkdir()
        (world.root / folder / f"{name}.py").write_text(text)
    show = {"ansible.builtin.debug": {"msg": "{{ called.answers | join(' ') }} {{ found_one and found_two }}"}}
    assert play.run(play_of({"call_twice": None, "register": "called"}, show)), play.output
    assert "one two one True" in play.output
    for warning in ("The first is not as it was.", "Number one is odd.", "Number two is odd.", "Option one goes."):
        assert play.output.count(warning) == 1, play.output
    assert "Option two goes." in play.output


READS = """
from ansible_collections.c5c3.ovn.plugins.plugin_utils._role_action import RoleAction

class ActionModule(RoleAction):
    ROLE = "ovn_packages"

    def step(self):
        return {"kind": self.call("kind_of", kubeconfig=self.arguments["path"])["kind"]}

    ARGUMENTS = {"path": {"type": "str", "required": True}}
"""
KIND_OF = """
import json
from ansible.module_utils.basic import AnsibleModule

module = AnsibleModule({"kubeconfig": {"type": "path"}})
with open(module.params["kubeconfig"]) as kubeconfig:
    module.exit_json(kind=json.load(kubeconfig)["kind"])
"""


def test_module_reads_a_kubeconfig_that_is_in_a_vault(world: AptWorld, play: Play) -> None:
    for folder, name, text in (("action_plugins", "read_kind", READS), ("library", "kind_of", KIND_OF)):
        (world.root / folder).mkdir()
        (world.root / folder / f"{name}.py").write_text(text)
    password, kubeconfig = world.root / "password", world.root / "kubeconfig"
    password.write_text("secret")
    kubeconfig.write_text('{"kind": "Config"}')
    encrypt = ["encrypt", "--vault-password-file", str(password), str(kubeconfig)]
    done = _playbooks.run(encrypt, _playbooks.environment(world.root / "tmp"), program="ansible-vault", cwd=world.root)
    assert done.returncode == 0, done.stderr
    show = {"ansible.builtin.debug": {"msg": "a {{ found.kind }}"}}
    step = {"read_kind": {"path": str(kubeconfig)}, "register": "found"}
    assert play.run(play_of(step, show), "--vault-password-file", str(password)), play.output
    assert "a Config" in play.output


ASKS = """
from ansible_collections.c5c3.ovn.plugins.plugin_utils._role_action import RoleAction

class ActionModule(RoleAction):
    ROLE = "ovn_packages"

    def step(self):
        return {"answer": self.call("ansible.builtin.ping")["ping"], "changed": self.write_file(self.arguments["path"], "x")["changed"]}

    ARGUMENTS = {"path": {"type": "str", "required": True}}
"""


@pytest.mark.parametrize("keywords", [{"become": True}, {"vars": {"ansible_become": True}}], ids=["play", "variable"])
def test_control_node_does_not_become_root_for_a_cluster(
    keywords: dict[str, t.Any], world: AptWorld, play: Play
) -> None:
    (world.root / "action_plugins").mkdir()
    (world.root / "action_plugins" / "ask.py").write_text(ASKS)
    plays = play_of({"ask": {"path": str(world.root / "written")}}, **keywords)
    other = {"ansible_become_exe": "/nonexistent", "ansible_become_user": "nobody"}  # root need not become root
    assert play.run(plays, ovn_backend="kubernetes", **other), play.output
    assert not play.run(plays, **other), play.output
