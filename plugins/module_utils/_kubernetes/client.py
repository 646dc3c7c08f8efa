# SPDX-License-Identifier: GPL-3.0-or-later
"""The client of one API server: its verbs, over a connection. It raises `OvnError`s."""

from __future__ import annotations

import typing as t

from .._base.errors import Conflict, InvalidInput, OvnError, Refused
from .auth import AUTH_ARG_SPEC, hide_only_secrets
from .command import ExecResult
from .connection import ApiConnection
from .kinds import FIELD_MANAGER, KNOWN_KINDS, Kind, group_path, kind_of_discovery
from .retries import APPLY

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

__all__ = ["AUTH_ARG_SPEC", "FIELD_MANAGER", "Cluster", "ExecResult", "hide_only_secrets", "run_module"]

Object = dict[str, t.Any]
# In the class, `list` is a method.
Objects = list[Object]
Texts = list[str]


class Cluster:
    """What one task asks and writes; `connection` sends it. All methods can be called from several threads."""

    def __init__(self, params: t.Mapping[str, t.Any], *, timeout: float = 15.0, credentials: str = "") -> None:
        """`credentials` is where they come from, for messages; without it the options say it."""
        self.connection = ApiConnection(params, timeout, credentials)
        self._kinds: dict[tuple[str, str], Kind] = dict(KNOWN_KINDS)

    @property
    def server(self) -> str:
        """Return the URL of the API server."""
        return self.connection.server

    @property
    def requests(self) -> int:
        """Return how many requests were sent."""
        return self.connection.requests

    @property
    def warnings(self) -> Texts:
        """Return the warnings of the server, each once."""
        return self.connection.warnings

    def _find(self, api_version: str, kind: str) -> Kind | None:
        """Return the kind, None if the API server does not serve it (yet)."""
        known = self._kinds.get((api_version, kind))
        if known is not None:
            return known
        try:
            answer = self.connection.send("get", group_path(api_version), f"look for the kind {kind} of {api_version}")
        except Refused as e:
            if e.details.get("http_status") != 404:
                raise
            return None
        found = kind_of_discovery(api_version, kind, answer)
        if found is not None:
            self._kinds[found.api_version, found.kind] = found
        return found

    def _need(self, api_version: str, kind: str, doing: str) -> Kind:
        found = self._find(api_version, kind)
        if found is None:
            raise Refused(
                f"Cannot {doing}: the API server {self.server} has no kind {kind} of {api_version}. "
                "Is its CustomResourceDefinition installed?",
                http_status=404,
            )
        return found

    def list(
        self,
        api_version: str,
        kind: str,
        namespace: str | None = None,
        *,
        labels: str = "",
        fields: str = "",
        limit: int | None = None,
    ) -> Objects:
        """Return the objects, with apiVersion and kind; none if the API server does not serve the kind."""
        return self.list_with_version(api_version, kind, namespace, labels=labels, fields=fields, limit=limit)[0]

    def list_with_version(
        self,
        api_version: str,
        kind: str,
        namespace: str | None = None,
        *,
        labels: str = "",
        fields: str = "",
        limit: int | None = None,
    ) -> tuple[Objects, str]:
        """Return the same, and the resourceVersion from which a watch goes on; empty if the API server does not serve the kind."""
        found = self._find(api_version, kind)
        if found is None:
            return [], ""
        try:
            answer = self.connection.send(
                "get",
                found.path(namespace),
                f"list {kind} in {namespace or 'all namespaces'}",
                label_selector=labels or None,
                field_selector=fields or None,
                limit=limit,
            )
        except Refused as e:
            if e.details.get("http_status") == 404:
                return [], ""
            raise
        objects = [{"apiVersion": api_version, "kind": kind, **item} for item in answer.get("items") or []]
        return objects, str((answer.get("metadata") or {}).get("resourceVersion") or "")

    def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Object | None:
        found = self._find(api_version, kind)
        if found is None:
            return None
        try:
            answer: Object = self.connection.send(
                "get", found.path(namespace, name), f"get {_title(kind, name, namespace)}"
            )
        except Refused as e:
            if e.details.get("http_status") == 404:
                return None
            raise
        return answer

    def apply(self, manifest: Object, *, dry_run: bool = False, force: bool = False) -> Object:
        """Apply it on the server's side, in one PATCH, and return the object as it is then; `Conflict` names other field managers."""
        try:
            return self._write("apply", manifest, dry_run=dry_run, force=force)
        except Conflict as e:
            # What we patched once, a port for example, is ours by another operation of the same field manager.
            if force or e.details.get("managers") != [FIELD_MANAGER]:
                raise
            return self._write("apply", manifest, dry_run=dry_run, force=True)

    def apply_status(self, manifest: Object) -> Object:
        """Apply the status and return the object as it is then, whoever has set these fields. With a resourceVersion, `Conflict` if it is not the newest."""
        return self._write("apply the status of", manifest, subresource="status", force=True)

    def _write(
        self, verb: str, manifest: Object, *, dry_run: bool = False, force: bool = False, subresource: str = ""
    ) -> Object:
        doing, kind, namespace, name = self._subject(verb, manifest)
        answer: Object = self.connection.send(
            "patch",
            kind.path(namespace, name, subresource),
            doing,
            body=manifest,
            content_type=APPLY,
            field_manager=FIELD_MANAGER,
            force_conflicts="true" if force else None,
            dry_run="All" if dry_run else None,
        )
        return answer

    def _subject(self, verb: str, manifest: Object) -> tuple[str, Kind, str | None, str]:
        api_version, kind, metadata = manifest["apiVersion"], manifest["kind"], manifest["metadata"]
        doing = f"{verb} {_title(kind, metadata['name'], metadata.get('namespace'))}"
        return doing, self._need(api_version, kind, doing), metadata.get("namespace"), metadata["name"]

    def replace(self, manifest: Object) -> Object:
        """Replace the version that the caller has read (PUT); `Conflict` if it is no longer the newest."""
        doing, kind, namespace, name = self._subject("replace", manifest)
        if not manifest["metadata"].get("resourceVersion"):
            raise InvalidInput(f"Cannot {doing}: it has no resourceVersion. Read it first.")
        answer: Object = self.connection.send(
            "put", kind.path(namespace, name), doing, body=manifest, field_manager=FIELD_MANAGER
        )
        return answer

    def create(self, manifest: Object) -> Object:
        """Create it (POST); `Conflict` if it exists."""
        doing, kind, namespace, _name = self._subject("create", manifest)
        answer: Object = self.connection.send(
            "post", kind.path(namespace), doing, body=manifest, field_manager=FIELD_MANAGER
        )
        return answer

    def patch(
        self,
        api_version: str,
        kind: str,
        name: str,
        namespace: str | None,
        patch: Object,
        *,
        subresource: str = "",
        field_manager: str = FIELD_MANAGER,
    ) -> Object:
        """Apply a JSON merge patch (RFC 7386; null removes a key) and return the object as it is then."""
        doing = f"patch {_title(kind, name, namespace)}"
        answer: Object = self.connection.send(
            "patch",
            self._need(api_version, kind, doing).path(namespace, name, subresource),
            doing,
            body=patch,
            content_type="application/merge-patch+json",
            field_manager=field_manager,
        )
        return answer

    def delete(
        self,
        api_version: str,
        kind: str,
        name: str,
        namespace: str | None = None,
        *,
        uid: str | None = None,
        resource_version: str | None = None,
        propagation: str = "Background",
        grace: int | None = None,
    ) -> bool:
        """Delete it and return whether it existed; `Conflict` if it has another uid or resourceVersion than the given one. `grace` in seconds."""
        found = self._find(api_version, kind)
        if found is None:
            return False
        body: Object = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation}
        conditions = {"uid": uid, "resourceVersion": resource_version}
        if given := {key: value for key, value in conditions.items() if value is not None}:
            body["preconditions"] = given
        if grace is not None:
            body["gracePeriodSeconds"] = grace
        try:
            self.connection.send(
                "delete", found.path(namespace, name), f"delete {_title(kind, name, namespace)}", body=body
            )
        except Refused as e:
            if e.details.get("http_status") == 404:
                return False
            raise
        return True

    def evict(self, pod: str, namespace: str, uid: str) -> bool:
        """Evict a pod, which deletes it if its disruption budget allows that, and return whether it existed. `Conflict` if it has another uid.

        `Refused` with the status 429 if the budget does not allow it now.
        """
        doing = f"evict {_title('Pod', pod, namespace)}"
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": pod, "namespace": namespace},
            "deleteOptions": {"preconditions": {"uid": uid}},
        }
        path = self._need("v1", "Pod", doing).path(namespace, pod, "eviction")
        try:
            self.connection.send("post", path, doing, body=body)
        except Refused as e:
            if e.details.get("http_status") == 404:
                return False
            raise
        return True

    def watch(
        self,
        api_version: str,
        kind: str,
        namespace: str | None = None,
        *,
        labels: str = "",
        fields: str = "",
        since: str = "",
        timeout: float,
    ) -> t.Iterator[tuple[str, Object]]:
        """Yield (type, object): each event after the resourceVersion `since`, for `timeout` seconds. Without one, first every object as ADDED.

        An API server that has forgotten this version refuses it with status 410: list again.
        """
        doing = f"watch {kind} in {namespace or 'all namespaces'}"
        path = self._need(api_version, kind, doing).path(namespace)
        yield from self.connection.events(
            path,
            doing,
            timeout,
            label_selector=labels or None,
            field_selector=fields or None,
            resource_version=since or None,
        )

    def exec(
        self,
        namespace: str,
        pod: str,
        container: str,
        command: t.Sequence[str],
        *,
        stdin: str | None = None,
        timeout: float = 20,
    ) -> ExecResult:
        """Run a command in a container and return its result; `TimedOut` after `timeout` seconds. With `stdin` the container needs sh and head."""
        return self.connection.exec(namespace, pod, container, command, stdin=stdin, timeout=timeout)


def _title(kind: str, name: str, namespace: str | None) -> str:
    return f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"


def run_module(module: AnsibleModule, work: t.Callable[[AnsibleModule, Cluster], dict[str, t.Any]]) -> t.NoReturn:
    """Run `work` with a client and end the module with its result, the server's warnings and the number of requests."""
    hide_only_secrets(module)
    requests = 0
    try:
        cluster = Cluster(module.params)
        try:
            result = work(module, cluster)
        finally:
            requests = cluster.requests
            for warning in cluster.warnings:
                module.warn(warning)
    except OvnError as e:
        module.fail_json(**e.as_result(), requests=requests)
    module.exit_json(**result, requests=requests)
