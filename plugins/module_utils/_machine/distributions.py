# SPDX-License-Identifier: GPL-3.0-or-later
"""What the parts of OVN are called on each distribution: packages, paths and units. Pure."""

from __future__ import annotations

import fnmatch
import posixpath
import re
import typing as t

from .._base.errors import InvalidInput

# Versions of Debian packages: their order (deb-version(7)), patterns, and the part that upstream gave. Pure.

_END = ((0,), 0)
_PARTS = re.compile(r"(\D*)(\d*)")


def _order(character: str) -> int:
    """Return the rank of a character: a tilde comes before the end of a text, then letters, then all others."""
    if character == "~":
        return -1
    return ord(character) if character.isalpha() else ord(character) + 256


def _key(text: str) -> list[tuple[tuple[int, ...], int]]:
    parts = [
        ((*(_order(character) for character in letters), 0), int(digits or 0))
        for letters, digits in _PARTS.findall(text)
        if letters or digits
    ]
    return [*parts, _END]


def _split(version: str) -> tuple[str, str, str]:
    """Return epoch, upstream's version and Debian's revision; what a version does not have is "0"."""
    epoch, colon, rest = version.rpartition(":")
    upstream, hyphen, revision = rest.rpartition("-")
    return (epoch if colon else "0"), (upstream if hyphen else rest), (revision if hyphen else "0")


def version_key(version: str) -> t.Any:
    """Return what a version is sorted by: a greater key is a newer version."""
    epoch, upstream, revision = _split(version)
    return int(epoch) if epoch.isdigit() else 0, _key(upstream), _key(revision)


def is_newer(version: str, other: str) -> bool:
    return bool(version_key(version) > version_key(other))


def matches(version: str, pattern: str) -> bool:
    """Return whether a version is the desired one; an empty pattern is any version, and `*` stands for any text."""
    return not pattern or fnmatch.fnmatchcase(version, pattern)


def is_exact(pattern: str) -> bool:
    """Return whether the pattern is a version and can be no other."""
    return bool(pattern) and not set(pattern) & set("*?[")


def upstream_version(version: str) -> str:
    """Return the version without Debian's revision: two packages that have it in common differ in patches alone."""
    epoch, upstream, _revision = _split(version)
    return upstream if epoch == "0" else f"{epoch}:{upstream}"


# A package source in the format of deb822 (sources.list(5)). Pure.

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_FIELDS = {
    "types": "Types",
    "uris": "URIs",
    "suites": "Suites",
    "components": "Components",
    "architectures": "Architectures",
}
_KEYS = {"name", "signed_by", *_FIELDS}
DEFAULT_NAME = "c5c3-ovn"


def _words(name: str, value: t.Any) -> list[str]:
    words = value.split() if isinstance(value, str) else [str(word) for word in value or ()]
    if any(re.search(r"\s", word) or not word for word in words):
        raise InvalidInput(f"ovn_packages_repository.{name} has a value with a space: {words}. Give a list.")
    return words


def _signed_by(value: str) -> list[str]:
    """Return the lines of Signed-By: a path, or a key as text, whose lines are continued and whose empty lines are dots."""
    text = value.strip()
    if text.startswith("/") and "\n" not in text:
        return [f"Signed-By: {text}"]
    if not text.startswith("-----BEGIN PGP PUBLIC KEY BLOCK-----"):
        raise InvalidInput(
            "ovn_packages_repository.signed_by is neither an absolute path nor an ASCII-armored public key. Give the path of a key on the "
            "hosts, or the key itself (gpg --armor --export)."
        )
    return ["Signed-By:", *(f" {line.rstrip() or '.'}" for line in text.splitlines())]


def source_file(repository: t.Mapping[str, t.Any], directory: str) -> tuple[str, str] | None:
    """Return path and content of the file of a repository, None if there is none declared. Without `signed_by` apt's own keys count."""
    given = {key: value for key, value in repository.items() if value not in (None, "", [])}
    if not given:
        return None
    unknown = sorted(set(given) - _KEYS)
    if unknown:
        raise InvalidInput(f"ovn_packages_repository has no {', '.join(unknown)}. It has {', '.join(sorted(_KEYS))}.")
    name = str(given.get("name", DEFAULT_NAME))
    if not _NAME.fullmatch(name):
        raise InvalidInput(
            f'ovn_packages_repository.name is "{name}". Give letters, digits, dots, hyphens and underscores.'
        )
    fields = {"types": ["deb"], **{key: _words(key, given[key]) for key in _FIELDS if key in given}}
    missing = [key for key in ("uris", "suites") if not fields.get(key)]
    if missing:
        raise InvalidInput(f"ovn_packages_repository has no {' and no '.join(missing)}. Set them, or leave it empty.")
    is_flat = all(suite.endswith("/") for suite in fields["suites"])
    if is_flat == bool(fields.get("components")):
        raise InvalidInput(
            "ovn_packages_repository: a suite needs components, such as main, and a suite that ends with a slash (a folder of packages) has none."
        )
    lines = [f"{_FIELDS[key]}: {' '.join(fields[key])}" for key in _FIELDS if fields.get(key)]
    lines += _signed_by(str(given["signed_by"])) if "signed_by" in given else []
    return f"{directory}/{name}.sources", "\n".join(["# Written by Ansible: changes are lost.", *lines, ""])


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
