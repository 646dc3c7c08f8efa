# SPDX-License-Identifier: GPL-3.0-or-later
"""The databases of an inventory's central hosts as connection strings. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from .._base.databases import PORTS, STEMS, Database
from .._base.errors import InvalidInput
from .._base.inventory import address_of, as_list
from .._machine.distributions import distribution_data
from .._ovsdb.endpoint import Endpoint, parse_endpoints
from .variables import Hostvars, Variables, backend_of, first_value, is_true

# A control plane that others run: what the inventory says of it, and which runs that forbids. Pure.


def is_managed(central: Variables) -> bool:
    """Return whether this collection runs the control plane of this central host: the shared variable `ovn_central_managed`."""
    return is_true(central, "ovn_central_managed", default=True)


def foreign_central_problem(hosts: t.Sequence[str], hostvars: Hostvars, changes: bool = False) -> str:
    """Return why a run cannot go on with these central hosts, empty if it can. `changes`: it would change the control plane, not only read it."""
    central = {host: hostvars[host] for host in hosts}
    foreign = [host for host, variables in central.items() if not is_managed(variables)]
    if not foreign:
        return ""
    if len(foreign) < len(hosts):
        ours = ", ".join(host for host in hosts if host not in foreign)
        return f"ovn_central_managed is false for {', '.join(foreign)}, but not for {ours}. Set it for all hosts of ovn_central, or for none."
    in_kubernetes = [host for host, variables in central.items() if backend_of(variables) == "kubernetes"]
    if in_kubernetes:
        return (
            f"ovn_central_managed is false for {', '.join(in_kubernetes)}, which is a Kubernetes cluster with an OVNCluster of ours (ovn_backend). "
            "To look at an OVN of others in Kubernetes, name its endpoints for a host with ansible_connection: local (docs/foreign-ovn.md)."
        )
    if changes:
        return (
            f"Others run the control plane on {', '.join(foreign)} (ovn_central_managed is false), so it is only read. Look at it with c5c3.ovn.status or "
            "c5c3.ovn.verify, connect hypervisors to it with c5c3.ovn.hypervisors. To take it over, take ovn_central_managed out of the inventory and run "
            "c5c3.ovn.adopt."
        )
    return ""


# Where the sockets of a central machine are, for the roles that ask its daemons. Pure.


def run_directory_of(variables: Variables) -> str:
    """Return the directory with the sockets. Every distribution that is known has the same one, so the host does not have to be asked what it is."""
    given = first_value(variables, "ovn_central_distribution", default={})
    return t.cast("str", distribution_data("central", given, {}, "")["run_directory"])


def tls_files_of(central: Variables, directory: str = "/etc/ovn/tls") -> dict[str, str | None]:
    """Return the files with which a central host connects, for the options of a module. Without a directory only those that the inventory names."""
    files = {"private_key": "central-key.pem", "certificate": "central-cert.pem", "ca_certificate": "ca.pem"}
    return {
        option: first_value(central, f"ovn_central_{option}", default=f"{directory}/{name}" if directory else None)
        for option, name in files.items()
    }


def socket_of(variables: Variables, database: Database) -> str:
    """Return the endpoint at which the server of this database listens on its own host."""
    return f"unix:{run_directory_of(variables)}/{STEMS[database]}.sock"


Listener = t.Literal["unrestricted", "client", "raft"]


def declared_endpoints(variables: Variables, *options: str) -> list[Endpoint]:
    """Return the endpoints in the first of these options that is set, none without one; `InvalidInput` names the option."""
    option = next((name for name in options if first_value(variables, name)), "")
    try:
        return parse_endpoints(as_list(first_value(variables, option))) if option else []
    except InvalidInput as e:
        raise InvalidInput(f"{option}: {e} Nothing was changed.") from None


def endpoints_of(
    hosts: t.Iterable[str], hostvars: Hostvars, database: Database, listener: Listener = "unrestricted", *, tls: bool
) -> list[str]:
    """Return one endpoint for each host, in their order, like `ssl:192.0.2.11:6642`; IPv6 literals get brackets. `listener` is a field of `Ports`.

    A database or listener that does not exist is `InvalidInput`: playbooks give them as text.
    """
    ports: dict[str, int] = dataclasses.asdict(PORTS[database]) if database in PORTS else {}
    if listener not in ports:
        raise InvalidInput(
            f'"{database}" and "{listener}" are no port of a database. Use {" or ".join(PORTS)}, and unrestricted, client or raft.'
        )
    scheme: t.Literal["ssl", "tcp"] = "ssl" if tls else "tcp"
    return [str(Endpoint(scheme, address_of(host, hostvars[host]), ports[listener])) for host in hosts]
