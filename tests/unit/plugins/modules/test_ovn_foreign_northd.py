"""All northd are examined before one of them is ended, in check mode as well."""

from __future__ import annotations

import json
import typing as t

import pytest
from ansible.module_utils import basic

from ansible_collections.c5c3.ovn.plugins.module_utils._host import supervision
from ansible_collections.c5c3.ovn.plugins.module_utils._host.foreign_processes import (
    ControlPlaneProcess,
    parse_command_line,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._machine.supervisor import Supervisor
from ansible_collections.c5c3.ovn.plugins.modules import ovn_foreign_northd

OWNER = {"com.hashicorp.nomad.job_name": "ovn"}


class Host:
    """A host whose containers are described by `labels`, by their names. `executed` is what changes something."""

    def __init__(self, labels: dict[str, dict[str, str]]) -> None:
        self.labels, self.executed, self.ended = labels, list[str](), set[str]()

    def run(self, command: list[str], environment: dict[str, str]) -> tuple[int, str, str]:
        del environment
        if command[0] == "systemctl":
            return 0, "one.service enabled\n" if "show" not in command else "Id=one.service\nMainPID=7\n", ""
        verb, name = command[4], command[-1]
        if verb == "inspect":
            policy = {"Name": "no" if name in self.ended else "always"}
            found = {"Name": name, "HostConfig": {"RestartPolicy": policy}, "Config": {"Labels": self.labels[name]}}
            return 0, json.dumps([{**found, "State": {"Running": name not in self.ended}}]), ""
        self.executed.append(f"{verb} {name}")
        if verb == "stop":
            self.ended.add(name)
        return 0, "", ""


def run_module(
    host: Host, check: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> dict[str, t.Any]:
    processes = [
        ControlPlaneProcess("northd", 2**30 + number, Supervisor("container", name, "docker"), parse_command_line(()))
        for number, name in enumerate(host.labels)
    ]
    monkeypatch.setattr(ovn_foreign_northd, "find_processes", lambda: processes)
    monkeypatch.setattr(ovn_foreign_northd, "Commands", lambda: host)
    monkeypatch.setattr(supervision, "neighbors", lambda process: [])
    arguments = {"_ansible_check_mode": check}
    # Ansible's own helper for this is younger than the oldest ansible-core.
    monkeypatch.setattr(basic, "_ANSIBLE_ARGS", json.dumps({"ANSIBLE_MODULE_ARGS": arguments}).encode())
    monkeypatch.setattr(basic, "_ANSIBLE_PROFILE", "legacy", raising=False)
    with pytest.raises(SystemExit):
        ovn_foreign_northd.main()
    return t.cast("dict[str, t.Any]", json.loads(capsys.readouterr().out))


@pytest.mark.parametrize("check", [True, False])
def test_nothing_is_ended_if_one_cannot_be(
    check: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    host = Host({"one": {}, "two": OWNER})
    result = run_module(host, check, monkeypatch, capsys)
    assert result.get("failed") is True
    assert "container two, which a run does not stop: it belongs to the Nomad job ovn" in result["msg"]
    assert host.executed == []


@pytest.mark.parametrize("check", [True, False])
def test_all_are_ended(check: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    host = Host({"one": {}, "two": {}})
    result = run_module(host, check, monkeypatch, capsys)
    assert result["ended"] == ["northd in container one", "northd in container two"]
    assert host.executed == ([] if check else ["update one", "stop one", "update two", "stop two"])
