# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PRIVATE to the collection: may change at any time.

What the options of the role ovn_verify mean: with which files and endpoints the installation is asked, and from where. Pure.
"""

from __future__ import annotations

import dataclasses
import typing as t

from .._databases import DATABASES
from .._inventory import as_list
from .distribution import run_directory_of, socket_of
from .endpoints import endpoints_of
from .pki import secret_of
from .variables import Hostvars, Variables, first_value, hosts_by_backend, is_true
from .verify_limits import limits_of

FILES = ("private_key", "certificate", "ca_certificate")


@dataclasses.dataclass(frozen=True)
class VerifyOptions:
    """The options of a host that is asked, or of localhost, which reports."""

    tls: bool
    central: list[str]
    northbound_endpoints: list[str]  # empty: those of the central hosts
    southbound_endpoints: list[str]
    files: dict[str, str]

    @classmethod
    def of(cls, variables: Variables) -> VerifyOptions:
        return cls(
            tls=is_true(variables, "ovn_verify_tls", default=True),
            central=as_list(first_value(variables, "ovn_verify_central")),
            northbound_endpoints=as_list(first_value(variables, "ovn_verify_northbound_endpoints")),
            southbound_endpoints=as_list(first_value(variables, "ovn_verify_southbound_endpoints")),
            files={name: str(first_value(variables, f"ovn_verify_{name}")) for name in FILES},
        )


def _asks_first(central: t.Iterable[str], hostvars: Hostvars) -> str:
    """Return the host on which heartbeat and addresses begin: one whose own members take part, else any that answered. Empty if none did."""

    infos: dict[str, Variables] = {host: hostvars[host].get("ovn_verify_info") or {} for host in central}
    answered = {host: info.get("raft") or {} for host, info in infos.items() if "northd" in info}
    fit = [host for host, raft in answered.items() if all((raft.get(name) or {}).get("writable") for name in DATABASES)]
    return next(iter([*fit, *answered]), "")


def _heartbeat(cluster: str, exposed: bool, asked_from: str) -> tuple[list[str], str]:
    """Return which tasks send the heartbeat, and why it cannot be sent. To a cluster it was sent when its members were asked."""
    if cluster and not exposed:
        return [], (
            f"the control node reaches no database port of {cluster} (it is not there, or its Services are ClusterIP)"
        )
    if not cluster and not asked_from:
        return [], "no central host could be asked"
    return [] if cluster else ["heartbeat_host"], ""


def desired_state(variables: Variables, hostvars: Hostvars, host: str) -> dict[str, t.Any]:
    """Return how the installation is asked, on `host` or on localhost.

    `files` are those of TLS, none without TLS; `own_endpoints` the listeners of a central machine; `tls_secret` the Secret of a Kubernetes cluster.
    `run_directory` has the sockets of this host. `asked_from` is the central host on which heartbeat and addresses begin, `sockets` has the endpoints of
    its own members. `cluster` is the central host that stands for a control plane in Kubernetes,
    empty on machines. `northbound_endpoints` and `southbound_endpoints` are asked, `neutron_southbound_endpoints` are those without a role, and `ports`
    those of a control plane in Kubernetes, as far as they can be reached from outside. `questions` are the files of tasks that send the heartbeat, and
    `heartbeat_problem` tells why it cannot be sent. `limits` are seconds, of the first call on a central host and of a second one.
    """
    options = VerifyOptions.of(variables)
    # Each look into hostvars resolves all variables of the host, so one look has to do.
    hostvars = {name: hostvars[name] for name in options.central}
    cluster = next(iter(hosts_by_backend(options.central, hostvars)["kubernetes"]), "")
    cluster_variables: Variables = hostvars[cluster] if cluster else {}
    found = cluster_variables.get("ovn_verify_cluster") or {}
    answer = found.get("endpoints") or {}
    northbound, southbound = options.northbound_endpoints, options.southbound_endpoints
    if cluster:
        northbound = northbound or as_list(answer.get("northbound") or "")
        neutron = southbound or as_list(answer.get("southbound_unrestricted") or "")
        southbound = southbound or as_list(answer.get("southbound") or "")
    else:
        northbound = northbound or endpoints_of(options.central, hostvars, "northbound", tls=options.tls)
        neutron = southbound = southbound or endpoints_of(options.central, hostvars, "southbound", tls=options.tls)
    # Its ports outside the cluster are the ones that the control node can reach.
    exposed = (answer.get("southbound") or "") not in ("", answer.get("southbound_inside") or "")
    asked_from = _asks_first(options.central, hostvars)
    questions, problem = _heartbeat(cluster, exposed, asked_from)
    # Elsewhere, on localhost for example, the variable with the address may be undefined.
    own = [host] if host in options.central and not cluster else []
    return {
        "files": options.files if options.tls else {},
        "own_endpoints": [
            *endpoints_of(own, hostvars, "northbound", tls=options.tls),
            *endpoints_of(own, hostvars, "southbound", "client", tls=options.tls),
            *endpoints_of(own, hostvars, "southbound", tls=options.tls),
        ],
        "tls_secret": (found.get("tls_secret") if host == cluster else "")
        or secret_of(variables, "central" if host in options.central else "chassis", role="ovn_verify").name,
        "run_directory": run_directory_of(variables),
        "sockets": {database: socket_of(hostvars[asked_from], database) for database in DATABASES}
        if asked_from
        else {},
        "asked_from": asked_from,
        "cluster": cluster,
        "northbound_endpoints": northbound,
        "southbound_endpoints": southbound,
        "neutron_southbound_endpoints": neutron,
        "ports": northbound + southbound if exposed else [],
        "exposed": exposed,
        "questions": questions,
        "heartbeat_problem": problem,
        "limits": {call: dataclasses.asdict(limits) for call, limits in limits_of(variables)._asdict().items()},
    }
