"""Users of an API server with exactly the rights of given Roles, and the accesses that a run makes of its requests."""

from __future__ import annotations

import contextlib
import json
import pathlib
import typing as t
import urllib.parse

import pytest
from _apiserver import ApiServer
from conftest import until

from ansible_collections.c5c3.ovn.plugins.module_utils._errors import Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.client import Cluster
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.connection import ApiConnection
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck_kubernetes.findings import Kind
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck_kubernetes.reviews import denied_questions
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck_kubernetes.rights import RIGHTS, questions_of

Object = dict[str, t.Any]
RBAC = "/apis/rbac.authorization.k8s.io/v1"
GROUP = "rbac.authorization.k8s.io"
VERBS = {"post": "create", "put": "update", "patch": "patch", "delete": "delete"}
Access = tuple[str, str, str]  # group, resource with its subresource, verb


class Operator:
    """A ServiceAccount in the namespace `default`, and a kubeconfig with its token. It has the rights of the Roles that were granted, and no others."""

    def __init__(self, server: ApiServer, name: str, directory: pathlib.Path) -> None:
        self.server, self.name = server, name
        accounts = "/api/v1/namespaces/default/serviceaccounts"
        with contextlib.suppress(OSError):  # the API server makes it a moment after its start
            server.request("POST", "/api/v1/namespaces", {"metadata": {"name": "default"}})
        server.request("POST", accounts, {"metadata": {"name": name}})
        answer = json.loads(server.request("POST", f"{accounts}/{name}/token", {"spec": {"expirationSeconds": 3600}}))
        content = json.loads(pathlib.Path(server.kubeconfig).read_text())
        content["users"][0]["user"] = {"token": answer["status"]["token"]}
        path = directory / f"{name}.kubeconfig"
        path.write_text(json.dumps(content))
        self.kubeconfig = str(path)

    @property
    def user(self) -> str:
        return f"system:serviceaccount:default:{self.name}"

    def grant(self, *roles: Object) -> None:
        """Create the Roles and ClusterRoles, and bind them."""
        for role in roles:
            name, namespace = role["metadata"]["name"], role["metadata"].get("namespace")
            place = f"{RBAC}/namespaces/{namespace}" if namespace else RBAC
            plural = role["kind"].lower()
            binding = {
                "metadata": {"name": name},
                "roleRef": {"apiGroup": GROUP, "kind": role["kind"], "name": name},
                "subjects": [{"kind": "ServiceAccount", "name": self.name, "namespace": "default"}],
            }
            self.server.request("POST", f"{place}/{plural}s", role)
            self.server.request("POST", f"{place}/{plural}bindings", binding)

    def replace(self, role: Object) -> None:
        namespace = role["metadata"].get("namespace")
        place = f"{RBAC}/namespaces/{namespace}" if namespace else RBAC
        self.server.request("PUT", f"{place}/{role['kind'].lower()}s/{role['metadata']['name']}", role)

    def connect(self) -> Cluster:
        return Cluster({"kubeconfig": self.kubeconfig})

    def await_rights(self, kind: Kind, namespace: str) -> None:
        """The API server notices new Roles a moment later."""
        cluster = self.connect()
        questions = [one for right in RIGHTS[kind] for one in questions_of(right, namespace)]
        until(lambda: not denied_questions(cluster, questions, namespace), f"the rights of {self.name}")


def access_of(method: str, path: str, *, watch: bool = False) -> Access | None:
    """What a request asks for, as a Role says it; None for what every user may do (versions, reviews, discovery)."""
    words = [urllib.parse.unquote(word) for word in path.strip("/").split("/")]
    group = "" if words[0] == "api" else words[1] if words[0] == "apis" and len(words) > 1 else None
    rest = words[2:] if group == "" else words[3:]
    if group is None or not rest or group in ("authorization.k8s.io", "authentication.k8s.io"):
        return None
    if rest[0] == "namespaces" and len(rest) > 2:
        rest = rest[2:]
    resource, name, subresource = [*rest, "", ""][:3]
    verb = VERBS.get(method) or ("watch" if watch else "get" if name else "list")
    return group, f"{resource}/{subresource}" if subresource else resource, verb


class Requests:
    """Every access that runs in this process ask for, and those that are refused."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.accesses: set[Access] = set()
        self.forbidden: list[str] = []
        send, events = ApiConnection._send, ApiConnection.events

        def recorded(connection: ApiConnection, method: str, path: str, doing: str, **options: t.Any) -> t.Any:
            self._add(access_of(method, path))
            if method == "patch" and "apply" in str(options.get("content_type")) and "/status" not in path:
                self._add(access_of("post", path.rpartition("/")[0]))  # for what does not exist
            try:
                return send(connection, method, path, doing, **options)
            except Refused as e:
                if e.details.get("http_status") == 403:
                    self.forbidden.append(str(e))
                raise

        def recorded_events(connection: ApiConnection, path: str, *arguments: t.Any, **options: t.Any) -> t.Any:
            self._add(access_of("get", path, watch=True))
            return events(connection, path, *arguments, **options)

        monkeypatch.setattr(ApiConnection, "_send", recorded)
        monkeypatch.setattr(ApiConnection, "events", recorded_events)

    def _add(self, access: Access | None) -> None:
        if access is not None:
            self.accesses.add(access)
