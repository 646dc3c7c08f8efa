"""What is asked of dpkg and apt about the packages of a host, and what comes of the answers."""

from __future__ import annotations

import importlib.util
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._precheck import packages
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.packages import read_packages

POLICY = "ovn-host:\n  Candidate: 23.03.1-1\npython3-cryptography:\n  Candidate: 38.0.4-3\n"
MADISON = "".join(
    f" ovn-host | {version} | http://deb.example.com/x x/main amd64 Packages\n"
    for version in ("25.03.0-1", "25.03.1-1", "26.03.0-1")
)
URIS = "'http://deb.example.com/x/InRelease' name_InRelease 0 \n"


class Host:
    """dpkg and apt of a host with these packages; `asked` are their commands."""

    def __init__(self, **installed: str) -> None:
        self.installed = installed
        self.asked: list[str] = []

    def run(self, *command: str) -> str:
        self.asked.append(" ".join(command[:2]))
        if command[0] == "dpkg-query":
            return "".join(f"{name}\tinstall\tinstalled\t{one}\t\n" for name, one in self.installed.items())
        return {"policy": POLICY, "madison": MADISON, "update": URIS}.get(command[1], "")


@pytest.fixture
def probed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Places that were connected to, all of which answer."""
    found: list[tuple[str, int]] = []

    def connect(peers: t.Sequence[t.Mapping[str, t.Any]], _seconds: float) -> list[dict[str, t.Any]]:
        found.extend((peer["address"], peer["port"]) for peer in peers)
        return [dict(peer, state="connected", error="") for peer in peers]

    monkeypatch.setattr(packages, "connect_all", connect)
    monkeypatch.delenv("http_proxy", raising=False)
    return found


def test_a_host_that_has_everything_is_asked_once(probed: list[tuple[str, int]]) -> None:
    host = Host(**{"ovn-host": "25.03.0-1"})
    found = read_packages(host.run, ["ovn-host=25.03.*"], 1, repository=["http://ovn.example.com"])
    assert (host.asked, probed) == (["dpkg-query --show"], [])
    assert found["installed"] == {"ovn-host": "25.03.0-1"}


@pytest.mark.parametrize(
    ("spec", "candidates"),
    [
        pytest.param("ovn-host", {"ovn-host": "23.03.1-1"}, id="what apt would install"),
        pytest.param("ovn-host=25.03.*", {"ovn-host": "25.03.1-1"}, id="the newest one of a pattern"),
        pytest.param("ovn-host=24.*", {}, id="no source has it"),
    ],
)
def test_what_would_be_installed(probed: list[tuple[str, int]], spec: str, candidates: dict[str, str]) -> None:
    found = read_packages(Host().run, [spec], 1, repository=["http://ovn.example.com:81/x"])
    assert {name: one for name, one in found["candidates"].items() if name == "ovn-host"} == candidates
    assert probed == [("deb.example.com", 80), ("ovn.example.com", 81)]
    assert [len(found[name]) for name in ("archives", "repository")] == [1, 1]


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.usefixtures("probed")
def test_packages_of_a_library_that_python_has_are_not_looked_for(monkeypatch: pytest.MonkeyPatch, there: bool) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: object() if there else None)
    host = Host(**{"ovn-host": "25.03.0-1"})
    found = read_packages(host.run, ["ovn-host"], 1, library=["python3-cryptography"])
    assert found["library_missing"] is not there
    assert ("python3-cryptography" in found["candidates"]) is not there
    assert (len(host.asked) > 1) is not there
