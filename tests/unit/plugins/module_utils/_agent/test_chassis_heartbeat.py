"""What the agent is told by its settings, and how it goes on when it is refused. The rest needs daemons: tests/integration/test_chassis_heartbeat.py."""

from __future__ import annotations

import datetime
import json
import pathlib
import threading
import types
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._agent.answer_watch import LocalAnswer
from ansible_collections.c5c3.ovn.plugins.module_utils._agent.chassis_heartbeat import ChassisHeartbeat, read_interval
from ansible_collections.c5c3.ovn.plugins.module_utils._agent.process import Log
from ansible_collections.c5c3.ovn.plugins.module_utils._api.chassis_status import (
    ChassisFacts,
    chassis_status,
    condition_of,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput, OvnError, Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.endpoint import Endpoint
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.tls_files import TlsFiles

Object = dict[str, t.Any]
INTERVAL = 0.2
FORBIDDEN = Refused("https://api: 403: no right")
NOW = datetime.datetime(2026, 3, 1, 12, 0, tzinfo=datetime.timezone.utc)


def resource(facts: ChassisFacts | None = None) -> Object:
    status = chassis_status({}, facts, generation=1, now=NOW) if facts else {}
    return {"metadata": {"resourceVersion": "1", "generation": 1}, "status": status}


WELL = resource(ChassisFacts(True, True, None, ""))
PODS = resource(ChassisFacts(None, None, None, "no pod"))


class StubApi:
    """Answers each GET from a script, and refuses each PATCH if it is told so; at the end of the script, or after a PATCH that is not, the agent ends."""

    def __init__(self, script: t.Sequence[t.Any], refusal: OvnError | None = None) -> None:
        self.script, self.refusal = list(script), refusal
        self.patches: list[Object] = []
        self.end: t.Callable[[], None] = lambda: None

    def get(self, _path: str) -> t.Any:
        answer = self.script.pop(0)
        if not self.script:
            self.end()
        if isinstance(answer, OvnError):
            raise answer
        return answer

    def patch(self, _path: str, body: Object) -> Object:
        self.patches.append(body)
        if self.refusal:
            raise self.refusal
        self.end()
        return {**resource(), "status": body["status"]}


class Heartbeat(ChassisHeartbeat):
    """On a node without daemons."""

    settings: t.Mapping[str, str] = types.MappingProxyType({})
    problem: t.Any = ...
    datapath: t.Any = None

    def _read_datapath(self, interval: float) -> None:
        self._datapath = self.datapath

    def _read_node(self) -> t.Any:
        return types.SimpleNamespace(settings=self.settings, answer=LocalAnswer())

    def _ask(self, local: t.Any, endpoints: t.Any) -> tuple[str | None, int]:
        return super()._ask(local, endpoints) if self.problem is ... else (self.problem, 0)


def run(
    folder: pathlib.Path,
    api: StubApi,
    remote: str = "tcp:127.0.0.1:1",
    problem: t.Any = ...,
    datapath: t.Any = None,
    kind: type[Heartbeat] = Heartbeat,
) -> None:
    """Look again and again in this thread, until the API says that it is the end, or for ten seconds."""
    (folder / "_heartbeat").write_text(json.dumps({"interval": INTERVAL}))
    files, database = TlsFiles("/no/key", "/no/certificate", "/no/ca"), Endpoint("unix", "/no/socket")
    connect = t.cast("t.Any", lambda: api)
    heartbeat = kind("a", str(folder), database, files, Log("chassis"), connect)
    heartbeat.settings = {"system-id": "a", "ovn-remote": remote}
    heartbeat.problem, heartbeat.datapath = problem, datapath
    api.end = heartbeat.stop
    late = threading.Timer(10, heartbeat.stop)
    late.start()
    try:
        heartbeat.run()
    finally:
        late.cancel()


@pytest.mark.parametrize(("text", "expected"), [('{"interval": 60}', 60), ('{"interval": 0}', 0)])
def test_read_interval(tmp_path: pathlib.Path, text: str, expected: float) -> None:
    (tmp_path / "_heartbeat").write_text(text)
    assert read_interval(str(tmp_path)) == expected


def test_without_the_file_it_writes_nothing(tmp_path: pathlib.Path) -> None:
    assert read_interval(str(tmp_path)) is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"interval": null}'])
def test_a_damaged_file_is_named(tmp_path: pathlib.Path, text: str) -> None:
    (tmp_path / "_heartbeat").write_text(text)
    with pytest.raises(
        InvalidInput, match=r"_heartbeat cannot be read: .*\. A run of c5c3\.ovn\.hypervisors writes it\."
    ):
        read_interval(str(tmp_path))


@pytest.mark.parametrize(
    ("end", "lines"),
    [
        pytest.param((), ["403: no right"], id="it is refused for good"),
        pytest.param((None,), ["403: no right", "status of the OVNChassis: works again"], id="there is none"),
    ],
)
def test_what_is_refused_is_logged_once(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str], end: tuple[t.Any, ...], lines: list[str]
) -> None:
    """Between two requests it is too early to ask, which is no reason to say that it works."""
    run(tmp_path, StubApi([*[FORBIDDEN] * 4, *end]))
    logged = capsys.readouterr().err.splitlines()
    assert [line.endswith(words) for line, words in zip(logged, lines)] == [True] * len(lines)
    assert len(logged) == len(lines)


def test_a_patch_that_is_refused_is_logged_once(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    """While it waits before it asks the Southbound database again, nothing works either."""
    api = StubApi([PODS] * 5, FORBIDDEN)
    run(tmp_path, api, problem=None)
    assert len(api.patches) == 4
    assert [line.partition(" chassis: ")[2] for line in capsys.readouterr().err.splitlines()] == [str(FORBIDDEN)]


@pytest.mark.parametrize(
    ("remote", "reason", "words"),
    [
        pytest.param("", "NotConfigured", "Chassis a has no ovn-remote yet", id="no remote"),
        pytest.param("ssl:127.0.0.1:1", "NotConfigured", "'/no/key' does not exist on this host", id="no certificate"),
        pytest.param("tcp:127.0.0.1:1", "SouthboundUnreachable", "Look at the Southbound database", id="no server"),
    ],
)
def test_what_a_node_lacks_is_no_fault_of_the_southbound_database(
    tmp_path: pathlib.Path, remote: str, reason: str, words: str
) -> None:
    api = StubApi([resource()] * 9)
    run(tmp_path, api, remote)
    (patch,) = api.patches
    ready = condition_of(patch["status"], "Ready")
    assert (ready["status"], ready["reason"]) == ("Unknown", reason)
    assert words in ready["message"]
    assert ("log of the container agent" in ready["message"]) is (reason == "NotConfigured")


def test_what_a_run_has_written_since_is_corrected_without_heartbeats(tmp_path: pathlib.Path) -> None:
    api = StubApi([WELL, WELL, PODS, PODS])
    run(tmp_path, api, problem=None)
    assert len(api.script) == 1, "it has read the object again"
    (patch,) = api.patches
    assert patch["metadata"] == {"resourceVersion": "1"}
    assert condition_of(patch["status"], "Ready")["reason"] == "Registered"


def test_datapath_is_in_the_same_patch_as_the_heartbeat(tmp_path: pathlib.Path) -> None:
    api = StubApi([PODS] * 9)
    run(tmp_path, api, problem=None, datapath=("True", "NoPacketsLost", "x"))
    (patch,) = api.patches
    found = {one["type"]: one["status"] for one in patch["status"]["conditions"]}
    assert found == {"Ready": "True", "OVSConnected": "False", "DatapathHealthy": "True"}


class Late(Heartbeat):
    """The Southbound database is not to be asked yet."""

    def _facts(self, node: t.Any, interval: float) -> None:
        return None


def test_datapath_that_loses_packets_is_written_while_nothing_is_known_of_the_heartbeat(tmp_path: pathlib.Path) -> None:
    api = StubApi([WELL, None])
    run(tmp_path, api, datapath=("False", "PacketsLost", "x"), kind=Late)
    (patch,) = api.patches
    assert patch["metadata"] == {"resourceVersion": "1"}
    assert condition_of(patch["status"], "DatapathHealthy")["reason"] == "PacketsLost"
    assert patch["status"]["conditions"][:2] == WELL["status"]["conditions"]
