"""The settings of sandboxes. What systemd makes of them: tests/integration/test_sandbox.py, and on machines the story sandbox."""

from __future__ import annotations

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._machine.systemd_sandbox import (
    Sandbox,
    openvswitch_database_settings,
    sandbox_revision,
    sandbox_settings,
    vswitchd_settings,
)

DAEMON = sandbox_settings(Sandbox())


def values(settings: list[str], name: str) -> list[str]:
    return [line.split("=", 1)[1] for line in settings if line.startswith(f"{name}=")]


@pytest.mark.parametrize(
    ("paths", "home", "temporary"),
    [
        pytest.param(Sandbox(), "yes", "yes", id="nothing"),
        pytest.param(Sandbox(["/var/lib/ovn"], ["/etc/ovn/key.pem"]), "yes", "yes", id="the usual places"),
        pytest.param(Sandbox(["/home/ovn"]), "read-only", "yes", id="written in a home"),
        pytest.param(Sandbox(files=["/root/tls/key.pem"]), "read-only", "yes", id="read in a home"),
        pytest.param(Sandbox(files=["/rooted/key.pem", "/homes/key.pem"]), "yes", "yes", id="names that begin alike"),
        pytest.param(Sandbox(files=["/etc/../root/key.pem"]), "read-only", "yes", id="a way around"),
        pytest.param(Sandbox(["/var/tmp/ovn"]), "yes", "no", id="written in a temporary directory"),
        pytest.param(Sandbox(files=[None, "", "key.pem"]), "yes", "yes", id="no path"),
    ],
)
def test_what_is_needed_stays_visible(paths: Sandbox, home: str, temporary: str) -> None:
    settings = sandbox_settings(paths)
    assert values(settings, "ProtectHome") == [home]
    assert values(settings, "PrivateTmp") == [temporary]


def test_temporary_files_can_be_made_in_any_case() -> None:
    settings = sandbox_settings(Sandbox(files=["/tmp/key.pem"]))
    assert values(settings, "ReadWritePaths") == ["-/tmp", "-/var/tmp"]


def test_what_may_be_written() -> None:
    settings = sandbox_settings(Sandbox(["/var/lib/ovn", '/srv/100% of it/"x"', "/var/lib/ovn"]))
    assert values(settings, "ProtectSystem") == ["strict"]
    assert values(settings, "ReadWritePaths") == ["-/var/lib/ovn", r"-/srv/100%%\x20of\x20it/\x22x\x22"]


def test_capabilities() -> None:
    assert values(DAEMON, "CapabilityBoundingSet") == ["CAP_DAC_OVERRIDE"]
    more = sandbox_settings(Sandbox(capabilities=["CAP_NET_ADMIN"]))
    assert values(more, "CapabilityBoundingSet") == ["CAP_DAC_OVERRIDE CAP_NET_ADMIN"]


def test_nothing_loads_modules_or_is_anybody_else() -> None:
    for settings in (DAEMON, openvswitch_database_settings(), vswitchd_settings()):
        (capabilities,) = values(settings, "CapabilityBoundingSet")
        for capability in ("CAP_SYS_MODULE", "CAP_SYS_ADMIN", "CAP_SETUID", "CAP_SYS_PTRACE", "CAP_SYS_RAWIO"):
            assert capability not in capabilities.split()
        assert values(settings, "NoNewPrivileges") == ["yes"]
        assert values(settings, "SystemCallFilter")[0] == "@system-service"


def test_vswitchd_has_its_devices_and_asks_for_modules() -> None:
    names = [line.partition("=")[0] for line in vswitchd_settings()]
    for setting in ("PrivateDevices", "ProtectClock", "DevicePolicy", "ProtectKernelModules", "PrivateTmp"):
        assert setting not in names


def test_open_vswitch_is_not_ordered_after_mounts() -> None:
    assert not values(openvswitch_database_settings(), "PrivateTmp")


def test_revision() -> None:
    assert sandbox_revision("a", DAEMON) == sandbox_revision("a", list(DAEMON))
    assert sandbox_revision("b", DAEMON) != sandbox_revision("a", DAEMON)
    assert sandbox_revision("a", DAEMON[1:]) != sandbox_revision("a", DAEMON)
