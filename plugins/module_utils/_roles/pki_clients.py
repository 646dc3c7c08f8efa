# SPDX-License-Identifier: GPL-3.0-or-later
"""The clients of the databases that are no hosts of the inventory, Neutron for example: the option ovn_pki_clients to their certificates. Pure."""

from __future__ import annotations

import dataclasses
import os
import re
import typing as t

from .._base.errors import InvalidInput
from .._base.inventory import as_list
from .authorities import AUTHORITIES
from .option_types import read_options
from .variables import Groups, Hostvars, Variables, first_value, members_of

OPTION = "ovn_pki_clients"
# The name is part of names of files and of a Secret.
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?")
# Reasons of `ovn_certificate` that leave the contents of all files as they are
_NOT_OF_CONTENTS = frozenset({"permissions", "modification_times"})


@dataclasses.dataclass(frozen=True)
class _Client:
    """One entry of the option."""

    name: str
    common_name: str = ""  # empty: the name
    subject_alt_names: t.Any = ""  # a list, or a text with commas
    secret: str = ""  # empty: the cluster's name, -client- and the name
    access: str = "central"


def desired_clients(
    clients: t.Any,
    directory: str,
    cluster_name: str = "ovn",
    hostvars: Hostvars | None = None,
    groups: Groups | None = None,
    chassis_ca: bool | None = False,
) -> list[dict[str, t.Any]]:
    """Return each client with `name`, `pair` (options of `ovn_certificate`: its files on the control node, its names), `access` and `secret` (in Kubernetes).

    `clients` is a list, whose entries are names or dictionaries, or a text with names and commas; empty means none. `InvalidInput`: something else, a name
    that is none or comes twice, or the common name of a chassis. `chassis_ca`: chassis have a CA of
    their own (`pki.chassis_service`).
    """
    entries = _entries(clients)
    if not entries:
        return []
    found = [_desired(entry, directory, cluster_name) for entry in entries]
    chassis = _chassis_names(hostvars or {}, groups or {})
    for number, client in enumerate(found):
        if client["name"] in [other["name"] for other in found[:number]]:
            raise InvalidInput(f"{OPTION} has {client['name']} twice. Give each client a name of its own.")
        _check_access(client, chassis, chassis_ca=bool(chassis_ca))
    return found


def _entries(clients: t.Any) -> t.Sequence[t.Any]:
    if clients is None or clients == "":
        return []
    if isinstance(clients, str):
        return as_list(clients)
    if not isinstance(clients, t.Sequence):
        raise InvalidInput(
            f'{OPTION} is "{str(clients)[:200]}", not a list. Give a list of names or dictionaries, like [neutron].'
        )
    return clients


def _check_access(client: Variables, chassis: t.Collection[str], *, chassis_ca: bool) -> None:
    """Refuse rights that the client would get by the name of a chassis, and those of chassis where no CA gives them."""
    if client["access"] == "central" and client["pair"]["common_name"] in chassis:
        raise InvalidInput(
            f"{OPTION}: {client['pair']['common_name']} is the name of a chassis, and this client would have all rights in both databases. Give another "
            "common_name, or access: chassis for a client that shares the rights of that chassis."
        )
    if client["access"] == "chassis" and not chassis_ca:
        raise InvalidInput(
            f"{OPTION}: {client['name']} cannot have access: chassis, because chassis have no CA of their own here that the Southbound alone lets in. That "
            "takes ovn_tls and a control plane in this inventory: on machines with ovn_southbound_rbac, in Kubernetes with the Secret that this role makes."
        )


def _desired(entry: t.Any, directory: str, cluster_name: str) -> dict[str, t.Any]:
    given = {"name": entry} if isinstance(entry, str) else entry
    known = [field.name for field in dataclasses.fields(_Client)]
    if not isinstance(given, t.Mapping) or set(given) - set(known):
        raise InvalidInput(
            f'{OPTION} has the entry "{str(entry)[:200]}". Give a name, or a dictionary with {", ".join(known)}.'
        )
    client = read_options(_Client, given, f"{OPTION}: ")
    if not _NAME.fullmatch(client.name):
        raise InvalidInput(
            f'{OPTION}: "{client.name}" cannot be the name of a client. Use at most 40 lower-case letters, digits and hyphens, like neutron.'
        )
    if client.access not in AUTHORITIES:
        raise InvalidInput(f'{OPTION}: {client.name} has the access "{client.access}". Give central or chassis.')
    pair = os.path.join(directory, client.name)
    return {
        "name": client.name,
        "pair": {
            "private_key": f"{pair}-key.pem",
            "certificate": f"{pair}-cert.pem",
            "ca_certificate": os.path.join(directory, "ca.pem"),
            "common_name": client.common_name or client.name,
            "subject_alt_names": as_list(client.subject_alt_names),
            # Nobody is to believe that a client is a server.
            "extended_key_usage": ["clientAuth"],
        },
        "access": client.access,
        "secret": client.secret or f"{cluster_name}-client-{client.name}",
    }


def _chassis_names(hostvars: Hostvars, groups: Groups) -> set[str]:
    """Return the names that Southbound RBAC knows chassis by."""
    return {
        str(first_value(hostvars[host], "ovn_system_id", default=host))
        for host in members_of(groups, "ovn_hypervisors")
    }


def client_pairs(
    clients: t.Iterable[t.Mapping[str, t.Any]],
    pair: t.Mapping[str, t.Any],
    authorities: t.Mapping[str, t.Mapping[str, t.Any]],
) -> list[dict[str, t.Any]]:
    """Return the options of `ovn_certificate` for each client. Files of clients are nobody's but the operator's, and nobody connects to a client."""
    not_of_clients = {"owner": None, "group": None, "client_ca_certificate": None, "client_ca_bundle": ""}
    return [
        {**pair, **not_of_clients, **client["pair"], "issuer": authorities[client["access"]]["issuer"]}
        for client in clients
    ]


def served_clients(clients: t.Sequence[dict[str, t.Any]], *, former_layout: bool) -> list[dict[str, t.Any]]:
    """Return the clients that get a certificate. A rotation brings the chassis CA to an installation that has none; until then a client with its rights has
    the certificate of before, if it has one.
    """
    if not former_layout:
        return list(clients)
    return [
        client for client in clients if client["access"] != "chassis" or os.path.isfile(client["pair"]["certificate"])
    ]


def clients_problem(waiting: t.Sequence[str], host: str, ca_directory: str, *, has_issuer: bool, may_wait: bool) -> str:
    """Return why no client gets a certificate, empty if they do; `waiting` are those who wait for the CA of the chassis."""
    if not has_issuer:
        return (
            f"The certificates of {OPTION} cannot be issued: there is no ca.pem in {ca_directory}. Run c5c3.ovn.central first, which creates the CA. Where "
            f"another owner makes the Secret of {host}, let that owner issue them, or give its CA as ovn_pki_ca.certificate and ovn_pki_ca.private_key. "
            "Nothing was changed for clients."
        )
    if not waiting or may_wait:
        return ""
    return (
        f"The certificates of {', '.join(waiting)} in {OPTION} are not issued: there is no chassis-ca.pem in {ca_directory}, and certificates of ca.pem have "
        "all rights. Run c5c3.ovn.rotate, which separates the two, or leave access: chassis out. Nothing was changed for clients."
    )


def is_client_due(hostvars: Hostvars, central_hosts: t.Iterable[str], certificate: str) -> bool:
    """Return whether the files of the client with this certificate (its path on the control node) would get other contents in a run.

    As it was compared in the play of the central hosts (`ovn_pki_clients_issued`); False if that compared no certificate of this path. For check mode: a run
    has written them by then.
    """
    recorded = (recorded_clients(hostvars[host]) for host in central_hosts)
    return any(
        os.path.normpath(client["path"]) == os.path.normpath(certificate) and changes_contents(client["reasons"])
        for clients in recorded
        for client in clients.values()
    )


def recorded_clients(variables: Variables) -> t.Mapping[str, Variables]:
    """Return what a run on this central host has found or issued, by the name of the client."""
    issued = variables.get("ovn_pki_clients_issued") or {}
    return t.cast("t.Mapping[str, Variables]", issued.get("clients") or {})


def changes_contents(reasons: t.Iterable[str]) -> bool:
    """Return whether one of these reasons (codes of `ovn_certificate`) gives a file other contents."""
    return bool(set(reasons) - _NOT_OF_CONTENTS)
