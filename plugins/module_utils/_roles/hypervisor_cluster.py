# SPDX-License-Identifier: GPL-3.0-or-later
"""A Kubernetes cluster of the role ovn_hypervisor: what its nodes have in common, who signs for them, and what forbids a run. Pure."""

from __future__ import annotations

import dataclasses
import os
import typing as t

from ansible.module_utils.common.dict_transformations import dict_merge

from .._api.tls_spec import gives_node_certificates
from .._base.inventory import address_of, encapsulation_ip_of
from .cluster_source import FACT, camel_mappings, specification_of_resource
from .variables import Groups, Variables, first_value, members_of


@dataclasses.dataclass(frozen=True)
class HypervisorClusterOptions:
    """Options of the role and shared variables that count for a cluster. What only a machine has is in `HypervisorOptions`."""

    state: str
    tls: bool
    tls_secret: str | None
    cluster_name: str
    namespace: str
    spec: dict[str, t.Any]
    image: dict[str, t.Any]
    openvswitch_image: dict[str, t.Any]
    node_certificates: str
    openvswitch: str
    datapath_type: str | None
    bridge_mappings: list[dict[str, t.Any]] | None
    central_host: str | None
    break_lock: bool
    force_conflicts: bool
    wait_timeout: int = 600  # without progress: an update goes through the nodes one by one


class DesiredNodes(t.NamedTuple):
    """What a cluster has to be. `signs`: the nodes have certificates of their own, which the CA of the chassis signs."""

    spec: dict[str, t.Any]
    tls_secret: str
    signs: bool


def desired_hypervisors(options: HypervisorClusterOptions, variables: Variables) -> DesiredNodes:
    """The specification of the control plane's OVNCluster counts more than the other options. That of another client counts alone."""
    source = first_value(variables, "ovn_cluster_from", default="inventory")
    read = specification_of_resource(source, first_value(variables, FACT, default={}))
    spec = _inventory_specification(options) if read is None else read
    tls = spec.get("tls") or {}
    secret = (tls.get("certSecretRef") or {}).get("name") or options.tls_secret or f"{options.cluster_name}-tls"
    return DesiredNodes(spec, secret, gives_node_certificates(tls))


def _inventory_specification(options: HypervisorClusterOptions) -> dict[str, t.Any]:
    own = {"nodeCertificates": "own"} if options.node_certificates == "own" else {}
    spec: dict[str, t.Any] = {"tls": {"enabled": options.tls, **own}}
    if options.image:
        spec["ovnImage"] = options.image
    if options.openvswitch_image:
        spec["ovsImage"] = options.openvswitch_image
    switch = {
        **({"datapathType": options.datapath_type} if options.datapath_type else {}),
        **({"mode": "host"} if options.openvswitch == "existing" else {}),
    }
    if switch:
        spec["ovs"] = switch
    if options.bridge_mappings is not None:
        spec["bridgeMappings"] = camel_mappings(options.bridge_mappings)
    return t.cast("dict[str, t.Any]", dict_merge(spec, options.spec))


def variables_for_machines(host: str, variables: Variables, groups: Groups) -> list[str]:
    """Return the shared variables and groups of a cluster that have no effect on its nodes, as they would have on a machine."""
    found = {
        "group ovn_gateways": host in members_of(groups, "ovn_gateways"),
        "ovn_encapsulation_ip": encapsulation_ip_of(host, variables) != address_of(host, variables),
        "ovn_system_id": first_value(variables, "ovn_system_id") not in ("", host),
    }
    return [name for name, has_value in found.items() if has_value]


def hypervisors_problem(host: str, state: str, for_machines: t.Sequence[str]) -> str:
    """Return why the options of a cluster forbid a run, empty if they do not. `for_machines` are those that only a machine can have."""
    if state == "gone":
        return (
            f"{host} is a Kubernetes cluster; ovn_hypervisor_state=gone is for machines only. A node that died loses its chassis with the next run "
            "after its Node was deleted; all of them are removed with ovn_hypervisor_state=absent. Nothing was changed."
        )
    if state == "absent" or not for_machines:
        return ""
    return (
        f"{', '.join(for_machines)}: for machines only; on the nodes of {host} (ovn_backend kubernetes) nothing would be done with it. Take it out of the "
        f"variables and groups of {host}. What all nodes have in common is said by encapsulation, ovs.underlay and gateway.nodeSelector of "
        "ovn_cluster_spec, what one node has by its annotations ovn.c5c3.io/encapsulation-ip, system-id, gateway, bridge-mappings and "
        "chassis-settings. Nothing was changed."
    )


@dataclasses.dataclass(frozen=True)
class NodeSignerOptions:
    """Options of the role ovn_pki with the CA of the chassis, which signs for nodes."""

    ca_directory: str | None
    validity_days: int
    ca: dict[str, t.Any] = dataclasses.field(repr=False)
    chassis_ca: dict[str, t.Any] = dataclasses.field(repr=False)

    @property
    def given(self) -> bool:
        """Whether variables have the CA, and not the directory."""
        return bool(str(self.chassis_ca.get("certificate") or "").strip())

    def directory(self, variables: Variables) -> str:
        """Return the directory of the CAs on the control node."""
        beside = first_value(variables, "inventory_dir", "playbook_dir")
        return self.ca_directory or os.path.join(str(beside), "ovn-pki.cfg")


def signer_problem(signer: Variables, *, given: bool, directory: str, key_problem: str, needed: bool) -> str:
    """Return why nobody can sign, empty if that is possible.

    `signer` has the certificate of the CA and its key, `given` says that they are variables of the user and no files of `directory`. `key_problem` is that
    of the file with the key. `needed`: without a signature the run cannot bring about what is declared.
    """
    if not given and key_problem:
        return key_problem
    if needed and not signer["certificate"]:
        return (
            f"There is no certificate of the CA of the chassis, {directory}/chassis-ca.pem, so nobody can sign for nodes with certificates of their own. "
            "Run c5c3.ovn.central first, which makes it where relays give chassis a role. If certificates come from elsewhere, give "
            "ovn_pki_chassis_ca.certificate and ovn_pki_chassis_ca.private_key, or set ovn_node_certificates to shared."
        )
    if needed and not signer["private_key"]:
        where = "ovn_pki_chassis_ca.private_key" if given else f"{directory}/chassis-ca-key.pem"
        replace = (
            "give another CA in three runs, see the README of the role ovn_pki"
            if given
            else "run c5c3.ovn.rotate with ovn_pki_rotate=chassis, which replaces that CA and the certificates of nodes"
        )
        return (
            f"There is no key of the CA of the chassis ({where}), so nobody can sign for nodes with certificates of their own: the first ones would lose "
            f"ovn-controller. Bring the key back. When it is lost for good, {replace}."
        )
    return ""
