#!/usr/bin/python
# Copyright: (c) 2026, C5C3 contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ovn_awx
short_description: Templates, workflows and schedules of AWX for the playbooks of this collection
version_added: "0.1.0"
description:
  - Makes an organization of AWX have the objects of O(resources), in one call, through AWX's REST API. The role P(c5c3.ovn.ovn_awx#role) gives it what is
    in the folder C(awx) of the collection.
  - Every object that it makes has a description that ends with C((c5c3.ovn.awx)). An object of the same name without it is somebody else's and refused
    before anything is changed.
  - Nothing is deleted. Credentials, notifications and nodes of workflows that people have added stay. Taken away are links between its own nodes that are
    not desired, and a credential in whose place another one of the same type is desired. Nodes of others that lead to its own are a warning.
  - Secrets are not among the objects, because AWX does not return them. Make credentials in AWX and name them.
extends_documentation_fragment:
  - c5c3.ovn._attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
  platform:
    support: full
    platforms: posix
options:
  host:
    description: URL of AWX, for example V(https://awx.example.com). Without one, the environment variable E(CONTROLLER_HOST) counts.
    type: str
    required: true
  token:
    description: Token of a user who administers the organization, or else E(CONTROLLER_OAUTH_TOKEN). Needed unless there is O(username).
    type: str
  username:
    description: Name of the user, or else E(CONTROLLER_USERNAME). Not used with O(token).
    type: str
  password:
    description: Password of O(username), or else E(CONTROLLER_PASSWORD).
    type: str
  ca_certificate:
    description: File with the CA certificates (PEM) that AWX's certificate is checked with. Without it those of the system count.
    type: path
  validate_certs:
    description: Whether AWX's certificate has to be valid, or else E(CONTROLLER_VERIFY_SSL).
    type: bool
    default: true
  organization:
    description: Name of an organization that exists.
    type: str
    default: Default
  resources:
    description:
      - The objects, a list for each kind under the name that the API has for it. Fields are those of the API, with names where it has ids.
      - Beside them, C(credentials), C(notifications) (names by C(started), C(success), C(error), C(approvals)), C(survey), the C(nodes) of a workflow, and
        C(only_with), which leaves the object out if it is empty.
    type: dict
    required: true
  take_over:
    description: Objects that something else made and that become as O(resources) has them, as the refusal prints them, for example V(inventory "OVN").
    type: list
    elements: str
    default: []
  request_timeout:
    description: Time for one answer of AWX, in seconds, or else E(CONTROLLER_REQUEST_TIMEOUT).
    type: float
    default: 30
  wait_timeout:
    description: Time in which AWX has to fetch the project before templates are made of its playbooks, in seconds.
    type: float
    default: 300
author:
  - C5C3 contributors (@c5c3)
"""

EXAMPLES = r"""
- name: Have an inventory in AWX
  c5c3.ovn.ovn_awx:
    host: https://awx.example.com
    token: "{{ vault_awx_token }}"
    organization: Networks
    resources:
      inventories:
        - {name: OVN, organization: Networks, description: Central hosts and hypervisors (c5c3.ovn.awx)}
  delegate_to: localhost
"""

RETURN = r"""
objects:
  description: What was created, updated, attached or detached, in check mode what would be.
  returned: success
  type: list
  elements: dict
  contains:
    action:
      description: V(created), V(updated), V(attached) or V(detached).
      type: str
    object:
      description: Kind and name.
      type: str
  sample: [{"action": "created", "object": "job template \"OVN site\""}]
diff:
  description: The fields that differ, before and after, for each object.
  returned: success
  type: dict
  sample: {"before": {"1 project \"OVN\"": {"scm_branch": "v1"}}, "after": {"1 project \"OVN\"": {"scm_branch": "v2"}}}
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.common.parameters import env_fallback

from ..module_utils._awx.apply import apply_resources
from ..module_utils._awx.client import AwxClient
from ..module_utils._awx.plan import secrets_in
from ..module_utils._base.errors import OvnError


def _environment(name: str, kind: str = "str") -> dict[str, t.Any]:
    return {"type": kind, "fallback": (env_fallback, [name])}


def main() -> t.NoReturn:
    module = AnsibleModule(
        argument_spec={
            "host": {**_environment("CONTROLLER_HOST"), "required": True},
            "token": {**_environment("CONTROLLER_OAUTH_TOKEN"), "no_log": True},
            "username": _environment("CONTROLLER_USERNAME"),
            "password": {**_environment("CONTROLLER_PASSWORD"), "no_log": True},
            "ca_certificate": {"type": "path"},
            "validate_certs": {**_environment("CONTROLLER_VERIFY_SSL", "bool"), "default": True},
            "organization": {"type": "str", "default": "Default"},
            "resources": {"type": "dict", "required": True, "no_log": True},
            "take_over": {"type": "list", "elements": "str", "default": []},
            "request_timeout": {**_environment("CONTROLLER_REQUEST_TIMEOUT", "float"), "default": 30},
            "wait_timeout": {"type": "float", "default": 300},
        },
        required_one_of=[("token", "username")],
        required_by={"username": ("password",)},
        supports_check_mode=True,
    )
    # `no_log` keeps the resources out of the system's log; masked in results are their secrets alone, not each of their words.
    module.no_log_values.clear()
    module.no_log_values.update(filter(None, (module.params["token"], module.params["password"])))
    module.no_log_values.update(secrets_in(module.params["resources"]))
    try:
        client = AwxClient(
            module.params["host"],
            token=module.params["token"] or "",
            username=module.params["username"] or "",
            password=module.params["password"] or "",
            ca_certificate=module.params["ca_certificate"] or "",
            validate_certs=module.params["validate_certs"],
            timeout=module.params["request_timeout"],
        )
        result = apply_resources(client, module.params, check_mode=module.check_mode)
    except OvnError as e:
        module.fail_json(**e.as_result())
    for warning in result.pop("warnings"):
        module.warn(warning)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
