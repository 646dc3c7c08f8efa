# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdict about a database that others serve without Raft. Ours are always clusters, so `assess` calls such a server a problem. Pure."""

from __future__ import annotations

import ipaddress
import os
import shutil
import socket
import ssl
import typing as t

from .answer import Answer, host_of
from .findings import Reason, VerdictFindings
from .member_checks import MemberChecks
from .verdict import CERTIFICATE_DAYS, Verdict, assess
from .view import build_view, clustered

# Why a database server would not start on this host with the settings and files that are there. It starts nothing and changes nothing.

# Writing a snapshot needs the space of the file once more, and the log goes on meanwhile.
_FREE_FACTOR = 2
_SYSTEM_DIRECTORIES = ("/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/local/bin", "/usr/bin", "/bin")


class Space(t.NamedTuple):
    """In bytes; None if it is not known. `incomplete`: the file misses what its server has in memory since the disk was full."""

    file: int | None
    free: int | None
    incomplete: bool = False


def measure_space(database_file: str) -> Space:
    """Return the size of the database file and what a user may still write beside it."""
    try:
        file: int | None = os.stat(database_file).st_size
    except OSError:
        file = None
    try:
        system = os.statvfs(os.path.dirname(database_file))
    except OSError:
        return Space(file, None)
    return Space(file, system.f_bavail * system.f_frsize)


def find_start_problem(settings: t.Mapping[str, str], space: Space) -> str:
    """Return the first reason why a start with these settings of the launcher would fail, empty if none is known."""
    address, file = settings.get("OVN_LOCAL_ADDRESS", ""), settings.get("OVN_DB_FILE", "")
    return _program_problem() or _tls_problem(settings) or find_host_problem(address, file, space)


def find_host_problem(address: str, place: str, space: Space) -> str:
    """Return why a server would not start on this host whatever its settings are, empty if no reason is known."""
    return _address_problem(address) or find_space_problem(place, space)


def _program_problem() -> str:
    path = os.pathsep.join([os.environ.get("PATH", ""), *_SYSTEM_DIRECTORIES])
    if shutil.which("ovsdb-server", path=path):
        return ""
    return "The program ovsdb-server is not installed. Install the Open vSwitch packages."


def _tls_problem(settings: t.Mapping[str, str]) -> str:
    key, certificate = settings.get("OVN_PRIVATE_KEY", ""), settings.get("OVN_CERTIFICATE", "")
    authority = settings.get("OVN_CA_CERTIFICATE", "")
    if not key and not settings.get("OVN_LOCAL_ADDRESS", "").startswith("ssl:"):
        return ""
    for option, path in (("private key", key), ("certificate", certificate), ("CA certificate", authority)):
        if not path:
            return f"No {option} is set. TLS needs private key, certificate and CA certificate."
        if not os.access(path, os.R_OK):
            return f"The {option} {path} is missing or unreadable. Issue the certificates again."
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_verify_locations(authority)
    except (OSError, ValueError) as e:
        return f"The CA certificate {authority} cannot be loaded: {e}. Issue the certificates again."
    try:
        # A key with a passphrase must fail, not ask.
        context.load_cert_chain(certificate, key, password=lambda: "")
    except (OSError, ValueError) as e:
        return (
            f"The certificate {certificate} and the private key {key} are no pair: {e}. Issue the certificates again."
        )
    return ""


def _address_problem(address: str) -> str:
    host = host_of(address)
    try:
        version = ipaddress.ip_address(host).version
    except ValueError:  # a name, or nothing
        return ""
    try:
        with socket.socket(socket.AF_INET if version == 4 else socket.AF_INET6) as probe:
            probe.bind((host, 0))
    except OSError as e:
        return f"The Raft address {host} is not an address of this host: {e}. Correct the address, or bring it up."
    return ""


def find_space_problem(place: str, space: Space) -> str:
    """Return why the file system of this place is or was too small for the database, empty if it is not, or if the sizes are not known."""
    if space.incomplete:
        return (
            f"The database file of {place} misses what its server could not write to a full disk. Free space on it; some seconds later the launcher "
            "has the file written again, and says so in its log."
        )
    if space.file is None or space.free is None or space.free >= _FREE_FACTOR * space.file:
        return ""
    return (
        f"The file system of {place} has {_size(space.free)} free, and a compaction of the database needs "
        f"{_size(_FREE_FACTOR * space.file)}. Enlarge the file system, free space on it, or compact the database while its server takes part."
    )


def _size(count: int) -> str:
    return f"{count / 2**10:.0f} KiB" if count < 10 * 2**20 else f"{count / 2**20:.0f} MiB"


def assess_foreign(answers: t.Sequence[Answer]) -> Verdict:
    """Return the verdict on a database of others: it may have any number of members, or one server without Raft, which is then `standalone`."""
    if any(answer.is_responding and clustered(answer) for answer in answers):
        if any(answer.cluster_status is not None for answer in answers):
            return assess(answers)
        return _behind_endpoints(answers)
    alone = [answer for answer in answers if answer.server is not None and answer.server.model == "standalone"]
    return _standalone(answers, alone) if alone else assess(answers)


def _behind_endpoints(answers: t.Sequence[Answer]) -> Verdict:
    """Return the verdict without the list of a leader, which only a control socket shows: the endpoints are all that is known of the cluster.

    A member that says that it is connected has contact with a majority. An endpoint that leads to one of many members need not lead to the leader.
    """
    merged = build_view(answers).answers
    verdict = assess(answers, len(merged))
    told_otherwise = {("partial_view", "warning"), ("member_count", "problem")}
    reasons = [reason for reason in verdict.reasons if (reason.code, reason.severity) not in told_otherwise]
    leaderless = [reason for reason in reasons if reason.code == "no_leader"]
    if not leaderless or not all(answer.server and answer.server.connected for answer in merged):
        return verdict._replace(reasons=tuple(reasons))
    rest = [reason for reason in reasons if reason not in leaderless]
    told = Reason(
        "partial_view",
        None,
        f"{', '.join(answer.member for answer in merged)} take part, and none of them leads. Name the endpoints of all members to see the leader.",
        "warning",
    )
    broken = any(reason.severity == "problem" for reason in rest)
    return verdict._replace(
        verdict="degraded" if broken else "healthy", writable=True, reasons=(*rest, told), transient=False
    )


def _standalone(answers: t.Sequence[Answer], alone: t.Sequence[Answer]) -> Verdict:
    findings = VerdictFindings(build_view(answers), None, [], CERTIFICATE_DAYS)
    members = MemberChecks(findings)
    members.check_unresponsive()
    members.check_surroundings()
    names = {answer.member for answer in alone}
    # A server without Raft answers cluster/status with an error, which is right.
    reasons = [
        reason
        for reason in dict.fromkeys(findings.reasons)
        if not (reason.member in names and reason.code in ("not_clustered", "no_database"))
    ]
    if len(alone) > 1:
        listed = ", ".join(answer.member for answer in alone)
        reasons.append(
            Reason(
                "standalone_several",
                None,
                f"{listed} serve it without Raft. Which of them is the active one, and whether the others follow it, is not examined.",
                "warning",
            )
        )
    broken = any(reason.severity == "problem" for reason in reasons)
    return Verdict(
        verdict="degraded" if broken else "standalone",
        writable=True,
        reasons=tuple(reasons),
        members=tuple({**one, "problems": []} if one["member"] in names else one for one in members.describe_all([])),
    )
