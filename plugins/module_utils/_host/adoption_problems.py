# SPDX-License-Identifier: GPL-3.0-or-later
"""What blocks an adoption of the daemons of one host, and in which order northd is adopted. Pure.

What concerns the cluster is decided where every run decides it (`_raft/plan.py`): cluster ids, addresses, members that nobody declared, the order.
"""

from __future__ import annotations

import collections
import typing as t

from .._base.databases import DATABASES, STEMS
from .._base.errors import InvalidInput
from .._machine.supervisor import Supervisor
from .._ovsdb.endpoint import Listener, one_spelling, parse_endpoint, parse_listener
from .foreign_containers import stop_command

# Whether clients still find their listeners once a server has only those of the Connection table. Pure.

_CLIENTS = {"northbound": "ovn-nbctl", "southbound": "ovn-sbctl"}


def listener_problems(
    database: str,
    desired: t.Sequence[t.Mapping[str, t.Any]],
    rows: t.Sequence[t.Mapping[str, t.Any]],
    command_line: t.Sequence[str],
) -> list[str]:
    """Return why clients would lose a listener, one sentence each.

    `desired` are the connections of the declared state, `rows` those of the Connection table (`_uuid`, `target`, for the Southbound `role`),
    `command_line` the remotes that the server was started with, which end with it.
    """
    by_port = {
        listener.port: (listener, item) for item in desired if (listener := parse_listener(item["target"])) is not None
    }
    problems = [
        problem
        for row in rows
        if (listener := parse_listener(row["target"])) is not None and listener.port in by_port
        for problem in _row_problem(database, row, listener, *by_port[listener.port])
    ]
    kept = {listener.port for row in rows if (listener := parse_listener(row["target"])) is not None}
    for target in command_line:
        listener = parse_listener(target)
        if listener is not None:
            wanted = by_port.get(listener.port)
            problems += _command_line_problem(database, target, listener, wanted, kept)
    return problems


def _row_problem(
    database: str, row: t.Mapping[str, t.Any], listener: Listener, desired: Listener, item: t.Mapping[str, t.Any]
) -> t.Iterator[str]:
    target = item["target"]
    if row["target"] == target:
        role = item.get("role")
        if role is not None and row.get("role", "") != role:
            yield (
                f'the listener {target} of {database} has the role "{row.get("role", "")}" and would get "{role}", which can lock chassis out. '
                "Set ovn_southbound_rbac=false, and change it when every chassis has a certificate with its own name"
            )
    elif listener.scheme != desired.scheme:
        yield f"clients of {database} use {row['target']}, and {target} is declared for that port. {_set_tls(listener)}"
    elif desired.is_wildcard and listener.host in ("0.0.0.0", "[::]"):
        yield (
            f"{database} has the listener {row['target']}, and {target} is declared, which cannot have the same port. "
            f'Set ovn_central_listen_address="{listener.host}"'
        )
    else:
        yield (
            f"{database} has the listener {row['target']}, and {target} is declared, which cannot have the same port. Rename it, its clients connect "
            f"again at once: {_CLIENTS[database]} set Connection {row['_uuid']} 'target=\"{target}\"'"
        )


def _command_line_problem(
    database: str,
    target: str,
    listener: Listener,
    wanted: tuple[Listener, t.Mapping[str, t.Any]] | None,
    kept: t.Container[int],
) -> t.Iterator[str]:
    if wanted is None:
        if listener.port not in kept:
            yield (
                f"{database} listens on {target} by its command line, which ends with the old server. "
                "Declare it in ovn_central_extra_connections, or see that no client uses it and start the server without it"
            )
        return
    desired, item = wanted
    if listener.port not in kept and item.get("role"):
        yield (
            f'the listener {target} of {database} has no role and would get "{item["role"]}", which can lock chassis out. '
            "Set ovn_southbound_rbac=false, and change it when every chassis has a certificate with its own name"
        )
    elif listener.scheme != desired.scheme:
        yield f"clients of {database} use {target}, and p{desired.scheme}:{desired.port} is declared. {_set_tls(listener)}"
    elif listener.host.startswith("[") and desired.host != "[::]":
        yield f'clients of {database} use IPv6 ({target}). Set ovn_central_listen_address="[::]"'


def _set_tls(listener: Listener) -> str:
    return f"Set ovn_tls={'true' if listener.scheme == 'ssl' else 'false'}"


Daemon = t.Mapping[str, t.Any]


def supervisor_of(daemon: Daemon) -> Supervisor:
    return Supervisor(**daemon["supervisor"])


def describe(daemon: Daemon) -> str:
    """Return what a daemon is and what keeps it running."""
    supervisor = supervisor_of(daemon)
    place = f", {daemon['file']}" if daemon["file"] else ""
    return f"{daemon['name']} in {supervisor} (process {daemon['pid']}{place})"


def foreign_daemons(found: t.Mapping[str, t.Any]) -> list[Daemon]:
    """Return the daemons in a result of `ovn_daemons_info` that no unit of this collection runs."""
    return [daemon for daemon in found["daemons"] if not daemon["own"]]


# Debian's packages of the Python modules. They start no daemon.
_LIBRARIES = {"ovs": "python3-openvswitch", "ovsdbapp": "python3-ovsdbapp"}
# What Debian's packages would start.
_DISTRIBUTION_UNITS = "ovn-central, ovn-ovsdb-server-nb, ovn-ovsdb-server-sb and ovn-northd (systemctl mask)"


def foreign_message(found: t.Mapping[str, t.Any]) -> str:
    """Return why a rollout must not go on beside these daemons, empty if there are none."""
    foreign = foreign_daemons(found)
    if not foreign:
        return ""
    return (
        f"OVN runs on this host, and this collection did not start it, so it does not stop it either: {'; '.join(map(describe, foreign))}. "
        "Nothing was changed. Adopt it with the playbook c5c3.ovn.adopt, run it with --check first, which lists the order. "
        "If nobody needs what it holds, stop it, then run again."
    )


def adoption_problems(found: t.Mapping[str, t.Any], desired: t.Mapping[str, t.Any]) -> list[str]:
    """Return what blocks an adoption on one host, one message each.

    `found` is the result of `ovn_daemons_info`, `desired` the desired state of the host as `_roles/central.py:desired_state` returns it.
    """
    foreign = foreign_daemons(found)
    if found["daemons"] and not foreign:
        return []
    problems = [*_missing_problems(found["missing_files"])]
    problems += _shared_problems(found["daemons"])
    own = {daemon["name"] for daemon in found["daemons"] if daemon["own"]}
    for daemon in foreign:
        problems += _supervisor_problem(daemon)
        if daemon["name"] in own and daemon["name"] in DATABASES:
            command = stop_command(supervisor_of(daemon), daemon["container"] or {}, daemon["sockets"]["control"])
            problems.append(
                f"{describe(daemon)} runs beside ours and is no member any more. End it for good, then run again: {command}"
            )
            continue
        if daemon["name"] in DATABASES and not daemon["problem"]:
            problems += _database_problems(daemon, desired["databases"][daemon["name"]], found)
        elif daemon["problem"]:
            problems.append(_answer_problem(daemon))
    return [f"{problem}." for problem in dict.fromkeys(problems)]


def _missing_problems(missing: t.Sequence[str]) -> t.Iterator[str]:
    libraries = [path for path in missing if "/dist-packages/" in path or "/site-packages/" in path]
    daemons = [path for path in missing if path not in libraries]
    if daemons:
        yield (
            f"{', '.join(daemons)} {'is' if len(daemons) == 1 else 'are'} missing. Mask {_DISTRIBUTION_UNITS} first, then install the packages by hand: "
            "their scripts start and restart daemons, so an adoption installs none"
        )
    if libraries:
        packages = " ".join(_LIBRARIES.get(path.rpartition("/")[2], path.rpartition("/")[2]) for path in libraries)
        yield (
            f"{', '.join(libraries)} {'is' if len(libraries) == 1 else 'are'} missing, which no daemon needs to run. Install the Python packages, "
            f"no unit has to be masked for them: apt-get install {packages}"
        )


def _shared_problems(daemons: t.Sequence[Daemon]) -> t.Iterator[str]:
    """Daemons that one unit runs could only be stopped together, as databases of one server; those of one container say so themselves."""
    units = collections.Counter[str]()
    for pid, count in collections.Counter(daemon["pid"] for daemon in daemons).items():
        if count > 1:
            yield f"the ovsdb-server with process id {pid} serves both databases, which could only be stopped together. Give each a server of its own first"
    for daemon in {daemon["pid"]: daemon for daemon in daemons}.values():
        supervisor = supervisor_of(daemon)
        if supervisor.kind == "unit":
            units[supervisor.name] += 1
        elif supervisor.kind == "container":
            units.update({*(daemon["container"] or {}).get("units", ()), *filter(None, [supervisor.unit])})
    for name, count in sorted(units.items()):
        if count > 1:
            yield (
                f"{name} runs several daemons, which could only be stopped together. Give each a unit of its own first (Debian has "
                "ovn-ovsdb-server-nb, ovn-ovsdb-server-sb and ovn-northd)"
            )


def _supervisor_problem(daemon: Daemon) -> t.Iterator[str]:
    supervisor, container = supervisor_of(daemon), daemon["container"] or {}
    socket = daemon["sockets"]["control"]
    if supervisor.kind == "pod":
        yield f'{describe(daemon)}: a pod is stopped where it is declared. See "Containers" in docs/adopt.md'
    elif container.get("problem"):
        command = stop_command(supervisor, container, socket)
        yield (
            f'{describe(daemon)} cannot be taken over while it runs: {container["problem"]}. See "Containers" in docs/adopt.md'
            + (f"; the command that stops it is: {command}" if command else "")
        )
    elif daemon["root"] and supervisor.kind != "container":
        yield (
            f"{describe(daemon)} has a root directory of its own and is in no container that is known here, so its files and sockets cannot be taken "
            f"over. Stop it where it was started; the command is: {supervisor.stop_command(socket)}"
        )


def _answer_problem(daemon: Daemon) -> str:
    """A container has to have both sockets of a database where they are seen from here."""
    problem, sockets = daemon["problem"].rstrip("."), daemon["sockets"]
    if supervisor_of(daemon).kind == "container" and daemon["name"] in DATABASES:
        stem = f"/var/run/ovn/{STEMS[daemon['name']]}"
        remedy = f"start it with --remote=punix:{stem}.sock and --unixctl={stem}.ctl"
        if not sockets["database"]:
            return (
                f"{describe(daemon)} has no Unix socket for clients, so its listeners cannot be read. Create its container again, with the same volume, "
                f"and {remedy}"
            )
        if not daemon["version"]:
            return (
                f"{describe(daemon)} does not respond at its control socket {daemon['control_socket']}: {problem}. Repair it, or create its container "
                f"again, with the same volume, and {remedy}"
            )
    return f"{describe(daemon)} does not respond: {problem}. Repair it first"


def _database_problems(daemon: Daemon, desired: t.Mapping[str, t.Any], found: t.Mapping[str, t.Any]) -> t.Iterator[str]:
    database = daemon["name"]
    if not daemon["clustered"]:
        yield (
            f"{describe(daemon)} is a standalone database, no member of a Raft cluster. Stop it when its users can do without it, make it a cluster "
            f"(ovsdb-tool create-cluster NEW_FILE {daemon['file']} {desired['environment']['OVN_LOCAL_ADDRESS']}), start it from NEW_FILE, then run again"
        )
        return
    if supervisor_of(daemon).kind != "container":  # ours will have a file and sockets of its own
        yield from _place_problems(daemon, desired)
    yield from _address_problem(daemon, desired["environment"]["OVN_LOCAL_ADDRESS"])
    yield from listener_problems(database, desired["listeners"], daemon["connections"], daemon["remotes"])
    yield from _tls_problem(daemon, desired["environment"], found["ca_digests"])
    if _numbers(daemon["version"]) > _numbers(found["version"]):
        yield (
            f"{database} runs ovsdb-server {daemon['version']}, and {found['version'] or 'none'} is installed, which may not read its file. "
            "Install the same version or a newer one"
        )


def _place_problems(daemon: Daemon, desired: t.Mapping[str, t.Any]) -> t.Iterator[str]:
    database, file, declared = daemon["name"], daemon["file"], desired["database_file"]
    if file != declared:
        directory, _slash, name = file.rpartition("/")
        if name == declared.rpartition("/")[2]:
            remedy = f"Set ovn_central_database_directory={directory}"
        else:
            remedy = f"Stop it, rename the file to {directory}/{STEMS[database]}.db, and let its unit start it from there first"
        yield f"the file of {database} is {file}, and {declared} is declared. {remedy}"
    socket = f"{desired['environment']['OVN_RUN_DIR']}/{STEMS[database]}.ctl"
    if daemon["control_socket"] != socket:
        yield (
            f"the control socket of {database} is {daemon['control_socket'] or 'unknown'}, and tools of this collection look for {socket}. "
            f"Start the server with --unixctl={socket} first"
        )


def _address_problem(daemon: Daemon, declared: str) -> t.Iterator[str]:
    """Name the option: the planner refuses every other address as well, but knows no variables of the inventory."""
    if daemon["address"] == "" or one_spelling(daemon["address"]) == one_spelling(declared):
        return
    remedy = "Change the inventory (ovn_address) to it, for the address is part of a member's identity"
    try:
        now, then = parse_endpoint(daemon["address"]), parse_endpoint(declared)
        if now.scheme != then.scheme:
            remedy = f"Set ovn_tls={'true' if now.scheme == 'ssl' else 'false'}, for the scheme is part of a member's identity"
        elif now.port != then.port:
            remedy = f"This collection uses port {then.port}. Replace the members one by one with such an address first"
        else:
            remedy = f"Set ovn_address={now.host}, for the address is part of a member's identity"
    except InvalidInput:
        pass
    yield f"{daemon['name']} has the Raft address {daemon['address']}, and {declared} is declared. {remedy}"


def _tls_problem(daemon: Daemon, environment: t.Mapping[str, str], ca_digests: t.Collection[str]) -> t.Iterator[str]:
    """A member with certificates of another CA would find no other member."""
    if not (environment["OVN_LOCAL_ADDRESS"].startswith("ssl:") and daemon["address"].startswith("ssl:")):
        return
    key, certificate, authority = daemon["private_key"], daemon["certificate"], daemon["ca_certificate"]
    if not daemon["ca_digests"]:
        yield f"the CA certificate of {daemon['name']} cannot be read ({authority or 'none is set'})"
    elif not set(daemon["ca_digests"]) <= set(ca_digests):
        where = "" if supervisor_of(daemon).kind != "container" else " (in its container: copy them to the host)"
        yield (
            f"{daemon['name']} trusts the CA in {authority}, which is not in {environment['OVN_CA_CERTIFICATE']}. Use the files that are there{where}: "
            f"ovn_central_private_key={key}, ovn_central_certificate={certificate}, ovn_central_ca_certificate={authority}"
        )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def northd_order(states: t.Mapping[str, str | None]) -> list[str]:
    """Return the hosts with a foreign northd, in the order of their adoption: the active one last, so that it hands over once.

    `states` has the state that the foreign northd of each host reports, None without one.
    """
    return sorted(
        (host for host, state in states.items() if state is not None), key=lambda host: states[host] == "active"
    )
