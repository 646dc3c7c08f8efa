"""Which restarts check mode foresees: those of the real run, whatever systemd knows of the files on disk."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._host import units as host_units
from ansible_collections.c5c3.ovn.plugins.module_utils._host.systemctl import predict_unit
from ansible_collections.c5c3.ovn.plugins.module_utils._machine.systemd_units import (
    Unit,
    declared_environment,
    is_our_file,
)

if t.TYPE_CHECKING:
    from ansible_collections.c5c3.ovn.plugins.module_utils._machine.commands import Commands

NAME = "x.service"
STARTED = 1_000.0
RUNS = Unit(NAME, "loaded", "enabled", "active", main_pid=7, started=STARTED)


@dataclasses.dataclass
class Systemd:
    """One unit of systemd with its files in a folder, and a process that runs with the environment of its start."""

    folder: pathlib.Path
    process: frozenset[str]
    told: dict[str, str] = dataclasses.field(default_factory=dict)
    asked: list[str] = dataclasses.field(default_factory=list)

    @property
    def drop_ins(self) -> pathlib.Path:
        return self.folder / f"{NAME}.d"

    def write(self, name: str, text: str, *, at: float = STARTED - 1) -> None:
        self.drop_ins.mkdir(exist_ok=True)
        (self.drop_ins / name).write_text(text)
        os.utime(self.drop_ins / name, (at, at))

    def on_disk(self) -> dict[str, str]:
        return {str(path): path.read_text() for path in sorted(self.drop_ins.iterdir())}

    def read_units(self, commands: Commands, names: t.Sequence[str]) -> dict[str, Unit]:
        environment: dict[str, str] = {}
        for text in self.told.values():
            environment.update(declared_environment(text))
        times = [os.stat(path).st_mtime for path in self.told if is_our_file(path)]
        unit = dataclasses.replace(
            RUNS,
            environment=tuple(environment.values()),
            process_environment=self.process,
            needs_reload=self.told != self.on_disk(),
            files=tuple(self.told),
            predates_files=max(times, default=0.0) > STARTED,
        )
        return dict.fromkeys(names, unit)

    def systemctl(self, commands: Commands, *arguments: str) -> str:
        self.asked.append(" ".join(arguments))
        if arguments == ("daemon-reload",):
            self.told = self.on_disk()
        return ""


OURS, OVERRIDE = "50-c5c3-ovn.conf", "override.conf"
WRITTEN_OVER = frozenset({"neutron-server: worker"})


@pytest.mark.parametrize(
    ("told", "disk", "desired", "process", "verbs"),
    [
        pytest.param({OURS: "R=1"}, {}, "R=1", {"R=1"}, [], id="as it is"),
        pytest.param({OURS: "R=1"}, {}, "R=2", {"R=1"}, ["restart"], id="other settings"),
        pytest.param({}, {}, "R=2", {"R=1"}, ["restart"], id="a new file"),
        pytest.param({OURS: "R=1", OVERRIDE: "R=9"}, {}, "R=1", {"R=9"}, [], id="unchanged, but a later one wins"),
        pytest.param({OURS: "R=1", OVERRIDE: "R=9"}, {}, "R=2", {"R=9"}, [], id="changed, but a later one wins"),
        pytest.param({OURS: "R=1", "10.conf": "R=9"}, {}, "R=2", {"R=1"}, ["restart"], id="an earlier one does not"),
        pytest.param({OURS: "R=1"}, {OURS: "R=2"}, "R=2", {"R=1"}, ["restart"], id="written, but systemd was not told"),
        pytest.param({}, {OURS: "R=2"}, "R=2", {"R=1"}, ["restart"], id="a new file, but systemd was not told"),
        pytest.param(
            {OURS: "R=1", OVERRIDE: "R=9"}, {OURS: "R=2"}, "R=2", {"R=9"}, [], id="not told, but a later one wins"
        ),
        pytest.param(
            {OURS: "R=1", OVERRIDE: "R=9"}, {OVERRIDE: "R=8"}, "R=1", {"R=9"}, ["restart"], id="not told of a later one"
        ),
    ],
)
def test_check_mode_foresees_what_is_done(
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    told: dict[str, str],
    disk: dict[str, str],
    desired: str,
    process: set[str],
    verbs: list[str],
) -> None:
    systemd = Systemd(tmp_path, frozenset({*process, "INVOCATION_ID=0"}))
    systemd.drop_ins.mkdir()
    for name, setting in told.items():
        systemd.write(name, f"[Service]\nEnvironment={setting}\n")
    systemd.told = systemd.on_disk()
    for name, setting in disk.items():
        systemd.write(name, f"[Service]\nEnvironment={setting}\n")
    monkeypatch.setattr(host_units, "read_units", systemd.read_units)
    monkeypatch.setattr(host_units, "systemctl", systemd.systemctl)
    file = {"path": str(systemd.drop_ins / OURS), "content": f"[Service]\nEnvironment={desired}\n", "mode": "0644"}
    params = {
        "files": [{**file, "state": "present", "skip_without_directory": False}],
        "masked": [],
        "stop_masked": True,
        "units": [{"name": NAME, "enabled": None, "state": "started"}],
        "keep_for": None,
    }
    foreseen = host_units.apply_units(params, t.cast("Commands", None), check_mode=True)
    assert systemd.asked == []
    done = host_units.apply_units(params, t.cast("Commands", None), check_mode=False)
    assert foreseen == done
    assert [text for text in systemd.asked if text != "daemon-reload"] == [f"{verb} {NAME}" for verb in verbs]


@pytest.mark.parametrize(
    ("written", "needs_reload", "changed_at", "outdated"),
    [
        pytest.param(True, False, STARTED - 1, True, id="it is about to be written"),
        pytest.param(False, False, STARTED - 1, False, id="it is there, and older than the process"),
        pytest.param(False, True, STARTED - 1, False, id="systemd was not told, but it is older than the process"),
        pytest.param(False, True, STARTED + 1, True, id="systemd was not told, and it is newer than the process"),
    ],
)
def test_a_process_that_has_written_over_its_environment_is_older_than_its_files(
    tmp_path: pathlib.Path, written: bool, needs_reload: bool, changed_at: float, outdated: bool
) -> None:
    systemd = Systemd(tmp_path, WRITTEN_OVER)
    systemd.write(OURS, "Environment=R=1\n", at=changed_at)
    path = str(systemd.drop_ins / OURS)
    unit = dataclasses.replace(RUNS, process_environment=WRITTEN_OVER, needs_reload=needs_reload)
    predicted = predict_unit(unit, NAME, {path: "Environment=R=1\n"}, {path} if written else set())
    assert (predicted.predates_files, bool(predicted.outdated)) == (outdated, outdated)


def test_files_of_other_units_and_of_somebody_else_make_no_process_older(tmp_path: pathlib.Path) -> None:
    systemd = Systemd(tmp_path, WRITTEN_OVER)
    foreign, other = str(systemd.drop_ins / "10.conf"), str(tmp_path / "y.service.d" / OURS)
    unit = dataclasses.replace(RUNS, process_environment=WRITTEN_OVER)
    texts = dict.fromkeys((foreign, other), "Environment=R=2\n")
    predicted = predict_unit(unit, NAME, texts, {foreign, other})
    assert (predicted.environment, predicted.predates_files) == (("R=2",), False)
