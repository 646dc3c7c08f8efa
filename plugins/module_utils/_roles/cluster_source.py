# SPDX-License-Identifier: GPL-3.0-or-later
"""An OVNCluster that another client applies in place of the inventory (`ovn_cluster_from: resource`): where it is, and which variables say the same. Pure."""

from __future__ import annotations

import re
import typing as t

from .._api.names import CLIENT_CA_KEY
from .._base.errors import InvalidInput, OvnError
from .._base.inventory import as_list
from .option_types import plain
from .variables import Groups, Hostvars, Overlaid, Variables, backend_of, first_value, is_true, members_of

# What a run has read: `name`, `namespace` and `spec` of the resource. A fact of the hosts of a run, and of all hosts that are Kubernetes clusters.
FACT = "ovn_verify_cluster_resource"
SOURCES = ("inventory", "resource")
_DATABASES = ("northbound", "southbound")


class _Option(t.NamedTuple):
    """Variables, each of which says what these fields of the specification say. No field: the whole specification."""

    names: tuple[str, ...]
    fields: tuple[str, ...] = ()


def _of_both(option: str, field: str) -> _Option:
    return _Option((f"ovn_central_{option}",), tuple(f"{database}.{field}" for database in _DATABASES))


_WHOLE = "the whole spec"
_REPLACED = (f"({_WHOLE})", "(ovnImage)", "(ovsImage)")  # never equal to the resource
_TLS = ("tls.enabled",)
_SECRET = ("tls.certSecretRef.name",)
_MAPPINGS = _Option(("ovn_hypervisor_bridge_mappings",), ("bridgeMappings",))
_CENTRAL = (
    _Option(("ovn_cluster_spec",)),
    _Option(("ovn_image",), ("ovnImage",)),
    _Option(("ovs_image",), ("ovsImage",)),
    _of_both("election_timer", "electionTimer"),
    _of_both("inactivity_probe", "inactivityProbe"),
    _Option(("ovn_central_northd_threads",), ("northd.threads",)),
    _Option(("ovn_tls",), _TLS),
    _Option(("ovn_tls_secret",), _SECRET),
    _Option(("ovn_tls_ciphers",), ("tls.ciphers",)),
    _Option(("ovn_southbound_rbac",), ("relay.rbac",)),
)
_NODES = (
    _Option(("ovn_cluster_spec",)),
    _Option(("ovn_image",), ("ovnImage",)),
    _Option(("ovs_image",), ("ovsImage",)),
    _Option(("ovn_hypervisor_openvswitch",), ("ovs.mode",)),
    _Option(("ovn_hypervisor_datapath_type",), ("ovs.datapathType",)),
    _MAPPINGS,
    _Option(("ovn_tls",), _TLS),
    _Option(("ovn_tls_secret",), _SECRET),
    _Option(("ovn_node_certificates",), ("tls.nodeCertificates",)),
)
_MACHINE = (
    _MAPPINGS,
    _Option(("ovn_hypervisor_encapsulation_type",), ("encapsulation.type",)),
    _Option(("ovn_tls",), _TLS),
)


def find_source(hostvars: Hostvars, groups: Groups, given: str) -> dict[str, t.Any]:
    """Return whether a run has to read the OVNCluster (`reads`), where it is (`host`, `namespace`, `name`), and why that is impossible (`problem`).

    `given` is what the host of the task says, which counts where no host of ovn_central is known.
    """
    central = next(iter(members_of(groups, "ovn_central")), "")
    variables: Variables = hostvars[central] if central else {}
    source = str(first_value(variables, "ovn_cluster_from", default=given or SOURCES[0]))
    problem = ""
    if source not in SOURCES:
        problem = f'ovn_cluster_from is "{source}". Set it to {" or ".join(SOURCES)}.'
    elif source == "resource" and not central:
        problem = (
            "ovn_cluster_from is resource, and no host of ovn_central says in which cluster the OVNCluster is. Put that cluster into ovn_central, or set "
            "ovn_cluster_from to inventory."
        )
    elif source == "resource" and backend_of(variables) != "kubernetes":
        problem = (
            f"ovn_cluster_from is resource, and {central} is a machine, which has no OVNCluster. Set ovn_backend to kubernetes for a control plane in "
            "Kubernetes, or ovn_cluster_from to inventory."
        )
    reads = source == "resource" and not problem and not first_value(variables, FACT)
    namespace, name = _place(variables)
    return {"reads": reads, "host": central, "namespace": namespace, "name": name, "problem": problem}


def _place(central: Variables) -> tuple[str, str]:
    """Return namespace and name of the OVNCluster."""
    namespace = first_value(central, "ovn_namespace", default="ovn-system")
    return str(namespace), str(first_value(central, "ovn_cluster_name", default="ovn"))


def source_problem(hostvars: Hostvars, groups: Groups, host: str, answer: Variables) -> str:
    """Return why a run cannot go by the OVNCluster that ovn_cluster_info has found on `host`, empty if it can."""
    central = hostvars[host]
    namespace, name = _place(central)
    place = f"OVNCluster {namespace}/{name} of {host}"
    if "exists" not in answer:
        return f"{place} cannot be read, and ovn_cluster_from is resource: {answer.get('msg') or 'cause unknown'}"
    if not answer["exists"]:
        return f"{place} does not exist, and ovn_cluster_from is resource. Apply it there first (kubectl apply, Flux), or set ovn_cluster_from to inventory."
    spec: Variables = answer["cluster"].get("spec") or {}
    found = contradictions(hostvars, groups, spec, name)
    if found:
        replaced = [text for text in found if any(mark in text for mark in _REPLACED)]
        other = [text for text in found if text not in replaced]
        advice = " ".join(
            [
                *([f"{'; '.join(replaced)}. Remove them."] if replaced else []),
                *([f"{'; '.join(other)}. Remove them or give them the value of the resource."] if other else []),
            ]
        )
        return (
            f"ovn_cluster_from is resource, so {place} alone says what these variables say as well: {advice} Or set ovn_cluster_from to inventory for all "
            "hosts."
        )
    return _bundle_problem(central, spec, place)


def contradictions(hostvars: Hostvars, groups: Groups, spec: Variables, name: str) -> list[str]:
    """Return a text for each variable that says something else than the field with the same meaning. `name` is that of the OVNCluster."""
    found: dict[str, list[str]] = {}
    for group, clusters, machines in (("ovn_central", _CENTRAL, ()), ("ovn_hypervisors", _NODES, _MACHINE)):
        for host in members_of(groups, group):
            variables = hostvars[host]
            if first_value(variables, "ovn_cluster_from", default="resource") != "resource":
                found.setdefault("ovn_cluster_from (it is one for all hosts)", []).append(host)
            for option in clusters if backend_of(variables) == "kubernetes" else machines:
                for text in _conflicts(variables, option, spec, name):
                    hosts = found.setdefault(text, [])
                    if host not in hosts:
                        hosts.append(host)
    return [f"{text} on {_listed(hosts)}" for text, hosts in found.items()]


def name_options(error: OvnError, variables: Variables) -> OvnError:
    """Return the failure of a module with the option in place of each field of the specification that an option has set."""
    declared: Variables = first_value(variables, "ovn_cluster_spec", default={})
    message = str(error)
    for (option, *_others), fields in _CENTRAL if not first_value(variables, FACT) else ():
        for field in fields:
            if first_value(variables, option) != "" and _declared(declared, field) is None:
                message = re.sub(rf"\bspec\.{re.escape(field)}\b", option, message)
    if message == str(error):
        return error
    once = re.sub(r"(\S.*?\.)(?: \1)+", r"\1", message)  # the same of both databases
    # In `exception` Ansible has the message as the module gave it, and shows it first.
    return OvnError(once, **{name: value for name, value in error.details.items() if name != "exception"})


def _conflicts(variables: Variables, option: _Option, spec: Variables, name: str) -> t.Iterator[str]:
    if option.fields == _TLS:  # the playbooks read this one themselves, and it has a default
        if is_true(variables, *option.names, default=True) is not bool(_field(spec, *_TLS, name)):
            yield f"ovn_tls ({_TLS[0]})"
        return
    for variable in option.names:
        value = plain(first_value(variables, variable, default=None))
        if value is None or value == {}:
            continue
        if not option.fields:
            yield f"{variable} ({_WHOLE})"
        for field in option.fields:
            declared = _field(spec, field, name)
            if isinstance(value, dict) or not _is_same(field, value, declared):
                yield f"{variable} ({field})"


def _field(spec: Variables, path: str, name: str) -> t.Any:
    """Return a field; None if it is absent. The API server has written defaults of the schema."""
    value = _declared(spec, path)
    if value is None:
        value = {"tls.enabled": True, "tls.certSecretRef.name": f"{name}-tls", "bridgeMappings": []}.get(path)
    return plain(value)


def _declared(spec: Variables, path: str) -> t.Any:
    value: t.Any = spec
    for key in path.split("."):
        value = value.get(key) if isinstance(value, t.Mapping) else None
    return value


def _is_same(field: str, value: t.Any, declared: t.Any) -> bool:
    if isinstance(declared, bool):
        return is_true({field: value}, field) is declared
    if field == "bridgeMappings":
        return _sorted(camel_mappings(value)) == _sorted(declared)
    if field == "encapsulation.type":
        return as_list(value) == [declared]
    if field == "ovs.mode":
        value = "host" if value == "existing" else value
    return str(value) == str(declared)


def _sorted(mappings: t.Iterable[Variables]) -> list[dict[str, t.Any]]:
    """Return mappings in one order and without empty lists of ports."""
    given = [{key: item for key, item in one.items() if item not in ([], None)} for one in mappings]
    return sorted(given, key=lambda one: str(one.get("physicalNetwork")))


def _listed(hosts: t.Sequence[str]) -> str:
    shown = ", ".join(hosts[:3])
    return f"{shown} and {len(hosts) - 3} more" if len(hosts) > 3 else shown


def _bundle_problem(central: Variables, spec: Variables, place: str) -> str:
    """The role ovn_pki signs for chassis with a CA of their own, and the relays have to know where it is."""
    tls: Variables = spec.get("tls") or {}
    named = bool((tls.get("certSecretRef") or {}).get("name"))
    foreign = is_true(central, "ovn_pki_kubernetes_secret_given", default=named)
    if not tls.get("enabled", True) or foreign or tls.get("southboundClientCaConfigMapRef"):
        return ""
    if tls.get("southboundClientCaKey") == CLIENT_CA_KEY:
        return ""
    return (
        f"{place} has no tls.southboundClientCaKey: {CLIENT_CA_KEY}, where the role ovn_pki writes the CAs of chassis, so they could not connect. Set it "
        "in the resource, or name the Secret of another owner in its tls.certSecretRef."
    )


def camel_mappings(mappings: t.Iterable[Variables]) -> list[dict[str, t.Any]]:
    """Return bridge mappings of a role as fields of a specification."""
    return [
        {"physicalNetwork" if key == "physical_network" else key: value for key, value in one.items()}
        for one in plain(mappings)
    ]


def machine_mappings(spec: Variables) -> list[dict[str, t.Any]]:
    """Return bridge mappings of a specification as an option of ovn_chassis. Without any it is empty: a machine loses those that were taken out."""
    return [
        {"physical_network" if key == "physicalNetwork" else key: value for key, value in one.items()}
        for one in plain(spec.get("bridgeMappings") or [])
    ]


def with_resource(variables: Variables, hostvars: Hostvars, groups: Groups) -> Variables:
    """Return the variables of a host with what the run has read. The central host has it in every run, a machine only if the run reaches it (--limit)."""
    central = next(iter(members_of(groups, "ovn_central")), "")
    read = first_value(hostvars[central], FACT, default=None) if central and central in hostvars else None
    return Overlaid({FACT: read}, variables) if read else variables


def encapsulation_types_of(variables: Variables) -> list[str]:
    """Return the encapsulations of a machine: its option, else what the OVNCluster says that the run has read, else Geneve."""
    read: Variables = first_value(variables, FACT, default={})
    declared = ((read.get("spec") or {}).get("encapsulation") or {}).get("type")
    return as_list(first_value(variables, "ovn_hypervisor_encapsulation_type", default=declared or "geneve"))


def specification_of_resource(source: str, resource: Variables | None) -> dict[str, t.Any] | None:
    """Return the specification that a run has read, None if the inventory says what is desired; `InvalidInput` if it was not read."""
    if resource:
        return t.cast("dict[str, t.Any]", plain(resource["spec"]))
    if source == "resource":
        raise InvalidInput(
            "ovn_cluster_from is resource, and the OVNCluster was not read in this run. Include the entry point inventory of c5c3.ovn.ovn_verify in a play "
            "before, as our playbooks do. Nothing was changed."
        )
    return None
