# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of a connection to Kubernetes: those of kubernetes.core."""

from __future__ import annotations

import os
import typing as t

from .._base.errors import InvalidInput

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

AUTH_ARG_SPEC: dict[str, dict[str, t.Any]] = {
    "kubeconfig": {"type": "raw", "no_log": True},
    "context": {},
    "host": {},
    "api_key": {"no_log": True},
    "username": {},
    "password": {"no_log": True},
    "validate_certs": {"type": "bool", "aliases": ["verify_ssl"]},
    "ca_cert": {"type": "path", "aliases": ["ssl_ca_cert"]},
    "client_cert": {"type": "path", "aliases": ["cert_file"]},
    "client_key": {"type": "path", "aliases": ["key_file"]},
    "proxy": {"type": "str"},
    "no_proxy": {"type": "str"},
    "proxy_headers": {
        "type": "dict",
        "options": {
            "proxy_basic_auth": {"type": "str", "no_log": True},
            "basic_auth": {"type": "str", "no_log": True},
            "user_agent": {"type": "str"},
        },
    },
    "persist_config": {"type": "bool"},
    "impersonate_user": {},
    "impersonate_groups": {"type": "list", "elements": "str"},
}
_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount/token"  # what a library takes in a pod, before any kubeconfig
_SECRET_KEYS = (
    "token",
    "password",
    "client-key-data",
    "client-certificate-data",
    "secret",
    "id-token",
    "refresh-token",
)


def hide_only_secrets(module: AnsibleModule) -> None:
    """Let messages contain the path of a kubeconfig, and of a kubeconfig given as a dictionary all but its secrets.

    The option is `no_log` for the sake of the system's log; then Ansible also masks words like "v1" or a namespace in results.
    """
    kubeconfig = module.params.get("kubeconfig")
    secrets = set(_strings(kubeconfig, only=_SECRET_KEYS))
    module.no_log_values.difference_update(set(_strings(kubeconfig)) - secrets)
    module.no_log_values.update(secrets)


def _strings(value: t.Any, only: t.Sequence[str] | None = None, key: str = "") -> t.Iterator[str]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _strings(item, only, name)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item, only, key)
    elif value is not None and (only is None or key in only):
        yield str(value)


def check_options(params: t.Mapping[str, t.Any]) -> None:
    """Raise `InvalidInput` for what the libraries report badly: two API servers at once, and a kubeconfig that does not exist."""
    kubeconfig = params.get("kubeconfig") or os.environ.get("K8S_AUTH_KUBECONFIG")
    if isinstance(kubeconfig, str):
        paths = [os.path.expanduser(path) for path in kubeconfig.split(os.pathsep)]
        if not any(os.path.exists(path) for path in paths):
            raise InvalidInput(
                f"Cannot connect: {credentials_of(params)}: no such file on the control node. Correct the path, or name another one."
            )
    address = os.environ.get("K8S_AUTH_HOST")
    # The variable would silently win over the kubeconfig.
    if address and not params.get("host") and (params.get("kubeconfig") or params.get("context")):
        raise InvalidInput(
            f"Cannot connect: {credentials_of(params)} and the environment variable K8S_AUTH_HOST={address} name two API servers. "
            "Remove the variable (in a controller: the credential of the job), or give host instead of the kubeconfig."
        )


def credentials_of(params: t.Mapping[str, t.Any]) -> str:
    """Return where the address and the credentials come from, for messages."""

    def option(name: str) -> t.Any:
        return params.get(name) or os.environ.get(f"K8S_AUTH_{name.upper()}")

    kubeconfig = option("kubeconfig")
    if isinstance(kubeconfig, str):
        source = f"kubeconfig {kubeconfig}"
    elif kubeconfig:
        source = "the given kubeconfig"
    elif option("host") and not option("context"):
        return f"host {option('host')}"
    elif not option("context") and os.environ.get("KUBERNETES_SERVICE_HOST") and os.path.exists(_ACCOUNT):
        return f"the ServiceAccount of this pod ({_ACCOUNT})"
    else:
        source = f"kubeconfig {os.environ.get('KUBECONFIG', '~/.kube/config')}"
    return f"{source}, context {option('context')}" if option("context") else source
