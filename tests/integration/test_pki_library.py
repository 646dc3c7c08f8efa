"""The library that reads certificates, installed by the role ovn_pki through the role ovn_packages, with real dpkg and apt in a world of their own."""

from __future__ import annotations

import typing as t

import pytest
from _apt_world import AptWorld, Play
from _pki import Pki

pytestmark = pytest.mark.timeout(300)

OLD, NEW = "38.0.4-3", "43.0.0-1"


def install(play: Play, world: AptWorld, authority: Pki, *arguments: str, **variables: t.Any) -> bool:
    certificate, private_key = authority.as_texts()
    tasks: list[dict[str, t.Any]] = [
        {"c5c3.ovn.pki_plan": {}, "register": "ovn_pki_plan"},
        {"ansible.builtin.include_role": {"name": "c5c3.ovn.ovn_pki", "tasks_from": "library"}},
    ]
    plays = [
        {
            "hosts": "all",
            "gather_facts": False,
            "vars": {
                "ovn_packages_hold": True,  # not in the options of the command line, which count more than those of the role
                "ovn_pki_directory": str(world.root / "tls"),
                "ovn_pki_ca": {"certificate": certificate, "private_key": private_key},
                "ovn_address": "127.0.0.1",
            },
            "tasks": tasks,
        }
    ]
    return play.run(plays, *arguments, **variables)


@pytest.fixture
def released(world: AptWorld) -> AptWorld:
    world.add("python3-cryptography", OLD)
    world.add("python3-cryptography", NEW)
    return world


def test_check_mode_reports_and_changes_nothing(released: AptWorld, play: Play, pki: Pki) -> None:
    before = released.fingerprint()
    assert install(play, released, pki, "--check", ovn_packages_repository=released.source), play.output
    assert "install python3-cryptography" in play.output
    assert released.installed == {}
    assert released.fingerprint() == before


def test_declared_repository_and_versions_count(released: AptWorld, play: Play, pki: Pki) -> None:
    options = {
        "ovn_packages_repository": released.source,
        "ovn_packages_versions": {"python3-cryptography": OLD},
    }
    assert install(play, released, pki, **options), play.output
    assert released.installed == {"python3-cryptography": OLD}, play.output
    assert released.held == []
