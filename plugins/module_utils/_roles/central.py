# SPDX-License-Identifier: GPL-3.0-or-later
"""What the options of ovn_central mean: the desired state of one central host, and the specification of an OVNCluster. Pure."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import typing as t

from ansible.module_utils.common.dict_transformations import dict_merge

from .._agent.archive import build_archive
from .._api.names import CLIENT_CA_KEY
from .._api.observer_settings import HEARTBEAT_SECONDS
from .._api.tls_spec import check_ciphers
from .._base.databases import DATABASES, DEFAULT_ELECTION_TIMER, DEFAULT_INACTIVITY_PROBE, PORTS, STEMS, Database
from .._base.deadline import STOP_SECONDS
from .._base.inventory import as_list
from .._base.tls_options import DEFAULT_CIPHERS
from .._daemons.central_host import DEFAULT_THREADS, NorthdSettings, control_socket, northd_command
from .._daemons.raft_launcher import SCRIPT as LAUNCHER
from .._daemons.relay_command import (
    SCHEMA,
    RelaySettings,
    listeners_transaction,
    relay_command,
    relay_control_socket,
    relay_database_socket,
    relay_revision,
)
from .._daemons.schema_update import FILES as SCHEMA_FILES
from .._machine.distributions import distribution_data
from .._machine.systemd_sandbox import Sandbox, sandbox_revision, sandbox_settings
from .._ovsdb.endpoint import Endpoint
from .._ovsdb.tls_files import NO_TLS, TlsFiles
from .._pki.issued import list_path
from .._raft.launcher_environment import LauncherSettings, launcher_environment
from .._raft.sizing import Size, Timers, timers_for
from .central_observer import CentralListeners, observer_state
from .cluster_source import FACT, specification_of_resource
from .option_types import given_options
from .pki import machine_certificates, makes_client_bundle, pod_security_of, share_certificates
from .variables import Groups, Hostvars, Variables, first_value, members_of

PREFIX = "ovn_central_"
YIELDS = "_ovn_central_yields"  # a variable of c5c3.ovn.reconcile, whose runs end without an error while another one is at work
T = t.TypeVar("T")
# Without an effect in Kubernetes, besides `firewall`
ONLY_MACHINES = (
    "ca_certificate",
    "certificate",
    "config_directory",
    "database_directory",
    "database_options",
    "distribution",
    "extra_connections",
    "heartbeat_interval",
    "listen_address",
    "log_level",
    "metrics_file",
    "networks",
    "observer",
    "private_key",
    "relay_ca_certificate",
    "timers_by_size",
    "witness_hosts",
)
PERMITS_FOR_MACHINES = ("firewall_disconnect", "mixed_versions", "names", "package_downgrade")

_CA_CERTIFICATE, _RELAY_CA_CERTIFICATE = "/etc/ovn/tls/ca.pem", "/etc/ovn/tls/relay-ca.pem"
_STATE, _LOGS = "/run/c5c3-ovn", "/var/log/ovn"
_LOG_NAMES = {"northbound": "ovsdb-server-nb", "southbound": "ovsdb-server-sb"}
# The launcher reads them before it creates a database, never again: a change makes no restart due.
_READ_AT_CREATION = ("OVN_CLIENT_ENDPOINTS", "OVN_SCHEMA")
# A leader has to be older than two election timers before a member is added, removed or restarted; the rest is for the step itself, in seconds.
_WAITED_TIMERS, _WAIT_RESERVE = 3, 10


@dataclasses.dataclass(frozen=True)
class CentralMachineOptions:
    """Options of a control plane on machines. Timers and probes in milliseconds, `wait_timeout` in seconds; defaults are those of the role."""

    tls: bool = True
    tls_ciphers: str = DEFAULT_CIPHERS
    southbound_rbac: bool = True
    election_timer: int = DEFAULT_ELECTION_TIMER
    inactivity_probe: int = DEFAULT_INACTIVITY_PROBE
    timers_by_size: bool = True
    wait_timeout: int = 120
    listen_address: str = "[::]"
    database_options: dict[str, dict[str, t.Any]] = dataclasses.field(default_factory=dict)
    extra_connections: dict[str, t.Any] = dataclasses.field(default_factory=dict)
    northd_threads: int = DEFAULT_THREADS
    log_level: str = "info"
    distribution: dict[str, t.Any] = dataclasses.field(default_factory=dict)
    database_directory: str = "/var/lib/ovn"
    config_directory: str = "/etc/c5c3-ovn"
    private_key: str = "/etc/ovn/tls/central-key.pem"
    certificate: str = "/etc/ovn/tls/central-cert.pem"
    ca_certificate: str = _CA_CERTIFICATE
    relay_ca_certificate: str = ""
    observer: bool = True
    heartbeat_interval: int = HEARTBEAT_SECONDS
    metrics_file: str = "/run/c5c3-ovn/observer/metrics.prom"

    @functools.cached_property
    def paths(self) -> dict[str, str]:
        """Programs and directories, which every distribution that is known has in the same place."""
        return distribution_data("central", self.distribution, {}, "")

    @property
    def run_directory(self) -> str:
        return self.paths["run_directory"]

    @property
    def tls_files(self) -> TlsFiles:
        return TlsFiles(self.private_key, self.certificate, self.ca_certificate) if self.tls else NO_TLS

    @property
    def issued_certificates(self) -> str:
        """The list of issued certificates, which runs write and the observer reads."""
        return list_path(self.config_directory)

    @property
    def relay_trusts(self) -> str:
        """The file of the role ovn_pki goes with its ca.pem. With other files the relay trusts what members trust, unless one of its own is named."""
        usual = _RELAY_CA_CERTIFICATE if self.ca_certificate == _CA_CERTIFICATE else self.ca_certificate
        return self.relay_ca_certificate or usual

    @property
    def has_relay(self) -> bool:
        """RBAC knows a chassis by the name in its certificate, so there is no role, and no relay that sees to it, without TLS."""
        return self.southbound_rbac and self.tls


@dataclasses.dataclass(frozen=True)
class CentralClusterOptions:
    """Options of a control plane in Kubernetes, beside which `spec` says all that the OVNCluster has. Timer and probe in milliseconds."""

    tls: bool = True
    tls_ciphers: str = DEFAULT_CIPHERS
    southbound_rbac: bool = True
    election_timer: int = DEFAULT_ELECTION_TIMER
    inactivity_probe: int = DEFAULT_INACTIVITY_PROBE
    northd_threads: int = DEFAULT_THREADS
    spec: dict[str, t.Any] = dataclasses.field(default_factory=dict)
    image: dict[str, t.Any] = dataclasses.field(default_factory=dict)
    openvswitch_image: dict[str, t.Any] = dataclasses.field(default_factory=dict)
    tls_secret: str | None = None


def desired_state(
    options: CentralMachineOptions, host: str, addresses: t.Mapping[str, str], sizes: t.Mapping[str, Size]
) -> dict[str, t.Any]:
    """Return the desired state of one central host; `databases` has what differs between them, so that one look at it serves all options of a task.

    `addresses` has the address of each member, `host` among them, IPv6 without brackets, `sizes` the size of each database, as far as it is known.
    """
    check_ciphers("ovn_tls_ciphers", options.tls_ciphers)
    timers = _each(lambda database: _timers(options, sizes.get(database, Size())))
    raft = _each(lambda database: _endpoints(options, addresses, PORTS[database].raft))
    clients = _each(lambda database: _endpoints(options, addresses, PORTS[database].unrestricted))
    environment = _each(lambda database: launcher_environment(_launcher(options, database, host, addresses)))
    wait_timeout = _wait_timeout(options, timers.values())
    listeners = _each(lambda database: _listeners(options, database, timers[database]))
    settings = _settings(options, timers.values())
    return {
        "databases": _each(
            lambda database: _database_state(
                options,
                {"database": database, "member": host, "address": raft[database][host]},
                environment[database],
                timers[database],
                listeners[database],
                settings[database],
            )
        ),
        "raft_addresses": raft,
        "northd": _northd_state(options, clients),
        "relay": _relay(options, clients["southbound"], listeners["southbound"]) if options.has_relay else {},
        "observer": _observer(options, clients, environment, timers.values()) if options.observer else {},
        "issued_certificates": options.issued_certificates,
        "wait_timeout": wait_timeout,
        # The lock is renewed before each step, and the longest step stops a member and waits for it.
        "lock_seconds": wait_timeout + STOP_SECONDS,
        "stop_seconds": STOP_SECONDS,
    }


@dataclasses.dataclass(frozen=True)
class CentralRolloutOptions:
    """How a control plane in Kubernetes is reached and rolled out. Limits of time in seconds."""

    kubeconfig: t.Any
    context: str
    namespace: str
    cluster_name: str
    cluster_domain: str
    bootstrap: bool
    cluster_ids: dict[str, str]
    restart: bool
    permit: list[str]
    break_lock: bool
    force_conflicts: bool
    lock_wait_timeout: int
    wait_timeout: int = 600

    @property
    def place(self) -> dict[str, t.Any]:
        """Where the OVNCluster is, as modules take it."""
        return {
            "kubeconfig": self.kubeconfig or None,
            "context": self.context or None,
            "namespace": self.namespace,
            "name": self.cluster_name,
        }


class DesiredCentralCluster(t.NamedTuple):
    """A control plane in Kubernetes. `source` says where its specification comes from, as `ovn_cluster` takes it."""

    problem: str  # why the options do not fit; the precheck goes on
    spec: dict[str, t.Any]
    source: dict[str, t.Any]
    pod_security: str
    chassis_certificates: list[dict[str, str]]  # of machines, if relays give chassis a role


def desired_cluster(
    options: CentralClusterOptions, host: str, variables: Variables, hostvars: Hostvars, groups: Groups
) -> DesiredCentralCluster:
    """Return the desired control plane in the cluster that `host` stands for."""
    shared = share_certificates(hostvars, groups)
    resource: Variables = first_value(variables, FACT, default={})
    read = specification_of_resource(str(first_value(variables, "ovn_cluster_from", default="inventory")), resource)
    if read is not None:
        options = dataclasses.replace(options, spec=read)
    if not options.tls_secret:
        name = first_value(variables, "ovn_cluster_name", default="ovn")
        options = dataclasses.replace(options, tls_secret=f"{name}-tls")
    given = options_for_machines(hostvars[host])
    members = members_of(groups, "ovn_central")
    problem = cluster_problem(options, members, host, for_machines=given, shared_certificates=shared)
    has_bundle = makes_client_bundle(hostvars[host])
    spec = (
        cluster_spec(options, has_client_bundle=has_bundle, shared_certificates=shared)
        if read is None
        else options.spec
    )
    gives_role = bool((spec.get("relay") or {}).get("rbac"))
    return DesiredCentralCluster(
        problem=f"{problem} Nothing was changed." if problem else "",
        spec=spec,
        source={"spec_from": "options", "spec": spec} if read is None else {"spec_from": "resource"},
        pod_security=pod_security_of("central", hostvars, groups, host),
        chassis_certificates=machine_certificates(hostvars, groups) if gives_role else [],
    )


def rollout_arguments(
    options: CentralRolloutOptions, desired: DesiredCentralCluster, variables: Variables
) -> dict[str, t.Any]:
    """Return the arguments of `ovn_cluster`; those of an OVNCluster of another client are only right for what the run has read."""
    resource: Variables = variables.get(FACT) or {} if desired.source["spec_from"] == "resource" else {}
    return {
        **options.place,
        **desired.source,
        "resource_uid": resource.get("uid"),
        "resource_generation": resource.get("generation"),
        "pod_security": desired.pod_security,
        "cluster_domain": options.cluster_domain,
        "bootstrap": "auto" if options.bootstrap else "forbid",
        **{f"{database}_cluster_id": options.cluster_ids.get(database) for database in DATABASES},
        "restart": options.restart,
        **permitted(options.permit),
        "break_lock": options.break_lock,
        "force_conflicts": options.force_conflicts,
        "lock_wait_timeout": options.lock_wait_timeout,
        "wait_timeout": options.wait_timeout,
    }


def permitted(permit: t.Sequence[str]) -> dict[str, bool]:
    """Return what a run may do that is refused otherwise, as options of `ovn_cluster` and of the plan of a round."""
    return {
        "allow_outage": "outage" in permit,
        "new_cluster": "new_cluster" in permit,
        "accept_rollback": "rollback" in permit,
        "accept_lost_disk": "lost_disk" in permit,
    }


def certificate_name_problem(certificates: t.Iterable[Variables]) -> str:
    """Return which certificates of chassis have another name, one line for each; those that could not be read are left out.

    A relay knows a chassis by that name, and one with another name could write nothing. `certificates` are results of `ovn_certificate` with their `item`.
    """
    problems = []
    for found in certificates:
        name, chassis = found.get("installed_common_name"), found["item"]
        if name and name != chassis["system_id"]:
            problems.append(
                f"The certificate of {chassis['host']} has the name {name}, and its chassis is {chassis['system_id']}: with the role that relays give to "
                "chassis it could write nothing. Issue one with that name (c5c3.ovn.hypervisors does), or set ovn_southbound_rbac to false. Nothing was "
                "changed."
            )
    return "\n".join(problems)


def cluster_spec(
    options: CentralClusterOptions, *, has_client_bundle: bool = False, shared_certificates: bool = False
) -> dict[str, t.Any]:
    """Return the specification of the OVNCluster: what the options say, and what `ovn_cluster_spec` says over that.

    `has_client_bundle`: ovn_pki makes the Secret, with a bundle for the clients of the Southbound. `shared_certificates`: there are chassis whose certificate
    does not have their name, so that they could write nothing with a role.
    """
    database = {"electionTimer": options.election_timer, "inactivityProbe": options.inactivity_probe}
    secret = _given(name=options.tls_secret) if options.tls else None
    given_bundle = (options.spec.get("tls") or {}).get("southboundClientCaConfigMapRef")
    client_ca_key = CLIENT_CA_KEY if options.tls and has_client_bundle and not given_bundle else None
    spec = {
        "northbound": database,
        "southbound": database,
        **({"relay": {"rbac": True}} if options.southbound_rbac and options.tls and not shared_certificates else {}),
        "northd": {"threads": options.northd_threads},
        "tls": {
            "enabled": options.tls,
            **({} if options.tls_ciphers == DEFAULT_CIPHERS else {"ciphers": options.tls_ciphers}),
            **_given(certSecretRef=secret, southboundClientCaKey=client_ca_key),
        },
        **_given(ovnImage=options.image, ovsImage=options.openvswitch_image),
    }
    merged: dict[str, t.Any] = dict_merge(spec, options.spec)
    return merged


def cluster_problem(
    options: CentralClusterOptions,
    members: t.Sequence[str],
    host: str,
    *,
    for_machines: t.Mapping[str, t.Any] | None = None,
    shared_certificates: bool = False,
) -> str:
    """Return why the options do not fit a control plane in Kubernetes, empty if they do.

    `members` are the hosts of the group ovn_central, `for_machines` the options that were given and have no effect there. `shared_certificates`: as in
    `cluster_spec`.
    """
    if shared_certificates and (options.spec.get("relay") or {}).get("rbac") and options.tls:
        return (
            f"relay.rbac is true in the specification of {host}, and nodes of a hypervisor cluster in ovn_hypervisors share a certificate, so they could "
            "register no chassis. Set ovn_node_certificates to own, or leave relay.rbac out."
        )
    if len(members) != 1:
        return (
            "With ovn_backend kubernetes the group ovn_central has exactly one host, the cluster of the control plane."
            f" It has {', '.join(members)}."
        )
    if given := given_options(for_machines or {}):
        return (
            f"{', '.join(given)}: for machines only; on {host} (ovn_backend kubernetes) they have no effect. Take them out of the variables of {host}; "
            "settings of pods are fields of ovn_cluster_spec (docs/ovncluster.md)."
        )
    return ""


def options_for_machines(variables: Variables) -> dict[str, t.Any]:
    """Return the options of `ONLY_MACHINES` that the inventory gives to a host, by their names."""
    names = (f"{PREFIX}{option}" for option in ONLY_MACHINES)
    found = {name: value for name in names if (value := variables.get(name)) is not None}
    for permission in as_list(first_value(variables, f"{PREFIX}permit")):
        if permission in PERMITS_FOR_MACHINES:
            found[f"{PREFIX}permit={permission}"] = True
    firewall = first_value(variables, "ovn_firewall", default="none")
    return {**found, **({"ovn_firewall": firewall} if firewall != "none" else {})}


def host_share(hosts: t.Iterable[str], sharing: t.Sequence[str], host: str) -> list[str]:
    """Return those of the hosts that are the task of `host`, when all `sharing` ones share them: each host is somebody's, once."""
    return list(dict.fromkeys(hosts))[sharing.index(host) :: len(sharing)]


def _each(value: t.Callable[[Database], T]) -> dict[Database, T]:
    return {database: value(database) for database in DATABASES}


def _given(**values: t.Any) -> dict[str, t.Any]:
    return {name: value for name, value in values.items() if value not in (None, {})}


def _timers(options: CentralMachineOptions, size: Size) -> Timers:
    declared = options.election_timer, options.inactivity_probe
    return timers_for(size, *declared) if options.timers_by_size else Timers(*declared)


def _wait_timeout(options: CentralMachineOptions, timers: t.Iterable[Timers]) -> int:
    longest = max(timer.election_timer for timer in timers)
    return max(options.wait_timeout, _WAITED_TIMERS * longest // 1000 + _WAIT_RESERVE)


def _settings(options: CentralMachineOptions, timers: t.Iterable[Timers]) -> dict[Database, dict[str, t.Any]]:
    """Return the options in the databases. northd has one probe for both."""
    probe = max(timer.inactivity_probe for timer in timers)
    return {
        "northbound": {"northd_probe_interval": str(probe), **options.database_options.get("northbound", {})},
        "southbound": options.database_options.get("southbound", {}),
    }


def _launcher(
    options: CentralMachineOptions,
    database: Database,
    host: str,
    addresses: t.Mapping[str, str],
) -> LauncherSettings:
    return LauncherSettings(
        database=database,
        member=host,
        local_address=_endpoints(options, addresses, PORTS[database].raft)[host],
        record_directory=f"{options.config_directory}/{database}",
        database_file=f"{options.database_directory}/{STEMS[database]}.db",
        run_directory=options.run_directory,
        state_directory=f"{_STATE}/{database}",
        schema_file=f"{options.paths['schema_directory']}/{SCHEMA_FILES[database]}",
        client_endpoints=_asked_before_creation(options, addresses, database, host),
        log_file=f"{_LOGS}/{_LOG_NAMES[database]}.log",
        log_levels=f"file:{options.log_level}",
        # A run waits for the launcher.
        poll_seconds=1,
        tls=options.tls_files,
        ciphers=options.tls_ciphers,
    )


def _endpoints(options: CentralMachineOptions, addresses: t.Mapping[str, str], port: int) -> dict[str, str]:
    """Return the endpoint of each member."""
    scheme: t.Literal["ssl", "tcp"] = "ssl" if options.tls else "tcp"
    return {member: str(Endpoint(scheme, address, port)) for member, address in addresses.items()}


def _asked_before_creation(
    options: CentralMachineOptions, addresses: t.Mapping[str, str], database: Database, host: str
) -> list[str]:
    """Return all ports of the other members: a file from before there were relays may know the port of chassis alone. A relay there forbids nothing."""
    ports = dict.fromkeys((PORTS[database].unrestricted, PORTS[database].client))
    return [
        endpoint
        for port in ports
        for member, endpoint in _endpoints(options, addresses, port).items()
        if member != host
    ]


def _database_state(
    options: CentralMachineOptions,
    member: Variables,
    environment: t.Mapping[str, str],
    timers: Timers,
    listeners: CentralListeners,
    settings: Variables,
) -> dict[str, t.Any]:
    """Return the process of one database; `member` has its `database`, name and address, `settings` are options in the database itself."""
    database: Database = member["database"]
    sandbox = sandbox_settings(_database_sandbox(options))
    process = {
        "database": database,
        "record": environment["OVN_RECORD_DIR"],
        "environment_file": f"{options.config_directory}/{database}.env",
        "database_file": environment["OVN_DB_FILE"],
        "revision": sandbox_revision(_revision(environment), sandbox),
    }
    return {
        **process,
        "environment": {**environment, "OVN_REVISION": process["revision"]},
        "sandbox": sandbox,
        "timers": timers._asdict(),
        # Where clients find the database, on the member or its relay
        "listeners": listeners.rows(),
        # Options of ovn_raft_member and of ovn_database
        "observation": {**process, **member},
        "settings": {
            "database": database,
            "control_socket": f"{options.run_directory}/{STEMS[database]}.ctl",
            "socket": f"unix:{options.run_directory}/{STEMS[database]}.sock",
            "election_timer": timers.election_timer,
            "connections": listeners.connections(),
            "serve_connections": True,
            "options": settings,
        },
    }


def _revision(environment: t.Mapping[str, str]) -> str:
    """Return the digest of all that a database process is started with: a process with another one has to be restarted."""
    settings = {name: value for name, value in environment.items() if name not in _READ_AT_CREATION}
    return hashlib.sha1((LAUNCHER + json.dumps(settings, sort_keys=True)).encode()).hexdigest()


def _database_sandbox(options: CentralMachineOptions) -> Sandbox:
    """The launcher writes the witness beside the record."""
    return Sandbox([options.config_directory, options.database_directory, _LOGS], [*options.tls_files])


def _northd(options: CentralMachineOptions, clients: t.Mapping[Database, t.Mapping[str, str]]) -> NorthdSettings:
    return NorthdSettings(
        program=options.paths["northd"],
        run_directory=options.run_directory,
        northbound=list(clients["northbound"].values()),
        southbound=list(clients["southbound"].values()),
        log_file=f"{_LOGS}/ovn-northd.log",
        threads=options.northd_threads,
        tls=options.tls_files,
    )


def _northd_state(
    options: CentralMachineOptions, clients: t.Mapping[Database, t.Mapping[str, str]]
) -> dict[str, t.Any]:
    command = " ".join(northd_command(_northd(options, clients)))
    sandbox = sandbox_settings(Sandbox([_LOGS], [*options.tls_files]))
    return {
        "command": command,
        "revision": sandbox_revision(command, sandbox),
        "sandbox": sandbox,
        "control_socket": control_socket(options.run_directory),
    }


def _listeners(options: CentralMachineOptions, database: Database, timers: Timers) -> CentralListeners:
    return CentralListeners(
        database=database,
        tls=options.tls,
        address=options.listen_address,
        inactivity_probe=timers.inactivity_probe,
        has_relay=options.has_relay,
        extra=options.extra_connections.get(database) or (),
    )


def _relay(
    options: CentralMachineOptions, sources: t.Mapping[str, str], listeners: CentralListeners
) -> dict[str, t.Any]:
    chassis = listeners.rows()[0]
    settings = RelaySettings(
        run_directory=options.run_directory,
        listeners_file=f"{_STATE}/southbound-relay/listeners.db",
        sources=list(sources.values()),
        target=chassis["target"],
        inactivity_probe=chassis["inactivity_probe"],
        tls=TlsFiles(options.private_key, options.certificate, options.relay_trusts),
        log_file=f"{_LOGS}/ovsdb-server-sb-relay.log",
        log_level=options.log_level,
        ciphers=options.tls_ciphers,
    )
    sandbox = sandbox_settings(Sandbox([_LOGS], [*settings.tls]))
    return {
        "command": " ".join(relay_command(settings)),
        "revision": sandbox_revision(relay_revision(settings), sandbox),
        "sandbox": sandbox,
        "environment_file": f"{options.config_directory}/southbound-relay.env",
        "listeners_file": settings.listeners_file,
        "listeners": listeners_transaction(settings),
        "schema": json.dumps(SCHEMA, indent=1),
        "control_socket": relay_control_socket(options.run_directory),
        "socket": relay_database_socket(options.run_directory),
        "target": settings.target,
        # Rows by which members serve chassis themselves
        "former_rows": listeners.released(),
        "ca_certificate": options.relay_trusts,
    }


def _observer(
    options: CentralMachineOptions,
    clients: t.Mapping[Database, t.Mapping[str, str]],
    environment: t.Mapping[Database, t.Mapping[str, str]],
    timers: t.Iterable[Timers],
) -> dict[str, t.Any]:
    return observer_state(
        clients=clients,
        records=_each(lambda database: environment[database]["OVN_RECORD_DIR"]),
        election_timer=max(timer.election_timer for timer in timers),
        heartbeat_interval=options.heartbeat_interval,
        metrics_file=options.metrics_file,
        tls=options.tls_files,
        client_ca=options.relay_trusts if options.has_relay else "",
        issued=options.issued_certificates if options.tls else "",
        program_digest=_program_digest(),
    )


@functools.lru_cache(maxsize=1)
def _program_digest() -> str:
    return hashlib.sha1(build_archive()).hexdigest()
