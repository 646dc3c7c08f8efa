# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    # Modules that ask the pods of a control plane in place of a host.
    DOCUMENTATION = r"""
options:
  cluster:
    description:
      - Name of an OVNCluster in Kubernetes whose pods are asked, V(ovn) unless it was given another one. The options of the connection to
        Kubernetes, such as O(kubeconfig) and O(context), are of use with this option only.
      - Nothing is asked on the managed host then.
    type: str
  namespace:
    description: Namespace of O(cluster).
    type: str
    default: ovn-system
"""
