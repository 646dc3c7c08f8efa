"""What the roles ovn_central and ovn_hypervisor make of packages, with real dpkg and apt in a world of their own. Units and daemons are not part of it."""

from __future__ import annotations

import typing as t

import pytest
from _apt_world import AptWorld, Play

pytestmark = pytest.mark.timeout(300)

OLD, NEW = "23.03.1-1", "25.03.0-1"
CENTRAL = {"ovn-central", "ovn-common", "openvswitch-common", "python3-openvswitch", "python3-ovsdbapp"}
HYPERVISOR = {"ovn-host", "ovn-common", "openvswitch-common", "openvswitch-switch", "python3-openvswitch"}


MEMBER = {"ovn_address": "127.0.0.1", "ovn_central_permit": ["new_cluster"]}
# The host of a play is a central host.
GROUPED: dict[str, t.Any] = {
    "hosts": "all",
    "gather_facts": False,
    "tasks": [{"ansible.builtin.add_host": {"name": "h1", "groups": "ovn_central"}, "changed_when": False}],
}
FILES = {"central": ("host_check", "host_packages"), "hypervisor": ("check", "packages")}


class Role:
    """The tasks of a role that concern packages, in their order."""

    def __init__(self, play: Play, name: str) -> None:
        self.play, self.name = play, name
        play.prefix = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]  # no daemons of other tests

    def __call__(self, *arguments: str, **variables: t.Any) -> bool:
        tasks = [
            {"ansible.builtin.include_role": {"name": f"c5c3.ovn.ovn_{self.name}", "tasks_from": file}}
            for file in FILES[self.name]
        ]
        options = {**MEMBER, **variables}
        return self.play.run([GROUPED, {"hosts": "all", "gather_facts": False, "tasks": tasks}], *arguments, **options)


@pytest.fixture
def released(world: AptWorld) -> AptWorld:
    world.release(OLD, NEW)
    world.add("python3-openvswitch", "3.1.0-1")
    world.add("python3-ovsdbapp", "2.1.0-2")
    world.add_source()
    return world


@pytest.mark.parametrize(("name", "expected"), [("central", CENTRAL), ("hypervisor", HYPERVISOR)])
def test_a_role_installs_its_packages_in_the_declared_versions(
    name: str, expected: set[str], released: AptWorld, play: Play
) -> None:
    role = Role(play, name)
    pins = {"ovn_packages_versions": {"ovn-*": OLD}, "ovn_packages_hold": True}
    assert role(**pins), play.output
    assert set(released.installed) == set(released.held) == expected
    assert released.installed["ovn-common"] == OLD
    for mixed in (False, True):
        assert role(**pins, ovn_central_permit=["new_cluster", *(["mixed_versions"] if mixed else [])]), play.output
        assert play.changed == []
        compared = (
            "ok: [h1]" in play.output.partition("Check that the hosts get equal versions]")[2].partition("TASK")[0]
        )
        assert compared == (name == "central" and not mixed), play.output


def test_a_version_in_the_list_of_packages_counts_also_where_the_programs_are(released: AptWorld, play: Play) -> None:
    role = Role(play, "hypervisor")
    assert role(ovn_hypervisor_distribution={"packages": [f"ovn-host={OLD}"]}), play.output
    assert released.installed["ovn-host"] == OLD
    assert role(
        "--check",
        ovn_hypervisor_distribution={"packages": ["ovn-host"]},
        ovn_packages_repository="",
        ovn_packages_versions="",
    ), play.output
    assert play.changed == []
    assert role(ovn_hypervisor_distribution={"packages": [f"ovn-host={NEW}"]}), play.output
    assert released.installed["ovn-host"] == NEW


@pytest.mark.parametrize("name", ["central", "hypervisor"])
def test_a_downgrade_names_the_option_of_the_role(name: str, released: AptWorld, play: Play) -> None:
    released.refresh()
    released.install("ovn-host", "ovn-central", "openvswitch-switch")
    role, option = Role(play, name), f"ovn_{name}_permit"
    assert not role(ovn_packages_versions={"ovn-*": OLD})
    assert f"{option}=package_downgrade" in play.output
    assert released.installed["ovn-host"] == NEW
    assert role(
        **{
            "ovn_packages_versions": {"ovn-*": OLD},
            option: ["new_cluster"] * (name == "central") + ["package_downgrade"],
        }
    ), play.output
    assert released.installed["ovn-host"] == released.installed["ovn-central"] == OLD


def test_an_inventory_replaces_the_packages_of_a_distribution(released: AptWorld, play: Play) -> None:
    role = Role(play, "central")
    assert role(ovn_central_distribution={"packages": ["ovn-common"]}), play.output
    assert set(released.installed) == {"ovn-common"}
    assert not role(ovn_central_distribution={"package": ["ovn-common"]})
    assert "(ovn_central_distribution.package. Supported parameters include: appctl, files, " in play.output.replace(
        "\n", " "
    )


def test_an_empty_list_installs_nothing(released: AptWorld, play: Play) -> None:
    assert Role(play, "hypervisor")(ovn_hypervisor_distribution={"packages": []}), play.output
    assert (play.changed, released.installed) == ([], {})


@pytest.mark.parametrize("name", ["central", "hypervisor"])
def test_a_distribution_that_is_not_known_is_refused_by_name(name: str, world: AptWorld, play: Play) -> None:
    """Before anything is written; with all keys in the inventory it is not."""
    release = world.root / "os-release"
    release.write_text('ID=rocky\nPRETTY_NAME="Rocky Linux 9.4"\n')
    play.prefix = ["unshare", "--mount", "sh", "-c", f'mount --bind {release} /etc/os-release && exec "$@"', "sh"]
    tasks = [
        {"ansible.builtin.include_role": {"name": f"c5c3.ovn.ovn_{name}", "tasks_from": FILES[name][0]}},
    ]
    plays = [GROUPED, {"hosts": "all", "gather_facts": False, "tasks": tasks}]
    assert not play.run(plays)
    assert "h1 runs Rocky Linux 9.4, whose packages, paths and units" in play.output
    assert f"in ovn_{name}_distribution" in play.output
    assert play.changed == []
    assert not play.run(plays, **{f"ovn_{name}_distribution": {"packages": ["ovn"]}})
    assert "Set files, masked_units," in play.output


@pytest.mark.parametrize("adopt", [False, True])
def test_an_adoption_installs_nothing_and_so_refuses_no_package(adopt: bool, released: AptWorld, play: Play) -> None:
    """A hold of the operator and a version that would be older refuse a rollout. An adoption goes on to what runs there."""
    released.refresh()
    released.install("ovn-central", "openvswitch-switch")
    released.call("apt-mark", "hold", "ovn-central")
    include = {
        "ansible.builtin.include_role": {"name": "c5c3.ovn.ovn_central", "tasks_from": "host_check"},
        "vars": {"_ovn_central_adopt": adopt},
    }
    pins = {"ovn_packages_versions": {"ovn-*": OLD}}
    play.run([GROUPED, {"hosts": "all", "gather_facts": False, "tasks": [include]}], **MEMBER, **pins)
    refused = "ovn-central on h1 is on hold" in play.output and "is older. It is not downgraded" in play.output
    assert refused is not adopt, play.output
    assert ("Nothing was adopted or changed." in play.output) is adopt, play.output
    assert (released.installed["ovn-central"], released.held) == (NEW, ["ovn-central"])
