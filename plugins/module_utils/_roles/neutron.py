# SPDX-License-Identifier: GPL-3.0-or-later
"""The role ovn_neutron: its options to what a Neutron has to get. Pure."""

from __future__ import annotations

import dataclasses
import ipaddress
import json
import typing as t

from .._base.databases import DATABASES, Database
from .._base.errors import InvalidInput
from .._base.inventory import as_list
from .._host.client_certificate import files_in_use
from .._machine.systemd_sandbox import Sandbox, sandbox_revision, sandbox_settings
from .._neutron.helm import helm_overrides
from .._neutron.ini import Sections, check_extra, merge_sections, render_ini
from .._neutron.resource import connection_fields
from .._neutron.settings import SYNC_MODES, OvnConnection, ServerOptions, server_sections
from .._ovsdb.endpoint import parse_endpoints
from .._ovsdb.host_names import names_in
from .._ovsdb.tls_files import TlsFiles
from .central_observer import PROGRAM
from .endpoints import Listener, endpoints_of
from .foreign_central import is_managed
from .neutron_asking import OUTSIDE, members_to_ask, unasked_warnings
from .options import read_options
from .service_settings import service_units
from .variables import Hostvars, Variables, backend_of, first_value

PREFIX = "ovn_neutron_"
# As the Secret of a client names them
_SECRET_KEYS = {"private_key": "tls.key", "certificate": "tls.crt", "ca_certificate": "ca.crt"}
_LAST_PORT = 65535
# What the cluster of a control plane says of its endpoints for clients inside, the best first
_INSIDE: dict[Database, tuple[str, ...]] = {
    "northbound": ("northbound_cluster_ips", "northbound_inside"),
    "southbound": ("southbound_unrestricted_cluster_ips", "southbound_unrestricted_inside", "southbound_inside"),
}


@dataclasses.dataclass(frozen=True)
class NeutronOptions:
    """The options of the role, `host`, and as `control_plane` the answer of the cluster of the control plane."""

    host: str
    backend: str
    directory: str
    tls: bool = True
    leader_proxy: bool = True
    leader_proxy_address: str = "127.0.0.1"
    leader_proxy_northbound_port: int = 26641
    leader_proxy_southbound_port: int = 26642
    sync_mode: str = "log"
    metadata: bool = True
    distributed_floating_ip: bool = False
    l3_scheduler: str = "leastloaded"
    connection_timeout: int = 60
    retry_max_interval: int = 5
    flat_networks: t.Any = ()
    vlan_ranges: t.Any = ()
    network_types: t.Any = ("geneve",)
    extension_drivers: t.Any = ("port_security",)
    service_plugins: t.Any = ()
    dns_servers: t.Any = ()
    config: t.Any = dataclasses.field(default_factory=dict)
    secret: str = ""
    services: t.Any = ()
    restart_by_hand: bool = False
    inside_cluster: bool = False
    ask_databases: bool = True
    northbound_endpoints: t.Any = ()
    southbound_endpoints: t.Any = ()
    control_plane: t.Any = dataclasses.field(default_factory=dict)


def desired_neutron(given: Variables, endpoints: t.Mapping[Database, t.Sequence[str]]) -> dict[str, t.Any]:
    """Return what the role brings.

    `config`: the text of the file for Neutron. `files`: paths of the client certificate. `endpoints`: the members. `helm`: overrides for the chart.
    `proxy`: `environment`, `sandbox`, `revision` and `program` of its unit; empty without one. `service_units`: an option of `ovn_units`. `neutron_patch`: the
    specification of a Neutron resource. `members_to_ask`: in a cluster, those that the control node can ask, none of a database for clients inside alone.
    `warnings`: texts.

    `InvalidInput` names the option that is wrong.
    """
    # YAML reads `off` without quotes as false.
    given = {**given, "sync_mode": "off" if given.get("sync_mode") is False else given.get("sync_mode")}
    options = read_options(NeutronOptions, given, PREFIX)
    _check(options)
    on_machine = options.backend == "host"
    files = (files_in_use if on_machine else _files_of_pods)(options.directory) if options.tls else {}
    direct = OvnConnection(list(endpoints["northbound"]), list(endpoints["southbound"]), **files)
    proxied = on_machine and options.leader_proxy and bool(direct.northbound)
    inside = _inside_connection(options, direct)
    connection = direct.through_proxy(*_listeners(options).values()) if proxied else direct if on_machine else inside
    declared, answer = _declared(options), options.control_plane.get("endpoints") or {}
    asked = {} if on_machine else members_to_ask(endpoints, declared, answer, inside=options.inside_cluster)
    ours = server_sections(connection, _server_options(options))
    extra = check_extra(options.config, ours, f"{PREFIX}config")
    config = render_ini(merge_sections(ours, extra))
    return {
        "config": config,
        "files": files,
        "endpoints": {name: list(endpoints[name]) for name in DATABASES},
        "helm": _helm(options, inside, extra),
        "proxy_endpoints": dict(zip(DATABASES, (connection.northbound[:1], connection.southbound[:1])))
        if proxied
        else {},
        "proxy": _proxy(options, direct) if proxied else {},
        "service_units": service_units(as_list(options.services)),
        "neutron_patch": _patch(inside),
        "members_to_ask": asked,
        "warnings": [
            *_sync_warnings(options),
            *_name_warnings(options, connection),
            *(unasked_warnings(options.host, endpoints, declared, asked, PREFIX) if options.ask_databases else []),
        ],
    }


def neutron_endpoints(
    hostvars: Hostvars,
    central_hosts: t.Sequence[str],
    given: Variables,
    *,
    tls: bool = True,
    answer: Variables | None = None,
    inside: bool = False,
) -> dict[Database, list[str]]:
    """Return the ports without a role, of all members: Neutron writes what the role of chassis keeps from it.

    In this order: what is given as `northbound_endpoints` and `southbound_endpoints`, what the cluster of the control plane has answered (`inside` of it, by
    address if there are some, or for clients outside), one port of each central host. A control plane of others has no port without a role beside that of
    chassis, and `ovn_northbound_endpoints` and `ovn_southbound_endpoints` say where it is.
    """
    found: dict[Database, list[str]] = {}
    central: Variables = hostvars[central_hosts[0]] if central_hosts else {}
    managed = is_managed(central)
    for database in DATABASES:
        declared = as_list(given.get(f"{database}_endpoints") or [])
        if not managed and not declared:
            declared = as_list(first_value(central, f"ovn_{database}_endpoints"))
        if declared:
            found[database] = [str(endpoint) for endpoint in parse_endpoints(declared)]
        elif _is_cluster(hostvars, central_hosts):
            known = (answer or {}).get("endpoints") or {}
            texts = (known.get(name) for name in (_INSIDE if inside else OUTSIDE)[database])
            found[database] = as_list(next((text for text in texts if text), ""))
        else:
            listener: Listener = "unrestricted" if managed else "client"
            found[database] = endpoints_of(central_hosts, hostvars, database, listener, tls=tls)
    return found


def _is_cluster(hostvars: Hostvars, central_hosts: t.Sequence[str]) -> bool:
    return bool(central_hosts) and backend_of(hostvars[central_hosts[0]]) == "kubernetes"


def _check(options: NeutronOptions) -> None:
    if options.sync_mode not in SYNC_MODES:
        raise InvalidInput(f"{PREFIX}sync_mode is {options.sync_mode}. Use one of {', '.join(SYNC_MODES)}.")
    try:
        ipaddress.ip_address(options.leader_proxy_address)
    except ValueError as e:
        raise InvalidInput(
            f'{PREFIX}leader_proxy_address is "{options.leader_proxy_address}". Give an address of this host, such as 127.0.0.1.'
        ) from e
    ports = (options.leader_proxy_northbound_port, options.leader_proxy_southbound_port)
    if not all(0 < port <= _LAST_PORT for port in ports):
        raise InvalidInput(
            f"{PREFIX}leader_proxy_northbound_port and {PREFIX}leader_proxy_southbound_port are {ports[0]} and {ports[1]}. Use ports from 1 to {_LAST_PORT}."
        )
    if options.leader_proxy_northbound_port == options.leader_proxy_southbound_port:
        raise InvalidInput(
            f"{PREFIX}leader_proxy_northbound_port and {PREFIX}leader_proxy_southbound_port are both {options.leader_proxy_northbound_port}. "
            "Give each database a port of its own."
        )


def _server_options(options: NeutronOptions) -> ServerOptions:
    return ServerOptions(
        sync_mode=options.sync_mode,
        metadata=options.metadata,
        distributed_floating_ip=options.distributed_floating_ip,
        l3_scheduler=options.l3_scheduler,
        connection_timeout=options.connection_timeout,
        retry_max_interval=options.retry_max_interval,
        flat_networks=as_list(options.flat_networks),
        vlan_ranges=as_list(options.vlan_ranges),
        network_types=as_list(options.network_types),
        extension_drivers=as_list(options.extension_drivers),
        service_plugins=as_list(options.service_plugins),
        dns_servers=as_list(options.dns_servers),
    )


def _listeners(options: NeutronOptions) -> dict[Database, str]:
    address = options.leader_proxy_address
    shown = f"[{address}]" if ":" in address else address
    return {
        "northbound": f"{shown}:{options.leader_proxy_northbound_port}",
        "southbound": f"{shown}:{options.leader_proxy_southbound_port}",
    }


def _proxy(options: NeutronOptions, direct: OvnConnection) -> dict[str, t.Any]:
    tls = TlsFiles(direct.private_key or None, direct.certificate or None, direct.ca_certificate or None)
    environment = {
        "OVN_NORTHBOUND": ",".join(direct.northbound),
        "OVN_SOUTHBOUND": ",".join(direct.southbound),
        **{f"OVN_{name.upper()}_LISTEN": f"tcp:{place}" for name, place in _listeners(options).items()},
        **tls.as_environment(),
    }
    sandbox = sandbox_settings(Sandbox(files=list(tls)))
    text = json.dumps(environment, sort_keys=True)
    return {
        "program": PROGRAM,
        "environment": environment,
        "sandbox": sandbox,
        "revision": sandbox_revision(text, sandbox),
    }


def _inside_connection(options: NeutronOptions, direct: OvnConnection) -> OvnConnection:
    """Return the connection of pods: through the leader proxy of their node, if they run in the cluster of the control plane and it has some."""
    known = options.control_plane.get("endpoints") or {}
    northbound, southbound = (known.get(f"leader_proxy_{database}") or "" for database in DATABASES)
    if not (options.inside_cluster and options.leader_proxy and northbound and southbound) or any(
        _declared(options).values()
    ):
        return direct
    return direct.through_proxies(northbound, southbound)


def _declared(options: NeutronOptions) -> dict[Database, list[str]]:
    return {
        "northbound": as_list(options.northbound_endpoints),
        "southbound": as_list(options.southbound_endpoints),
    }


def _files_of_pods(directory: str) -> dict[str, str]:
    return {name: f"{directory}/{key}" for name, key in _SECRET_KEYS.items()}


def _helm(options: NeutronOptions, inside: OvnConnection, extra: Sections) -> dict[str, t.Any]:
    """Return the overrides, for pods wherever the role runs: no proxy of a machine, and files with the names of the Secret."""
    files = _files_of_pods(options.directory) if options.tls else {}
    connection = OvnConnection(inside.northbound, inside.southbound, **files)
    sections = merge_sections(server_sections(connection, _server_options(options)), extra)
    return helm_overrides(sections, secret=options.secret if options.tls else "", directory=options.directory)


def _patch(direct: OvnConnection) -> dict[str, t.Any]:
    """Return the specification of a Neutron resource (`neutron.openstack.c5c3.io/v1alpha1`) with the endpoints."""
    return {"ovn": connection_fields(",".join(direct.northbound), ",".join(direct.southbound))}


def _name_warnings(options: NeutronOptions, connection: OvnConnection) -> list[str]:
    """The proxy resolves names."""
    names = names_in([*connection.northbound, *connection.southbound])
    if not names:
        return []
    return [
        f"Neutron of {options.host} gets names of members: {', '.join(names)}. The Python library of Open vSwitch finds no IPv4 address by a name. Give "
        f"addresses as {PREFIX}northbound_endpoints and {PREFIX}southbound_endpoints, unless something replaces the names before Neutron reads them."
        + (
            " In the cluster of the control plane, spec.leaderProxy of the OVNCluster gives one."
            if options.backend == "kubernetes"
            else ""
        )
    ]


def _sync_warnings(options: NeutronOptions) -> list[str]:
    if options.sync_mode in ("off", "log"):
        return []
    util = "each run of neutron-ovn-db-sync-util"
    when = f"each start of Neutron, and {util}," if options.sync_mode == "repair" else util
    return [
        f"{PREFIX}sync_mode of {options.host} is {options.sync_mode}: {when} deletes rows of the Northbound that Neutron's own database lacks. If "
        "something else uses this OVN too, use off or log; c5c3.ovn.census tells whose rows there are."
    ]
