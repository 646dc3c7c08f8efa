# SPDX-License-Identifier: GPL-3.0-or-later
"""What the parts of OVN are called on each distribution: packages, paths and units. Pure."""

from __future__ import annotations

import posixpath
import typing as t

from .._base.errors import InvalidInput

Role = t.Literal["central", "hypervisor"]
Data = dict[str, t.Any]

_PYTHON = "/usr/lib/python3/dist-packages"
DEBIAN_OPENVSWITCH = "openvswitch-switch.service"  # it starts ovsdb-server.service and ovs-vswitchd.service
_DEBIAN: dict[Role, Data] = {
    "central": {
        "packages": ["ovn-central", "openvswitch-common", "python3-openvswitch", "python3-ovsdbapp"],
        # They prove that the packages are there where neither dpkg nor apt can say it.
        "files": [
            "/usr/bin/ovn-northd",
            "/usr/bin/ovsdb-tool",
            "/usr/share/ovn/ovn-nb.ovsschema",
            f"{_PYTHON}/ovs",
            f"{_PYTHON}/ovsdbapp",
        ],
        "masked_units": [
            "ovn-central.service",
            "ovn-ovsdb-server-nb.service",
            "ovn-ovsdb-server-sb.service",
            "ovn-northd.service",
        ],
        "northd": "/usr/bin/ovn-northd",
        "appctl": "/usr/bin/ovn-appctl",
        "run_directory": "/run/ovn",
        "schema_directory": "/usr/share/ovn",
    },
    "hypervisor": {
        "packages": ["openvswitch-switch", "ovn-host", "python3-openvswitch"],
        "files": ["/usr/bin/ovn-controller", "/usr/bin/ovs-vsctl", f"{_PYTHON}/ovs"],
        "masked_units": ["ovn-host.service", "ovn-controller.service", "ovn-controller-vtep.service"],
        "openvswitch_service": DEBIAN_OPENVSWITCH,
        "openvswitch_packages": ["openvswitch-switch"],
        "controller": "/usr/bin/ovn-controller",
        "appctl": "/usr/bin/ovn-appctl",
        "run_directory": "/run/ovn",
        "system_id_file": "/etc/openvswitch/system-id.conf",
    },
}
_OPTIONAL = ("openvswitch_packages",)  # for an Open vSwitch of others alone
# By the ID of os-release(5). Ubuntu builds Debian's packages: names, paths and units are the same.
_KNOWN: dict[str, dict[Role, Data]] = {"debian": _DEBIAN, "ubuntu": _DEBIAN}
PACKAGES = [*_DEBIAN["central"]["packages"], *_DEBIAN["hypervisor"]["packages"], "ovn-common", "python3-cryptography"]
"""What the roles install, with what comes along in the same version."""


def distribution_data(role: Role, given: t.Mapping[str, t.Any], observed: t.Mapping[str, str], host: str) -> Data:
    """Return packages, paths and units of a distribution, with what the inventory has `given` in their place.

    `observed` has the `id` and `name` of the distribution; before a host was asked it is empty, and Debian is assumed. `problem` says what is not known of a
    distribution, empty if everything is. `runtime_directory` is `run_directory` as systemd.exec(5) has it, relative to /run.
    """
    option = f"ovn_{role}_distribution"
    keys = _DEBIAN[role]
    unknown = sorted(set(given) - set(keys))
    if unknown:
        raise InvalidInput(f"{option} has no {', '.join(unknown)}. It has {', '.join(keys)}.")
    replaced = {key: value for key, value in given.items() if value is not None and value != ""}
    known = _KNOWN.get(observed.get("id") or "debian", {}).get(role)
    missing = [] if known else [key for key in keys if key not in replaced and key not in _OPTIONAL]
    name = observed.get("name") or observed.get("id") or "an unknown distribution"
    problem = (
        f"{host} runs {name}, whose packages, paths and units of OVN are not known here; those of Debian and Ubuntu are. "
        f"Set {', '.join(missing)} in {option} (docs/compatibility.md has an example)."
        if missing
        else ""
    )
    data = {**keys, **replaced}
    below_run = _below_run(data["run_directory"], option)
    return {**data, "run_directory": f"/run/{below_run}", "runtime_directory": below_run, "problem": problem}


def _below_run(path: str, option: str) -> str:
    """Return the path relative to /run, of which /var/run is the older name."""
    place = posixpath.normpath(str(path)).removeprefix("/var")
    if not place.startswith("/run/"):
        raise InvalidInput(
            f"run_directory of {option} is {path}. Name a directory below /run, where systemd creates it at each start."
        )
    return place.removeprefix("/run/")
