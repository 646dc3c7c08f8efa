# SPDX-License-Identifier: GPL-3.0-or-later
"""The Secrets of Kubernetes clusters and what their pods show of them. The keys in them are in no result."""

from __future__ import annotations

import re
import time
import typing as t

from ..module_utils._api.names import CLIENT_CA_KEY
from ..module_utils._base.errors import OvnError, Refused
from ..module_utils._pki.issuing import require_cryptography
from ..module_utils._pki.secret import secret_state
from ..module_utils._roles.pki import Secret
from ..module_utils._roles.pki_pods import secret_mounts
from ..module_utils._roles.variables import Variables
from ._pki_action import utc_now
from ._progress import print_while_waiting

Call = t.Callable[..., dict[str, t.Any]]
Listing = dict[str, t.Any]  # `item`, the host, and `resources`

_INFO, _EXEC = "kubernetes.core.k8s_info", "kubernetes.core.k8s_exec"
_SOUTHBOUND = ["app.kubernetes.io/name=ovn", "app.kubernetes.io/component=southbound"]
_DIGEST = re.compile("[0-9a-f]{64}")
_PAUSE = 5  # seconds; a pod gets a changed Secret up to two minutes later


class ClusterSecrets:
    """What clusters answer, each asked once. An unreachable one fails the step: what it trusts is unknown."""

    def __init__(self, call: Call, secret_of: t.Callable[[str], Secret], retries: int, task_vars: Variables) -> None:
        self._call, self._secret_of, self._retries, self._task_vars = call, secret_of, retries, task_vars
        self._secrets: dict[str, Listing] = {}
        self._pods: dict[str, Listing] = {}

    def states(self, hosts: t.Sequence[str], issuer: str) -> dict[str, dict[str, t.Any]]:
        """Return the facts of `secret_state` of each host. With an issuer, wait first until the pods show the Secrets."""
        if hosts:
            require_cryptography()
        secrets = self.secrets(hosts)
        if issuer:
            self._wait(hosts)
        found = {}
        for one in secrets:
            data = (one["resources"][0].get("data") if one["resources"] else None) or {}
            found[one["item"]] = secret_state(
                data, "the Secret", issuer, utc_now(), declared=None, client_ca_key=CLIENT_CA_KEY
            )
        return found

    def secrets(self, hosts: t.Sequence[str]) -> list[Listing]:
        problems = []
        for host in (host for host in hosts if host not in self._secrets):
            try:
                self._secrets[host] = self._list(host, kind="Secret", name=self._secret_of(host).name)
            except OvnError as e:
                problems.append(f"{host}: {e}")
        if problems:
            raise OvnError("; ".join(problems))
        return [self._secrets[host] for host in hosts]

    def pods(self, hosts: t.Sequence[str]) -> list[Listing]:
        for host in (host for host in hosts if host not in self._pods):
            self._pods[host] = self._list(host, kind="Pod")
        return [self._pods[host] for host in hosts]

    def stateful_sets(self, hosts: t.Sequence[str]) -> list[Listing]:
        """Return those of the Southbound."""
        return [
            self._list(host, api_version="apps/v1", kind="StatefulSet", label_selectors=_SOUTHBOUND) for host in hosts
        ]

    def _list(self, host: str, **arguments: t.Any) -> Listing:
        return {"item": host, "resources": self._ask(host, _INFO, **arguments)["resources"]}

    def _ask(self, host: str, module: str, **arguments: t.Any) -> dict[str, t.Any]:
        secret = self._secret_of(host)
        access = {"kubeconfig": secret.kubeconfig or None, "context": secret.context or None}
        return self._call(module, namespace=secret.namespace, **access, **arguments)

    def _wait(self, hosts: t.Sequence[str]) -> None:
        """A phase that goes on before all pods have a changed Secret cuts connections."""
        behind = self._behind(secret_mounts(self.pods(hosts), self.secrets(hosts)))
        deadline = time.monotonic() + self._retries * _PAUSE
        with print_while_waiting(f"the changed Secret in {_names(behind[:3])}" if behind else "", self._task_vars):
            while behind and time.monotonic() < deadline:
                time.sleep(_PAUSE)
                behind = self._behind(behind)
        if behind:
            raise Refused(
                f"{_names(behind)} did not show the CA bundle and the certificate of its Secret; no certificate was replaced. Look at the pods and at their "
                "kubelets, then run again."
            )

    def _behind(self, mounts: t.Sequence[Variables]) -> list[Variables]:
        return [mount for mount in mounts if self._digests(mount) != mount["digests"]]

    def _digests(self, mount: Variables) -> list[str]:
        try:
            answer = self._ask(
                mount["host"],
                _EXEC,
                pod=mount["pod"],
                container=mount["container"],
                command=f"sha256sum {' '.join(mount['files'])}",
            )
        except OvnError:  # the container may start anew
            return []
        return _DIGEST.findall(str(answer.get("stdout") or ""))


def _names(mounts: t.Sequence[Variables]) -> str:
    return ", ".join(f"{mount['namespace']}/{mount['pod']}" for mount in mounts)
