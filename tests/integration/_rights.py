"""Users of an API server with exactly the rights of given Roles, and the accesses that a run makes of its requests."""

from __future__ import annotations

import contextlib
import copy
import json
import pathlib
import typing as t
import urllib.parse

import pytest
import yaml
from _apiserver import ApiServer
from conftest import until

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.access_review import denied_accesses
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.client import Cluster
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.connection import ApiConnection
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.finding import Kind
from ansible_collections.c5c3.ovn.plugins.module_utils._precheck.rights import RIGHTS, Right, questions_of

Object = dict[str, t.Any]
RBAC = "/apis/rbac.authorization.k8s.io/v1"
GROUP = "rbac.authorization.k8s.io"
VERBS = {"post": "create", "put": "update", "patch": "patch", "delete": "delete"}
Access = tuple[str, str, str]  # group, resource with its subresource, verb
EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "rights"


def example_roles(shown: str, name: str, namespace: str) -> list[Object]:
    """The Roles of examples/rights with the name `shown`, under another name and for another namespace."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(EXAMPLES.glob("*.yml"))]
    found = [role for text in texts for role in yaml.safe_load(text)["items"] if role["metadata"]["name"] == shown]
    assert found, f"{EXAMPLES} has no Role {shown}"
    for role in found:
        role["metadata"].update({"name": name, **({"namespace": namespace} if role["kind"] == "Role" else {})})
    return found


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
        self.await_denied(RIGHTS[kind], namespace, set())

    def await_denied(self, rights: t.Iterable[Right], namespace: str, expected: set[Access]) -> None:
        """Wait until exactly these accesses of the rights are denied: the API server notices new Roles a moment later."""
        cluster = self.connect()
        questions = [one for right in rights for one in questions_of(right, namespace)]

        def denied() -> set[Access]:
            return {(one.group, one.resource, one.verb) for one in denied_accesses(cluster, questions, namespace)}

        until(lambda: denied() == expected, f"exactly these accesses of {self.name} to be denied: {expected or 'none'}")

    def without_each_verb(
        self, roles: t.Iterable[Object], rights: t.Sequence[Right], namespace: str
    ) -> t.Iterator[Access]:
        """Take away one verb of one resource after the other, all others stay; yield it while it is away."""
        for role in roles:
            for index, rule in enumerate(role["rules"]):
                for number, verb in enumerate(rule["verbs"]):
                    less = copy.deepcopy(role)
                    less["rules"][index]["verbs"][number] = "proxy"
                    self.replace(less)
                    access = (rule["apiGroups"][0], rule["resources"][0], verb)
                    self.await_denied(rights, namespace, {access})
                    yield access
            self.replace(role)
            self.await_denied(rights, namespace, set())


@pytest.fixture
def operator(api_server: ApiServer, namespace: str, tmp_path: pathlib.Path) -> Operator:
    return Operator(api_server, f"operator-{namespace}", tmp_path)


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
        send, events, execute = ApiConnection._send, ApiConnection.events, ApiConnection.exec

        def recorded(connection: ApiConnection, method: str, path: str, doing: str, **options: t.Any) -> t.Any:
            self._add(access_of(method, path))
            if method == "patch" and "apply" in str(options.get("content_type")) and "/status" not in path:
                self._add(access_of("post", path.rpartition("/")[0]))  # for what does not exist
            with self._noted():
                return send(connection, method, path, doing, **options)

        def recorded_events(connection: ApiConnection, path: str, *arguments: t.Any, **options: t.Any) -> t.Any:
            self._add(access_of("get", path, watch=True))
            return events(connection, path, *arguments, **options)

        def recorded_exec(connection: ApiConnection, *arguments: t.Any, **options: t.Any) -> t.Any:
            self.accesses.update(("", "pods/exec", verb) for verb in ("get", "create"))
            with self._noted():
                return execute(connection, *arguments, **options)

        monkeypatch.setattr(ApiConnection, "exec", recorded_exec)
        monkeypatch.setattr(ApiConnection, "_send", recorded)
        monkeypatch.setattr(ApiConnection, "events", recorded_events)

    @contextlib.contextmanager
    def _noted(self) -> t.Iterator[None]:
        try:
            yield
        except Refused as e:
            if e.details.get("http_status") == 403:
                self.forbidden.append(str(e))
            raise

    def _add(self, access: Access | None) -> None:
        if access is not None:
            self.accesses.add(access)
