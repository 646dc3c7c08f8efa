"""What systemd itself makes of the units: how exposed each daemon is, and whether it knows every setting. On machines: the story systemd_sandbox."""

from __future__ import annotations

import json
import pathlib
import shutil
import subprocess
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._roles.central import CentralMachineOptions
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.central import desired_state as central_state
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.hypervisor import machine_state as hypervisor_state

pytestmark = pytest.mark.skipif(
    not shutil.which("systemd-analyze"), reason="NOT TESTED: systemd-analyze is not installed"
)

LIMIT = 5.0
UNITS = "/etc/systemd/system"
HYPERVISOR: dict[str, t.Any] = {
    "backend": "host",
    "host": "h1",
    "openvswitch_service": "openvswitch-switch.service",
    "unit": f"{UNITS}/c5c3-ovn-controller.service",
    "underlay_unit": f"{UNITS}/c5c3-ovn-underlay.service",
    "controller": "/usr/bin/ovn-controller",
    "run_directory": "/run/ovn",
    "openvswitch_database": "unix:/run/openvswitch/db.sock",
    "private_key": "/etc/ovn/tls/chassis-key.pem",
    "certificate": "/etc/ovn/tls/chassis-cert.pem",
    "ca_certificate": "/etc/ovn/tls/ca.pem",
    "system_id_file": "/etc/openvswitch/system-id.conf",
}


def settings_of_units() -> dict[str, t.Sequence[str]]:
    """The settings of the section [Service], by unit."""
    central = central_state(CentralMachineOptions(), "c1", {"c1": "192.0.2.11"}, {})
    hypervisor = hypervisor_state(HYPERVISOR)
    files = {file["path"]: file["content"] for file in hypervisor["openvswitch_files"]}
    return {
        "c5c3-ovn-northbound.service": central["databases"]["northbound"]["sandbox"],
        "c5c3-ovn-southbound.service": central["databases"]["southbound"]["sandbox"],
        "c5c3-ovn-southbound-relay.service": central["relay"]["sandbox"],
        "c5c3-ovn-northd.service": central["northd"]["sandbox"],
        "c5c3-ovn-observer.service": central["observer"]["sandbox"],
        "c5c3-ovn-controller.service": hypervisor["controller"]["sandbox"],
        "c5c3-ovn-underlay.service": hypervisor["underlay_sandbox"],
        **{pathlib.Path(path).parent.name.removesuffix(".d"): text.splitlines() for path, text in files.items()},
    }


@pytest.fixture(params=settings_of_units())
def unit(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> pathlib.Path:
    """A unit with the settings; those of Open vSwitch in a file beside the distribution's unit."""
    name, settings = request.param, settings_of_units()[request.param]
    path = tmp_path / name
    text = "".join(f"{line}\n" for line in settings)
    if "[Service]" in settings:
        theirs = pathlib.Path("/lib/systemd/system", name)
        if not theirs.exists():
            pytest.skip(f"NOT TESTED: {theirs} is not installed")
        path.write_text(theirs.read_text(encoding="utf-8") + text)
    else:
        path.write_text(f"[Service]\nExecStart=/bin/true\n{text}")
    return path


def analyze(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["systemd-analyze", *arguments], capture_output=True, text=True, check=False, timeout=60)


def test_no_unit_is_exposed(unit: pathlib.Path) -> None:
    done = analyze("security", "--offline=yes", f"--threshold={LIMIT * 10:.0f}", "--no-pager", str(unit))
    assert done.returncode == 0, done.stdout[-200:] + done.stderr


def test_a_unit_without_settings_is(tmp_path: pathlib.Path) -> None:
    """The check above can fail."""
    path = tmp_path / "bare.service"
    path.write_text("[Service]\nExecStart=/bin/true\n")
    assert (
        analyze("security", "--offline=yes", f"--threshold={LIMIT * 10:.0f}", "--no-pager", str(path)).returncode != 0
    )


def test_systemd_knows_every_setting(unit: pathlib.Path) -> None:
    done = analyze("verify", "--man=no", str(unit))
    named = [line for line in done.stderr.splitlines() if unit.name in line]
    assert [line for line in named if "Unknown" in line or "Failed to parse" in line or "ignoring" in line] == []


def test_devices_of_vswitchd(tmp_path: pathlib.Path) -> None:
    """ProtectClock and DeviceAllow make systemd close every other device; a tap device would be gone after the next restart."""
    path = tmp_path / "ovs-vswitchd.service"
    settings = settings_of_units()["ovs-vswitchd.service"]
    path.write_text("[Service]\nExecStart=/bin/true\n" + "".join(f"{line}\n" for line in settings if "=" in line))
    done = analyze("security", "--offline=yes", "--json=short", str(path))
    rows = {row["json_field"]: row for row in json.loads(done.stdout)}
    assert {name for name in ("DeviceAllow", "PrivateDevices") if rows[name]["set"]} == set()
