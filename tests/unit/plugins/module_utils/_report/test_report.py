"""The report on a whole installation: what is a problem, what is a warning, and how it reads."""

from __future__ import annotations

import copy
import dataclasses
import typing as t

import pytest
from report_page import differences

from ansible_collections.c5c3.ovn.plugins.module_utils._raft.answer import Answer, Problem, ServerView
from ansible_collections.c5c3.ovn.plugins.module_utils._raft.contents import Contents
from ansible_collections.c5c3.ovn.plugins.module_utils._report import report as report_file
from ansible_collections.c5c3.ovn.plugins.module_utils._report.databases import contents_in
from ansible_collections.c5c3.ovn.plugins.module_utils._report.findings import PROBLEMS as PROBLEM_CODES
from ansible_collections.c5c3.ovn.plugins.module_utils._report.findings import WARNINGS as WARNING_CODES
from ansible_collections.c5c3.ovn.plugins.module_utils._report.installation import Host, Installation

NAMES = ("central1", "central2", "central3")
SIDS = {name: f"{digit * 8}-{digit * 4}-4000-8000-{digit * 12}" for name, digit in zip(NAMES, "abc")}
CID = {
    "OVN_Northbound": "a0b739a1-2c38-479b-9e0d-605e9da30330",
    "OVN_Southbound": "b1b739a1-2c38-479b-9e0d-605e9da30331",
    "OVN_IC_Northbound": "c1b739a1-2c38-479b-9e0d-605e9da30332",
}


def status(name: str, database: str, leader: str = "central2") -> str:
    port = 6643 if database == "OVN_Northbound" else 6644
    servers = ""
    for index, other in enumerate(NAMES, 1):
        line = f"    {SIDS[other][:4]} ({SIDS[other][:4]} at ssl:192.0.2.{index}:{port})"
        line += " (self)" if other == name else ""
        line += " next_index=9 match_index=8" if name == leader else ""
        line += "" if other == name else " last msg 20 ms ago"
        servers += line + "\n"
    peers = [SIDS[other][:4] for other in NAMES if other != name]
    return f"""{SIDS[name][:4]}
Name: {database}
Cluster ID: {CID[database][:4]} ({CID[database]})
Server ID: {SIDS[name][:4]} ({SIDS[name]})
Address: ssl:192.0.2.{NAMES.index(name) + 1}:{port}
Status: cluster member
Role: {"leader" if name == leader else "follower"}
Term: 4
Leader: {"self" if name == leader else SIDS[leader][:4]}
Vote: unknown

Last Election won: 99999 ms ago
Election timer: 5000
Log: [2, 9]
Entries not yet committed: 0
Entries not yet applied: 0
Connections: {" ".join(f"->{peer} <-{peer}" for peer in peers)}
Disconnections: 0
Servers:
{servers}"""


def member(name: str, database: str) -> dict[str, t.Any]:
    server = ServerView("clustered", True, name == "central2", CID[database], SIDS[name], 8, f"{name}-{database}")
    answer = Answer(
        name, database, status(name, database), server=server, version="ovsdb-server (Open vSwitch) 3.5.3\n"
    )
    return {"answers": [answer.as_dict()], "verdict": "degraded", "writable": True}


def info(name: str) -> dict[str, t.Any]:
    database = {"version": "3.5.3", "reason": ""}
    number = NAMES.index(name) + 1
    return {
        "northd": {
            "state": "active" if name == "central1" else "standby",
            "northbound_connected": True,
            "southbound_connected": True,
            "version": "25.03.0",
            "reason": "",
        },
        "databases": {
            "northbound": {**database, "schema_version": "7.11.0"},
            "southbound": {**database, "schema_version": "20.41.0"},
        },
        "certificates": [
            {"endpoint": f"ssl:192.0.2.{number}:6641", "subject": name, "days_left": 360 + number, "problem": ""}
        ],
    }


def chassis(name: str, **changes: t.Any) -> dict[str, t.Any]:
    return {
        "name": name,
        "hostname": f"{name}.example.com",
        "registered": True,
        "alive": True,
        "remote": False,
        "nb_cfg": 17,
        "nb_cfg_timestamp": 1767225600123,
        "encapsulations": [{"type": "geneve", "ip": f"192.0.2.{sum(map(ord, name)) % 200}"}],
        "bridge_mappings": [{"physical_network": "physnet1", "bridge": "br-ex"}],
        "gateway": name == "hv1",
        "cms_options": [],
        "transport_zones": [],
        **changes,
    }


HEARTBEAT = {
    "nb_cfg": 17,
    "probed": True,
    "northd_alive": True,
    "reason": "",
    "sb_ms": 3.14,
    "hv_ms": 12.4,
    "chassis": [chassis("hv1"), chassis("hv2")],
    "late": [],
    "northd_version": "25.03.0-20.41.0-78.8",
}
UNREACHABLE = {"unreachable": True, "msg": "Failed to connect to the host via ssh:\n timed out"}


def installation(change: t.Callable[[dict[str, t.Any]], object] = lambda parts: None) -> Installation:
    """A healthy one with `change` made to its parts."""
    parts: dict[str, t.Any] = {
        "central": {
            name: {
                "northbound": member(name, "OVN_Northbound"),
                "southbound": member(name, "OVN_Southbound"),
                "info": info(name),
            }
            for name in NAMES
        },
        "chassis": {"hv1": "hv1", "hv2": "hv2"},
        "heartbeat": copy.deepcopy(HEARTBEAT),
        "northbound_endpoints": ["ssl:192.0.2.1:6641", "ssl:192.0.2.2:6641"],
        "southbound_endpoints": ["ssl:192.0.2.1:16642", "ssl:192.0.2.2:16642"],
    }
    change(parts)
    return Installation(**{**parts, "central": {name: Host(**host) for name, host in parts["central"].items()}})


def build_report(installation: Installation) -> dict[str, t.Any]:
    """The report, which has the documented structure and codes whatever is wrong."""
    report = report_file.build_report(installation)
    assert differences(report) == []
    codes = {
        severity: {f["code"] for f in report["findings"] if f["severity"] == severity}
        for severity in ("problem", "warning")
    }
    assert codes["problem"] - PROBLEM_CODES == codes["warning"] - WARNING_CODES == set()
    return report


def test_a_healthy_installation_reads_like_this() -> None:
    report = build_report(installation())
    assert report["lines"] == [
        "OVN is healthy",
        "Northbound    healthy     leader central2, 3/3 members, term 4, timer 5000 ms, cluster a0b739a1",
        "Southbound    healthy     leader central2, 3/3 members, term 4, timer 5000 ms, cluster b1b739a1",
        "northd        healthy     active on central1; standby on central2, central3",
        "Heartbeat     healthy     northd 3.1 ms, all chassis 12 ms (number 17)",
        "Chassis       healthy     2/2 alive",
        "  hv1         alive       geneve 192.0.2.71, physnet1:br-ex, gateway",
        "  hv2         alive       geneve 192.0.2.72, physnet1:br-ex",
        "Versions      equal       OVN 25.03.0, ovsdb-server 3.5.3, Northbound schema 7.11.0, Southbound schema 20.41.0",
        "Certificates  healthy     361 days left, earliest expiry: central1 at ssl:192.0.2.1:6641",
        "Neutron                   ovn_nb_connection = ssl:192.0.2.1:6641,ssl:192.0.2.2:6641",
        "                          ovn_sb_connection = ssl:192.0.2.1:16642,ssl:192.0.2.2:16642",
    ]
    assert report["healthy"]
    assert (report["problems"], report["warnings"]) == ([], [])
    assert report["neutron"]["ovn_nb_connection"] == "ssl:192.0.2.1:6641,ssl:192.0.2.2:6641"
    assert report["chassis"]["alive"] == ["hv1", "hv2"]


def test_a_port_for_neutron_that_is_not_exposed_is_named() -> None:
    plane = {"northbound": 3, "southbound": 3}
    unexposed = both(put("southbound_endpoints", []), put("central", "central1", "members", plane))
    lines = build_report(installation(unexposed))["lines"]
    (line,) = [one for one in lines if "ovn_sb_connection" in one]
    assert "neutronIntegration.sbConnection.allowedCidrs" in line
    assert not any(
        "ovn_sb_connection" in one for one in build_report(installation(put("southbound_endpoints", [])))["lines"]
    )


def put(*path: t.Any) -> t.Callable[[dict[str, t.Any]], None]:
    """put("heartbeat", "late", ["hv2"]) sets parts["heartbeat"]["late"]; of "central1", "northd" in the right place."""

    def change(parts: dict[str, t.Any]) -> None:
        target: t.Any = parts
        for key in path[:-2]:
            target = target[key]
        target[path[-2]] = path[-1]

    return change


def both(*changes: t.Callable[[dict[str, t.Any]], None]) -> t.Callable[[dict[str, t.Any]], None]:
    def change(parts: dict[str, t.Any]) -> None:
        for one in changes:
            one(parts)

    return change


def northd(name: str, key: str, value: t.Any) -> t.Callable[[dict[str, t.Any]], None]:
    return put("central", name, "info", "northd", key, value)


def certificate(key: str, value: t.Any) -> t.Callable[[dict[str, t.Any]], None]:
    return put("central", "central3", "info", "certificates", 0, key, value)


PROBLEMS: list[tuple[str, t.Callable[[dict[str, t.Any]], None], list[str]]] = [
    (
        "an unreachable host",
        put("central", "central3", {"northbound": UNREACHABLE, "southbound": UNREACHABLE, "info": UNREACHABLE}),
        ["central3 cannot be reached: Failed to connect to the host via ssh: timed out."],
    ),
    (
        "a member that does not answer",
        put("central", "central3", "northbound", {"msg": "central3 is on fire"}),
        ["Northbound: "],
    ),
    ("a paused northd", northd("central2", "state", "paused"), ["northd on central2 is paused"]),
    ("no active northd", northd("central1", "state", "standby"), ["No northd is active"]),
    ("two active northds", northd("central2", "state", "active"), ["northd is active on central1, central2 at once"]),
    (
        "a northd that is not there",
        both(northd("central2", "state", "unreachable"), northd("central2", "reason", "no such file")),
        ["northd on central2 does not answer: no such file"],
    ),
    (
        "a northd without a database",
        northd("central3", "southbound_connected", False),
        ["northd on central3 is not connected to the Southbound database"],
    ),
    ("a heartbeat that failed", put("heartbeat", {"msg": "no quorum"}), ["The heartbeat could not be sent: no quorum"]),
    ("no heartbeat at all", put("heartbeat", None), ["The heartbeat could not be sent: no central host"]),
    (
        "a northd that does not answer a heartbeat",
        both(
            put("heartbeat", "northd_alive", False),
            put("heartbeat", "probed", False),
            put("heartbeat", "reason", "northd has not answered heartbeat 17"),
        ),
        ["northd has not answered heartbeat 17"],
    ),
    (
        "a late chassis",
        both(put("heartbeat", "chassis", 1, "alive", False), put("heartbeat", "hv_ms", None), put("heartbeat", "chassis", 1, "nb_cfg", 12)),
        ["Chassis hv2 has not answered heartbeat 17, its last answer was 12"],
    ),
    ("a missing chassis", put("chassis", "hv3-id", "hv3"), ["Chassis hv3-id (hv3) is not registered"]),
    (
        "a left-over without a chassis",
        both(put("heartbeat", "chassis", 1, "registered", False), put("heartbeat", "chassis", 1, "alive", False)),
        ["Chassis hv2 is not registered"],
    ),
    (
        "one encapsulation address twice",
        put("heartbeat", "chassis", 1, "encapsulations", [{"type": "vxlan", "ip": "192.0.2.71"}]),
        ["Chassis hv1, hv2 have the same encapsulation address 192.0.2.71"],
    ),
    (
        "one encapsulation address in two spellings",
        put("heartbeat", "chassis", 1, "encapsulations", [{"type": "geneve", "ip": "::ffff:192.0.2.71"}]),
        ["Chassis hv1, hv2 have the same encapsulation address 192.0.2.71"],
    ),
    (
        "one host name twice",
        put("heartbeat", "chassis", 1, "hostname", "HV1.example.com"),
        ["Chassis hv1, hv2 have the same host name hv1.example.com"],
    ),
    (
        "ports that are bound elsewhere",
        put(
            "heartbeat",
            "misplaced_ports",
            [{"port": f"vm{number}", "requested": ["hv1"], "chassis": ["hv2"]} for number in range(5)],
        ),
        [
            "Chassis hv2 has bound ports that are requested elsewhere: vm0 (requested: hv1), vm1 (requested: hv1), "
            "vm2 (requested: hv1) and 2 more. Check who controls that machine"
        ],
    ),
    (
        "a port whose certificate is no good",
        certificate("problem", "ssl:192.0.2.3:6641 serves a certificate that ca_certificate does not trust"),
        ["central3: ssl:192.0.2.3:6641 serves a certificate"],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("change", "starts"), [row[1:] for row in PROBLEMS], ids=[row[0] for row in PROBLEMS])
def test_problem(change: t.Callable[[dict[str, t.Any]], None], starts: list[str]) -> None:
    report = build_report(installation(change))
    assert not report["healthy"]
    assert len(report["problems"]) == len(starts), report["problems"]
    for problem, start in zip(report["problems"], starts):
        assert problem.startswith(start)
    assert report["lines"][0].startswith("OVN has ")
    assert len(report["lines"]) <= 20
    assert all("\n" not in line for line in report["lines"])


# --- what members hold, and what clients see --------------------------------------------------------------------------


def holding(name: str, log_index: int, digest: str) -> dict[str, t.Any]:
    """The result of reading what a member of the Northbound holds."""
    answer = Answer.from_dict(member(name, "OVN_Northbound")["answers"][0])
    contents = Contents(log_index, {"ACL": "1", "Logical_Switch": digest})
    return {"answers": [dataclasses.replace(answer, contents=contents).as_dict()]}


@pytest.mark.parametrize(
    ("held", "verdict", "problem", "warning"),
    [
        pytest.param([(8, "1"), (8, "1"), (8, "1")], "healthy", "", "", id="members that hold the same are healthy"),
        pytest.param(
            [(8, "1"), (8, "1"), (8, "2")],
            "diverged",
            "Northbound: Members hold different data at log index 8: central1, central2 differ from central3 in Logical_Switch.",
            "",
            id="one that holds something else is named with the table",
        ),
        pytest.param(
            [(8, "1"), (8, "1"), (9, "2")],
            "healthy",
            "",
            "Northbound: Not all members could be compared by what they hold: central3 was read at log index 9.",
            id="one that was read later is a warning",
        ),
    ],
)
def test_what_members_of_several_hosts_hold(
    held: list[tuple[int, str]], verdict: str, problem: str, warning: str
) -> None:
    def change(parts: dict[str, t.Any]) -> None:
        for name, (log_index, digest) in zip(NAMES, held):
            parts["central"][name]["contents"] = {"northbound": holding(name, log_index, digest)}

    report = build_report(installation(change))
    assert report["northbound"]["verdict"] == verdict
    assert report["southbound"]["verdict"] == "healthy"
    assert "".join(report["problems"]).startswith(problem)
    assert report["healthy"] is not bool(problem)
    assert "".join(report["warnings"]).startswith(warning)


def test_what_was_asked_again_counts() -> None:
    first = {**info("central1"), "raft": {"northbound": holding("central1", 8, "1"), "southbound": {"answers": []}}}
    late = {**info("central2"), "certificates": [], "raft": {"northbound": holding("central1", 9, "2")}}
    host = Host.of(first, late)
    assert (host.northbound, host.southbound) == (first["raft"]["northbound"], first["raft"]["southbound"])
    assert contents_in(host.contents["northbound"])["central1"].log_index == 9
    assert host.info is not None
    assert (host.info["northd"], host.info["certificates"]) == (late["northd"], first["certificates"])
    for nothing in (None, {"skipped": True}, UNREACHABLE):
        assert Host.of(first, nothing) == Host.of(first)
    assert Host.of(first).contents == {}
    assert contents_in({"msg": "failed"}) == {}


def test_a_call_that_failed_failed_for_all_that_it_asked() -> None:
    for failed in (None, UNREACHABLE, {"msg": "no such file"}):
        host = Host.of(failed)
        assert (host.northbound, host.southbound, host.info) == (failed, failed, failed)
    assert Host.of(UNREACHABLE).unreachable.startswith("Failed to connect")


def test_a_host_that_gave_no_answer_in_time_cannot_be_reached() -> None:
    ended = {"failed": False, "msg": "Timed out after 20 second(s).", "timedout": {"period": 20}}
    dead = {"northbound": ended, "southbound": ended, "info": ended}
    report = build_report(installation(put("central", "central3", dead)))
    assert report["problems"] == ["central3 cannot be reached: it gave no answer within 20 s."]


def test_addresses_that_do_not_answer_clients_are_named() -> None:
    dead = {"endpoint": "ssl:192.0.2.2:6641", "problem": "ssl:192.0.2.2:6641 did not answer within 5 s."}
    good = {"endpoint": "ssl:192.0.2.1:6641", "problem": ""}
    change = both(put("addresses", [good, dead, good]), put("asked_from", "central1"))
    report = build_report(installation(change))
    assert report["problems"] == [
        "1 of 3 addresses that clients use do not answer, seen from central1: ssl:192.0.2.2:6641 did not answer within 5 s."
    ]
    assert report["addresses"] == ["ssl:192.0.2.2:6641"]
    assert "Addresses     problem     2/3 answer clients, seen from central1" in report["lines"]


WARNINGS: list[tuple[str, t.Callable[[dict[str, t.Any]], None], str]] = [
    ("an unexpected chassis", put("chassis", {"hv1": "hv1"}), "Chassis hv2 (hv2.example.com, 192.0.2.72) is alive, but is not in the inventory"),
    (
        "an unexpected dead chassis",
        both(put("chassis", {"hv1": "hv1"}), put("heartbeat", "chassis", 1, "alive", False)),
        "Chassis hv2 (hv2.example.com, 192.0.2.72) does not answer, but is not in the inventory",
    ),
    ("a certificate that ends soon", certificate("days_left", 29), "The certificate that central3 serves"),
    ("a northd of another version", northd("central3", "version", "25.09.0"), "northd differs between hosts: 25.03.0 on central1, central2; 25"),
    (
        "another schema",
        put("central", "central3", "info", "databases", "northbound", "schema_version", "7.0.0"),
        "The Northbound schema differs between hosts",
    ),
    ("a foreign northd", put("heartbeat", "northd_version", "24.03.1-20.33.0-76.8"), "northd 24.03.1 wrote the Southbound database"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "start"), [row[1:] for row in WARNINGS], ids=[row[0] for row in WARNINGS])
def test_warning(change: t.Callable[[dict[str, t.Any]], None], start: str) -> None:
    report = build_report(installation(change))
    assert report["healthy"]
    assert len(report["warnings"]) == 1, report["warnings"]
    assert report["warnings"][0].startswith(start)
    assert report["lines"][0] == "OVN is healthy, 1 warning"


def old(*fixed: str) -> t.Callable[[dict[str, t.Any]], None]:
    """Servers of Open vSwitch 3.1.0 on all hosts, with these codes acknowledged."""

    def change(parts: dict[str, t.Any]) -> None:
        for host in parts["central"].values():
            for database in ("northbound", "southbound"):
                host[database]["answers"][0]["version"] = "ovsdb-server (Open vSwitch) 3.1.0\n"
        parts["acknowledge"] = frozenset(fixed)

    return change


def test_faults_of_a_version_are_warnings_of_their_own() -> None:
    report = build_report(installation(old()))
    assert report["lines"][0] == "OVN is healthy, 5 warnings"
    found = {finding["code"]: finding["fixed_in"] for finding in report["findings"]}
    assert found == {
        "fault_join": "3.1.5",
        "fault_leave": "3.3.5",
        "fault_pre_vote": "3.3.8",
        "fault_wrong_peer": "3.3.8",
        "fault_transfer": "3.1.5",
    }
    assert report["warnings"][0] == (
        "Northbound and Southbound: Open vSwitch 3.1.0 has a known fault, fixed in 3.1.5 or by a backport: "
        "a member may never finish to join, or lead while it joins."
    )


def test_acknowledged_warnings_are_listed_but_not_counted() -> None:
    report = build_report(installation(old("fault_join", "fault_leave")))
    assert report["lines"][0] == "OVN is healthy, 3 warnings"
    assert report["lines"][-1] == (
        "Acknowledged: fault_join (fixed in Open vSwitch 3.1.5), fault_leave (fixed in Open vSwitch 3.3.5)"
    )
    assert [(f["code"], f["acknowledged"]) for f in report["findings"]] == [
        ("fault_pre_vote", False),
        ("fault_wrong_peer", False),
        ("fault_transfer", False),
        ("fault_join", True),
        ("fault_leave", True),
    ]
    assert len(report["warnings"]) == 3


def test_an_acknowledged_warning_leaves_its_part_healthy() -> None:
    soon = both(
        certificate("days_left", 29),
        put("central", "central2", "info", "certificates", 0, "days_left", 28),
        put("acknowledge", frozenset({"certificate_expires"})),
    )
    report = build_report(installation(soon))
    assert report["lines"][0] == "OVN is healthy"
    assert any(line.startswith("Certificates  healthy     28 days left") for line in report["lines"])
    assert report["lines"][-1] == "Acknowledged: certificate_expires (2 warnings)"


def test_a_problem_is_not_acknowledged() -> None:
    acknowledged = put("acknowledge", frozenset({"northd_paused", "partial_view"}))
    report = build_report(installation(both(northd("central2", "state", "paused"), acknowledged)))
    assert not report["healthy"]


def pair(days_left: int | None, in_service: bool = True) -> dict[str, t.Any]:
    """What ovn_certificate says of a chassis' machine."""
    return {"changed": False, "in_service": in_service, "days_left": days_left}


@pytest.mark.parametrize(
    ("common_name", "has_relays", "warnings"),
    [("hv1", True, 0), ("", True, 0), ("hv9", True, 1), pytest.param("hv9", False, 0, id="of all nodes of a cluster")],
)
def test_a_chassis_with_the_certificate_of_another(common_name: str, has_relays: bool, warnings: int) -> None:
    held = {**pair(99), "installed_common_name": common_name}
    machine = both(put("chassis", {"hv1": "machine1", "hv2": "hv2"}), put("chassis_certificates", {"machine1": held}))
    report = build_report(installation(both(machine, put("has_relays", has_relays))))
    assert [f["code"] for f in report["findings"]] == ["chassis_certificate_name"] * warnings
    assert not warnings or "has the name hv9, its system id is hv1" in report["warnings"][0]


def test_a_datapath_that_loses_packets() -> None:
    facts = {
        "type": "system",
        "conntrack_zones": True,
        "handlers": 0,
        "lookups": {"hit": 5, "missed": 98, "lost": 60},
        "lost": None,
        "missed": None,
        "seconds": 1.0,
        "uplinks_down": [],
    }
    machine = both(put("chassis", {"hv1": "machine1", "hv2": "hv2"}), put("datapaths", {"machine1": facts}))
    report = build_report(installation(machine))
    assert [finding["code"] for finding in report["findings"]] == ["upcall_handlers_missing"]
    assert report["problems"][0].startswith("Chassis machine1: ovs-vswitchd has no handler thread, so each packet")
    assert report["chassis"]["lookups"] == {"machine1": facts["lookups"]}
    assert [line for line in report["lines"] if "60 of 98 packets lost" in line and "hv1" in line]


@pytest.mark.parametrize(
    ("signed_by_trusted", "has_relays", "warnings"),
    [
        pytest.param(True, True, 1, id="from before there were two CAs"),
        pytest.param(False, True, 0, id="of the chassis CA"),
        pytest.param(True, False, 0, id="members let chassis in"),
    ],
)
def test_a_certificate_of_a_chassis_that_opens_northbound(
    signed_by_trusted: bool, has_relays: bool, warnings: int
) -> None:
    held = {**pair(99), "signed_by_trusted": signed_by_trusted}
    machines = both(put("chassis_certificates", {"machine1": held, "machine2": None}), put("has_relays", has_relays))
    report = build_report(installation(machines))
    assert [f["code"] for f in report["findings"]] == ["chassis_certificates_open_northbound"] * warnings
    assert not warnings or "signed the certificates of machine1, so" in report["warnings"][0]


@pytest.mark.parametrize(
    ("members", "opened"), [(None, "both databases"), ({"northbound": 3, "southbound": 3}, "all of the Southbound")]
)
def test_nodes_that_share_a_certificate(members: t.Any, opened: str) -> None:
    shared = put("sharing_clusters", ["rack1", "rack2"])
    report = build_report(installation(both(shared, put("central", "central1", "members", members))))
    (warning,) = [f["message"] for f in report["findings"] if f["code"] == "chassis_certificate_shared"]
    assert (
        f"The nodes of rack1, rack2 share one certificate, so whoever owns one of them can write {opened}." in warning
    )


@pytest.mark.parametrize(
    ("first", "second", "line", "problem", "warning"),
    [
        (pair(100), pair(99), "healthy     99 days left, earliest expiry: chassis hv2", "", ""),
        (pair(30), pair(400), "healthy     30 days left, earliest expiry: chassis hv1", "", ""),
        (pair(400), pair(400), "healthy     361 days left, earliest expiry: central1 at ssl:192.0.2.1:6641", "", ""),
        (pair(400), pair(29), "warning     29 days left, earliest expiry: chassis hv2", "", "The certificate of chassis hv2 ends in 29 days"),
        (pair(400), pair(-1, False), "problem     -1 days left, earliest expiry: chassis hv2", "The certificate of chassis hv2 has expired", ""),
        (pair(400), pair(400, False), "problem     361 days left, earliest", "The certificate of chassis hv2 is not valid yet, or its key", ""),
        (pair(400), pair(None, False), "problem     361 days left, earliest", "Chassis hv2 has no certificate", ""),
        (pair(400), {"msg": "library is missing."}, "warning     361 days", "", "The certificate of chassis hv2 cannot be read: library is missing."),
        (pair(100), UNREACHABLE, "healthy     100 days left, earliest expiry: chassis hv1; 1 chassis not read", "", ""),
        (pair(100), None, "healthy     100 days left, earliest expiry: chassis hv1; 1 chassis not read", "", ""),
        ({"skipped": True}, {"skipped": True}, "healthy     361 days left, earliest expiry: central1 at ssl:192.0.2.1:6641", "", ""),
        (None, None, "healthy     361 days left, earliest expiry: central1 at ssl:192.0.2.1:6641", "", ""),
    ],
)  # fmt: skip
def test_certificates_of_chassis(first: object, second: object, line: str, problem: str, warning: str) -> None:
    report = build_report(installation(put("chassis_certificates", {"hv1": first, "hv2": second})))
    (shown,) = [text for text in report["lines"] if text.startswith("Certificates")]
    assert shown.startswith(f"Certificates  {line}")
    assert shown == f"Certificates  {line}" or line.endswith(("earliest", "days"))
    for found, start in ((report["problems"], problem), (report["warnings"], warning)):
        assert len(found) == bool(start), found
        assert all(text.startswith(start) for text in found)


def test_the_facts_have_the_days_of_each_chassis() -> None:
    report = build_report(installation(put("chassis_certificates", {"hv1": pair(99), "hv2": None})))
    assert report["certificates"] == {"days_left": 99, "host": "hv1", "endpoint": "", "chassis": {"hv1": 99}}


def test_a_look_without_a_heartbeat_says_so() -> None:
    looked = both(put("heartbeat", "probed", False), put("heartbeat", "sb_ms", None), put("heartbeat", "hv_ms", None))
    report = build_report(installation(looked))
    assert report["healthy"]
    assert "Heartbeat     not sent    the last one was number 17, northd answered it" in report["lines"]
    assert (
        "  hv2         answered    geneve 192.0.2.72, physnet1:br-ex, answered at 2026-01-01T00:00:00Z"
        in report["lines"]
    )
    assert "Chassis       not asked   2/2 had answered the last heartbeat" in report["lines"]


def standalone(name: str, database: str) -> dict[str, t.Any]:
    server = ServerView("standalone", True, True, process=f"{name}-{database}")
    problem = Problem("no_database", f"/run/ovn/x.ctl knows no cluster {database}: the server left it.")
    answer = Answer(name, database, server=server, version="ovsdb-server (Open vSwitch) 3.1.0\n", problems=(problem,))
    return {"answers": [answer.as_dict()], "verdict": "unreachable", "writable": False}


def foreign(parts: dict[str, t.Any]) -> None:
    """One host, with servers without Raft."""
    host = {
        "northbound": standalone("central1", "OVN_Northbound"),
        "southbound": standalone("central1", "OVN_Southbound"),
    }
    parts |= {"central": {"central1": {**host, "info": info("central1")}}, "managed": False}


def test_a_control_plane_of_others_reads_like_this() -> None:
    report = build_report(installation(foreign))
    assert report["lines"][:5] == [
        "OVN is healthy",
        "Owner         foreign     this collection has not created it and only reads it",
        "Northbound    standalone  central1, no Raft cluster",
        "Southbound    standalone  central1, no Raft cluster",
        "northd        healthy     active on central1",
    ]
    assert (report["managed"], report["findings"]) == (False, [])
    assert (report["northbound"]["verdict"], report["northbound"]["healthy"]) == ("standalone", True)


def test_without_raft_a_control_plane_of_ours_is_broken() -> None:
    report = build_report(installation(both(foreign, put("managed", True))))
    assert (report["managed"], report["northbound"]["verdict"]) == (True, "unreachable")
    assert "not_clustered" in {finding["code"] for finding in report["findings"]}


@pytest.mark.parametrize(
    ("answer", "line", "codes"),
    [
        pytest.param({}, "northd        not asked   no control socket of it is known", set(), id="it runs elsewhere"),
        pytest.param({"northd_alive": False, "reason": "northd has not answered."}, "", {"heartbeat_unanswered"}, id="none works"),
    ],
)  # fmt: skip
def test_northd_of_others_may_run_anywhere(answer: dict[str, t.Any], line: str, codes: set[str]) -> None:
    def elsewhere(parts: dict[str, t.Any]) -> None:
        parts["central"]["central1"]["info"]["northd"] = {"state": "unreachable", "present": False, "reason": "x"}
        parts["heartbeat"] |= answer

    report = build_report(installation(both(foreign, elsewhere)))
    assert not line or line in report["lines"]
    assert {finding["code"] for finding in report["findings"]} == codes


def test_other_chassis_of_others_are_no_surprise() -> None:
    strange = both(foreign, lambda parts: parts["heartbeat"]["chassis"].append(chassis("theirs")))
    report = build_report(installation(strange))
    assert (report["warnings"], report["chassis"]["unexpected"]) == ([], ["theirs"])


def test_a_control_plane_without_any_record() -> None:
    (warning,) = build_report(installation(put("unrecorded", ["central1", "central2"])))["warnings"]
    assert warning.startswith("central1, central2: no state record of this collection, so it gets no heartbeat.")
    assert "central_unrecorded" in WARNING_CODES


@pytest.mark.parametrize("managed", [True, False])
def test_databases_of_interconnection(managed: bool) -> None:
    def connected(parts: dict[str, t.Any]) -> None:
        names = list(parts["central"])
        for name in names:
            parts["central"][name]["interconnection"] = {"northbound": member(name, "OVN_IC_Northbound")}
        parts["central"][names[0]]["interconnection"]["southbound"] = standalone(names[0], "OVN_IC_Southbound")
        parts["managed"] = managed

    report = build_report(installation(connected))
    assert report["lines"][3 - managed : 6 - managed] == [
        "Southbound    healthy     leader central2, 3/3 members, term 4, timer 5000 ms, cluster b1b739a1",
        "IC Northbound healthy     leader central2, 3/3 members, term 4, timer 5000 ms, cluster c1b739a1",
        "IC Southbound standalone  central1, no Raft cluster",
    ]
    assert report["findings"] == []
    assert report["interconnection"] == [
        {
            "database": "northbound",
            "verdict": "healthy",
            "healthy": True,
            "writable": True,
            "cluster_id": CID["OVN_IC_Northbound"],
            "leader": "central2",
            "members": list(NAMES),
        },
        {
            "database": "southbound",
            "verdict": "standalone",
            "healthy": True,
            "writable": True,
            "cluster_id": None,
            "leader": None,
            "members": ["central1"],
        },
    ]


def test_what_is_wrong_with_a_database_of_interconnection() -> None:
    broken = {"failed": True, "msg": "The socket is no socket."}
    change = put("central", "central1", "interconnection", {"northbound": broken})
    report = build_report(installation(change))
    assert report["problems"][0] == "IC Northbound: central1: The socket is no socket."
    assert not report["healthy"]


def test_without_an_inventory_every_chassis_counts() -> None:
    report = build_report(installation(both(put("chassis", None), put("heartbeat", "chassis", 1, "alive", False))))
    assert report["problems"][0].startswith("Chassis hv2 has not answered")
    assert report["chassis"]["expected"] is None


def test_chassis_of_another_zone_are_not_ours() -> None:
    report = build_report(
        installation(lambda parts: parts["heartbeat"]["chassis"].append(chassis("far", remote=True, alive=False)))
    )
    assert report["healthy"]
    assert report["chassis"]["unexpected"] == []


def test_many_chassis_stay_short_and_the_bad_ones_come_first() -> None:
    def many(parts: dict[str, t.Any]) -> None:
        entries = [
            chassis(f"hv{number:03}", encapsulations=[{"type": "geneve", "ip": f"10.0.0.{number}"}])
            for number in range(200)
        ]
        entries[150]["alive"] = False
        parts["heartbeat"]["chassis"] = entries
        parts["chassis"] = {entry["name"]: entry["name"] for entry in entries}

    report = build_report(installation(many))
    assert len(report["lines"]) <= 20
    assert report["lines"][6].startswith("  hv150       late")
    assert "  and 194 more" in report["lines"]


@pytest.mark.parametrize(
    ("timestamp", "answer"),
    [(1767225600123, "17 at 2026-01-01T00:00:00Z: "), (0, "17: "), (None, "17: "), (2**63 - 1, "17: ")],
)
def test_when_a_late_chassis_answered_last(timestamp: int | None, answer: str) -> None:
    late = both(
        put("heartbeat", "chassis", 1, "alive", False), put("heartbeat", "chassis", 1, "nb_cfg_timestamp", timestamp)
    )
    (problem,) = build_report(installation(late))["problems"]
    assert f"its last answer was {answer}" in problem


def test_everything_down_is_still_short() -> None:
    def dead(parts: dict[str, t.Any]) -> None:
        parts["heartbeat"] = None
        parts["central"] = {name: {"info": UNREACHABLE} for name in NAMES}

    report = build_report(installation(dead))
    assert not report["healthy"]
    assert len(report["lines"]) <= 20
    assert report["northbound"]["verdict"] == "unreachable"
    assert report["lines"][-1].startswith("Problem: ")


def test_no_inventory_at_all() -> None:
    report = build_report(Installation(central={}))
    assert not report["healthy"]


def in_kubernetes(**northds: t.Any) -> dict[str, t.Any]:
    """The same installation as pods of one cluster."""
    northd = {"northbound_connected": True, "southbound_connected": True, "version": "25.03.0", "reason": ""}
    told = {
        database: {"answers": [member(name, schema)["answers"][0] for name in NAMES], "writable": True}
        for database, schema in (("northbound", "OVN_Northbound"), ("southbound", "OVN_Southbound"))
    }
    info_of_pods = {
        "northds": {name: {**northd, **state} for name, state in northds.items()},
        "certificates": [{"endpoint": "ssl:192.0.2.1:31641", "subject": "x", "days_left": 360, "problem": ""}],
    }
    plane = Host(**told, info=info_of_pods, members={"northbound": 3, "southbound": 3})
    heartbeat = {
        "nb_cfg": 3,
        "probed": True,
        "northd_alive": True,
        "reason": "",
        "sb_ms": 1.0,
        "hv_ms": 2.0,
        "chassis": [],
        "schema_versions": {"northbound": "7.11.0", "southbound": "20.41.0"},
    }
    return build_report(Installation({"plane": plane}, heartbeat=heartbeat))


class TestKubernetes:
    def test_pods_are_reported_like_hosts(self) -> None:
        report = in_kubernetes(pod1={"state": "standby"}, pod2={"state": "active"})
        assert report["problems"] == []
        assert report["lines"][1].startswith("Northbound    healthy     leader central2, 3/3 members")
        assert report["lines"][3] == "northd        healthy     active on pod2; standby on pod1"
        assert "OVN 25.03.0, ovsdb-server 3.5.3, Northbound schema 7.11.0" in next(
            line for line in report["lines"] if line.startswith("Versions")
        )

    def test_a_northd_that_does_not_run_is_named_with_the_cause(self) -> None:
        silent = {"state": "unreachable", "version": "", "reason": "Kubernetes says: ErrImagePull"}
        report = in_kubernetes(pod1=silent, pod2={"state": "active"})
        assert report["problems"] == ["northd on pod1 does not answer: Kubernetes says: ErrImagePull."]

    def test_no_northd_at_all_is_a_problem(self) -> None:
        assert in_kubernetes()["problems"] == ["No northd is active: network changes do not reach the chassis."]
