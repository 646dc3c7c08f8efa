#!/usr/bin/python
# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ovn_secret_files
short_description: Write key, certificate and CA of a Secret to files
version_added: "0.1.0"
description:
  - Reads a Secret with C(tls.key), C(tls.crt) and C(ca.crt), and writes them to a new private directory of the host where the module runs, for clients
    that need files.
  - The directory has to be removed afterwards, with M(ansible.builtin.file) under C(always).
extends_documentation_fragment:
  - c5c3.ovn._attributes
  - c5c3.ovn._attributes.action_group_kubernetes
  - c5c3.ovn._kubernetes_auth
attributes:
  check_mode:
    support: full
    details:
      - The files are written in check mode as well, for what is read with them.
  diff_mode:
    support: N/A
    details:
      - Nothing is changed that outlives the run.
  idempotent:
    support: N/A
    details:
      - Each run makes a directory of its own.
  platform:
    support: full
    platforms: posix
options:
  name:
    description: Name of the Secret.
    type: str
    required: true
  namespace:
    description: Its namespace.
    type: str
    required: true
requirements:
  - "On the host where it runs: the Python library C(kubernetes)."
seealso:
  - module: c5c3.ovn.ovn_sync
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Write key, certificate and CA to the control node
  c5c3.ovn.ovn_secret_files:
    kubeconfig: /etc/kubeconfigs/control-plane
    namespace: ovn-system
    name: ovn-tls
  delegate_to: localhost
  register: tls

- name: Send a heartbeat
  c5c3.ovn.ovn_sync:
    northbound: ["ssl:192.0.2.11:6641"]
    southbound: ["ssl:192.0.2.11:6642"]
    private_key: "{{ tls.files.private_key }}"
    certificate: "{{ tls.files.certificate }}"
    ca_certificate: "{{ tls.files.ca_certificate }}"
  delegate_to: localhost

- name: Remove the files
  ansible.builtin.file:
    path: "{{ tls.directory }}"
    state: absent
  delegate_to: localhost
"""

RETURN = r"""
directory:
  description: The directory with the files, empty if there is none, because the Secret does not exist or lacks one of the three.
  returned: success
  type: str
  sample: /tmp/c5c3-ovn-x3k9q2
files:
  description: Paths of C(private_key), C(certificate) and C(ca_certificate), empty if there is no directory.
  returned: success
  type: dict
  sample: {"private_key": "/tmp/c5c3-ovn-x3k9q2/tls.key"}
"""

import base64
import pathlib
import shutil
import tempfile
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._errors import OvnError
from ..module_utils._kubernetes.client import AUTH_ARG_SPEC, Cluster, hide_only_secrets

NAMES = {"private_key": "tls.key", "certificate": "tls.crt", "ca_certificate": "ca.crt"}


def write_files(data: t.Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Return the new directory and the paths of the files; empty if the data of the Secret lacks one of them."""
    if not all(data.get(name) for name in NAMES.values()):
        return "", {}
    directory = pathlib.Path(tempfile.mkdtemp(prefix="c5c3-ovn-"))
    try:
        for name in NAMES.values():
            (directory / name).touch(mode=0o600)
            (directory / name).write_bytes(base64.b64decode(data[name]))
    except OSError as e:
        shutil.rmtree(directory, ignore_errors=True)
        raise OvnError(f"Cannot write key and certificate to {directory}: {e}.") from e
    return str(directory), {option: str(directory / name) for option, name in NAMES.items()}


def main() -> t.NoReturn:
    module = AnsibleModule(
        argument_spec={
            **AUTH_ARG_SPEC,
            "name": {"type": "str", "required": True},
            "namespace": {"type": "str", "required": True},
        },
        supports_check_mode=True,
    )
    hide_only_secrets(module)
    params = module.params
    try:
        found = Cluster(params).get("v1", "Secret", params["name"], params["namespace"])
        directory, files = write_files((found or {}).get("data") or {})
    except OvnError as e:
        module.fail_json(**e.as_result())
    module.exit_json(changed=False, directory=directory, files=files)


if __name__ == "__main__":
    main()
