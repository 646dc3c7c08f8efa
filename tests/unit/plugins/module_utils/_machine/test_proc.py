from __future__ import annotations

from ansible_collections.c5c3.ovn.plugins.module_utils._machine.proc import (
    bridges_of,
    control_sockets,
    foreign_control_sockets,
    parse_listening,
)

TEXT = """\
Num       RefCount Protocol Flags    Type St Inode Path
0000000000000000: 00000002 00000000 00010000 0001 01 24461 /var/run/openvswitch/ovs-vswitchd.812.ctl
0000000000000000: 00000003 00000000 00000000 0001 03 24462 /run/openvswitch/db.sock
0000000000000000: 00000002 00000000 00010000 0001 01 24463 /run/openvswitch/br-int.mgmt
0000000000000000: 00000002 00000000 00010000 0001 01 24464 /run/with a blank/ovs-vswitchd.ctl
0000000000000000: 00000002 00000000 00010000 0001 01 24465
0000000000000000: 00000002 00000000 00010000 0001 01 24466 /run/ovs-vswitchd.old.ctl
"""


def test_who_listens() -> None:
    sockets = parse_listening(TEXT)
    assert control_sockets(sockets, "ovs-vswitchd") == [
        "/run/with a blank/ovs-vswitchd.ctl",
        "/var/run/openvswitch/ovs-vswitchd.812.ctl",
    ]
    assert "/run/openvswitch/db.sock" not in sockets, "that is a connection"
    assert bridges_of(sockets) == ["br-int"]


def test_ours_is_the_one_that_exists_here() -> None:
    same, theirs = "/run/ovn/ovn-controller.8.ctl", "/var/run/ovn/ovn-controller.9.ctl"
    for exists, expected in ((True, [same, theirs]), (False, [same, same, theirs])):
        found = foreign_control_sockets([same, same, theirs], "ovn-controller", "/run/ovn", lambda _path, e=exists: e)
        assert sorted(found) == expected
    assert foreign_control_sockets([same], "ovn-controller", "/run/ovn", lambda _path: True) == []
