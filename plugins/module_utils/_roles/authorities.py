# SPDX-License-Identifier: GPL-3.0-or-later
"""The two CAs: which one signs which pair, whom a host trusts, and whom the server of chassis lets in. Pure.

The central CA is that of members, northd and clients with all rights, and the only one that anybody trusts but the servers of chassis, the relays. These
let in what the chassis CA signed, too. Texts are PEM; files are `active`, `next` and `previous` of each
CA beside the inventory, each empty if there is none.
"""

from __future__ import annotations

import dataclasses
import typing as t

from .._base.errors import InvalidInput
from .._base.inventory import as_list
from .._kubernetes.compare import with_hash
from .._manifests.ca_bundle import authorities_manifest
from .._pki.issuing import AuthorityName
from .pki import CERTIFICATES, has_node_certificates, is_present, rotation_phase, secret_of, trusts_secret
from .variables import Backend, Variables, first_value

# The ConfigMap with the CAs for nodes with certificates of their own: it has to follow the Secret, or a rotation would cut these nodes off. Pure.


def node_authorities(cluster: Variables, bundle: str) -> dict[str, t.Any]:
    """Return the object as the module ovn_hypervisors applies it, from the variables of the host that stands for a hypervisor cluster.

    Empty where nodes do not need it: they share the Secret, or have the CAs from a ConfigMap of another owner.
    """
    if not (bundle and is_present(cluster) and has_node_certificates(cluster) and trusts_secret(cluster)):
        return {}
    name = str(first_value(cluster, "ovn_cluster_name", default="ovn"))
    return with_hash(authorities_manifest(bundle, name=name, namespace=secret_of(cluster).namespace))


AUTHORITIES: tuple[AuthorityName, ...] = ("central", "chassis")
Files = t.Mapping[str, str]


def authority_of(
    certificate: AuthorityName,
    backend: Backend,
    *,
    chassis_ca: bool | None,
    central_backend: Backend | None,
    has_chassis_ca: bool,
) -> AuthorityName:
    """Return which CA signs the pair of a chassis, of a client with the rights of one, or of the central part.

    Only the server of chassis lets in certificates of the chassis CA. Without one (`chassis_ca` false: no RBAC on machines, a given Secret in Kubernetes)
    chassis connect to members, which know the central CA alone. So do the nodes of a hypervisor cluster where the control plane is on machines: they share
    one certificate, which no relay could take for that of a chassis. An installation whose chassis have certificates of the central CA has no chassis CA
    until c5c3.ovn.rotate brings one. An inventory without a control plane (None) uses a chassis CA if it has one, and makes none.
    """
    is_let_in = backend == "host" or central_backend == "kubernetes"
    return (
        "chassis"
        if certificate == "chassis" and is_let_in and chassis_ca is not False and has_chassis_ca
        else "central"
    )


def given_authority(variables: Variables, authority: AuthorityName) -> Variables:
    """Return what the inventory gives of a CA, empty without it. What is no dictionary must not count as absent: another CA would be made."""
    option = "ovn_pki_ca" if authority == "central" else "ovn_pki_chassis_ca"
    found = first_value(variables, option, default={})
    if not isinstance(found, t.Mapping):
        raise InvalidInput(f"{option} is no dictionary. Give one with certificate and private_key.")
    return found


def rotated_authorities(given: t.Any) -> list[AuthorityName]:
    """Return which CAs the phases of a rotation are for, none if only certificates are replaced; `InvalidInput` for another name."""
    names = as_list(given if given is not None and given != "" else AUTHORITIES)
    if names == [CERTIFICATES]:
        return []
    wrong = [name for name in names if name not in AUTHORITIES]
    if wrong or not names:
        raise InvalidInput(
            f'ovn_pki_rotate is "{", ".join(names)}". Give central, chassis or both, or certificates alone.'
        )
    return [name for name in AUTHORITIES if name in names]


@dataclasses.dataclass(frozen=True)
class _Authority:
    """One CA. `given`: its certificate comes from the user's variables, and no file counts."""

    given: str
    active: str
    next: str
    previous: str
    rotation: str

    @classmethod
    def of(cls, given: t.Any, files: Files, rotation: str) -> _Authority:
        text = str(given or "")
        active, following, previous = (
            "" if text.strip() else files.get(name) or "" for name in ("active", "next", "previous")
        )
        # The former CA is trusted until its removal is declared.
        return cls(text if text.strip() else "", active, following, "" if rotation == "finish" else previous, rotation)

    @property
    def issuer(self) -> str:
        # In check mode the files are where they were, and the switch is only assumed.
        return self.given or (self.next if self.rotation == "switch" and self.next else self.active)

    @property
    def bundle(self) -> str:
        """All that are trusted: the next CA before it signs."""
        return "\n".join(filter(None, dict.fromkeys((self.issuer, self.active, self.next, self.previous))))


def authority(
    variables: Variables,
    files: t.Mapping[str, Files],
    certificate: AuthorityName = "central",
    backend: Backend = "host",
    chassis_ca: bool | None = False,
    central_backend: Backend | None = None,
) -> dict[str, t.Any]:
    """Return the CA that signs a pair, and those that are trusted.

    `variables` are the options of the role, `files` go from the name of a CA to its files, `chassis_ca` and `central_backend` come from
    `pki.desired_state`.

    In the result, `name` is the CA that signs, `given` says that it is one of the user's, `active` is the certificate of its file that counts, and `issuer`
    its certificate (empty while there is none). `bundle` are all CAs that hosts trust, `client_bundle` all that the server of chassis lets in. `rotates` has
    the CAs whose files a declared phase moves. `missing` has the CAs that have to be made first; `former_layout`: chassis have certificates of the central CA
    although they should have a CA of their own.
    """
    makes_chassis_ca = chassis_ca is True
    rotation = rotation_phase(first_value(variables, "ovn_pki_ca_rotation"))
    rotated = rotated_authorities(variables.get("ovn_pki_rotate"))
    given, chassis_given = given_authority(variables, "central"), given_authority(variables, "chassis")
    extra = str(given.get("bundle_extra") or "")
    central = _Authority.of(given.get("certificate"), files["central"], rotation if "central" in rotated else "none")
    chassis = _Authority.of(
        chassis_given.get("certificate"), files["chassis"], rotation if "chassis" in rotated else "none"
    )
    name = authority_of(
        certificate,
        backend,
        chassis_ca=chassis_ca,
        central_backend=central_backend,
        has_chassis_ca=bool(chassis.issuer),
    )
    signs = chassis if name == "chassis" else central
    chassis_extra = str(chassis_given.get("bundle_extra") or "")
    bundle = "\n".join(filter(None, (central.bundle, extra)))
    return {
        "name": name,
        "given": bool(signs.given),
        "active": signs.active,
        "issuer": signs.issuer,
        "bundle": bundle,
        "client_bundle": "\n".join(filter(None, (bundle, chassis.bundle, chassis_extra)))
        if chassis_ca is not False
        else bundle,
        "rotates": _rotating(central, chassis, rotated, makes_chassis_ca) if rotation != "none" else [],
        "missing": _missing(central, chassis, makes_chassis_ca),
        "former_layout": makes_chassis_ca and bool(central.issuer) and not chassis.issuer,
    }


def authorities(
    variables: Variables, files: t.Mapping[str, Files], desired: Variables | None = None
) -> dict[str, dict[str, t.Any]]:
    """Return the CA for each kind of certificate that a run on one host deals with, from the result of `pki.desired_state`.

    `own` is that of the host itself, the whole result of `authority`. Of the others there is `name`, `given` and `issuer`: `central` is that of a host or
    client with all rights, `chassis` that of a machine or client with the rights of a chassis, `hypervisor_cluster` that of all nodes of one.
    """
    known = desired or {}
    kinds: dict[str, tuple[AuthorityName, Backend]] = {
        "own": (known.get("certificate", "central"), known.get("backend", "host")),
        "central": ("central", "host"),
        "chassis": ("chassis", "host"),
        "hypervisor_cluster": ("chassis", "kubernetes"),
    }
    found = {
        kind: authority(
            variables,
            files,
            certificate,
            backend,
            chassis_ca=known.get("chassis_ca", False),
            central_backend=known.get("central_backend"),
        )
        for kind, (certificate, backend) in kinds.items()
    }
    return {
        kind: one if kind == "own" else {key: one[key] for key in ("name", "given", "issuer")}
        for kind, one in found.items()
    }


def _rotating(
    central: _Authority, chassis: _Authority, rotated: t.Sequence[AuthorityName], makes_chassis_ca: bool
) -> list[AuthorityName]:
    """A chassis CA that is not there yet comes with the phases, too: members must not be cut off from chassis meanwhile."""
    there = {
        "central": bool(central.active),
        "chassis": bool(chassis.active) or (makes_chassis_ca and not chassis.given and bool(central.issuer)),
    }
    return [name for name in rotated if there[name]]


def _missing(central: _Authority, chassis: _Authority, makes_chassis_ca: bool) -> list[AuthorityName]:
    """The chassis CA is made first: a central CA of ours without one beside it is that of an installation from before there were two."""
    has_former_layout = bool(central.active) and not chassis.issuer
    lacking = {
        "chassis": makes_chassis_ca and not chassis.issuer and not chassis.next and not has_former_layout,
        "central": not central.issuer,
    }
    return [name for name in reversed(AUTHORITIES) if lacking[name]]


def pair_options(desired: Variables, authority: Variables, others: Variables | None = None) -> dict[str, t.Any]:
    """Return the options of `ovn_certificate` for a host, from `pki.desired_state` and the result of `authority`."""
    pair = {**desired["pair"], "issuer": authority["issuer"], "ca_bundle": authority["bundle"], **(others or {})}
    # Only who serves clients of another CA has a bundle for them.
    return {**pair, "client_ca_bundle": authority["client_bundle"]} if "client_ca_certificate" in pair else pair
