# SPDX-License-Identifier: GPL-3.0-or-later
"""Which files a process of Neutron reads after that of ours, and what in them counts more. Pure.

oslo.config reads the default files, then the default directories, then what the command line names, in its order; of an option the last value counts
(oslo_config/cfg.py: `_parse_config_files`). A `--config-file` takes the place of the default files alone, a `--config-dir` that of the default directories.
"""

from __future__ import annotations

import os
import re
import typing as t

from .._base.errors import list_names
from .ini import DEFAULT, Sections

# The Neutron resource, whose endpoints the operator and the role ovn_neutron fill in. Pure.

API_VERSION = "neutron.openstack.c5c3.io/v1alpha1"
KIND = "Neutron"
# What newer releases of c5c3 read of the OVNCentral in `spec.ovn.centralRef`.
CENTRAL_STATUS = "in its status: internalDbAddress or dbAddress of both databases, and clientSecretName"


def connection_fields(northbound: str, southbound: str) -> dict[str, str]:
    """Return the fields of `spec.ovn` that say where the databases are, endpoints with commas between them.

    Neutron writes tables that the role of chassis keeps from it, so the Southbound is meant at its port without a role.
    """
    return {"nbConnection": northbound, "sbConnection": southbound}


def pruned_fields(written: t.Mapping[str, str], answer: t.Mapping[str, t.Any]) -> list[str]:
    """Return the fields of `spec.ovn` that the API server dropped: its definition of the resource does not have them. `answer` is the resource afterwards."""
    found = (answer.get("spec") or {}).get("ovn") or {}
    return [key for key in written if key not in found]


FOLDER = "/etc/neutron"
_DEFAULT_FILES = ("neutron.conf", "plugins/ml2/ml2_conf.ini")  # neutron/server/__init__.py
_CONTAINER = re.compile(r"\S*(?:podman|docker|nerdctl)\s")
_ARGUMENT = re.compile(r"""(?:^|[\s"'\0])--config-(file|dir)[=\s\0]+([^\s"'\0)]+)""")
# What makes Neutron a client of these databases; with other values it is one of other databases, or of none.
_CONNECTION = frozenset(
    f"ovn_{short}_{option}"
    for short in ("nb", "sb")
    for option in ("connection", "private_key", "certificate", "ca_cert")
)
_SYNONYMS = {
    "neutron.plugins.ml2.plugin.Ml2Plugin": "ml2",
    **dict.fromkeys(("true", "yes", "on", "1"), "true"),
    **dict.fromkeys(("false", "no", "off", "0"), "false"),
}
_ROUTER_PLUGINS = frozenset(("ovn-router", "neutron.services.ovn_l3.plugin.OVNL3RouterPlugin"))

Listing = t.Callable[[str], t.Sequence[str]]  # the files of a directory that oslo.config reads, in its order
Argument = tuple[str, str]  # "file" or "dir", and its path


class Reading(t.NamedTuple):
    """What a service reads: the sections of each file that is there, in order. `ours` is the place of our file in it, None if the service does not read it.

    `directories` are those that its command line names, in order.
    """

    service: str
    files: t.Sequence[tuple[str, Sections]]
    ours: int | None
    directories: t.Sequence[str] = ()


class Override(t.NamedTuple):
    """An option of ours that has another value in a file that is read later. `decides`: Neutron would not be a client of these databases."""

    file: str
    section: str
    option: str
    theirs: str
    ours: str
    decides: bool


def config_arguments(declared: str, running: str) -> list[Argument] | None:
    """Return the files and directories that a command line names, in order: `declared` by the unit, or where that leaves them to a script or to variables, that
    of the process, which a title that it has given itself (setproctitle) still has. None if they cannot be known: paths of a container are none of this host,
    and a variable has no value before the process runs.
    """
    if _CONTAINER.match(declared):
        return None
    found = _ARGUMENT.findall(declared)
    if found and "$" not in declared:
        return found
    return _ARGUMENT.findall(running) or (None if any("$" in path for _kind, path in found) else found)


def files_in_order(
    arguments: t.Sequence[Argument], program: str, environment: t.Mapping[str, str], listing: Listing
) -> list[str]:
    """Return the paths of the files that a process reads. The environment matters for the API under a server of others (neutron/server/__init__.py)."""
    order: list[str] = []
    kinds = {kind for kind, _path in arguments}
    if "file" not in kinds:
        folder = environment.get("OS_NEUTRON_CONFIG_DIR", FOLDER).strip()
        named = [name.strip() for name in environment.get("OS_NEUTRON_CONFIG_FILES", "").split(";") if name.strip()]
        order += [os.path.join(folder, name) for name in named or _DEFAULT_FILES]
    if "dir" not in kinds:
        order += [*listing(f"{FOLDER}/neutron.conf.d"), *listing(f"{FOLDER}/{program}.conf.d")]
    for kind, path in arguments:
        order += [path] if kind == "file" else listing(path)
    return [os.path.normpath(path) for path in order]


def overrides(reading: Reading, ours: Sections) -> list[Override]:
    """Return what counts more than ours, and is something else. `ours` are the sections of our file as it will be."""
    if reading.ours is None:
        return []
    later = reading.files[reading.ours + 1 :]
    found = []
    for section, options in ours.items():
        for option, value in options.items():
            theirs = [
                (file, sections[section][option]) for file, sections in later if option in sections.get(section, {})
            ]
            if theirs and _items(theirs[-1][1]) != _items(value):
                found += [
                    Override(file, section, option, text, value, _decides(section, option, text, value))
                    for file, text in theirs
                    if _items(text) != _items(value)
                ]
    return found


def _items(text: str) -> list[str]:
    words = [word.strip() for word in text.split(",")]
    return [_SYNONYMS.get(word, _SYNONYMS.get(word.lower(), word)) for word in words if word]


def _decides(section: str, option: str, theirs: str, ours: str) -> bool:
    """Return whether the value makes Neutron a client of something else. Other drivers beside ovn, such as that of SR-IOV, are fine."""
    if (section, option) == ("ml2", "mechanism_drivers"):
        return not set(_items(ours)) <= set(_items(theirs))
    if section == "ovn" and option in _CONNECTION:
        return set(_items(theirs)) != set(_items(ours))
    return (section, option) == (DEFAULT, "core_plugin")


def config_problem(readings: t.Sequence[Reading], ours: Sections, path: str) -> str:
    """Return why Neutron would not run with the settings of our file (`path`), empty if it would."""
    folder = os.path.dirname(path)
    for reading in readings:
        if reading.ours is None:
            # All of them have to read it.
            common = [one for one in reading.directories if all(one in other.directories for other in readings)]
            where = (
                f"is started with --config-dir {' and '.join(reading.directories)}"
                if reading.directories
                else "is started with other files"
            )
            example = f", for example {common[-1]}/{os.path.basename(path)}" if common else ""
            return (
                f"{reading.service} does not read {path}: it {where}. Nothing was changed. Set ovn_neutron_config_file to a file that it reads{example}, or "
                f"start it with --config-dir {folder} as its last option, then run again."
            )
    by_file = _by_file(readings, ours, decides=True)
    if not by_file:
        return ""
    told = []
    for file, (services, found) in by_file.items():
        values = [
            f"{one.option} in [{one.section}] is {_shown(one.theirs)} there and {_shown(one.ours)} in ours"
            for one in found
        ]
        told.append(
            f"{list_names(services)} would read {file} after {path}, and the last value counts: {', '.join(values)}."
        )
    return (
        f"{' '.join(told)} Nothing was changed. Delete these options from {' and '.join(by_file)}, or start the services with --config-dir {folder} as their "
        "last option, then run again."
    )


def config_warnings(readings: t.Sequence[Reading], ours: Sections, path: str) -> list[str]:
    """Return what else does not count of ours, without values, which may be secret; and that Neutron would have no routers."""
    found = [
        f"{list_names(services)} would read {file} after {path}, so these options of that file count: "
        f"{list_names([f'{one.option} in [{one.section}]' for one in several])}. If that is not meant, delete them there and restart the services."
        for file, (services, several) in _by_file(readings, ours, decides=False).items()
    ]
    without = [reading for reading in readings if _lacks_routers(reading)]
    if without:
        plugins, file = _service_plugins(without[0])
        place = f"service_plugins in [{DEFAULT}] of {'ovn_neutron_config' if file == path else file}"
        services = list_names([one.service for one in without])
        found.append(
            f"The service_plugins of {services} are {plugins or 'none'}, without ovn-router, so Neutron has neither routers nor floating IPs in OVN. Add it to "
            f"{place}."
        )
    return found


def _by_file(
    readings: t.Sequence[Reading], ours: Sections, *, decides: bool
) -> dict[str, tuple[list[str], list[Override]]]:
    """Return for each file the services that read it after ours, and what they find there."""
    found: dict[str, tuple[list[str], list[Override]]] = {}
    for reading in readings:
        for one in overrides(reading, ours):
            if one.decides is decides:
                services, several = found.setdefault(one.file, ([], []))
                services += [reading.service] if reading.service not in services else []
                several += [one] if one not in several else []
    return found


def _shown(text: str) -> str:
    return ",".join(dict.fromkeys(_items(text))) or "empty"


def _service_plugins(reading: Reading) -> tuple[str, str]:
    """Return the value that counts, and the file that it has to be in."""
    having = [
        (sections[DEFAULT]["service_plugins"], file)
        for file, sections in reading.files
        if "service_plugins" in sections.get(DEFAULT, {})
    ]
    return having[-1] if having else ("", f"{FOLDER}/neutron.conf")


def _lacks_routers(reading: Reading) -> bool:
    """Return False as well where no file but ours is known, as in a container."""
    known = [place for place, _one in enumerate(reading.files) if place != reading.ours]
    return bool(known) and not _ROUTER_PLUGINS & set(_items(_service_plugins(reading)[0]))
