"""Which daemons a unit would start, by what `systemctl show` prints of its commands."""

from __future__ import annotations

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._adoption.units import (
    StoppedUnit,
    parse_units,
    read_stopped_units,
)

FILE = "/var/lib/ovn/ovnnb_db.db"
REST = "; ignore_errors=no ; start_time=[n/a] ; stop_time=[n/a] ; pid=0 ; code=(null) ; status=0/0 }"
SHOWN = f"""\
MainPID=0
ExecStart={{ path=/bin/mkdir ; argv[]=/bin/mkdir -p /run/ovn {REST}
ExecStart={{ path=/usr/sbin/ovsdb-server ; argv[]=/usr/sbin/ovsdb-server --remote=punix:/run/ovn/ovnnb_db.sock {FILE} {REST}
Id=my-nb.service

MainPID=812
ExecStart={{ path=/usr/bin/ovn-northd ; argv[]=/usr/bin/ovn-northd {REST}
Id=running.service

MainPID=0
Id=none.service
"""
COMMANDS = (("/bin/mkdir", "-p", "/run/ovn"), ("/usr/sbin/ovsdb-server", "--remote=punix:/run/ovn/ovnnb_db.sock", FILE))


def test_units_that_have_no_process() -> None:
    assert parse_units(SHOWN) == [StoppedUnit("my-nb.service", COMMANDS), StoppedUnit("none.service", ())]


def test_ours_and_templates_are_left_out() -> None:
    asked = list[tuple[str, ...]]()

    def systemctl(*arguments: str) -> str:
        asked.append(arguments)
        if arguments[0] == "show":
            return SHOWN
        return "c5c3-ovn-northd.service enabled enabled\nmy-nb.service  enabled enabled\ngetty@.service enabled enabled\n\n"

    assert [unit.name for unit in read_stopped_units(systemctl)] == ["my-nb.service", "none.service"]
    assert asked[1][-2:] == ("--", "my-nb.service")


def test_a_host_without_enabled_units() -> None:
    assert read_stopped_units(lambda *arguments: "") == []


@pytest.mark.parametrize(
    ("command", "daemons"),
    [
        pytest.param(f"/usr/sbin/ovsdb-server --remote=punix:x {FILE}", {"northbound"}, id="a server of the file"),
        pytest.param("/usr/sbin/ovsdb-server /etc/openvswitch/conf.db", set(), id="Open vSwitch"),
        pytest.param(f"/bin/sh -c exec ovsdb-server {FILE}", {"northbound"}, id="by a shell"),
        pytest.param("/usr/bin/ovn-northd --ovnnb-db=x", {"northd"}, id="northd"),
        pytest.param("/usr/share/ovn/scripts/ovn-ctl run_nb_ovsdb $OVN_CTL_OPTS", {"northbound"}, id="ovn-ctl"),
        pytest.param(f"/usr/share/ovn/scripts/ovn-ctl run_nb_ovsdb --db-nb-file={FILE}", {"northbound"}, id="its file"),
        pytest.param("/usr/share/ovn/scripts/ovn-ctl run_nb_ovsdb --db-nb-file=/x.db", set(), id="another file"),
        pytest.param("/usr/share/ovn/scripts/ovn-ctl run_sb_ovsdb", {"southbound"}, id="the other database"),
        pytest.param(
            "/usr/share/ovn/scripts/ovn-ctl start_northd --ovn-manage-ovsdb=no", {"northd"}, id="northd by ovn-ctl"
        ),
        pytest.param(
            "/usr/share/ovn/scripts/ovn-ctl start_northd", {"northd", "northbound", "southbound"}, id="all by ovn-ctl"
        ),
        pytest.param("/usr/share/ovn/scripts/ovn-ctl stop_northd", set(), id="a stop"),
        pytest.param("/usr/share/ovn/scripts/ovn-ctl start_controller", set(), id="a chassis"),
    ],
)
def test_what_a_command_starts(command: str, daemons: set[str]) -> None:
    unit = StoppedUnit("x.service", (("/bin/true",), tuple(command.split())))
    files = {"northbound": FILE, "southbound": "/var/lib/ovn/ovnsb_db.db", "northd": ""}
    assert {name for name, file in files.items() if unit.starts(name, file)} == daemons
