# SPDX-License-Identifier: GPL-3.0-or-later
"""Create the report of what a run has read, hand it on as an artifact of the run, and show it or what a query selects from it."""

from __future__ import annotations

import typing as t

from ..module_utils._api.chassis_status import DATAPATH_HEALTHY, READY, condition_of
from ..module_utils._base.databases import DATABASES
from ..module_utils._base.errors import Refused
from ..module_utils._base.inventory import as_list, system_id_of
from ..module_utils._base.query import run_query, text_or_data
from ..module_utils._report.installation import Host, Installation
from ..module_utils._report.report import build_report
from ..module_utils._report.show import report_artifact
from ..module_utils._roles.inventory_check import limit_problem
from ..module_utils._roles.pki import chassis_have_role, is_present, shares_certificate
from ..module_utils._roles.variables import Hostvars, Variables, backend_of, is_true, members_of
from ..module_utils._roles.verify import CONNECTS, ReportOptions, unrecorded_hosts
from ..plugin_utils._progress import print_lines
from ..plugin_utils._verify_action import VerifyAction

_ELSEWHERE = (
    "The control plane is not in this inventory (ovn_central_elsewhere), so nothing was verified. "
    "Run c5c3.ovn.verify with the inventory of the control plane."
)
# The sections of a report (docs/monitoring.md), of which nothing is known
_SECTIONS = (
    "managed",
    "northbound",
    "southbound",
    "northd",
    "heartbeat",
    "chassis",
    "versions",
    "certificates",
    "addresses",
    "neutron",
)


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
    if read:  # empty without TLS, missing in a failed call
        read = next(iter(read.get("certificates") or ()), None)
    checked: Variables = variables.get("ovn_hypervisor_check") or {}
    if read is None and not checked.get("certificate_due", True):
        read = next(iter(checked.get("certificates") or ()), None)
    return read


def _failed_call(variables: Variables) -> Variables | None:
    """Return the result of the role's call on a machine if it failed there; None if it did not, or if the machine gave no answer in time."""
    read: Variables = variables.get("ovn_verify_chassis") or {}
    return read if read.get("failed") and not read.keys() & {"timedout", "unreachable"} else None


def _host(variables: Variables) -> Host:
    return Host.of(variables.get("ovn_verify_info"), variables.get("ovn_verify_info_again"), _members(variables))


def nothing_verified(reason: str) -> dict[str, t.Any]:
    """Return a report with all its keys that knows nothing, and says why."""
    empty: dict[str, t.Any] = {name: [] for name in ("problems", "warnings", "findings", "interconnection")}
    return {"format_version": 1, "healthy": None, **empty, **dict.fromkeys(_SECTIONS), "lines": [reason]}


def verify_report(
    hostvars: Hostvars,
    central: t.Sequence[str],
    hypervisors: t.Sequence[str] | None = None,
    heartbeat: Variables | None = None,
    cluster_chassis: t.Mapping[str, Variables] | None = None,
    northbound_endpoints: t.Sequence[str] = (),
    southbound_endpoints: t.Sequence[str] = (),
    addresses: t.Sequence[Variables] = (),
    asked_from: str = "",
    acknowledge: str | t.Sequence[str] = (),
    managed: bool = True,
) -> dict[str, t.Any]:
    """The report of `build_report` on what the hosts have registered."""
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
                name: (variables.get("ovn_verify_chassis") or {}).get("metadata_agent") or {}
                for name, variables in present
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


class ActionModule(VerifyAction):
    _requires_connection = False

    def step(self) -> dict[str, t.Any]:
        options = self.options(ReportOptions)
        central = members_of(self.groups, "ovn_central")
        report = (
            self._report(central, options) if self.asked_hosts() else nothing_verified(self._nothing_asked(central))
        )
        stats = {"data": report_artifact(report), "per_host": False, "aggregate": False}
        return {"report": report, "ansible_stats": stats, **self._show(report, options.query)}

    def _nothing_asked(self, central: list[str]) -> str:
        if not central:
            return _ELSEWHERE
        if not is_true(self.variables, "ovn_verify_report_required", default=True):
            limit = str(self.variables.get("ansible_limit") or "")
            if note := limit_problem(self.variables["ansible_play_hosts_all"], central, limit)["note"]:
                return note
        raise Refused(
            f"None of {', '.join(central)} was asked in this run, so there is nothing to report. Include the entry point member of "
            "c5c3.ovn.ovn_verify on them before, as the playbook c5c3.ovn.verify does, and leave them in with --limit."
        )

    def _report(self, central: list[str], options: ReportOptions) -> dict[str, t.Any]:
        desired = self.desired()
        hypervisors = members_of(self.groups, "ovn_hypervisors")
        first = desired["asked_from"]
        connects = is_true(self.variables, CONNECTS, default=True)
        return verify_report(
            self.hostvars,
            central,
            hypervisors or None,
            self._heartbeat(desired),
            self.variables["ovn_verify_clusters"]["clusters"],
            desired["northbound_endpoints"],
            desired["neutron_southbound_endpoints"],
            self.hostvars[first]["ovn_verify_info"].get("addresses") or () if first and connects else (),
            first,
            options.acknowledge,
            options.central_managed,
        )

    def _heartbeat(self, desired: Variables) -> Variables | None:
        """Return the heartbeat of this run. An earlier one may have sent one that this one does not send."""
        if desired["heartbeat_problem"]:
            return {"msg": desired["heartbeat_problem"]}
        if desired["cluster"]:
            info: Variables = self.hostvars[desired["cluster"]]["ovn_verify_info"]
            return t.cast("Variables", info.get("heartbeat", info))
        return self.variables.get("ovn_verify_heartbeat")

    def _show(self, report: dict[str, t.Any], query: str) -> dict[str, t.Any]:
        """Print the report, or the texts that a query selects; return other data, which a callback plugin shows with its structure."""
        selected = run_query(query, report) if query else report["lines"]
        if text_or_data(selected) == "data":
            return {"selected": selected}
        lines = selected.splitlines() if isinstance(selected, str) else list(selected)
        print_lines("\n".join(lines))
        return {"lines": lines}
