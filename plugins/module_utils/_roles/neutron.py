# SPDX-License-Identifier: GPL-3.0-or-later
"""The role ovn_neutron: its options to what a Neutron has to get. Pure."""

from __future__ import annotations

import dataclasses
import ipaddress
import typing as t

from .._base.databases import DATABASES, Database
from .._base.errors import InvalidInput, list_names
from .._base.inventory import as_list
from .._host.client_certificate import files_in_use
from .._neutron.config_files import connection_fields
from .._neutron.ini import check_extra, render_ini
from .._neutron.settings import OvnConnection, helm_overrides, may_have_secret, server_sections, with_defaults
from .._ovsdb.endpoint import names_in, parse_endpoints
from .endpoints import Listener, endpoints_of, is_managed
from .neutron_proxy import (
    OUTSIDE,
    DesiredLeaderProxy,
    leader_proxy,
    members_to_ask,
    proxy_problem,
    service_units,
    unasked_warnings,
)
from .option_types import OWN_OPTION
from .variables import Groups, Hostvars, Variables, backend_of, first_value, hosts_by_backend, members_of

SECRET, CONFIG_MAP = "ovn-client-neutron", "ovn-neutron"
ENDPOINT_OPTIONS: t.Mapping[Database, str] = {
    "northbound": "ovn_northbound_endpoints",
    "southbound": "ovn_neutron_southbound_endpoints",
}
# As the Secret of a client names them
SECRET_KEYS = {"private_key": "tls.key", "certificate": "tls.crt", "ca_certificate": "ca.crt"}
# What the cluster of a control plane says of its endpoints for clients inside, the best first
_INSIDE: dict[Database, tuple[str, ...]] = {
    "northbound": ("northbound_cluster_ips", "northbound_inside"),
    "southbound": ("southbound_unrestricted_cluster_ips", "southbound_unrestricted_inside", "southbound_inside"),
}


@dataclasses.dataclass(frozen=True)
class NeutronOptions:
    """Options of the role and shared variables, as `argument_specs.yml` and `shared_variables.py` describe them."""

    backend: str
    tls: bool
    northbound_endpoints: list[str] | None
    southbound_endpoints: list[str] | None = dataclasses.field(metadata=OWN_OPTION)
    neutron_group: str
    directory: str
    config_file: str
    config: dict[str, t.Any]
    services: list[str]
    sync_mode: str
    permit: list[str]
    ask_databases: bool
    leader_proxy: str  # the address at which it listens, or none
    namespace: str = dataclasses.field(metadata=OWN_OPTION)
    inside_cluster: bool
    helm_file: str | None
    resource: str | None

    @property
    def on_machine(self) -> bool:
        return self.backend == "host"

    @property
    def has_proxy(self) -> bool:
        return self.leader_proxy != "none"

    @property
    def declared(self) -> dict[Database, list[str]]:
        return {"northbound": self.northbound_endpoints or [], "southbound": self.southbound_endpoints or []}


@dataclasses.dataclass(frozen=True)
class DesiredNeutron:
    """What a Neutron has to get; on machines files become of it, in a cluster a Secret, a ConfigMap and fields of a resource.

    `config` is the text of the file, which may have a secret of users (`has_secret`). `files`: paths of the client certificate, none without TLS.
    `connection`: fields `spec.ovn` of a Neutron resource. `members_to_ask`: in a cluster, those that the control node can ask, none of a database for clients
    inside alone. `problems` forbid the run.
    """

    config: str = dataclasses.field(repr=False)
    has_secret: bool
    files: dict[str, str]
    endpoints: dict[Database, list[str]]
    helm: dict[str, t.Any] = dataclasses.field(repr=False)
    proxy: DesiredLeaderProxy | None
    service_units: list[dict[str, t.Any]]
    connection: dict[str, str]
    members_to_ask: dict[Database, list[str]]
    warnings: list[str]
    problems: list[str]


def desired_neutron(
    host: str,
    options: NeutronOptions,
    endpoints: t.Mapping[Database, t.Sequence[str]],
    control_plane: Variables | None = None,
) -> DesiredNeutron:
    """Return what Neutron has to get. `control_plane` is the answer of the cluster of the control plane, if there is one."""
    answer = (control_plane or {}).get("endpoints") or {}
    files = (files_in_use if options.on_machine else _files_of_pods)(options.directory) if options.tls else {}
    direct = OvnConnection(list(endpoints["northbound"]), list(endpoints["southbound"]), **files)
    inside = _inside_connection(options, direct, answer)
    problems = _address_problems(options)
    is_proxied = options.on_machine and options.has_proxy and direct.northbound and not problems
    proxy = leader_proxy(options.leader_proxy, direct) if is_proxied else None
    connection = direct.through_proxy(*proxy.listeners.values()) if proxy else direct if options.on_machine else inside
    asked = (
        {} if options.on_machine else members_to_ask(endpoints, options.declared, answer, inside=options.inside_cluster)
    )
    settings = _settings(options, connection, inside)
    unasked = unasked_warnings(host, endpoints, options.declared, asked, ENDPOINT_OPTIONS)
    return DesiredNeutron(
        config=settings.config,
        has_secret=settings.has_secret,
        files=files,
        endpoints={name: list(endpoints[name]) for name in DATABASES},
        helm=settings.helm,
        proxy=proxy,
        service_units=service_units(options.services),
        connection=connection_fields(",".join(inside.northbound), ",".join(inside.southbound)),
        members_to_ask=asked,
        warnings=[
            *_sync_warnings(host, options.sync_mode),
            *_name_warnings(host, options, connection),
            *(unasked if options.ask_databases else []),
        ],
        problems=[*problems, *settings.problems],
    )


def neutron_endpoints(
    hostvars: Hostvars, groups: Groups, options: NeutronOptions, control_plane: Variables | None = None
) -> dict[Database, list[str]]:
    """Return the ports without a role, of all members: Neutron writes what the role of chassis keeps from it.

    In this order: what is declared, what the cluster of the control plane has answered (inside of it, by address if there are some, or for clients outside),
    one port of each central host. A control plane of others has no port without a role beside that of chassis, and `ovn_northbound_endpoints` and
    `ovn_southbound_endpoints` of its hosts say where it is.
    """
    found: dict[Database, list[str]] = {}
    central_hosts = members_of(groups, "ovn_central")
    central: Variables = hostvars[central_hosts[0]] if central_hosts else {}
    managed = is_managed(central)
    for database in DATABASES:
        declared = options.declared[database]
        if not managed and not declared:
            declared = as_list(first_value(central, f"ovn_{database}_endpoints"))
        if declared:
            found[database] = [str(endpoint) for endpoint in parse_endpoints(declared)]
        elif central_hosts and backend_of(central) == "kubernetes":
            known = (control_plane or {}).get("endpoints") or {}
            texts = (known.get(name) for name in (_INSIDE if options.inside_cluster else OUTSIDE)[database])
            found[database] = as_list(next((text for text in texts if text), ""))
        else:
            listener: Listener = "unrestricted" if managed else "client"
            found[database] = endpoints_of(central_hosts, hostvars, database, listener, tls=options.tls)
    return found


def central_cluster(hostvars: Hostvars, groups: Groups) -> str:
    """Return the host that stands for the cluster of the control plane, empty if that is on machines."""
    return next(iter(hosts_by_backend(members_of(groups, "ovn_central"), hostvars)["kubernetes"]), "")


def endpoint_problem(host: str, endpoints: t.Mapping[Database, t.Sequence[str]]) -> str:
    """Return that nobody knows where the databases are, empty if that is known."""
    if all(endpoints.values()):
        return ""
    return (
        f"No endpoint of the databases is known to {host}. Put the central hosts into the group ovn_central and run c5c3.ovn.central, or set "
        f"{' and '.join(ENDPOINT_OPTIONS.values())}. Nothing was changed."
    )


def leader_proxy_problem(host: str, options: NeutronOptions, neutron: DesiredNeutron, unit: str) -> str:
    """Return why the leader proxy whose unit file has this text must not end or move, empty if it may, or if nothing is known of the databases yet."""
    if options.services or "restart_by_hand" in options.permit or not neutron.endpoints["northbound"]:
        return ""
    return proxy_problem(host, unit, neutron.proxy)


def missing_files_problem(host: str, missing: t.Sequence[str]) -> str:
    """Return that the control node lacks the certificate of Neutron, empty if no file is missing."""
    if not missing:
        return ""
    return (
        f"{host} cannot get the certificate of neutron: {', '.join(missing)} is not on the control node. Give ovn_pki_clients the entry neutron and run "
        "c5c3.ovn.neutron, which has it issued, or name its directory as ovn_pki_ca_directory. Nothing was changed."
    )


def helm_problem(hostvars: Hostvars, hosts: t.Sequence[str], host: str, path: str) -> str:
    """Return why this host cannot write the file, empty if it can. Machines of one Neutron have the same overrides, clusters have not."""
    writers = [one for one in hosts if one == host or hostvars[one].get("ovn_neutron_helm_file") == path]
    if not path or len(writers) < 2 or not any(backend_of(hostvars[one]) == "kubernetes" for one in writers):
        return ""
    return (
        f"ovn_neutron_helm_file of {list_names(writers)} is {path}: each of them would overwrite the overrides of the others in each run. "
        "Nothing was changed. Give each a file of its own, for example with inventory_hostname in its name, then run again."
    )


def _address_problems(options: NeutronOptions) -> list[str]:
    if not options.has_proxy:
        return []
    try:
        ipaddress.ip_address(options.leader_proxy)
    except ValueError:
        return [
            f'ovn_neutron_leader_proxy is "{options.leader_proxy}". Give an address of this host, such as 127.0.0.1, or none for no proxy.'
        ]
    return []


class _Settings(t.NamedTuple):
    """The same settings as the text of a file and as overrides for Helm."""

    config: str
    helm: dict[str, t.Any]
    has_secret: bool
    problems: list[str]


def _settings(options: NeutronOptions, connection: OvnConnection, inside: OvnConnection) -> _Settings:
    """Return the settings. Those of Helm are for pods wherever the role runs: no proxy of a machine, and files with the names of the Secret."""
    ours = server_sections(connection, options.sync_mode)
    of_pods = OvnConnection(
        inside.northbound, inside.southbound, **(_files_of_pods(options.directory) if options.tls else {})
    )
    try:
        extra = check_extra(options.config, ours, "ovn_neutron_config")
        sections = with_defaults(server_sections(of_pods, options.sync_mode), extra)
        helm = helm_overrides(sections, secret=SECRET if options.tls else "", directory=options.directory)
        return _Settings(render_ini(with_defaults(ours, extra)), helm, may_have_secret(extra), [])
    except InvalidInput as e:
        return _Settings("", {}, True, [str(e)])


def _inside_connection(options: NeutronOptions, direct: OvnConnection, answer: t.Mapping[str, str]) -> OvnConnection:
    """Return the connection of pods: through the leader proxy of their node, if they run in the cluster of the control plane and it has some."""
    northbound, southbound = (answer.get(f"leader_proxy_{database}") or "" for database in DATABASES)
    if not (options.inside_cluster and options.has_proxy and northbound and southbound) or any(
        options.declared.values()
    ):
        return direct
    return direct.through_proxies(northbound, southbound)


def _files_of_pods(directory: str) -> dict[str, str]:
    return {name: f"{directory}/{key}" for name, key in SECRET_KEYS.items()}


def _name_warnings(host: str, options: NeutronOptions, connection: OvnConnection) -> list[str]:
    """The proxy resolves names."""
    names = names_in([*connection.northbound, *connection.southbound])
    if not names:
        return []
    return [
        f"Neutron of {host} gets names of members: {', '.join(names)}. The Python library of Open vSwitch finds no IPv4 address by a name. Give addresses as "
        f"{' and '.join(ENDPOINT_OPTIONS.values())}, unless something replaces the names before Neutron reads them."
        + (
            ""
            if options.on_machine
            else " In the cluster of the control plane, spec.leaderProxy of the OVNCluster gives one."
        )
    ]


def _sync_warnings(host: str, mode: str) -> list[str]:
    if mode in ("off", "log"):
        return []
    util = "each run of neutron-ovn-db-sync-util"
    when = f"each start of Neutron, and {util}," if mode == "repair" else util
    return [
        f"ovn_neutron_sync_mode of {host} is {mode}: {when} deletes rows of the Northbound that Neutron's own database lacks. If "
        "something else uses this OVN too, use off or log; c5c3.ovn.census tells whose rows there are."
    ]
