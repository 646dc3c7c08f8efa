# SPDX-License-Identifier: GPL-3.0-or-later
"""The observed and the declared state of a whole installation: the input of the report."""

from __future__ import annotations

import dataclasses
import typing as t

from .findings import Result, cause_of


@dataclasses.dataclass(frozen=True)
class Host:
    """What a central host answered; None: it was not asked. A result without its values failed, and `msg` says why.

    `info` is the result of ovn_central_info, `northbound` and `southbound` the Raft state in it. `contents` has, by the database, the Raft state of members
    whose contents were read once more.

    `members` is set for a Kubernetes cluster: a host with all members, so many of each database, and all northds.
    `interconnection` has the state of databases of OVN interconnection that this host has, by their names.
    """

    northbound: Result | None = None
    southbound: Result | None = None
    info: Result | None = None
    members: t.Mapping[str, int] | None = None
    contents: t.Mapping[str, Result] = dataclasses.field(default_factory=dict)
    interconnection: t.Mapping[str, Result] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, info: Result | None, again: Result | None = None, members: t.Mapping[str, int] | None = None) -> Host:
        """Return the host from two results of ovn_central_info, the later one of a call that asked some of it again, or None."""
        raft: t.Mapping[str, Result] = (info or {}).get("raft") or {}
        later = again or {}
        return cls(
            # A call that failed failed for all that it asked.
            northbound=raft.get("northbound", info),
            southbound=raft.get("southbound", info),
            info={**info, "northd": later["northd"]} if info and "northd" in later else info,
            members=members,
            contents=later.get("raft") or {},
            interconnection=(info or {}).get("interconnection") or {},
        )

    @property
    def unreachable(self) -> str:
        """Return why the host could not be reached, empty if it could."""
        info = self.info
        if info and info.get("timedout"):
            return f"it gave no answer within {info['timedout'].get('period', 'some')} s"
        return cause_of(info) or "no answer" if info and info.get("unreachable") else ""

    def northds(self, name: str) -> list[tuple[str, Result]]:
        """Return (name, result) of each northd; the result of one that could not be asked is empty."""
        info = self.info or {}
        if self.members is None:
            return [(name, info.get("northd") or {})]
        return [(name, {})] if "northds" not in info else list(info["northds"].items())


@dataclasses.dataclass(frozen=True)
class Installation:
    """The observed and the declared state. `chassis` maps a system id to the machine's name; None: the inventory does not have them.

    `chassis_certificates` has what ovn_certificate found on each machine of a chassis; None: it was not asked.
    `datapaths` has what ovn_host_info found of the datapath on these machines, as far as it is known.
    `failed_calls` has the results of ovn_host_info that failed on these machines.
    `metadata_agent_certificates` has what it found of the metadata agent there; empty without one of ours.
    `unhealthy_datapaths` maps system ids of chassis in Kubernetes to the condition DatapathHealthy of their OVNChassis, if it is false.
    `unresponsive_clusters` maps hypervisor clusters whose chassis could not be read to the cause.
    `twice` are system ids that several have, with the names of these in the inventory.
    `addresses` has the certificates that all endpoints of both databases serve to the host `asked_from`; empty: not asked.
    `has_relays`: chassis connect to relays that know them by name, for which they can have certificates that open nothing else.
    `sharing_clusters` are hypervisor clusters whose nodes share one certificate.
    `acknowledge` has the codes of warnings that the user knows of.
    `managed`: this collection has created the control plane. Else others run it, as they like, and it is only read.
    `unrecorded` are the central hosts that answered, if it should be ours and none of them has a state record.
    `inside_only` is for a control plane in Kubernetes without ports outside of its cluster: the condition ControllersReady of its OVNCluster.
    """

    central: t.Mapping[str, Host]
    chassis: t.Mapping[str, str] | None = None
    heartbeat: Result | None = None
    chassis_certificates: t.Mapping[str, Result | None] = dataclasses.field(default_factory=dict)
    datapaths: t.Mapping[str, Result] = dataclasses.field(default_factory=dict)
    failed_calls: t.Mapping[str, Result] = dataclasses.field(default_factory=dict)
    metadata_agent_certificates: t.Mapping[str, Result] = dataclasses.field(default_factory=dict)
    unhealthy_datapaths: t.Mapping[str, Result] = dataclasses.field(default_factory=dict)
    unresponsive_clusters: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    inside_only: Result | None = None
    twice: t.Mapping[str, t.Sequence[str]] = dataclasses.field(default_factory=dict)
    northbound_endpoints: t.Sequence[str] = ()
    southbound_endpoints: t.Sequence[str] = ()
    addresses: t.Sequence[Result] = ()
    asked_from: str = ""
    acknowledge: frozenset[str] = frozenset()
    has_relays: bool = False
    sharing_clusters: t.Sequence[str] = ()
    managed: bool = True
    unrecorded: t.Sequence[str] = ()

    @property
    def in_pods(self) -> bool:
        return any(host.members is not None for host in self.central.values())

    def members(self, database: str) -> int:
        """Return how many members of the database there should be: one on each machine."""
        return sum(1 if host.members is None else host.members[database] for host in self.central.values())
