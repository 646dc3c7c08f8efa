# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    # What every module says about itself. The module adds `support` (and `details`) to the first three.
    DOCUMENTATION = r"""
options: {}
attributes:
  check_mode:
    description: Can run in check mode and returns exactly what a real run would change, without changing it.
  diff_mode:
    description: Returns the values before and after, in check mode and in real runs alike.
  idempotent:
    description:
      - A second run with the same options changes nothing.
      - This assumes that nothing else changed the managed object in between.
  platform:
    description: Operating systems of the managed host.
    support: full
    platforms: posix
"""

    # Modules that ask a Kubernetes API server.
    ACTION_GROUP_KUBERNETES = r"""
options: {}
attributes:
  action_group:
    description: Use C(group/c5c3.ovn.kubernetes) in C(module_defaults) to set the connection to the API server for all these modules at once.
    support: full
    membership:
      - c5c3.ovn.kubernetes
"""

    # Modules that are clients of OVSDB servers.
    ACTION_GROUP_OVSDB = r"""
options: {}
attributes:
  action_group:
    description: Use C(group/c5c3.ovn.ovsdb) in C(module_defaults) to set the TLS files for all these modules at once.
    support: full
    membership:
      - c5c3.ovn.ovsdb
"""

    # Modules that are both.
    ACTION_GROUPS = r"""
options: {}
attributes:
  action_group:
    description:
      - Use C(group/c5c3.ovn.kubernetes) in C(module_defaults) to set the connection to the API server for all these modules at once.
      - Use C(group/c5c3.ovn.ovsdb) to set the TLS files.
    support: full
    membership:
      - c5c3.ovn.kubernetes
      - c5c3.ovn.ovsdb
"""

    # For modules that only read.
    INFO_MODULE = r"""
options: {}
attributes:
  check_mode:
    support: full
    details:
      - This module changes nothing.
  diff_mode:
    support: N/A
    details:
      - This module changes nothing.
  idempotent:
    support: full
    details:
      - This module changes nothing.
"""
