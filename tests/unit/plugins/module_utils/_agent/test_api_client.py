from __future__ import annotations

import pathlib
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._agent.api_client import Api, Mirror
from ansible_collections.c5c3.ovn.plugins.module_utils._agent.process import Log, RunningArchive, as_ovn_error
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput, OvnError, Refused


def item(name: str, version: int, **more: t.Any) -> dict[str, t.Any]:
    return {"metadata": {"name": name, "resourceVersion": str(version)}, **more}


class StubApi:
    """Answers from a script: lists for `get`, events for `watch`; an error instead is raised. At its end the mirror stops."""

    name = "https://api"

    def __init__(self, lists: list[t.Any], watches: list[t.Any]) -> None:
        self.lists, self.watches = lists, watches
        self.asked: list[str] = []
        self.end: t.Callable[[], None] = lambda: None

    def get(self, path: str, **_query: str) -> t.Any:
        self.asked.append("list")
        return self._next(self.lists)

    def watch(self, path: str, version: str, **_query: str) -> t.Iterator[t.Any]:
        self.asked.append(f"watch from {version}")
        yield from self._next(self.watches) or []

    def _next(self, script: list[t.Any]) -> t.Any:
        if len(script) <= 1:
            self.end()
        answer = script.pop(0) if script else None
        if isinstance(answer, OvnError):
            raise answer
        return answer


def listing(version: int, *items: dict[str, t.Any]) -> dict[str, t.Any]:
    return {"metadata": {"resourceVersion": str(version)}, "items": list(items)}


def mirror(api: StubApi) -> tuple[Mirror, list[str], list[str]]:
    changes: list[str] = []
    troubles: list[str] = []
    made = Mirror(
        t.cast(Api, api),
        "/pods",
        {},
        lambda: changes.append("changed"),
        lambda _subject, error: troubles.append(str(error)) if error else None,
    )
    api.end = made.stop
    made.run()  # in this thread
    return made, changes, troubles


def test_events_change_the_copy() -> None:
    events = [
        {"type": "ADDED", "object": item("b", 6)},
        {"type": "BOOKMARK", "object": item("", 7)},
        {"type": "MODIFIED", "object": item("b", 8, spec=1)},
        {"type": "DELETED", "object": item("a", 9)},
    ]
    api = StubApi([listing(5, item("a", 4)), None], [events, []])
    made, changes, troubles = mirror(api)
    assert made.objects == {"b": item("b", 8, spec=1)}
    assert api.asked == ["list", "watch from 5", "watch from 9"]
    assert len(changes) == 4
    assert troubles == []


def test_a_version_that_is_too_old_means_a_new_list() -> None:
    gone = [{"type": "ERROR", "object": {"code": 410}}]
    api = StubApi([listing(5), listing(50, item("a", 49)), None], [gone, [], []])
    made, _changes, _troubles = mirror(api)
    assert made.objects == {"a": item("a", 49)}
    assert api.asked[:4] == ["list", "watch from 5", "list", "watch from 50"]


def test_what_is_known_stays_while_the_server_is_away() -> None:
    api = StubApi([listing(5, item("a", 4)), Refused("away")], [Refused("gone"), []])
    made, _changes, troubles = mirror(api)
    assert made.objects == {"a": item("a", 4)}
    assert troubles[0] == "gone"


def test_a_kind_that_does_not_exist() -> None:
    made, _changes, troubles = mirror(StubApi([None], []))
    assert made.objects == {}
    assert "CustomResourceDefinition" in troubles[0]


def test_an_own_write_is_known_at_once() -> None:
    made, _changes, _troubles = mirror(StubApi([listing(5, item("a", 4))], [[]]))
    made.put(item("a", 6, status=1))
    made.put(item("stranger", 6))
    assert made.objects == {"a": item("a", 6, status=1)}


@pytest.mark.parametrize(
    ("known", "received", "kept"),
    [
        (item("a", 12), item("a", 9), True),
        (item("a", 9), item("a", 12), False),
        (item("a", 12), {"metadata": {"name": "a", "resourceVersion": "9", "uid": "another"}}, False),
        ({"metadata": {"name": "a", "resourceVersion": "x"}}, item("a", 9), False),
    ],
    ids=["older", "newer", "recreated", "versions that cannot be compared"],
)
def test_an_older_version_never_replaces_a_newer_one(
    known: dict[str, t.Any], received: dict[str, t.Any], kept: bool
) -> None:
    expected_objects = {"a": known if kept else received}
    made, _changes, _troubles = mirror(StubApi([listing(5, known)], [[]]))
    made.put(received)
    assert made.objects == expected_objects
    made, _changes, _troubles = mirror(
        StubApi([listing(5, known), None], [[{"type": "MODIFIED", "object": received}], []])
    )
    assert made.objects == expected_objects


@pytest.mark.parametrize(
    ("environment", "name"),
    [
        ({"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}, "https://10.96.0.1:443"),
        ({"KUBERNETES_SERVICE_HOST": "fd00::1"}, "https://[fd00::1]:443"),
        ({"OVN_API_SERVER": "https://127.0.0.1:6443", "KUBERNETES_SERVICE_HOST": "x"}, "https://127.0.0.1:6443"),
    ],
)
def test_address(environment: dict[str, str], name: str) -> None:
    assert Api.of_this_pod(environment).name == name


@pytest.mark.parametrize("environment", [{}, {"OVN_API_SERVER": "http://127.0.0.1"}, {"OVN_API_SERVER": "nonsense"}])
def test_outside_of_a_pod(environment: dict[str, str]) -> None:
    with pytest.raises(InvalidInput):
        Api.of_this_pod(environment)


def test_no_token(tmp_path: pathlib.Path) -> None:
    with pytest.raises(InvalidInput, match="Is its token mounted"):
        Api("https://127.0.0.1:1", str(tmp_path)).get("/api")


def test_trouble_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    log = Log("observer")
    for error in (None, Refused("no"), Refused("no"), None, None, Refused("other")):
        log.report_error("status", error)
    lines = [line.split("observer: ")[1] for line in capsys.readouterr().err.splitlines()]
    assert lines == ["no", "status: works again", "other"]


def test_faults_of_ours_are_told_with_their_type() -> None:
    assert str(as_ovn_error(KeyError("x"))) == "KeyError: 'x'"
    error = Refused("no")
    assert as_ovn_error(error) is error


def test_a_replaced_program(tmp_path: pathlib.Path) -> None:
    path, other = tmp_path / "program", tmp_path / "other"
    path.write_text("one")
    program = RunningArchive(str(path))
    assert not program.is_replaced()
    path.unlink()
    assert not program.is_replaced()  # in between
    other.write_text("two")
    other.rename(path)
    assert program.is_replaced()
