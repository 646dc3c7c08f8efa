# SPDX-License-Identifier: GPL-3.0-or-later
"""What the options of the role ovn_pki mean for one host: which certificate it gets, and in Kubernetes which Secret holds it. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from .._api.names import CLIENT_CA_KEY, POD_SECURITY, service_names
from .._api.tls_spec import gives_node_certificates
from .._base.inventory import address_of, as_list, system_id_of
from .cluster_source import FACT
from .variables import (
    Backend,
    Groups,
    Hostvars,
    Variables,
    backend_of,
    first_value,
    hosts_by_backend,
    is_true,
    members_of,
)

Certificate = t.Literal["central", "chassis"]
LOST_KEY: t.Final = "lost_key"  # the value of ovn_pki_ca_rotation that permits a new CA beside one that hosts trust
CERTIFICATES: t.Final = "certificates"  # what ovn_pki_rotate replaces if it is no CA

# Where the certificate of a chassis is if the options of the role ovn_hypervisor do not say it
CHASSIS_FILES = {"private_key": "chassis-key.pem", "certificate": "chassis-cert.pem", "ca_certificate": "ca.pem"}

# Where machines have their files unless ovn_pki_directory names another place
DIRECTORY = "/etc/ovn/tls"


@dataclasses.dataclass(frozen=True)
class Secret:
    """The Secret with the certificate of a Kubernetes cluster, and the way to it."""

    kubeconfig: t.Any  # a path, or the content as a mapping; empty for the environment
    context: str
    namespace: str
    name: str
    given: bool  # another owner manages it

    def is_beside(self, other: Secret) -> bool:
        """Return whether both are in one namespace of one cluster, as far as the variables show it."""
        return (self.kubeconfig, self.context, self.namespace) == (other.kubeconfig, other.context, other.namespace)


@dataclasses.dataclass(frozen=True)
class CertificateOptions:
    """The options of one host."""

    backend: Backend
    certificate: Certificate
    common_name: str
    subject_alt_names: list[str]
    directory: str
    cluster_name: str
    rotation: str
    renew: bool
    secret: Secret


def rotation_phase(rotation: t.Any) -> str:
    """Return the phase in which the option ovn_pki_ca_rotation moves the files of the CAs. Without their key there is nothing to move."""
    return "none" if rotation in ("", LOST_KEY) else str(rotation)


def certificate_of(host: str, groups: Groups) -> Certificate:
    """Return the certificate that a host gets unless an option of its role names another one."""
    return "central" if host in members_of(groups, "ovn_central") else "chassis"


def _specification(variables: Variables) -> Variables:
    read: Variables = first_value(variables, FACT, default={})  # an OVNCluster that another client applies
    if read:
        return t.cast("Variables", read["spec"])
    found: Variables = first_value(variables, "ovn_cluster_spec", default={})
    return found


def _field(specification: t.Any, *path: str) -> t.Any:
    """Return a field of a specification, empty if it or what is around it is absent."""
    for name in path:
        specification = first_value(specification or {}, name)
    return specification


def _cluster_name(variables: Variables) -> str:
    return str(first_value(variables, "ovn_cluster_name", default="ovn"))


def secret_of(variables: Variables) -> Secret:
    """Return the Secret that the variables of a host name."""
    tls = _field(_specification(variables), "tls")
    named, issued = _field(tls, "certSecretRef", "name"), _field(tls, "certificates") == "operator"
    usual = first_value(variables, "ovn_tls_secret", default=f"{_cluster_name(variables)}-tls")
    return Secret(
        kubeconfig=first_value(variables, "ovn_kubeconfig"),
        context=str(first_value(variables, "ovn_context")),
        namespace=str(first_value(variables, "ovn_namespace", default="ovn-system")),
        name=str(named or usual),
        given=is_true(variables, "ovn_pki_kubernetes_secret_given", default=bool(named) or issued),
    )


def hosts_with_own_secret(hosts: t.Iterable[str], hostvars: Hostvars, groups: Groups) -> list[str]:
    """Return the Kubernetes clusters among these hosts whose Secret this role makes. One that is that of the control plane as well is made there."""
    clusters = hosts_by_backend(hosts, hostvars)["kubernetes"]
    return [host for host in clusters if makes_secret(host, certificate_of(host, groups), hostvars, groups)]


def makes_secret(host: str, certificate: Certificate, hostvars: Hostvars, groups: Groups) -> bool:
    """Return whether this role makes the Secret with this certificate for a Kubernetes cluster, and not as that of the control plane."""
    secret = secret_of(hostvars[host])
    return not secret.given and not _central_twins(secret, certificate, hostvars, groups)


def _central_twins(secret: Secret, certificate: Certificate, hostvars: Hostvars, groups: Groups) -> list[str]:
    """Return the central hosts whose Secret this one of a hypervisor cluster is as well."""
    if certificate == "central":
        return []
    clusters = hosts_by_backend(members_of(groups, "ovn_central"), hostvars)["kubernetes"]
    others = {host: secret_of(hostvars[host]) for host in clusters}
    return [host for host, other in others.items() if other.is_beside(secret) and other.name == secret.name]


def _service_names(variables: Variables, namespace: str) -> list[str]:
    """Return the names in the certificate of a control plane: all members (a wildcard for each headless Service), Neutron's Services, declared names."""
    domain = str(first_value(variables, "ovn_cluster_domain", default="cluster.local"))
    return service_names(_specification(variables), _cluster_name(variables), namespace, domain)


def options_of(variables: Variables, hostvars: Hostvars, groups: Groups, host: str) -> CertificateOptions:
    """Return the options of `host`, completed by what its other variables say.

    `variables` are those of the running task, which know more than `hostvars` (variables of the play).
    """
    backend = backend_of(variables)
    certificate: Certificate = first_value(variables, "ovn_pki_certificate", default=certificate_of(host, groups))
    secret = secret_of(variables)
    names = variables.get("ovn_pki_subject_alt_names")
    if names is None or names == "":  # an empty list says that there are none
        if backend == "host":
            names = [host, address_of(host, hostvars[host])]
        else:
            names = [host, *(_service_names(variables, secret.namespace) if certificate == "central" else ())]
    usual = host if certificate == "central" else first_value(variables, "ovn_system_id", default=host)
    return CertificateOptions(
        backend=backend,
        certificate=certificate,
        common_name=str(first_value(variables, "ovn_pki_common_name", default=usual)),
        subject_alt_names=as_list(names),
        directory=str(first_value(variables, "ovn_pki_directory", default=DIRECTORY)),
        cluster_name=_cluster_name(variables),
        rotation=str(first_value(variables, "ovn_pki_ca_rotation", default="none")),
        renew=CERTIFICATES in as_list(first_value(variables, "ovn_pki_rotate")),
        secret=secret,
    )


def _in_namespace_of(secret: Secret, hostvars: Hostvars, groups: Groups) -> list[str]:
    """Return the hosts whose parts are in the namespace of this Secret, among them the host itself."""
    hosts = dict.fromkeys([*members_of(groups, "ovn_central"), *members_of(groups, "ovn_hypervisors")])
    clusters = hosts_by_backend(hosts, hostvars)["kubernetes"]
    return [host for host in clusters if secret_of(hostvars[host]).is_beside(secret)]


def chassis_service(hostvars: Hostvars, groups: Groups) -> dict[str, t.Any]:
    """Return who serves chassis; without a control plane in the inventory that could tell it, all is None.

    `chassis_ca`: chassis have a CA of their own, which who serves them tells from the central one. `central_backend`: where the control plane runs.
    """
    # Each look into hostvars costs, and this is asked for every hypervisor.
    central = [hostvars[host] for host in members_of(groups, "ovn_central")]
    if not central:
        return {"chassis_ca": None, "central_backend": None}
    return {
        "chassis_ca": all(
            makes_client_bundle(one) if backend_of(one) == "kubernetes" else _has_role(one) for one in central
        ),
        "central_backend": backend_of(central[0]),
    }


def makes_client_bundle(central: Variables) -> bool:
    """Return whether the Secret of a control plane in Kubernetes has a bundle for the clients of its Southbound: that of another owner has none."""
    return (
        backend_of(central) == "kubernetes"
        and is_true(central, "ovn_tls", default=True)
        and not secret_of(central).given
    )


def chassis_have_role(hostvars: Hostvars, groups: Groups) -> bool:
    """Return whether relays know chassis by the names in their certificates, and give them a role. It looks at all hosts, so ask once in a run."""
    central = [hostvars[host] for host in members_of(groups, "ovn_central")]
    in_pods = any(backend_of(one) == "kubernetes" for one in central)
    return bool(central) and all(map(_has_role, central)) and not (in_pods and share_certificates(hostvars, groups))


def share_certificates(hostvars: Hostvars, groups: Groups) -> bool:
    """Return whether there are chassis whose certificate does not have their name: nodes of a hypervisor cluster that share one."""
    return any(shares_certificate(hostvars[host]) for host in _present(hostvars, groups, "kubernetes"))


def shares_certificate(cluster: Variables) -> bool:
    """Return whether the nodes of a hypervisor cluster share a certificate."""
    tls = _chassis_tls(cluster)
    return tls["enabled"] and is_present(cluster) and not gives_node_certificates(tls)


def is_present(hypervisor: Variables) -> bool:
    """Return whether the chassis of this host are not to be removed."""
    return str(first_value(hypervisor, "ovn_hypervisor_state", default="present")) == "present"


def _present(hostvars: Hostvars, groups: Groups, backend: Backend) -> list[str]:
    """Return the hypervisors of this backend that are not to be removed."""
    found = hosts_by_backend(members_of(groups, "ovn_hypervisors"), hostvars)[backend]
    return [host for host in found if is_present(hostvars[host])]


def has_node_certificates(variables: Variables) -> bool:
    """Return whether the nodes of a hypervisor cluster have certificates of their own; its specification counts more than the option."""
    return gives_node_certificates(_chassis_tls(variables))


def _chassis_tls(cluster: Variables) -> dict[str, t.Any]:
    """Return what is declared of the TLS of a hypervisor cluster; the fields of its specification count more than options."""
    specification = _specification(cluster)
    declared = {field: _field(specification, "tls", field) for field in ("enabled", "nodeCertificates")}
    option = first_value(cluster, "ovn_node_certificates", default="own")
    tls = is_true(cluster, "ovn_tls", default=True)
    return {
        "enabled": tls if declared["enabled"] == "" else bool(declared["enabled"]),
        "nodeCertificates": str(declared["nodeCertificates"] or option),
    }


def clusters_with_node_certificates(hostvars: Hostvars, groups: Groups) -> list[str]:
    """Return the hypervisor clusters whose nodes have certificates of their own."""
    return [host for host in _present(hostvars, groups, "kubernetes") if has_node_certificates(hostvars[host])]


def machine_names(hostvars: Hostvars, groups: Groups) -> list[str]:
    """Return the system ids of the machines that are chassis."""
    return [system_id_of(host, hostvars[host]) for host in _present(hostvars, groups, "host")]


def machine_certificates(hostvars: Hostvars, groups: Groups) -> list[dict[str, str]]:
    """Return the files with the certificate of each machine that is a chassis, and the name that it has to have."""
    return [_machine_certificate(host, hostvars[host]) for host in _present(hostvars, groups, "host")]


def _machine_certificate(host: str, variables: Variables) -> dict[str, str]:
    files = {
        option: str(first_value(variables, f"ovn_hypervisor_{option}", default=f"/etc/ovn/tls/{name}"))
        for option, name in CHASSIS_FILES.items()
    }
    return {"host": host, "system_id": system_id_of(host, variables), **files}


def _has_role(central: Variables) -> bool:
    """RBAC knows a chassis by the name in its certificate, so there is no role without TLS. The specification of a cluster counts more than the option."""
    in_pods = backend_of(central) == "kubernetes"
    declared = _field(_specification(central), "relay", "rbac") if in_pods else ""
    role = is_true(central, "ovn_southbound_rbac", default=True)
    return is_true(central, "ovn_tls", default=True) and (role if declared == "" else bool(declared))


def _usage(options: CertificateOptions) -> list[str]:
    """A chassis only connects to others; with another certificate it could pass for a server."""
    return ["clientAuth"] if options.certificate == "chassis" else ["serverAuth", "clientAuth"]


def trusts_secret(variables: Variables) -> bool:
    """Return whether pods trust the CAs in the Secret, and not those in a ConfigMap of another owner."""
    return not _field(_specification(variables), "tls", "caConfigMapRef")


def pod_security_of(certificate: Certificate, hostvars: Hostvars, groups: Groups, host: str) -> str:
    """Return the Pod Security level of the namespace of `host`, if it is created.

    Pods of the control plane satisfy the strictest one; the daemons of hypervisors use network and folders of their node.
    """
    beside = _in_namespace_of(secret_of(hostvars[host]), hostvars, groups)
    has_chassis = certificate == "chassis" or any(other in members_of(groups, "ovn_hypervisors") for other in beside)
    return "privileged" if has_chassis else "restricted"


def desired_state(variables: Variables, hostvars: Hostvars, groups: Groups, host: str) -> dict[str, t.Any]:
    """Return what the role brings about for `host`.

    Roles record it as a fact, which a run shows with -v, so the way to the cluster is not in it: a kubeconfig may be given with its keys.

    `pair` are options of `ovn_certificate`: its files (of a machine), its names, and what may change. `secret` is that of a Kubernetes cluster, with its
    `place` for messages; `client_ca_key` is its key for those whom the Southbound lets in, empty if these are everybody's. `ca_config_map` is the name of
    the ConfigMap with the CAs that pods trust, empty if these are in the Secret. The rest is from `chassis_service`.
    """
    options = options_of(variables, hostvars, groups, host)
    pair = f"{options.directory}/{options.certificate}"
    service = chassis_service(hostvars, groups)
    has_relay_bundle = options.certificate == "central" and options.backend == "host"
    return {
        "certificate": options.certificate,
        "backend": options.backend,
        **service,
        "pair": {
            "private_key": f"{pair}-key.pem",
            "certificate": f"{pair}-cert.pem",
            "ca_certificate": f"{options.directory}/ca.pem",
            "common_name": options.common_name,
            "subject_alt_names": options.subject_alt_names,
            "extended_key_usage": _usage(options),
            **({"client_ca_certificate": f"{options.directory}/relay-ca.pem"} if has_relay_bundle else {}),
            "renew": options.renew,
            "renew_on_issuer_change": options.rotation not in ("prepare", LOST_KEY),
            "remove_authorities": options.rotation == "finish",
        },
        "cluster_name": options.cluster_name,
        "secret": {
            "namespace": options.secret.namespace,
            "name": options.secret.name,
            "place": f"Secret {options.secret.namespace}/{options.secret.name} of {host}",
            "client_ca_key": CLIENT_CA_KEY
            if options.certificate == "central"
            and options.backend == "kubernetes"
            and not options.secret.given
            and service["chassis_ca"] is not False
            else "",
            "ca_config_map": str(_field(_specification(variables), "tls", "caConfigMapRef", "name")),
        },
    }


def neighbors(variables: Variables, hostvars: Hostvars, groups: Groups, host: str) -> dict[str, t.Any]:
    """Return what other hosts mean for the Secret of `host`, which stands for a Kubernetes cluster.

    `central_twin` is the central host whose Secret it is as well, maybe `host` itself, empty if there is none; it makes the Secret, which has the names of
    the databases besides. `given` says that this host does not make it. `rivals` are other hypervisor clusters in the same namespace. `namespace_labels` are
    those of the namespace, if it is created.
    """
    certificate: Certificate = first_value(variables, "ovn_pki_certificate", default=certificate_of(host, groups))
    secret, hypervisors = secret_of(variables), members_of(groups, "ovn_hypervisors")
    same_namespace = _in_namespace_of(secret, hostvars, groups)
    twins = _central_twins(secret, certificate, hostvars, groups)
    return {
        "central_twin": twins[0] if twins else "",
        "given": is_true(variables, "ovn_pki_kubernetes_secret_given", default=secret.given or bool(twins)),
        "rivals": [
            other for other in same_namespace if other in hypervisors and other != host and is_present(hostvars[other])
        ],
        "namespace_labels": {POD_SECURITY: pod_security_of(certificate, hostvars, groups, host)},
    }
