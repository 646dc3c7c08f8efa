"""Mounts, from captures, and modules of the kernel."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._machine.commands import Answer, Commands
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck import system
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.system import (
    Mount,
    mount_of,
    parse_mounts,
    read_modules,
)

MOUNTS = r"""22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 22 0:24 / /run rw,nosuid - tmpfs tmpfs rw,size=100k
41 22 254:1 / /var/lib/ovn\040data rw,relatime shared:1 master:2 - xfs /dev/vdb rw
42 22 254:2 / /var/lib/ovn rw,relatime - ext4 /dev/vdc rw
43 42 0:60 / /var/lib/ovn rw,relatime - nfs4 filer:/ovn rw
"""


def test_mounts_with_optional_fields_and_spaces() -> None:
    assert parse_mounts(MOUNTS)[2] == Mount("/var/lib/ovn data", "xfs")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param("/etc/c5c3-ovn", Mount("/", "ext4"), id="the root"),
        pytest.param("/run", Mount("/run", "tmpfs"), id="a mount itself"),
        pytest.param("/runner/x", Mount("/", "ext4"), id="a name that begins like a mount"),
        pytest.param("/var/lib/ovn data/x", Mount("/var/lib/ovn data", "xfs"), id="a mount with a space"),
        pytest.param("/var/lib/ovn/x", Mount("/var/lib/ovn", "nfs4"), id="of two at one place the last"),
    ],
)
def test_the_mount_that_has_a_path(path: str, expected: Mount) -> None:
    assert mount_of(path, parse_mounts(MOUNTS)) == expected


class Modinfo(Commands):
    """A host whose modinfo prints this of each module; None: it has no modinfo."""

    def __init__(self, vermagic: str | None) -> None:
        self.vermagic = vermagic

    def run(self, command: t.Sequence[str], environment: t.Mapping[str, str] | None = None) -> Answer:
        assert command == ["/sbin/modinfo", "-F", "vermagic", "no_such_module"]
        return 0, f"{self.vermagic}\n", ""

    def find(self, program: str) -> str:
        return "" if self.vermagic is None else f"/sbin/{program}"


@pytest.mark.parametrize(
    ("listed", "vermagic", "state"),
    [
        pytest.param("", "6.1.0-9-amd64 SMP", "missing", id="no file"),
        pytest.param("x/no_such_module.ko.xz:\n", "6.1.0-9-amd64 SMP", "loadable", id="of this kernel"),
        pytest.param("x/no_such_module.ko:\n", "6.1.0-8-amd64 SMP", "mismatched", id="of another kernel"),
        pytest.param("x/no_such_module.ko:\n", "", "loadable", id="modinfo says nothing"),
        pytest.param("x/no_such_module.ko:\n", None, "loadable", id="no modinfo"),
    ],
)
def test_modules_of_the_kernel(listed: str, vermagic: str | None, state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {"/lib/modules/6.1.0-9-amd64/modules.dep": listed}
    monkeypatch.setattr(system, "text_if_readable", lambda path: texts.get(path, ""))
    assert read_modules(["no_such_module"], "6.1.0-9-amd64", Modinfo(vermagic)) == {"no_such_module": state}
