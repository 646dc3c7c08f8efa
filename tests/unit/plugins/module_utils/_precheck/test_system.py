"""Mounts, from captures."""

from __future__ import annotations

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.system import (
    Mount,
    mount_of,
    parse_mounts,
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
