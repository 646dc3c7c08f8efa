"""Packages, paths and units of distributions, and what an inventory says in their place."""

from __future__ import annotations

import itertools
import pathlib
import re
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._machine.distributions import (
    Role,
    distribution_data,
    is_exact,
    is_newer,
    matches,
    source_file,
    upstream_version,
    version_key,
)

ROCKY = {"id": "rocky", "name": "Rocky Linux 9.4 (Blue Onyx)"}
CENTRAL: dict[str, t.Any] = {
    "packages": ["ovn24.03-central"],
    "files": [],
    "masked_units": [],
    "northd": "/usr/sbin/northd",
    "appctl": "/usr/sbin/ovn-appctl",
    "run_directory": "/run/openvswitch/ovn",
    "schema_directory": "/usr/share/openvswitch",
}


@pytest.mark.parametrize("observed", [{}, {"id": ""}, {"id": "debian"}, {"id": "ubuntu"}])
@pytest.mark.parametrize("role", ["central", "hypervisor"])
def test_debian_and_ubuntu_are_known(role: Role, observed: dict[str, str]) -> None:
    data = distribution_data(role, {}, observed, "h1")
    assert data["problem"] == ""
    assert all(data[key] for key in data if key != "problem")


def test_an_inventory_replaces_what_it_names() -> None:
    given = {"packages": ["ovn-central", "mine"], "northd": "/opt/northd", "files": None}
    data = distribution_data("central", given, {"id": "debian"}, "h1")
    assert data == {
        **distribution_data("central", {}, {}, "h1"),
        "packages": given["packages"],
        "northd": "/opt/northd",
    }


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ({}, "packages, files, masked_units, northd, appctl, run_directory, schema_directory"),
        ({**CENTRAL, "northd": "", "appctl": None}, "northd, appctl"),
    ],
)
def test_an_unknown_distribution_is_named_with_what_to_set(given: dict[str, t.Any], missing: str) -> None:
    problem = distribution_data("central", given, ROCKY, "h1")["problem"]
    assert problem.startswith("h1 runs Rocky Linux 9.4 (Blue Onyx), whose packages")
    assert f"Set {missing} in ovn_central_distribution" in problem


def test_an_unknown_distribution_that_is_described() -> None:
    computed = {"problem": "", "runtime_directory": "openvswitch/ovn"}
    assert distribution_data("central", CENTRAL, ROCKY, "h1") == {**CENTRAL, **computed}


@pytest.mark.parametrize("given", ["/run/ovn", "/var/run/ovn", "/run/ovn/"])
@pytest.mark.parametrize("role", ["central", "hypervisor"])
def test_var_run_is_an_older_name_of_run(role: Role, given: str) -> None:
    data = distribution_data(role, {"run_directory": given}, {}, "h1")
    assert (data["run_directory"], data["runtime_directory"]) == ("/run/ovn", "ovn")


@pytest.mark.parametrize("given", ["/run", "/var/lib/ovn", "ovn", "/run/../etc"])
def test_a_run_directory_that_systemd_cannot_create(given: str) -> None:
    with pytest.raises(InvalidInput, match=r"run_directory of ovn_central_distribution is .* below /run"):
        distribution_data("central", {"run_directory": given}, {}, "h1")


def test_a_key_that_does_not_exist() -> None:
    with pytest.raises(InvalidInput, match=r"ovn_hypervisor_distribution has no northd\. It has packages, files"):
        distribution_data("hypervisor", {"northd": "/x"}, {}, "h1")


ROOT = pathlib.Path(__file__).parents[5]
FIXED = re.compile(r"/run/ovn\b|/usr/share/ovn|RuntimeDirectory=ovn|(?<![-\w/])ovn-appctl\b")


def code_of(path: pathlib.Path) -> list[str]:
    return [line for line in path.read_text(encoding="utf-8").splitlines() if not line.lstrip().startswith("#")]


def test_no_role_has_a_path_of_a_distribution_of_its_own() -> None:
    files = [*ROOT.glob("roles/*/tasks/*.yml"), *ROOT.glob("roles/*/vars/*.yml"), *ROOT.glob("roles/*/templates/*")]
    assert len(files) > 50
    assert {
        f"{path.parent.parent.name}/{path.name}": line for path in files for line in code_of(path) if FIXED.search(line)
    } == {}


BASE = {"uris": "https://mirror.example.com/debian", "suites": "trixie", "components": "main"}
KEY = "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmDMEZ\n=abcd\n-----END PGP PUBLIC KEY BLOCK-----\n"
HEAD = "# Written by Ansible: changes are lost.\nTypes: deb\n"


@pytest.mark.parametrize(
    ("given", "name", "expected"),
    [
        (BASE, "c5c3-ovn", "URIs: https://mirror.example.com/debian\nSuites: trixie\nComponents: main\n"),
        (
            {
                **BASE,
                "name": "ovn",
                "suites": ["trixie", "trixie-updates"],
                "components": "main contrib",
                "signed_by": "/etc/apt/ovn.gpg",
            },
            "ovn",
            "URIs: https://mirror.example.com/debian\nSuites: trixie trixie-updates\nComponents: main contrib\nSigned-By: /etc/apt/ovn.gpg\n",
        ),
        (
            {
                "uris": ["file:/srv/packages"],
                "suites": "./",
                "components": [],
                "architectures": ["amd64"],
                "signed_by": KEY,
            },
            "c5c3-ovn",
            "URIs: file:/srv/packages\nSuites: ./\nArchitectures: amd64\nSigned-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n mDMEZ\n =abcd\n"
            " -----END PGP PUBLIC KEY BLOCK-----\n",
        ),
    ],
)
def test_the_file(given: dict[str, t.Any], name: str, expected: str) -> None:
    assert source_file(given, "/d") == (f"/d/{name}.sources", HEAD + expected)


@pytest.mark.parametrize("given", [{}, {"uris": "", "suites": None, "components": []}])
def test_none_is_declared(given: dict[str, t.Any]) -> None:
    assert source_file(given, "/d") is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({**BASE, "uri": "x"}, "has no uri. It has architectures, components"),
        ({"uris": "x"}, "has no suites"),
        ({**BASE, "name": "../x"}, 'name is "../x"'),
        ({**BASE, "components": ""}, "needs components"),
        ({**BASE, "suites": "./"}, "needs components"),
        ({**BASE, "uris": ["a b"]}, "Give a list"),
        ({**BASE, "signed_by": "keyring.gpg"}, "neither an absolute path nor"),
    ],
)
def test_what_can_never_work(given: dict[str, t.Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message.replace(".", r"\.")):
        source_file(given, "/d")


# Ascending; those of one line are equal.
ORDERED = [
    ["1.0~~", "0:1.0~~-0"],
    ["1.0~beta1"],
    ["1.0", "1.0-0", "1.00"],
    ["1.0-1~deb12u1"],
    ["1.0-1"],
    ["1.0-1+deb12u1"],
    ["1.0a"],
    ["1.0+git"],
    ["1.0.1"],
    ["1.9"],
    ["1.10-2", "1.10-02"],
    ["1.10-2-1"],
    ["23.03.1-1~deb12u2"],
    ["25.03.0-1"],
    ["1:0.1"],
]


def test_versions_in_their_order() -> None:
    for older, newer in itertools.combinations(ORDERED, 2):
        for low, high in itertools.product(older, newer):
            assert is_newer(high, low), (low, high)
            assert not is_newer(low, high), (low, high)
    for equal in ORDERED:
        assert all(version_key(version) == version_key(equal[0]) for version in equal)


@pytest.mark.parametrize(
    ("version", "pattern", "expected"),
    [
        ("25.03.0-1", "", True),
        ("25.03.0-1", "25.03.0-1", True),
        ("25.03.0-1", "25.03.0", False),
        ("25.03.0-1", "25.03.*", True),
        ("25.10.0-1", "25.03.*", False),
        ("2:25.03.0-1", "25.03.*", False),
    ],
)
def test_which_version_is_the_desired_one(version: str, pattern: str, expected: bool) -> None:
    assert matches(version, pattern) is expected


def test_what_is_one_version() -> None:
    assert [is_exact(pattern) for pattern in ("", "1.0-1", "1.*", "1.?", "1.[01]")] == [
        False,
        True,
        False,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("version", "expected"),
    [("25.03.0-1", "25.03.0"), ("2:3.5.0-1~deb13u1", "2:3.5.0"), ("0:1.0-1", "1.0"), ("1-2-3", "1-2"), ("1", "1")],
)
def test_what_upstream_calls_it(version: str, expected: str) -> None:
    assert upstream_version(version) == expected
