# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: verify_report
short_description: Report on a whole OVN installation
version_added: "0.1.0"
description:
  - Judges what the role C(c5c3.ovn.ovn_verify) has registered on the central hosts and the hypervisors, together with the heartbeat of M(c5c3.ovn.ovn_sync).
  - The verdict of each database comes from all members together. A host that was not reached or asked counts as unresponsive.
  - A host with C(ovn_backend=kubernetes) is a whole cluster, with members and chassis of its own. They are named by pods and by nodes.
options:
  _input:
    description: C(hostvars). The variables C(ovn_verify_info) and C(ovn_verify_info_again) of the central hosts are read (in Kubernetes also
      C(ovn_verify_cluster)), and C(ovn_verify_chassis) (for its certificate also C(ovn_hypervisor_found), if the same run has compared the certificate
      before) of the hypervisors.
    type: dict
    required: true
  central:
    description: The central hosts, usually C(groups['ovn_central']).
    type: list
    elements: str
    required: true
  hypervisors:
    description:
      - The machines that should be chassis, usually C(groups['ovn_hypervisors']). Their system id is C(ovn_system_id), by default the name.
      - Without it, all chassis in the database are expected.
    type: list
    elements: str
  cluster_chassis:
    description:
      - The C(OVNChassis) of each hypervisor that is a Kubernetes cluster, from its name to the result of M(kubernetes.core.k8s_info).
    type: dict
    default: {}
  heartbeat:
    description: Result of M(c5c3.ovn.ovn_sync).
    type: dict
  certificate_days:
    description: Warn about certificates with fewer days left.
    type: int
    default: 30
  northbound_endpoints:
    description: Endpoints that are handed over to Neutron.
    type: list
    elements: str
    default: []
  southbound_endpoints:
    description: Endpoints that are handed over to Neutron.
    type: list
    elements: str
    default: []
  addresses:
    description:
      - RV(c5c3.ovn.ovn_central_info#module:addresses) of O(asked_from). What does not answer is a problem. Nothing is reported if there are none.
    type: list
    elements: dict
    default: []
  asked_from:
    description: The host from which O(addresses) were asked.
    type: str
    default: ""
  managed:
    description: Whether this collection has created the control plane. One of others may have any number of members and is only read.
    type: bool
    default: true
  acknowledge:
    description: Codes of warnings that are listed as acknowledged, as C(ovn_verify_acknowledge) has them. The step verify_inventory checks them.
    type: list
    elements: str
    default: []
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Look at the installation as the role has seen it
  ansible.builtin.debug:
    msg: "{{ (hostvars | c5c3.ovn.verify_report(central=groups['ovn_central'], heartbeat=ovn_verify_heartbeat)).lines }}"
"""

RETURN = r"""
_value:
  description:
    - C(format_version), C(managed), C(healthy), C(problems), C(warnings), C(findings) (each with its C(code)), C(lines) for people, and the facts behind them -
      C(northbound), C(southbound), C(interconnection), C(northd), C(heartbeat), C(chassis), C(versions), C(certificates), C(addresses), C(neutron).
    - The page C(docs/monitoring.md) of the collection has every key, the page C(docs/troubleshooting.md) every code.
  type: dict
  sample: {"format_version": 1, "healthy": true, "problems": [], "warnings": [], "findings": [], "lines": ["OVN is healthy"]}
"""

import typing as t

from ..module_utils._api.chassis_status import DATAPATH_HEALTHY, READY, condition_of
from ..module_utils._base.databases import DATABASES
from ..module_utils._base.inventory import as_list, system_id_of
from ..module_utils._report.installation import Host, Installation
from ..module_utils._report.report import build_report
from ..module_utils._roles.pki import chassis_have_role, is_present, shares_certificate
from ..module_utils._roles.variables import Variables, backend_of
from ..module_utils._roles.verify import unrecorded_hosts
from ..plugin_utils._filters import as_filter


def _members(variables: Variables) -> dict[str, int] | None:
    """How many members the OVNCluster declares, 0 if that could not be asked; None for a machine."""
    if backend_of(variables) == "host":
        return None
    spec = ((variables.get("ovn_verify_cluster") or {}).get("cluster") or {}).get("spec") or {}
    return {database: int((spec.get(database) or {}).get("replicas") or 0) for database in DATABASES}


def _inside_only(variables: Variables) -> Variables | None:
    """What the OVNCluster knows of its chassis, if its databases cannot be reached from outside; None otherwise."""
    found = variables.get("ovn_verify_cluster") or {}
    endpoints = found.get("endpoints") or {}
    if not found.get("exists") or endpoints.get("southbound") != endpoints.get("southbound_inside"):
        return None
    conditions = (found["cluster"].get("status") or {}).get("conditions") or ()
    return next((condition for condition in conditions if condition["type"] == "ControllersReady"), {})


def _chassis_certificate(variables: Variables) -> Variables | None:
    """Return what the role has read, or what the role ovn_hypervisor has found as declared earlier in the same run."""
    read: Variables | None = variables.get("ovn_verify_chassis")
    if read and backend_of(variables) == "host":  # empty without TLS, missing in a failed call
        read = next(iter(read.get("certificates") or ()), None)
    if read is None and not variables.get("ovn_hypervisor_certificate_due", True):
        read = next(iter((variables.get("ovn_hypervisor_found") or {}).get("certificates") or ()), None)
    return read


def _failed_call(variables: Variables) -> Variables | None:
    """Return the result of the role's call on a machine if it failed there; None if it did not, or if the machine gave no answer in time."""
    read: Variables = variables.get("ovn_verify_chassis") or {}
    return read if read.get("failed") and not read.keys() & {"timedout", "unreachable"} else None


def _host(variables: Variables) -> Host:
    return Host.of(variables.get("ovn_verify_info"), variables.get("ovn_verify_info_again"), _members(variables))


@as_filter
def verify_report(
    hostvars: t.Mapping[str, Variables],
    central: t.Sequence[str],
    hypervisors: t.Sequence[str] | None = None,
    heartbeat: Variables | None = None,
    cluster_chassis: t.Mapping[str, Variables] | None = None,
    certificate_days: int = 30,
    northbound_endpoints: t.Sequence[str] = (),
    southbound_endpoints: t.Sequence[str] = (),
    addresses: t.Sequence[Variables] = (),
    asked_from: str = "",
    acknowledge: str | t.Sequence[str] = (),
    managed: bool = True,
) -> dict[str, t.Any]:
    """The report of `build_report` on what the hosts have registered."""
    # Each look into hostvars resolves all variables of the host, so one look has to do.
    machines = ((name, hostvars[name]) for name in hypervisors or ())
    present = [(name, variables) for name, variables in machines if is_present(variables)]
    clusters = cluster_chassis or {}
    expected = {system_id_of(name, variables): name for name, variables in present if name not in clusters}
    places = {system_id: {"": name} for system_id, name in expected.items()}
    unhealthy: dict[str, Variables] = {}
    for name, result in clusters.items():
        for resource in result.get("resources") or ():
            system_id = str(resource["spec"]["systemId"])
            expected[system_id] = name
            ready, datapath = (condition_of(resource.get("status") or {}, kind) for kind in (READY, DATAPATH_HEALTHY))
            # An agent that has died does not take it back; its chassis is not Ready.
            if (ready.get("status"), datapath.get("status")) == ("True", "False"):
                unhealthy[system_id] = datapath
            # Two hosts of the inventory may stand for one Kubernetes cluster.
            uid = (resource.get("metadata") or {}).get("uid") or name
            places.setdefault(system_id, {}).setdefault(uid, name)
    return build_report(
        Installation(
            central={name: _host(hostvars[name]) for name in central},
            chassis=None if hypervisors is None else expected,
            chassis_certificates={name: _chassis_certificate(variables) for name, variables in present},
            datapaths={
                name: found
                for name, variables in present
                if (found := (variables.get("ovn_verify_chassis") or {}).get("datapath"))
            },
            failed_calls={name: failed for name, variables in present if (failed := _failed_call(variables))},
            metadata_agent_certificates={
                name: variables.get("ovn_verify_metadata_agent") or {} for name, variables in present
            },
            unhealthy_datapaths=unhealthy,
            unresponsive_clusters={
                name: str(result.get("msg") or "it gave no answer")
                for name, result in clusters.items()
                if "resources" not in result
            },
            heartbeat=heartbeat,
            twice={system_id: sorted(holders.values()) for system_id, holders in places.items() if len(holders) > 1},
            inside_only=_inside_only(hostvars[central[0]]) if len(central) == 1 else None,
            certificate_days=certificate_days,
            northbound_endpoints=northbound_endpoints,
            southbound_endpoints=southbound_endpoints,
            addresses=addresses,
            asked_from=asked_from,
            acknowledge=frozenset(as_list(acknowledge)),
            managed=managed,
            unrecorded=unrecorded_hosts(central, hostvars),
            sharing_clusters=[
                name for name, variables in present if name in clusters and shares_certificate(variables)
            ],
            has_relays=chassis_have_role(hostvars, {"ovn_central": central, "ovn_hypervisors": hypervisors or ()}),
        )
    )


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"verify_report": verify_report}
