# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role ovn_pki has to do for one host: its pair, its CAs, the clients of the databases, and who is asked before a CA moves. Pure."""

from __future__ import annotations

import dataclasses
import os
import typing as t

from .._base.errors import Refused
from .._pki.issuing import AuthorityName
from .authorities import Files, authorities, pair_options, rotated_authorities
from .pki import DIRECTORY, LOST_KEY, Secret, desired_state, hosts_with_own_secret, neighbors, rotation_phase, secret_of
from .pki_clients import desired_clients
from .variables import Groups, Hostvars, Variables, first_value, hosts_by_backend, members_of

# Beside the inventory. By the end of its name Ansible ignores it in a folder of inventories.
CA_DIRECTORY = "ovn-pki.cfg"


@dataclasses.dataclass(frozen=True)
class PlanOptions:
    """The options of the role that say more than which certificate a host has. Keys of CAs are read where they sign."""

    renew_before_days: int
    group: str | None
    ca_rotation: str
    ca_directory: str
    ca_directory_is_kept: bool
    ca: dict[str, t.Any] = dataclasses.field(repr=False)
    chassis_ca: dict[str, t.Any] = dataclasses.field(repr=False)

    @property
    def phase(self) -> str:
        """Return the phase in which the CAs are moved."""
        return rotation_phase(self.ca_rotation)

    @property
    def clients_directory(self) -> str:
        """Return where the files of the clients are on the control node."""
        return os.path.join(self.ca_directory, "clients")

    def is_given(self, authority: AuthorityName) -> bool:
        """Return whether the inventory has the CA, and not the directory."""
        return bool(str((self.ca if authority == "central" else self.chassis_ca).get("certificate") or "").strip())


class Look(t.TypedDict, total=False):
    """One machine that is asked, as options of `ovn_certificate`; `authority` is the CA whose certificate `issuer` is."""

    host: str
    private_key: str
    certificate: str
    ca_certificate: str
    client_ca_certificate: str
    issuer: str
    authority: AuthorityName


class ClusterLook(t.NamedTuple):
    """Kubernetes clusters whose Secrets are read, and for the server of chassis the pods that were started with them."""

    hosts: t.Sequence[str]
    issuer: str
    authority: AuthorityName = "central"
    members: bool = False


class Looks(t.NamedTuple):
    machines: list[Look]
    clusters: list[ClusterLook]


class HostPlan:
    """What the options of a host and the CAs of the control node mean together. `files` are the PEM texts of the CAs, from `authorities.Files`."""

    def __init__(
        self,
        host: str,
        variables: Variables,
        hostvars: Hostvars,
        groups: Groups,
        options: PlanOptions,
        files: t.Mapping[str, Files],
    ) -> None:
        self.host, self.variables, self.hostvars, self.groups = host, variables, hostvars, groups
        self.options, self.files = options, files
        self.desired = desired_state(variables, hostvars, groups, host)
        self.authorities = authorities(variables, files, self.desired)
        self.rotated = rotated_authorities(variables.get("ovn_pki_rotate"))

    @property
    def authority(self) -> dict[str, t.Any]:
        """Return the CA that signs the pair of this host, see `authorities.authority`."""
        return self.authorities["own"]

    @property
    def pair(self) -> dict[str, t.Any]:
        """Return the options of `ovn_certificate` for this host."""
        options = self.options
        others = {
            "renew_before": options.renew_before_days,
            "owner": None,
            "group": options.group or None,
        }
        return pair_options(self.desired, self.authority, others)

    @property
    def moves_authorities(self) -> bool:
        return bool(self.authority["rotates"] or self.authority["missing"])

    @property
    def retires_node_authorities(self) -> bool:
        """Return whether nodes may lose the CA that has signed for them: before anything leaves a bundle, also for a CA that is given in variables.

        With a Secret of another owner its bundle is his.
        """
        moves = bool(self.options.is_given("chassis") or self.files["chassis"].get("previous"))
        ours = self.desired["chassis_ca"] is not False or self.desired["central_backend"] == "host"
        return self.options.phase == "finish" and "chassis" in self.rotated and moves and ours

    def clients(self) -> list[dict[str, t.Any]]:
        """Return the clients of the databases, see `pki_clients.desired_clients`; only with the pairs of the databases their names are compared."""
        options = self.options
        given = self.variables.get("ovn_pki_clients")
        if given is None:
            given = ["neutron"] if members_of(self.groups, "ovn_controllers") else []
        return desired_clients(
            given,
            options.clients_directory,
            self.desired["cluster_name"],
            hostvars=self.hostvars,
            groups=self.groups if self.desired["certificate"] == "central" else {},
            chassis_ca=self.desired["chassis_ca"],
        )

    def neighbors(self) -> dict[str, t.Any]:
        return neighbors(self.variables, self.hostvars, self.groups, self.host)

    @property
    def pair_directory(self) -> str:
        return os.path.dirname(str(self.desired["pair"]["ca_certificate"]))

    def look(self, host: str, certificate: AuthorityName, issuer: str, authority: AuthorityName) -> Look:
        """Return how a machine is asked, which may have its files elsewhere than the pair of this host is."""
        directory = first_value(self.hostvars[host], "ovn_pki_directory", default=self._directory_of_play)
        return {
            "host": host,
            "private_key": f"{directory}/{certificate}-key.pem",
            "certificate": f"{directory}/{certificate}-cert.pem",
            "ca_certificate": f"{directory}/ca.pem",
            "client_ca_certificate": f"{directory}/relay-ca.pem",
            "issuer": issuer,
            "authority": authority,
        }

    @property
    def _directory_of_play(self) -> str:
        """Return the directory that counts for each host whose own variables have none: that of the play or of the role, which `hostvars` do not have.

        That of a metadata agent is for its pair alone.
        """
        name = "ovn_pki_directory"
        is_of_host = bool(first_value(self.hostvars[self.host], name))
        if is_of_host or self.variables.get("ovn_pki_issued_kind") == "metadata-agent":
            return DIRECTORY
        return str(first_value(self.variables, name, default=DIRECTORY))

    def secret(self, host: str) -> Secret:
        """Return the Secret of a Kubernetes cluster."""
        return secret_of(self.hostvars[host])


def evidence_looks(plan: HostPlan, hosts: t.Sequence[str]) -> Looks:
    """Return who is asked before a CA is created, besides the machines of the run (`hosts`), which are asked in parallel.

    A second CA beside one in use would cut every connection. Every installation has central hosts, and they are few.
    """
    central = members_of(plan.groups, "ovn_central")
    elsewhere = [host for host in central if host not in hosts]
    clusters = hosts_by_backend(dict.fromkeys([*central, *hosts]), plan.hostvars)["kubernetes"]
    machines = hosts_by_backend(elsewhere, plan.hostvars)["host"]
    return Looks([plan.look(host, "central", "", "central") for host in machines], [ClusterLook(clusters, "")])


def issuer_looks(
    plan: HostPlan, issuer: str, authority: AuthorityName, *, connects_only: bool, is_client: bool = False
) -> Looks:
    """Return who is asked before a certificate of this CA replaces one that is in use: the other side of its connections.

    A chassis and a client `connects_only`, to the databases. What a member in Kubernetes has in its Secret counts only if it was started with that file;
    a client is supplied by its operator, later than that.
    """
    hosts = members_of(plan.groups, "ovn_central")
    if not connects_only:
        hosts = list(dict.fromkeys([*hosts, *members_of(plan.groups, "ovn_hypervisors")]))
    by_backend = hosts_by_backend(hosts, plan.hostvars)
    look = ClusterLook(by_backend["kubernetes"], issuer, authority, authority == "chassis" and not is_client)
    return Looks([plan.look(host, "central", issuer, authority) for host in by_backend["host"]], [look])


def phase_looks(plan: HostPlan) -> Looks:
    """Return who is asked before the declared phase moves a CA; `Refused` if the files do not let it begin."""
    check_introduction(plan, plan.rotated)
    rotation, directory = plan.options.phase, plan.options.ca_directory
    rotates: t.Sequence[AuthorityName] = plan.authority["rotates"]
    found = Looks([], [])
    if rotation == "finish":
        return _finish_looks(plan, rotates)
    for name in rotates:
        files, prefix = plan.files[name], "" if name == "central" else "chassis-"
        if rotation == "prepare" and files.get("previous") and not files.get("next"):
            raise Refused(
                f"The rotation in {directory} is not finished (previous-{prefix}ca.pem is still trusted), so no next CA is prepared. Set "
                "ovn_pki_ca_rotation to finish first, or to none to leave it."
            )
        # A chassis CA that came with this rotation has no former one.
        prepared = files.get("next") or files.get("previous") or (name == "chassis" and files.get("active"))
        if rotation == "switch" and not prepared:
            raise Refused(
                f"There is no next-{prefix}ca.pem in {directory}. Run with ovn_pki_ca_rotation=prepare on all hosts first."
            )
        if rotation == "switch" and files.get("next"):
            looks = issuer_looks(plan, str(files["next"]), name, connects_only=name == "chassis")
            found = Looks(found.machines + looks.machines, found.clusters + looks.clusters)
    return found


def _finish_looks(plan: HostPlan, rotates: t.Sequence[AuthorityName]) -> Looks:
    files = [plan.files[name] for name in rotates]
    if any(one.get("next") for one in files):
        raise Refused(
            f"The next CA in {plan.options.ca_directory} does not sign yet. Run with ovn_pki_ca_rotation=switch on all hosts first."
        )
    if not any(one.get("previous") for one in files):
        return Looks([], [])
    kinds: tuple[tuple[str, AuthorityName], ...] = (("ovn_central", "central"), ("ovn_hypervisors", "chassis"))
    machines = [
        plan.look(host, name, plan.authorities[name]["issuer"], name)
        for group, name in kinds
        for host in hosts_by_backend(members_of(plan.groups, group), plan.hostvars)["host"]
    ]
    central = members_of(plan.groups, "ovn_central")
    others = [host for host in members_of(plan.groups, "ovn_hypervisors") if host not in central]
    clusters = [
        ClusterLook(hosts_with_own_secret(hosts, plan.hostvars, plan.groups), plan.authorities[kind]["issuer"])
        for hosts, kind in ((central, "central"), (others, "hypervisor_cluster"))
    ]
    return Looks(machines, clusters)


def verified_looks(plan: HostPlan) -> Looks:
    """Return the clusters whose pods have to show their Secrets between the phases."""
    hosts = dict.fromkeys([*members_of(plan.groups, "ovn_central"), *members_of(plan.groups, "ovn_hypervisors")])
    clusters = hosts_with_own_secret(hosts, plan.hostvars, plan.groups)
    return Looks([], [ClusterLook(clusters, plan.authorities["central"]["issuer"])])


def check_introduction(plan: HostPlan, rotated: t.Sequence[AuthorityName]) -> None:
    """Refuse a chassis CA without another central one: what a hypervisor could open yesterday it can open until the central CA of that day is retired."""
    given = plan.options.is_given("central")
    if plan.authority["former_layout"] and "central" not in rotated and not given:
        raise Refused(
            "The chassis CA alone cannot be introduced: the certificates that chassis have now are of ca.pem and open the Northbound database until that CA "
            "is replaced, too. Leave ovn_pki_rotate out, or set it to central,chassis. Nothing was changed."
        )


def check_trust(plan: HostPlan, trust: t.Mapping[str, t.Sequence[str]]) -> None:
    """Refuse a CA beside another one that hosts trust already. The file may have come in the meantime: another run made it and this one goes on with it."""
    if plan.options.ca_rotation == LOST_KEY or not trust["trusting"] or "central" not in plan.authority["missing"]:
        return
    raise Refused(
        f"There is no ca.pem in {plan.options.ca_directory} on the control node, but {', '.join(trust['trusting'])} already trust a CA. A second CA would "
        "cut their connections; nothing was changed. Restore that directory (or point ovn_pki_ca_directory to it), or give the CA as ovn_pki_ca.certificate "
        "and ovn_pki_ca.private_key. When the key of the CA is lost for good, declare a new CA with ovn_pki_ca_rotation=lost_key."
    )


def created_authorities(plan: HostPlan, trusting: t.Collection[str]) -> list[AuthorityName]:
    """Return which CAs are created, the chassis CA first: a central CA of ours without one beside it is that of an installation from before there were two.

    With a given central CA, what hosts trust tells that.
    """
    missing: list[AuthorityName] = plan.authority["missing"]
    return [name for name in missing if name == "central" or not trusting or "central" in missing]


def check_issuer(
    authority: AuthorityName, rotation: str, trust: t.Mapping[str, t.Sequence[str]], unready_members: t.Sequence[str]
) -> None:
    """Refuse certificates of a CA that the other side does not trust yet: they would cut the connection."""
    unready = trust["distrusting" if authority == "central" else "rejecting"]
    if unready:
        first = (
            "c5c3.ovn.central"
            if authority == "chassis" and rotation == "none"
            else "on all hosts with ovn_pki_ca_rotation=prepare"
        )
        raise Refused(
            f"{', '.join(unready)} do not trust the new CA yet and would refuse its certificates; no certificate was replaced. Run {first} first, then again."
        )
    if unready_members:
        raise Refused(
            f"{', '.join(unready_members)} would refuse certificates of the chassis CA: not started with client-ca.crt of the Secret. No certificate was "
            "replaced. Run c5c3.ovn.central first and let it restart these members, then again."
        )


def check_former(trust: t.Mapping[str, t.Sequence[str]]) -> None:
    if trust["former"]:
        raise Refused(
            f"{', '.join(trust['former'])} still use certificates of the former CA; nothing was changed. Run with ovn_pki_ca_rotation=switch there first."
        )


def check_nodes(nodes: t.Sequence[str]) -> None:
    """Refuse to retire a CA whose certificates nodes may have; `nodes` are from `former_nodes`."""
    if not nodes:
        return
    more = [f"and {len(nodes) - 10} more"] if len(nodes) > 10 else []
    raise Refused(
        "Nodes may still use certificates of the former CA of the chassis, and would be refused without it: "
        f"{'; '.join([*nodes[:10], *more])}. No CA was retired. Run c5c3.ovn.hypervisors, which signs for nodes with the present CA, and look at pods that "
        "are not ready (kubectl describe pod); delete the Node of a machine that is gone for good. Then run again."
    )


def issued_entry(state: Variables, *, issued: bool, holder: str, path: str) -> dict[str, t.Any]:
    """Return what the list of issued certificates gets to know of a pair; `state` is the result of `ovn_certificate` for what is installed now."""
    return {
        "holder": holder,
        "path": path,
        "issued": issued,
        "needed": issued or bool(state.get("needed")),
        **{key: str(state.get(key) or "") for key in ("issuer_name", "serial_number", "not_after")},
    }
