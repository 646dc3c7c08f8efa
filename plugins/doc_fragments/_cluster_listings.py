# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    # Filters that compare what runs in clusters with the Secrets there.
    DOCUMENTATION = r"""
options:
  _input:
    description: >-
      Results of a loop over M(kubernetes.core.k8s_info) that listed what runs in a namespace. C(item) of each one is the host that stands for the cluster.
    type: list
    elements: dict
    required: true
  secrets:
    description: Results of the same loop for the Secret of each host. Positional.
    type: list
    elements: dict
    required: true
"""
