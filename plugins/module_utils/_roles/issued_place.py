# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the list of issued certificates of a central host is: a file of the machine, or a ConfigMap beside its OVNCluster. Pure."""

from __future__ import annotations

import typing as t

from .._api.names import issued_certificates_name
from .._pki.issued import list_path
from .central import PREFIX, CentralMachineOptions
from .variables import Hostvars, Variables, backend_of, first_value


def is_cluster(central: Variables) -> bool:
    """Return whether the control plane of this central host is in Kubernetes."""
    return backend_of(central) == "kubernetes"


def issued_path(central: Variables) -> str:
    """Return the file of a machine: the one of its observer if the role ovn_central has run, else what the inventory says."""
    recorded = ((central.get("ovn_central_check") or {}).get("desired") or {}).get("issued_certificates")
    directory = first_value(central, f"{PREFIX}config_directory", default=CentralMachineOptions.config_directory)
    return str(recorded or list_path(directory))


def issued_place(hostvars: Hostvars, host: str) -> dict[str, t.Any]:
    """Return the options of `ovn_issued_certificates` that name the list of this central host, and its `title` for messages."""
    central = hostvars[host]
    if not is_cluster(central):
        path = issued_path(central)
        return {"title": path, "path": path}
    namespace, cluster = _option(central, "namespace", "ovn-system"), _option(central, "cluster_name", "ovn")
    return {
        "title": f"ConfigMap {namespace}/{issued_certificates_name(cluster)}",
        "kubeconfig": _option(central, "kubeconfig"),
        "context": _option(central, "context"),
        "namespace": namespace,
        "cluster": cluster,
    }


def _option(central: Variables, name: str, default: str = "") -> t.Any:
    return first_value(central, f"ovn_{name}", default=default)
