"""A package source in the format of deb822."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import InvalidInput
from ansible_collections.c5c3.ovn.plugins.module_utils._machine.package_source import source_file

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
