"""The role ovn_neutron on a machine, as check mode foresees it. What it does to services and databases is tested on machines."""

from __future__ import annotations

import json
import os
import pathlib
import typing as t

import _playbooks
import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._roles.service_settings import service_files

SYSTEMCTL = """#!/bin/sh
# Every unit runs, and systemd knows no file of it.
while [ "$1" != -- ]; do shift; done
shift
for unit; do printf 'Id=%s\\nLoadState=loaded\\nUnitFileState=disabled\\nActiveState=active\\n\\n' "$unit"; done
"""


def foresee(root: pathlib.Path, **variables: t.Any) -> str:
    """The output of a run in check mode; `variables` are given as `-e NAME=TEXT` if they are texts."""
    (root / "bin").mkdir(exist_ok=True)
    (root / "bin/systemctl").write_text(SYSTEMCTL)
    (root / "bin/systemctl").chmod(0o755)
    playbook = root / "play.yml"
    settings = {"dest": str(root / "settings"), "content": "{{ _ovn_neutron_desired.config }}", "mode": "0600"}
    task = {"ansible.builtin.copy": settings, "check_mode": False, "diff": False}
    play = {"hosts": "ovn_controllers", "gather_facts": False, "roles": ["c5c3.ovn.ovn_neutron"], "post_tasks": [task]}
    playbook.write_text(json.dumps([play]))
    host = {
        "ovn_backend": "host",
        "ovn_neutron_northbound_endpoints": ["tcp:192.0.2.1:6641"],
        "ovn_neutron_southbound_endpoints": ["tcp:192.0.2.1:16642"],
        "ovn_neutron_leader_proxy": False,
        "ovn_neutron_clients_directory": str(root / "clients"),
        "ovn_neutron_directory": str(root / "neutron/ovn"),
        "ovn_neutron_config_file": str(root / "neutron.conf"),
        "ovn_neutron_group": "root",
        "ovn_neutron_services": ["test-c5c3-neutron"],
    }
    inventory = _playbooks.write_inventory(
        root / "inventory.yml", {"ovn_controllers": {"hosts": {"controller1": host}}}
    )
    extra: list[str] = []
    for name, value in variables.items():
        extra += ["-e", f"{name}={value}" if isinstance(value, str) else json.dumps({name: value})]
    env = _playbooks.environment(root / "scratch", PATH=f"{root}/bin:{os.environ['PATH']}")
    done = _playbooks.run(["-i", str(inventory), str(playbook), "--check", "--diff", *extra], env)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def of_task(output: str, name: str) -> str:
    return output.partition(f"{name}] ***")[2].partition("\nTASK [")[0]


@pytest.mark.parametrize(
    ("tls", "outcome", "config"),
    [
        pytest.param("false", "skipping: ", {}, id="without TLS, as a text"),
        pytest.param(
            "true", "changed: ", {"DEFAULT": {"transport_url": "rabbit://neutron:1234@192.0.2.9"}}, id="with a password"
        ),
    ],
)
def test_a_certificate_comes_with_tls_alone_and_no_password_is_found_by_trial(
    short_dir: pathlib.Path, tls: str, outcome: str, config: dict[str, dict[str, str]]
) -> None:
    output = foresee(short_dir, ovn_neutron_tls=tls, ovn_neutron_config=config)
    assert f"\n{outcome}[controller1]" in of_task(output, "Replace the certificate of Neutron"), output
    assert not (short_dir / "neutron").exists()
    assert "1234" not in output
    settings = (short_dir / "settings").read_text()
    assert ("1234" in settings) is bool(config)
    (drop_in,) = service_files(["test-c5c3-neutron"], settings, has_secret=bool(config))
    found = of_task(output, "Run the services of Neutron with this configuration")
    assert drop_in["path"] in found
    assert drop_in["content"].splitlines()[-1] in found
