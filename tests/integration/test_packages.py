"""The module ovn_packages_info and the role ovn_packages with real dpkg and apt, in a world of their own."""

from __future__ import annotations

import hashlib
import http.server
import itertools
import pathlib
import subprocess
import threading
import typing as t

import pytest
from _apt_world import NAMES, AptWorld, Play
from conftest import Ran, RunModule, run

from ansible_collections.c5c3.ovn.plugins.module_utils._machine.distributions import is_newer

pytestmark = pytest.mark.timeout(300)

OLD, NEW, NEWER = "23.03.1-1", "25.03.0-1", "25.03.0-2"


class TestInfo:
    def ask(self, run_module: RunModule, **options: t.Any) -> Ran:
        return run_module("ovn_packages_info", {"packages": NAMES, **options})

    def test_nothing_is_installed_and_nothing_is_known(self, world: AptWorld, run_module: RunModule) -> None:
        found = self.ask(run_module)
        assert (found["manager"], found["unsatisfied"], found["interrupted"]) == ("apt", NAMES, [])
        nothing = {"installed": "", "held": False, "needs": {}, "candidate": "", "obtainable": {}}
        assert found["packages"] == dict.fromkeys(NAMES, nothing)

    def test_what_a_source_has(self, world: AptWorld, run_module: RunModule) -> None:
        world.release(OLD, NEW)
        world.add_source()
        world.refresh()
        found = self.ask(run_module)
        host = found["packages"]["ovn-host"]
        assert host["candidate"] == NEW
        assert host["obtainable"] == {OLD: {"ovn-common": OLD}, NEW: {"ovn-common": NEW}}
        assert sorted(found["packages"]["ovn-common"]["obtainable"]) == [OLD, NEW]

    def test_apt_is_not_asked_while_all_is_as_desired(self, world: AptWorld, run_module: RunModule) -> None:
        world.release(OLD, NEW)
        world.add_source()
        world.refresh()
        world.install(f"ovn-host={OLD}", f"ovn-common={OLD}", "openvswitch-switch")
        world.call("apt-mark", "hold", "ovn-host")
        found = self.ask(run_module, versions={"ovn-*": "23.03.*"})
        assert found["unsatisfied"] == []
        assert found["desired"] == {"ovn-host": "23.03.*", "openvswitch-switch": ""}
        assert found["packages"]["ovn-host"] == {
            "installed": OLD,
            "held": True,
            "needs": {"ovn-common": OLD},
            "candidate": "",
            "obtainable": {},
        }
        pinned = self.ask(run_module, packages=[f"ovn-host={NEW}"])
        assert pinned["unsatisfied"] == ["ovn-host"]
        assert pinned["packages"]["ovn-common"]["candidate"] == NEW

    def test_an_installation_that_was_cut_off(self, world: AptWorld, run_module: RunModule) -> None:
        world.release(OLD)
        world.call("dpkg", "--unpack", str(world.repository / f"ovn-common_{OLD}_all.deb"))
        found = self.ask(run_module, packages=["ovn-common"])
        assert (found["interrupted"], found["unsatisfied"]) == (["ovn-common"], ["ovn-common"])

    def test_a_damaged_database_is_named(self, world: AptWorld, run_module: RunModule) -> None:
        (world.root / "var/lib/dpkg/status").write_text("Version: 1\n\n")
        failed = run_module("ovn_packages_info", {"packages": NAMES}, may_fail=True)
        assert "dpkg-query --show failed" in failed["msg"]

    def test_paths_and_distribution(self, world: AptWorld, run_module: RunModule) -> None:
        found = self.ask(run_module, paths=[str(world.root), "/nowhere"])
        assert found["paths"] == [str(world.root)]
        assert f"\nID={found['distribution']['id']}\n" in pathlib.Path("/etc/os-release").read_text()


class TestPrecheck:
    """The check before the first change asks the same commands, once."""

    def ask(self, run_module: RunModule, *more: str) -> dict[str, t.Any]:
        return t.cast(
            "dict[str, t.Any]", run_module("ovn_precheck", {"packages": [*NAMES, *more]})["facts"]["packages"]
        )

    def test_without_lists_it_looks_for_archives(self, world: AptWorld, run_module: RunModule) -> None:
        (world.sources / "other.sources").write_text("Types: deb\nURIs: http://127.0.0.1:9/deb\nSuites: ./\n")
        found = self.ask(run_module)
        assert (found["manager"], found["candidates"], found["index"]) == ("apt", {}, False)
        assert [(one["address"], one["port"], one["state"]) for one in found["archives"]] == [
            ("127.0.0.1", 9, "refused")
        ]

    def test_a_source_that_was_never_asked_may_have_what_the_others_have_not(
        self, world: AptWorld, run_module: RunModule
    ) -> None:
        world.release(OLD)
        world.add_source()
        world.refresh()
        assert self.ask(run_module, "no-such")["index"] is True
        (world.sources / "other.sources").write_text("Types: deb\nURIs: http://127.0.0.1:9/deb\nSuites: ./\n")
        found = self.ask(run_module, "no-such")
        assert (found["index"], [one["state"] for one in found["archives"]]) == (False, ["refused"])

    def test_it_finds_what_the_rollout_finds(self, world: AptWorld, run_module: RunModule) -> None:
        world.release(OLD, NEW)
        world.add_source()
        world.refresh()
        world.install("openvswitch-switch", "openvswitch-common")
        found = self.ask(run_module, f"ovn-central={OLD}", "no-such")
        assert found["installed"] == {"openvswitch-switch": "3.1.0-1"}
        assert found["candidates"] == {"ovn-host": NEW, "ovn-central": OLD}
        assert found["index_age"] < 60
        assert (found["index"], found["archives"], found["problem"]) == (True, [], "")

    def test_a_damaged_database_is_named(self, world: AptWorld, run_module: RunModule) -> None:
        (world.root / "var/lib/dpkg/status").write_text("Version: 1\n\n")
        assert "dpkg-query --show failed" in self.ask(run_module)["problem"]

    def test_request_without_a_package_name_is_reported(self, world: AptWorld, run_module: RunModule) -> None:
        assert self.ask(run_module, "=1")["problem"] == '"=1" names no package. Give NAME or NAME=VERSION.'


def test_the_order_of_versions_is_that_of_dpkg() -> None:
    """Those of the unit test, and more."""
    versions = [
        "1.0~~",
        "1.0~beta1",
        "1.0-1~deb12u1",
        "1.0-1",
        "1.0-1+deb12u1",
        "1.0a",
        "1.0+git",
        "1.0.1",
        "1.9",
        "1.10-2",
        "1.10-2-1",
        "1:0.1",
        "1.0-1~",
    ]
    for version, other in itertools.combinations([*versions, "1.00", "0:1.0-0", "1.0-a~1", "1.0-a"], 2):
        newer = subprocess.run(["dpkg", "--compare-versions", version, "gt", other], check=False).returncode == 0
        assert is_newer(version, other) is newer, (version, other)


def test_from_nothing_to_held_packages_of_a_repository_and_again(world: AptWorld, play: Play) -> None:
    world.release(OLD, NEW)
    options = {
        "ovn_packages_repository": world.source,
        "ovn_packages_versions": {"ovn-*": OLD},
        "ovn_packages_hold": True,
    }
    before = world.fingerprint()
    assert play("--check", **options), play.output
    assert play.changed == ["Write the package source", "Report what would be installed"]
    assert f"install ovn-host {OLD}" in play.output
    assert world.fingerprint() == before

    assert play(**options), play.output
    assert play.changed == ["Write the package source", "Install the packages with apt", "Hold the packages"]
    expected = {"ovn-host": OLD, "ovn-common": OLD, "openvswitch-switch": "3.1.0-1", "openvswitch-common": "3.1.0-1"}
    assert world.installed == expected
    assert world.held == sorted(expected)

    # Nothing is refreshed or asked for: the repository is not even there.
    world.repository.rename(world.root / "away")
    before = world.fingerprint()
    for arguments in ((), ("--check",)):
        assert play(*arguments, **options), play.output
        assert play.changed == []
    assert world.fingerprint() == before


def test_a_pin_that_changes_is_followed_with_what_belongs_to_it(world: AptWorld, play: Play) -> None:
    """Also by a package that only this host has, and that would be removed otherwise."""
    world.release(OLD, NEW)
    world.add_source()
    world.refresh()
    world.install(f"ovn-host={OLD}", f"ovn-common={OLD}", f"ovn-central={OLD}", "openvswitch-switch")
    assert play(ovn_packages_versions={"ovn-*": OLD}, ovn_packages_hold=True), play.output
    assert play.changed == ["Hold the packages"]

    options = {"ovn_packages_versions": {"ovn-host": "25.03.*"}, "ovn_packages_hold": True}
    assert play("--check", **options), play.output
    assert f"upgrade ovn-host {OLD} to {NEW}" in play.output
    assert play.changed == ["Report what would be installed"]
    world.add("ovn-common", NEWER)
    world.add("ovn-host", NEWER, f"ovn-common (= {NEWER})")
    world.add("ovn-central", NEWER, f"ovn-common (= {NEWER})")
    assert play(**options), play.output
    ovn = {name: version for name, version in world.installed.items() if name.startswith("ovn-")}
    assert ovn == dict.fromkeys(("ovn-host", "ovn-common", "ovn-central"), NEWER), (
        "the newest of the pattern after the refresh"
    )
    assert world.held == ["openvswitch-common", "openvswitch-switch", "ovn-common", "ovn-host"]
    assert play(**options), play.output
    assert play.changed == []
    assert play(**{**options, "ovn_packages_hold": False}), play.output
    assert (play.changed, world.held) == (["Release the packages from hold"], [])


def test_a_downgrade_is_refused_until_it_is_allowed(world: AptWorld, play: Play) -> None:
    world.release(OLD, NEW)
    world.add_source()
    world.refresh()
    world.install("ovn-host", "openvswitch-switch")
    before = world.fingerprint()
    options = {"ovn_packages_versions": {"ovn-*": OLD}}
    assert not play(**options)
    assert f"ovn-host on h1 is {NEW}, and {OLD} is older" in play.output
    assert "accept it with ovn_permit=downgrade for" in play.output
    assert world.fingerprint() == before
    assert play(**options, request={"allow_downgrade": True}), play.output
    assert world.installed["ovn-host"] == world.installed["ovn-common"] == OLD


def test_a_version_that_no_source_has(world: AptWorld, play: Play) -> None:
    world.release(OLD)
    world.add_source()
    assert not play(ovn_packages_versions={"ovn-host": "26.*"})
    assert f"has version 26.* of ovn-host. They have {OLD}" in " ".join(play.output.split())
    assert world.installed == {}


def test_a_hold_of_somebody_else_is_respected(world: AptWorld, play: Play) -> None:
    world.release(OLD, NEW)
    world.add_source()
    world.refresh()
    world.install(f"ovn-host={OLD}", f"ovn-common={OLD}", "openvswitch-switch")
    world.call("apt-mark", "hold", "ovn-common")
    assert play(), play.output
    assert (play.changed, world.held) == ([], ["ovn-common"])
    assert not play(ovn_packages_versions={"ovn-host": NEW})
    assert "ovn-common on h1 is on hold" in play.output
    assert world.installed["ovn-host"] == OLD


def test_downloads_go_through_the_proxy_of_the_inventory(world: AptWorld, play: Play) -> None:
    """The mirror has an address that leads nowhere; nothing of the proxy is left on the host."""
    asked = []

    class Proxy(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments: t.Any) -> None:
            super().__init__(*arguments, directory=str(world.repository))

        def translate_path(self, path: str) -> str:
            asked.append(path)
            return super().translate_path(path.replace("http://mirror.invalid/ovn/", "/", 1))

    world.release(OLD)
    source = {**world.source, "uris": "http://mirror.invalid/ovn"}
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        proxy = f"http://127.0.0.1:{server.server_port}"
        assert play(ovn_packages_repository=source, ovn_packages_proxy=proxy), play.output
        server.shutdown()
    assert world.installed["ovn-host"] == OLD
    assert any(path.endswith(f"/ovn-host_{OLD}_all.deb") for path in asked)
    files = [path for path in (world.root / "etc").rglob("*") if path.is_file()]
    assert [path.name for path in files if proxy in path.read_text()] == []


def test_no_package_is_removed(world: AptWorld, play: Play) -> None:
    world.release(OLD)
    world.add("plugin", "1")
    world.add_source()
    world.refresh()
    world.install("ovn-host", "openvswitch-switch", "plugin")
    world.add("ovn-common", NEW)
    (world.repository / "Packages").write_text(
        (world.repository / "Packages").read_text().rstrip() + "\nBreaks: plugin\n\n"
    )
    world.add("ovn-host", NEW, f"ovn-common (= {NEW})")
    assert not play(ovn_packages_versions={"ovn-host": NEW})
    assert "need to be removed" in play.output
    assert world.installed["plugin"] == "1"


def test_an_installation_that_was_cut_off_is_finished(world: AptWorld, play: Play) -> None:
    world.release(OLD)
    world.add_source()
    world.call("dpkg", "--unpack", str(world.repository / f"ovn-common_{OLD}_all.deb"))
    assert play(), play.output
    assert "Finish the installation that was cut off" in play.changed
    assert world.installed["ovn-common"] == world.installed["ovn-host"] == OLD


def test_hosts_that_have_to_be_equal(world: AptWorld, play: Play) -> None:
    """Both are this machine: what counts is what would become of them."""
    world.release(OLD, NEW)
    world.add_source()
    world.refresh()
    pins = {"ovn_packages_versions": {"ovn-*": "{{ '" + OLD + "' if inventory_hostname == 'h1' else '" + NEW + "' }}"}}
    assert not play(**pins, hosts="h1,h2", request={"equal_on": ["h1", "h2"]})
    assert "ovn-host would be 23.03.1 on h1 and 25.03.0 on h2" in play.output
    assert world.installed == {}
    assert play("--check", **pins, hosts="h1,h2"), play.output


def test_a_repository_that_is_signed_by_a_key_in_the_inventory(world: AptWorld, play: Play) -> None:
    """The key is in the file of the source: with another one the repository is not believed."""
    world.release(OLD)
    world.configure(insecure=False)
    keys = []
    for name in ("ours", "theirs"):
        home = world.root / name
        home.mkdir(mode=0o700)
        gpg = ("gpg", "--homedir", str(home), "--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", "")
        run(*gpg, "--quick-generate-key", f"{name}@example.com", "ed25519", "sign", "never")
        keys.append(run(*gpg, "--armor", "--export"))
        run("gpgconf", "--homedir", str(home), "--kill", "all")
    packages = (world.repository / "Packages").read_bytes()
    (world.repository / "Release").write_text(
        "Origin: test\nDate: Mon, 01 Jan 2024 00:00:00 UTC\n"
        f"SHA256:\n {hashlib.sha256(packages).hexdigest()} {len(packages)} Packages\n"
    )
    home = str(world.root / "ours")
    run(
        *("gpg", "--homedir", home, "--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", ""),
        *("--clearsign", "--output", str(world.repository / "InRelease"), str(world.repository / "Release")),
    )
    run("gpgconf", "--homedir", home, "--kill", "all")
    assert not play(ovn_packages_repository={**world.source, "signed_by": keys[1]})
    assert world.installed == {}
    assert play(ovn_packages_repository={**world.source, "signed_by": keys[0]}), play.output
    assert world.installed["ovn-host"] == OLD


def test_a_mistyped_key_of_the_versions_is_warned_of(world: AptWorld, play: Play) -> None:
    world.release(OLD)
    world.add_source()
    world.refresh()
    assert play("--check", ovn_packages_versions={"ovn-hsot": OLD, "ovn-central": OLD}), play.output
    assert 'key "ovn-hsot"' in play.output
    assert 'key "ovn-central"' not in play.output
