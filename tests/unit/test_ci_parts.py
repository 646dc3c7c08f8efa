"""What `.ci/run` does with its parts: side by side, in order, and with the reasons of a failure at the end."""

from __future__ import annotations

import importlib.util
import os
import re
import select
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

PARTS = Path(__file__).resolve().parents[2] / ".ci" / "parts.py"


@pytest.fixture(scope="module")
def ci() -> ModuleType:
    spec = importlib.util.spec_from_file_location("ci_parts", PARTS)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["ci_parts"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def run(ci: ModuleType, tmp_path: Path, *parts: Any) -> Any:
    return ci.Run(parts, tmp_path / "logs", pause=0.01)


def script(ci: ModuleType, name: str, text: str, *after: str, **settings: Any) -> Any:
    return ci.Part(name, ("sh", "-c", text), after, **settings)


def result_of(run: Any) -> dict[str, str]:
    return {outcome.part.name: outcome.result for outcome in run.outcomes}


def gone(pid: int) -> bool:
    """Whether the process ends: its file descriptor can be read then."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    with open(descriptor) as process:
        return bool(select.select([process], [], [], 60)[0])


def test_a_part_starts_when_those_that_it_needs_have_ended(ci: ModuleType, tmp_path: Path) -> None:
    made = tmp_path / "made"
    second = script(ci, "second", f"test -e {made}", "first")
    all_parts = run(ci, tmp_path, second, script(ci, "first", f"sleep 0.2; touch {made}"))
    assert all_parts.run()
    assert result_of(all_parts) == {"first": "ok", "second": "ok"}


def test_parts_that_need_nothing_of_each_other_run_side_by_side(ci: ModuleType, tmp_path: Path) -> None:
    """Each waits for what the other one does."""
    one, other = tmp_path / "one", tmp_path / "other"
    wait = "for i in $(seq 200); do test -e {} && exit 0; sleep 0.05; done; exit 1"
    parts = [
        script(ci, "one", f"touch {one}; {wait.format(other)}"),
        script(ci, "other", f"touch {other}; {wait.format(one)}"),
    ]
    assert run(ci, tmp_path, *parts).run()


def test_a_failure_ends_the_others_and_its_reasons_come_last(
    ci: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ended, child = tmp_path / "ended", tmp_path / "child"
    others = script(ci, "others", f"trap 'touch {ended}; exit 1' TERM; sleep 60 & echo $! > {child}; wait")
    bad = script(ci, "bad", f"until test -s {child}; do sleep 0.05; done; echo 'fatal: no disk'; echo recap; exit 7")
    failing = run(ci, tmp_path, others, bad, script(ci, "later", "true", "bad"))
    assert not failing.run()
    assert result_of(failing) == {"bad": "failed", "others": "stopped"}
    assert ended.exists()
    assert gone(int(child.read_text()))
    summary = failing.summary()
    assert summary[-2:] == ["\n!!! bad failed: exit status 7. What its output says about it:", "fatal: no disk"]
    assert any(line.startswith("later ") and line.endswith("not started") for line in summary)
    assert "recap" in capsys.readouterr().out


def test_with_keep_going_it_runs_what_comes_after_a_failure(ci: ModuleType, tmp_path: Path) -> None:
    parts = [script(ci, "bad", "exit 7"), script(ci, "after", "true", "bad"), script(ci, "beside", "sleep 0.2")]
    whole = ci.Run(parts, tmp_path / "logs", pause=0.01, keep_going=True)
    assert not whole.run()
    assert result_of(whole) == {"bad": "failed", "after": "ok", "beside": "ok"}
    assert "!!! bad failed: exit status 7." in "\n".join(whole.summary())


def test_a_part_that_takes_too_long_has_failed(ci: ModuleType, tmp_path: Path) -> None:
    slow = run(ci, tmp_path, script(ci, "slow", "echo started; sleep 60", limit=0.01))
    assert not slow.run()
    assert "!!! slow failed: not ready after 0.01 min." in "\n".join(slow.summary())
    assert slow.summary()[-1] == "started"


def test_parts_that_take_too_long_together_are_ended_and_the_table_says_so(ci: ModuleType, tmp_path: Path) -> None:
    parts = [script(ci, "short", "true"), script(ci, "long", "echo words; sleep 60", "short")]
    late = ci.Run(parts, tmp_path / "logs", pause=0.01, limit=0.02)
    assert not late.run()
    assert result_of(late) == {"short": "ok", "long": "stopped"}
    assert "!!! long failed: not ready after 0.02 min together. What its output says about it:" in "\n".join(
        late.summary()
    )


def test_a_part_that_ignores_the_end_is_killed(ci: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ci, "PATIENCE", 0.3)
    over = tmp_path / "over"
    stubborn = run(ci, tmp_path, script(ci, "stubborn", f"trap '' TERM; sleep 60; touch {over}", limit=0.01))
    assert not stubborn.run()
    assert not over.exists()


def test_output_is_shown_as_a_whole_and_closing_lines_once_more(
    ci: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = "================== 3 passed, 1 skipped in 0.12s =================="
    speakers = [
        script(ci, name, f"for i in 1 2 3; do echo {name} $i; sleep 0.05; done; echo '{line}'") for name in "ab"
    ]
    speaking = run(ci, tmp_path, *speakers)
    assert speaking.run()
    shown = capsys.readouterr().out
    for name in "ab":
        assert f"{name} 1\n{name} 2\n{name} 3\n{line}\n" in shown
    assert sorted(speaking.summary()[-2:]) == [f"a: {line}", f"b: {line}"]


def test_the_table_counts_processor_seconds(ci: ModuleType, tmp_path: Path) -> None:
    busy = run(ci, tmp_path, ci.Part("busy", (sys.executable, "-c", "import time\nwhile time.process_time() < 0.5: 0")))
    assert busy.run()
    assert 0.4 < busy.outcomes[0].cpu < 5


def test_an_interrupted_run_ends_its_parts_and_shows_the_table(ci: ModuleType, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    os.mkfifo(pid)
    code = (
        f"import importlib.util, sys; spec = importlib.util.spec_from_file_location('ci', {str(PARTS)!r})\n"
        "ci = importlib.util.module_from_spec(spec); sys.modules['ci'] = ci; spec.loader.exec_module(ci)\n"
        f"ci.LOGS, ci.clean_up = ci.Path({str(tmp_path / 'logs')!r}), lambda *_arguments: None\n"
        f"ci.parts_of_this_project = lambda turn: [ci.Part('long', ('sh', '-c', 'echo $$ > {pid}; sleep 60'))]\n"
        "sys.exit(ci.main([]))"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        number = int(pid.read_text())  # a pipe: it is read as soon as it is written
        process.send_signal(signal.SIGTERM)
        out, _err = process.communicate(timeout=90)
    assert process.returncode == 128 + signal.SIGTERM
    assert any(line.startswith("long ") and line.endswith("stopped") for line in out.splitlines()), out
    assert gone(number)


def test_every_default_session_of_nox_is_a_part(ci: ModuleType) -> None:
    sessions = set(ci.default_sessions(PARTS.parents[1] / "noxfile.py"))
    assert {"style", "unit", "oldest", "newest", "integration", "molecule"} <= sessions
    assert not {"kind", "bench"} & sessions
    names = {part.name for part in ci.parts_of_this_project()}
    assert sessions - {"molecule", "integration"} <= names
    assert {
        "integration loopback",
        "molecule machines",
        "molecule trixie",
        "chaos hosts",
        "chaos pods",
        "kind",
        "kind-down",
    } <= names


def test_the_oldest_versions_are_tested_with_daemons_and_an_api_server(ci: ModuleType) -> None:
    [oldest] = [part for part in ci.parts_of_this_project() if part.name == "oldest"]
    assert {"packages", "api-server"} <= set(oldest.after)


def test_a_chosen_part_brings_what_it_needs(ci: ModuleType) -> None:
    parts = [part.name for part in ci.needed(ci.parts_of_this_project(), ["integration on an API server"])]
    assert parts[:4] == ["packages", "tools", "api-server", "integration loopback"]
    assert parts[4:] == ["chaos hosts", "chaos pods", "integration on an API server"]
    with pytest.raises(SystemExit, match="There is no part nosuch"):
        ci.needed(ci.parts_of_this_project(), ["nosuch"])


@pytest.mark.parametrize("half", [0, 1])
def test_each_story_comes_last_in_its_turn(ci: ModuleType, half: int) -> None:
    """Nothing that waits is left to run after what computes, and beside what computes most there is no other version of ansible-core."""
    for story, ends in ci.STORIES.items():
        turn = ci.Turn(half, (story,))
        by_name = {part.name: part for part in ci.needed(ci.parts_of_this_project(turn), [], turn.parts())}
        needed = {before for part in by_name.values() for before in part.after}
        with_daemons = {name for name in by_name if name.split()[0] in ci.OWN_PARTS}
        for part in ("loopback", "on an API server"):
            assert f"--turn={half}" in by_name[f"integration {part}"].command
        versions = set() if story in ci.HEAVY else {["newest", "oldest"][half]}
        assert {*ci.VERSIONS} & {*by_name} == versions
        if story == "the kernel's datapath":  # it waits beside the tests on an API server
            kernel = f"integration kernel {['bookworm', 'trixie'][half]}"
            assert with_daemons - needed == {kernel, "integration on an API server"}
            assert {"integration loopback", kernel.removeprefix("integration ")} <= {*by_name[kernel].after}
            continue
        [last] = ends
        assert (with_daemons - needed) | {last} == {last}
        before, looks = set[str](), [last]
        while looks:
            before.update(after := by_name[looks.pop()].after)
            looks += after
        assert "integration on an API server" in before


def commit(repository: Path) -> str:
    for words in (("init", "-q"), ("commit", "-q", "--allow-empty", "-m", "x")):
        identity = ("-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *identity, *words], cwd=repository, check=True)
    words = ["git", "rev-parse", "HEAD"]
    return subprocess.run(words, cwd=repository, capture_output=True, text=True, check=True).stdout.strip()


def test_commits_one_after_the_other_play_all_stories(ci: ModuleType, tmp_path: Path) -> None:
    turns = []
    for _number in ci.STORIES:
        head = commit(tmp_path)
        turns.append(ci.turn_of_commit(tmp_path))
        assert turns[-1].half == int(head, 16) % 2
    assert sorted(story for turn in turns for story in turn.stories) == sorted(ci.STORIES)
    assert ci.turn_of_commit(tmp_path) == turns[-1]


def test_a_clone_without_history_has_the_story_of_its_hash(ci: ModuleType, tmp_path: Path) -> None:
    """All clones of depth 1 have one commit."""
    (tmp_path / "origin").mkdir()
    played = set[str]()
    for number in range(1, 25):
        head = commit(tmp_path / "origin")
        clone = tmp_path / str(number)
        subprocess.run(["git", "clone", "-q", "--depth=1", f"file://{tmp_path}/origin", str(clone)], check=True)
        turn = ci.turn_of_commit(clone)
        assert turn == ci.Turn(int(head, 16) % 2, (list(ci.STORIES)[(int(head, 16) >> 1) % len(ci.STORIES)],))
        played |= {*turn.stories}
    assert len(played) > 1


def test_the_turn_is_named_in_the_output(ci: ModuleType) -> None:
    assert str(ci.Turn(1, ("OpenStack",))) == "half 1 of 0 and 1, story in turn: OpenStack"


def test_a_whole_run_plays_both_halves_and_all_stories_of_machines(ci: ModuleType) -> None:
    parts = ci.needed(ci.parts_of_this_project(ci.WHOLE), [], ci.WHOLE.parts())
    names = {part.name for part in parts}
    assert {"molecule machines", "molecule trixie", "oldest", "newest"} <= names
    assert {f"integration kernel {suite}" for suite in ci.KERNELS} <= names
    assert not any(word.startswith("--turn") for part in parts for word in part.command)


def test_a_story_that_is_named_brings_no_other_tests(ci: ModuleType) -> None:
    parts = [part.name for part in ci.needed(ci.parts_of_this_project(), ["kind-down"])]
    assert parts == ["packages", "tools", "api-server", "images", "clusters", "kind", "kind-down"]


def test_the_core_stories_of_kind_are_there(ci: ModuleType) -> None:
    stories = (PARTS.parents[1] / "tests/kind/test_stories.py").read_text()
    assert all(re.search(rf"^def test_\w*{name}", stories, re.MULTILINE) for name in ci.CORE_OF_KIND)
