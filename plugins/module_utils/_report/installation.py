# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

The report on a whole installation, from what its central hosts said and who answered a heartbeat. Pure.

A problem means that something does not work or would not survive the next failure. A warning means that somebody should look, in time.
"""

from __future__ import annotations

import dataclasses
import typing as t

from .._api.status import pod_of
from .._northd.central_host import parse_version
from .._raft.answer import Answer, silent
from .._raft.contents import Contents
from .._raft.verdict import Verdict, assess

DATABASES = {"northbound": ("Northbound", "OVN_Northbound"), "southbound": ("Southbound", "OVN_Southbound")}

_CHASSIS_LINES, _FINDING_LINES = 6, 8  # the rest is counted; all of it is in the facts

Result = t.Mapping[str, t.Any]


@dataclasses.dataclass(frozen=True)
class Host:
    """The results of a central host's questions; None: never asked. A result without its values failed, and `msg` says why.

    `contents` has the results of reading what the members of the databases hold, if that was done.

    `members` is set for a Kubernetes cluster: a host with all members, so many of each database, and all northds.
    """

    northbound: Result | None = None
    southbound: Result | None = None
    info: Result | None = None
    members: t.Mapping[str, int] | None = None
    contents: t.Mapping[str, Result] = dataclasses.field(default_factory=dict)

    @property
    def unreachable(self) -> str:
        """Why the host could not be reached, empty if it could."""
        first = self.northbound
        if first and first.get("timedout"):
            return f"it gave no answer within {first['timedout'].get('period', 'some')} s"
        return _words(first) or "no answer" if first and first.get("unreachable") else ""

    def northds(self, name: str) -> list[tuple[str, Result]]:
        """Each with the name for people; one that could not be asked is empty."""
        info = self.info or {}
        if self.members is None:
            return [(name, info.get("northd") or {})]
        return [(name, {})] if "northds" not in info else list(info["northds"].items())


@dataclasses.dataclass(frozen=True)
class Installation:
    """What is known, and what should be. `chassis` maps a system id to the machine's name; None: the inventory does not say.

    `chassis_certificates` has what ovn_certificate found on each machine of a chassis; None: it was not asked.
    `silent_clusters` are hypervisor clusters that could not tell their chassis, and why.
    `twice` are system ids that several have, with the names of these in the inventory.
    `addresses` has what all endpoints of both databases serve to the host `asked_from`; None: nobody asked.
    `inside_only` is for a control plane in Kubernetes whose ports nobody outside reaches: the condition ControllersReady of its OVNCluster.
    """

    central: t.Mapping[str, Host]
    chassis: t.Mapping[str, str] | None = None
    heartbeat: Result | None = None
    chassis_certificates: t.Mapping[str, Result | None] = dataclasses.field(default_factory=dict)
    certificate_days: int = 30
    silent_clusters: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    inside_only: Result | None = None
    twice: t.Mapping[str, t.Sequence[str]] = dataclasses.field(default_factory=dict)
    northbound_endpoints: t.Sequence[str] = ()
    southbound_endpoints: t.Sequence[str] = ()
    addresses: Result | None = None
    asked_from: str = ""

    @property
    def in_pods(self) -> bool:
        return any(host.members is not None for host in self.central.values())

    def members(self, database: str) -> int:
        """How many there should be: one on each machine."""
        return sum(1 if host.members is None else host.members[database] for host in self.central.values())


@dataclasses.dataclass
class _Findings:
    problems: list[str] = dataclasses.field(default_factory=list)
    warnings: list[str] = dataclasses.field(default_factory=list)

    def state(self, good: str = "healthy") -> str:
        return "problem" if self.problems else "warning" if self.warnings else good


def build_report(installation: Installation) -> dict[str, t.Any]:
    """The facts, and the same as lines for people."""
    reached = {name: host for name, host in installation.central.items() if not host.unreachable}
    findings = _Findings()
    for name, host in installation.central.items():
        if host.unreachable:
            findings.problems.append(f"{name} cannot be reached: {host.unreachable}.")
    lines: list[str] = []
    facts: dict[str, t.Any] = {}
    verdicts = {database: _verdict(installation, database) for database in DATABASES}
    for database, verdict in verdicts.items():
        facts[database] = _database(verdict)
        lines.append(
            _line(
                DATABASES[database][0],
                verdict.verdict,
                _database_words(verdict, installation.members(database), installation.in_pods),
            )
        )
    findings.problems += _reasons(verdicts, "problem", installation)
    findings.warnings += _reasons(verdicts, "warning", installation)
    facts["northd"] = _northd(reached, findings, lines)
    facts["heartbeat"] = _heartbeat(installation, findings, lines)
    facts["chassis"] = _chassis(installation, findings, lines)
    facts["versions"] = _versions(reached, installation.heartbeat, findings, lines)
    facts["certificates"] = _certificates(installation, reached, findings, lines)
    facts["addresses"] = _addresses(installation, findings, lines)
    facts["neutron"] = _neutron(installation, lines)
    problems, warnings = list(dict.fromkeys(findings.problems)), list(dict.fromkeys(findings.warnings))
    return {
        "healthy": not problems,
        "problems": problems,
        "warnings": warnings,
        "lines": [_headline(problems, warnings), *lines, *_listed("Problem", problems), *_listed("Warning", warnings)],
        **facts,
    }


def _headline(problems: list[str], warnings: list[str]) -> str:
    counted = [
        f"{len(found)} {word}{'s' if len(found) > 1 else ''}"
        for found, word in ((problems, "problem"), (warnings, "warning"))
        if found
    ]
    return f"OVN {'has ' if problems else 'is healthy'}{', ' if counted and not problems else ''}{', '.join(counted)}"


def _line(label: str, state: str, words: str, width: int = 13) -> str:
    return f"{label:<{width}} {state:<11} {words}".rstrip()


def _listed(word: str, findings: list[str]) -> list[str]:
    shown = findings if len(findings) <= _FINDING_LINES + 1 else findings[:_FINDING_LINES]
    lines = [f"{word}: {finding}" for finding in shown]
    more = len(findings) - len(shown)
    return [*lines, f"{word}: {more} more, see ovn_verify_report"] if more else lines


def _words(result: Result | None) -> str:
    """The cause that a failed result gives, in one line."""
    text = " ".join(str((result or {}).get("msg") or "").split())
    return text.removeprefix("Task failed: ").removesuffix(".")


def _verdict(installation: Installation, database: str) -> Verdict:
    """From the answers of all members; a host that could not be asked is a silent one."""
    name = DATABASES[database][1]
    answers: list[Answer] = []
    for member, host in installation.central.items():
        result = getattr(host, database)
        if result and "answers" in result:
            answers += [Answer.from_dict(answer) for answer in result["answers"]]
        else:
            answers.append(silent(member, name, "unreachable", f"{_words(result) or 'the host was not asked'}."))
    read: dict[str, Contents] = {}
    for host in installation.central.values():
        read.update(contents_in(host.contents.get(database)))
    answers = [dataclasses.replace(a, contents=read[a.member]) if a.member in read else a for a in answers]
    return assess(answers, installation.members(database) or None)


def contents_results(*loops: Result | None) -> dict[str, Result]:
    """Return the result for each database of tasks that loop over the databases; those of later tasks count."""
    found: dict[str, Result] = {}
    for loop in loops:
        for result in (loop or {}).get("results") or ():
            if "item" in result and not result.get("skipped"):
                found[str(result["item"])] = result
    return found


def contents_in(result: Result | None) -> dict[str, Contents]:
    """Return what members hold according to a result of ovn_raft_status; a member that could not be asked is left out."""
    answers = [Answer.from_dict(data) for data in (result or {}).get("answers") or ()]
    return {answer.member: answer.contents for answer in answers if answer.contents is not None}


def _database(verdict: Verdict) -> dict[str, t.Any]:
    facts = verdict.as_dict()
    del facts["raw_read_only"]
    return facts


def _reasons(verdicts: t.Mapping[str, Verdict], severity: str, installation: Installation) -> list[str]:
    """In words, each once: both databases run on the same hosts, so they often tell the same."""
    told: dict[str, list[str]] = {}
    unreachable = {name for name, host in installation.central.items() if host.unreachable}
    for database, verdict in verdicts.items():
        messages = [
            reason.message
            for reason in verdict.reasons
            # A host that cannot be reached is a problem of its own already.
            if reason.severity == severity and not (reason.code == "unreachable" and reason.member in unreachable)
        ]
        if severity == "problem" and not verdict.healthy and not verdict.reasons:
            messages.append(f"the verdict is {verdict.verdict}.")
        for message in messages:
            told.setdefault(message, []).append(DATABASES[database][0])
    return [f"{' and '.join(titles)}: {message}" for message, titles in told.items()]


def _database_words(verdict: Verdict, declared: int, pods: bool) -> str:
    taking_part = sum(bool(member["connected"] and member["listed"] is not False) for member in verdict.members)
    words = [
        # A pod is what people look for; a leader that is only heard of has an address, which begins with its name.
        f"leader {pod_of(verdict.leader) if pods else verdict.leader}" if verdict.leader else "no leader",
        f"{taking_part}/{declared} members",
        f"term {verdict.term}" if verdict.term is not None else "",
        f"timer {verdict.election_timer} ms" if verdict.election_timer is not None else "",
        f"cluster {verdict.cluster_id[:8]}" if verdict.cluster_id else "",
    ]
    return ", ".join(word for word in words if word)


def _northd(reached: t.Mapping[str, Host], findings: _Findings, lines: list[str]) -> dict[str, t.Any]:
    """Exactly one works, the others wait for its lock."""
    found: dict[str, list[str]] = {"active": [], "standby": [], "paused": [], "unreachable": []}
    mine = _Findings()
    for host_name, host in reached.items():
        for name, northd in host.northds(host_name):
            state = northd.get("state", "unreachable")
            found[state].append(name)
            if state == "paused":
                mine.problems.append(
                    f"northd on {name} is paused: ovn-appctl -t /run/ovn/ovn-northd.ctl resume lets it work again."
                )
            elif state == "unreachable":
                cause = (northd.get("reason") or _words(host.info) or "it was not asked").rstrip(".")
                mine.problems.append(f"northd on {name} does not answer: {cause}.")
            mine.problems += [
                f"northd on {name} is not connected to the {title} database."
                for database, (title, _schema) in DATABASES.items()
                if northd.get(f"{database}_connected") is False
            ]
    if len(found["active"]) > 1:
        mine.problems.append(
            f"northd is active on {', '.join(found['active'])} at once. Only the one with the lock of the Southbound leader may be."
        )
    elif not found["active"]:
        mine.problems.append("northd is active nowhere: no change of a network reaches the chassis.")
    findings.problems += mine.problems
    words = "; ".join(f"{state} on {', '.join(names)}" for state, names in found.items() if names)
    lines.append(_line("northd", mine.state(), words or "nobody asked"))
    return found


def _heartbeat(installation: Installation, findings: _Findings, lines: list[str]) -> dict[str, t.Any]:
    heartbeat = installation.heartbeat
    if not heartbeat or "nb_cfg" not in heartbeat:
        if installation.inside_only is not None:
            lines.append(_line("Heartbeat", "not sent", "the databases are only reachable inside of their cluster"))
        else:
            cause = _words(heartbeat) or "no central host could be asked"
            findings.problems.append(f"The heartbeat could not be sent: {cause}.")
            lines.append(_line("Heartbeat", "problem", "not sent"))
        return {"nb_cfg": None, "probed": False, "northd_alive": None, "sb_ms": None, "hv_ms": None}
    number, sb_ms, hv_ms = heartbeat["nb_cfg"], heartbeat["sb_ms"], heartbeat["hv_ms"]
    if not heartbeat["northd_alive"]:
        findings.problems.append(heartbeat["reason"])
        lines.append(_line("Heartbeat", "problem", f"number {number} was not answered by northd"))
    elif sb_ms is None:
        words = f"the last one was number {number}, northd answered it" if number else "there was none so far"
        lines.append(_line("Heartbeat", "not sent", words))
    else:
        chassis = f"all chassis {_ms(hv_ms)}" if hv_ms is not None else "not all chassis answered"
        state = "healthy" if hv_ms is not None or not heartbeat["probed"] else "problem"
        lines.append(_line("Heartbeat", state, f"northd {_ms(sb_ms)}, {chassis} (number {number})"))
    return {key: heartbeat[key] for key in ("nb_cfg", "probed", "northd_alive", "sb_ms", "hv_ms")}


def _ms(milliseconds: float) -> str:
    return f"{milliseconds:.0f} ms" if milliseconds >= 10 else f"{milliseconds:.1f} ms"


def _chassis(installation: Installation, findings: _Findings, lines: list[str]) -> dict[str, t.Any]:
    heartbeat = installation.heartbeat or {}
    expected = installation.chassis
    local = [entry for entry in heartbeat.get("chassis") or [] if not entry["remote"]]
    known = {entry["name"]: entry for entry in local}
    wanted = dict(expected) if expected is not None else {name: name for name in known}
    alive = [name for name in wanted if name in known and known[name]["alive"]]
    missing = (
        [name for name in wanted if name not in known or not known[name]["registered"]]
        if known or heartbeat.get("nb_cfg") is not None
        else []
    )
    late = [name for name in wanted if name in known and known[name]["registered"] and known[name]["alive"] is False]
    unexpected = sorted(known.keys() - wanted.keys())
    mine = _Findings()
    for name, cause in installation.silent_clusters.items():
        mine.problems.append(f"{name} cannot be asked for its chassis: {_words({'msg': cause})}.")
    for name, places in sorted(installation.twice.items()):
        mine.problems.append(
            f"Two chassis have the system id {name} ({', '.join(places)}): they take each other's ports away without end. Give one of them another one."
        )
    for name in missing:
        machine = "" if wanted[name] == name else f" ({wanted[name]})"
        mine.problems.append(
            f"Chassis {name}{machine} is not registered in the Southbound database: look at ovn-controller there."
        )
    for name in late:
        mine.problems.append(
            f"Chassis {name} has not answered heartbeat {heartbeat.get('nb_cfg')}, its last answer was {known[name]['nb_cfg']}: "
            "the machine, ovn-controller or Open vSwitch there is stopped, stuck or cut off."
        )
    for name in unexpected:
        words = "is alive" if known[name]["alive"] else "does not answer"
        mine.warnings.append(f"Chassis {name} {words}, but is not in the inventory.")
    by_ip: dict[str, set[str]] = {}
    for entry in local:
        for encapsulation in entry["encapsulations"]:
            by_ip.setdefault(encapsulation["ip"], set()).add(entry["name"])
    for ip, names in sorted(by_ip.items()):
        if len(names) > 1:
            mine.problems.append(
                f"Chassis {', '.join(sorted(names))} have the same encapsulation address {ip}: tunnels to it go astray."
            )
    findings.problems += mine.problems
    findings.warnings += mine.warnings
    if heartbeat.get("nb_cfg") is not None:
        asked = "alive" if heartbeat["probed"] else "had answered the last heartbeat"
        lines.append(
            _line(
                "Chassis",
                mine.state("healthy" if heartbeat["probed"] else "not asked"),
                f"{len(alive)}/{len(wanted)} {asked}" if wanted else "none",
            )
        )
        lines.extend(_chassis_lines(wanted, known, unexpected, heartbeat["probed"]))
    elif installation.inside_only is not None:
        lines.append(_told_by_observer(installation.inside_only, findings))
    else:
        lines.append(_line("Chassis", "unknown", f"{len(wanted)} in the inventory" if expected is not None else ""))
    return {
        "expected": sorted(wanted) if expected is not None else None,
        "alive": sorted(alive),
        "late": sorted(late),
        "missing": sorted(missing),
        "unexpected": unexpected,
        "details": local,
    }


def _told_by_observer(condition: Result, findings: _Findings) -> str:
    """The observer in the cluster counts who answered the heartbeats of others; none at all are no fault of theirs."""
    state, message = condition.get("status"), condition.get("message") or "Nobody has looked at the chassis yet."
    if state == "False" and condition.get("reason") != "NoChassis":
        findings.problems.append(f"The OVNCluster says of its chassis: {message}")
    words = {"True": "healthy", "False": "none" if condition.get("reason") == "NoChassis" else "problem"}
    return _line("Chassis", words.get(str(state), "unknown"), f"the OVNCluster says: {message}")


def _chassis_lines(
    wanted: t.Mapping[str, str], known: t.Mapping[str, t.Any], unexpected: t.Sequence[str], probed: bool
) -> list[str]:
    """The bad ones first; in a large installation, the rest is only counted."""
    rows: list[tuple[int, str, str, str]] = []
    for name in {**wanted, **dict.fromkeys(unexpected, "")}:
        entry = known.get(name)
        if entry is None or not entry["registered"]:
            rows.append((0, name, "missing", ""))
            continue
        words = [f"{encapsulation['type']} {encapsulation['ip']}" for encapsulation in entry["encapsulations"]]
        words += [f"{mapping['physical_network']}:{mapping['bridge']}" for mapping in entry["bridge_mappings"]]
        words += ["gateway"] if entry["gateway"] else []
        words += ["not in the inventory"] if name in unexpected else []
        good = "alive" if probed else "answered"
        state = "unknown" if entry["alive"] is None else good if entry["alive"] else "late"
        rank = 1 if state == "late" else 2 if name in unexpected else 3
        rows.append((rank, name, state, ", ".join(words)))
    rows.sort()
    shown, more = rows[:_CHASSIS_LINES], len(rows) - _CHASSIS_LINES
    width = max([13, *(len(name) + 2 for _rank, name, _state, _text in shown)])
    lines = [_line(f"  {name}", state, text, width) for _rank, name, state, text in shown]
    return [*lines, f"  and {more} more"] if more > 0 else lines


def _versions(
    reached: t.Mapping[str, Host], heartbeat: Result | None, findings: _Findings, lines: list[str]
) -> dict[str, t.Any]:
    mine = _Findings()
    northd: dict[str, list[str]] = {}
    servers: dict[str, list[str]] = {}
    schemas: dict[str, dict[str, list[str]]] = {database: {} for database in DATABASES}
    for name, host in reached.items():
        info = host.info or {}
        for place, told in host.northds(name):
            _add(northd, told.get("version"), place)
        for database, answer in (info.get("databases") or {}).items():
            _add(servers, answer["version"], name)
            _add(schemas[database], answer["schema_version"], name)
        if (
            host.members is not None
        ):  # members in pods told their version with their answer, and the heartbeat saw the schemas
            for database in DATABASES:
                for answer in (getattr(host, database) or {}).get("answers") or ():
                    _add(servers, parse_version(answer.get("version") or ""), answer["member"])
                _add(schemas[database], ((heartbeat or {}).get("schema_versions") or {}).get(database), name)
    named = [("northd", northd), ("ovsdb-server", servers)]
    named += [(f"The {DATABASES[database][0]} schema", found) for database, found in schemas.items()]
    for what, found in named:
        if len(found) > 1:
            where = "; ".join(f"{version} on {', '.join(names)}" for version, names in sorted(found.items()))
            mine.warnings.append(f"{what} is not the same everywhere: {where}.")
    internal = str((heartbeat or {}).get("northd_version") or "")
    writer = internal.partition("-")[0]
    if writer and northd and writer not in northd:
        mine.warnings.append(f"northd {writer} wrote the Southbound database, but none of the central hosts runs it.")
    findings.warnings += mine.warnings
    words = [
        f"OVN {', '.join(sorted(northd))}" if northd else "",
        f"ovsdb-server {', '.join(sorted(servers))}" if servers else "",
        *(
            f"{DATABASES[database][0]} schema {', '.join(sorted(found))}"
            for database, found in schemas.items()
            if found
        ),
    ]
    lines.append(
        _line(
            "Versions",
            mine.state("equal") if northd or servers else "unknown",
            ", ".join(word for word in words if word),
        )
    )
    return {
        "northd": sorted(northd),
        "ovsdb_server": sorted(servers),
        "schema": {database: sorted(found) for database, found in schemas.items()},
        "southbound_internal": internal,
    }


def _add(found: dict[str, list[str]], version: str | None, name: str) -> None:
    if version and name not in found.setdefault(version, []):
        found[version].append(name)


def _certificates(
    installation: Installation, reached: t.Mapping[str, Host], findings: _Findings, lines: list[str]
) -> dict[str, t.Any]:
    mine = _Findings()
    minimum = installation.certificate_days
    served: list[tuple[int, str, str]] = []
    asked = 0
    for name, host in reached.items():
        broken = []
        for certificate in (host.info or {}).get("certificates") or []:
            asked += 1
            if certificate["problem"]:
                broken.append(certificate)
            elif certificate["days_left"] is not None:
                served.append((certificate["days_left"], name, certificate["endpoint"]))
                if certificate["days_left"] < minimum:
                    mine.warnings.append(
                        f"The certificate that {name} serves at {certificate['endpoint']} ends in {certificate['days_left']} days: renew it."
                    )
        if broken:
            others = ", ".join(certificate["endpoint"] for certificate in broken[1:])
            mine.problems.append(f"{name}: {broken[0]['problem']}{f' The same goes for {others}.' if others else ''}")
    chassis, silent_count = _chassis_certificates(installation.chassis_certificates, minimum, mine)
    findings.problems += mine.problems
    findings.warnings += mine.warnings
    held = [(days_left, name, "") for name, days_left in chassis.items()]
    days, name, endpoint = min([*served, *held], default=(None, "", ""))
    # Where nobody was asked, nobody was meant to be: c5c3.ovn.status, or no TLS.
    unseen = f"; {silent_count} chassis not looked at" if chassis and silent_count else ""
    if days is not None:
        whose = f"{name}'s at {endpoint}" if endpoint else f"chassis {name}'s"
        lines.append(_line("Certificates", mine.state(), f"{days} days left, first to end is {whose}{unseen}"))
    elif asked or mine.problems or mine.warnings:
        lines.append(_line("Certificates", mine.state("no TLS"), ""))
    return {"days_left": days, "host": name, "endpoint": endpoint, "chassis": chassis}


def _chassis_certificates(
    results: t.Mapping[str, Result | None], minimum: int, mine: _Findings
) -> tuple[dict[str, int], int]:
    """Days left on each machine of a chassis, and how many could not be asked. The latter is no fault of a certificate."""
    found: dict[str, int] = {}
    silent_count = 0
    for name, result in results.items():
        if result is None or result.get("unreachable") or result.get("skipped") or result.get("timedout"):
            silent_count += 1
        elif "in_service" not in result:
            cause = _words(result) or "the task gave no result"
            mine.warnings.append(f"The certificate of chassis {name} cannot be looked at: {cause}.")
        elif (days_left := result["days_left"]) is None:
            mine.problems.append(f"Chassis {name} has no certificate: run c5c3.ovn.hypervisors for it.")
        else:
            found[name] = days_left
            if days_left < 0:
                mine.problems.append(f"The certificate of chassis {name} has ended: run c5c3.ovn.hypervisors for it.")
            elif not result["in_service"]:
                mine.problems.append(
                    f"The certificate of chassis {name} is not valid yet, or its key is missing or another one: "
                    "look at the clock there, then run c5c3.ovn.hypervisors for it."
                )
            elif days_left < minimum:
                mine.warnings.append(
                    f"The certificate of chassis {name} ends in {days_left} days: run c5c3.ovn.hypervisors for it."
                )
    return found, silent_count


def _addresses(installation: Installation, findings: _Findings, lines: list[str]) -> list[str]:
    """Return the addresses that a client cannot use."""
    result = installation.addresses
    if result is None:
        return []
    if "certificates" not in result:
        findings.problems.append(
            f"The addresses of the databases cannot be connected to: {_words(result) or 'no answer'}."
        )
        lines.append(_line("Addresses", "problem", "not asked"))
        return []
    dead = [told for told in result["certificates"] if told["problem"]]
    asked, seen = len(result["certificates"]), f"seen from {installation.asked_from}"
    if dead:
        causes = " ".join(told["problem"] for told in dead)
        findings.problems.append(
            f"{len(dead)} of {asked} addresses that clients are told do not answer, {seen}: {causes}"
        )
    lines.append(
        _line("Addresses", "problem" if dead else "healthy", f"{asked - len(dead)}/{asked} answer clients, {seen}")
    )
    return [told["endpoint"] for told in dead]


def _neutron(installation: Installation, lines: list[str]) -> dict[str, str]:
    """What Neutron's ml2_conf.ini wants to know, by its own names."""
    northbound, southbound = ",".join(installation.northbound_endpoints), ",".join(installation.southbound_endpoints)
    if northbound:
        lines.append(_line("Neutron", "", f"ovn_nb_connection = {northbound}"))
    if southbound:
        lines.append(_line("", "", f"ovn_sb_connection = {southbound}"))
    return {"ovn_nb_connection": northbound, "ovn_sb_connection": southbound}
