#!/usr/bin/python
# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ovn_packages_info
short_description: (internal) Read which packages are installed, held and obtainable
version_added: "0.1.0"
description:
  - Reads the versions of packages from the database of dpkg, and for those that are not installed in the desired version what apt could install.
  - Packages that another one needs in exactly one version, such as those of one source, belong to it and are returned as well.
  - Lists of packages are not refreshed. apt is not asked while everything is as desired.
  - On a host without dpkg or apt only the distribution and O(paths) are known.
extends_documentation_fragment:
  - c5c3.ovn._attributes
  - c5c3.ovn._attributes.info_module
attributes:
  platform:
    support: full
    platforms: posix
options:
  packages:
    description: Packages, each as V(NAME) or V(NAME=VERSION). C(*) in a version stands for any text.
    type: list
    elements: str
    default: []
  versions:
    description:
      - Versions by names of packages; C(*) stands for any text, in names and in versions. Of several names that match a package, the longest counts.
      - A version in O(packages) counts more.
    type: dict
    default: {}
  paths:
    description: Files or directories whose existence is returned.
    type: list
    elements: path
    default: []
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Read whether OVN is installed in the desired version
  c5c3.ovn.ovn_packages_info:
    packages: [ovn-host, openvswitch-switch, python3-openvswitch]
    versions:
      ovn-*: 25.03.*
  register: found

- name: Show what differs
  ansible.builtin.debug:
    msg: "{{ found.unsatisfied }}"
"""

RETURN = r"""
distribution:
  description: C(id), C(version) and C(name) of the distribution from os-release(5), each empty if it is not known.
  returned: success
  type: dict
  sample: {"id": "debian", "version": "12", "name": "Debian GNU/Linux 12 (bookworm)"}
manager:
  description: V(apt), or empty on a host without dpkg or apt, where nothing is known of packages.
  returned: success
  type: str
  sample: apt
desired:
  description: The desired version of each package, empty for any.
  returned: success
  type: dict
  sample: {"ovn-host": "25.03.*", "python3-openvswitch": ""}
unsatisfied:
  description: Desired packages that are not installed, or in another version. All of them where RV(manager) is not known.
  returned: success
  type: list
  elements: str
  sample: ["ovn-host"]
packages:
  description: By name, the desired packages and those that belong to them.
  returned: success
  type: dict
  contains:
    installed:
      description: The installed version, empty if the package is not installed.
      type: str
      returned: always
      sample: 23.03.1-1~deb12u2
    held:
      description: Whether upgrades leave it alone.
      type: bool
      returned: always
    needs:
      description: Packages that the installed one needs in exactly one version.
      type: dict
      returned: always
      sample: {"ovn-common": "23.03.1-1~deb12u2"}
    candidate:
      description: What apt would install. Empty if there is nothing, or if apt was not asked because the package is as desired.
      type: str
      returned: always
      sample: 25.03.0-1
    obtainable:
      description: The versions that a package source has, and what each of them needs in exactly one version; empty as RV(packages.candidate).
      type: dict
      returned: always
      sample: {"25.03.0-1": {"ovn-common": "25.03.0-1"}}
interrupted:
  description: Packages whose installation was cut off. C(dpkg --configure -a) finishes it.
  returned: success
  type: list
  elements: str
  sample: []
paths:
  description: Those of O(paths) that exist.
  returned: success
  type: list
  elements: str
  sample: ["/usr/bin/ovn-northd"]
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._base.errors import OvnError
from ..module_utils._host.packages import OPTIONS, read_packages
from ..module_utils._machine.commands import Commands


def main() -> t.NoReturn:
    module = AnsibleModule(argument_spec=OPTIONS, supports_check_mode=True)
    try:
        result = read_packages(module.params, Commands())
    except OvnError as e:
        module.fail_json(**e.as_result())
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
