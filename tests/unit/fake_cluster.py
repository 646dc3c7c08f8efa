"""An API server in memory. The collection's own client asks it, so each method of a cluster does and raises what it does against a real one.

It keeps objects, gives them uids and versions, and knows conflicts and label selectors. It has no controllers, defaults or field managers:
what is applied replaces the object but for its status. tests/integration/test_api_server_in_memory.py compares it with a real one.
"""

from __future__ import annotations

import copy
import itertools
import json
import math
import re
import typing as t

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import OvnError
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.client import Cluster, ExecResult
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.connection import ApiConnection
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.kinds import KNOWN_KINDS, Kind
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.retries import APPLY, response_failure

Object = dict[str, t.Any]
Key = tuple[str, str, str, str]  # apiVersion, kind, namespace or "", name
Act = t.Union[OvnError, t.Callable[[], object]]
WRITES = ("create", "replace", "apply", "apply_status", "patch", "delete", "evict")
VERBS = ("get", "list", "watch", "exec", *WRITES)
_RESOURCE = re.compile(
    r"/(?:api|apis)/(?P<version>v1|[^/]+/[^/]+)(?:/namespaces/(?P<namespace>[^/]+)(?=/))?/(?P<rest>.+)"
)
_REQUIREMENT = re.compile(r"(?P<key>[^\s=,]+)(?:=(?P<value>[^,]*)| in \((?P<values>[^)]*)\))")


class Call(t.NamedTuple):
    """One request. `verb`, one of VERBS, is the method of the client. The body of a watch has the version from which it goes on."""

    verb: str
    kind: str
    name: str
    body: Object
    dry_run: bool = False


class _Hook(t.NamedTuple):
    verb: str
    kind: str
    name: str
    act: Act

    def matches(self, call: Call) -> bool:
        return self.verb == call.verb and self.kind in ("", call.kind) and self.name in ("", call.name)


class FakeCluster(Cluster):
    """`objects` is what it stores, `calls` what it was asked, `deleted` those of them that deleted something.

    A command in a pod ends as `answers` says for the name of the pod.
    """

    server, credentials = "https://api", "a test"
    requests = 0
    warnings: t.Any = None

    def __init__(self, *objects: Object) -> None:
        """It is its own connection."""
        self._kinds = dict(KNOWN_KINDS)
        self.connection = t.cast(ApiConnection, self)
        self.warnings = list[str]()
        self.objects: dict[Key, Object] = {}
        self.calls: list[Call] = []
        self.deleted: list[Call] = []
        self.answers: dict[str, ExecResult | OvnError] = {}
        self.now = "2026-01-01T12:00:00Z"  # its clock stands still
        self._hooks: list[tuple[_Hook, float]] = []
        self._uids = itertools.count(1)
        self._version = 0
        for one in objects:
            self.put(one)

    # --- for tests -------------------------------------------------------------------------------------------------------

    def put(self, manifest: Object) -> Object:
        """Store it as somebody else would who may write anything; returns it as it is stored. A uid or another version that it names is kept."""
        metadata = manifest["metadata"]
        key = (manifest["apiVersion"], manifest["kind"], metadata.get("namespace") or "", metadata["name"])
        version, there = metadata.get("resourceVersion"), self.objects.get(key)
        moves = there is not None and version == there["metadata"]["resourceVersion"]
        return self._store(key, manifest, version=None if moves else version)

    def remove(self, kind: str, name: str) -> None:
        """Delete it as somebody else would."""
        self.objects = {key: one for key, one in self.objects.items() if (key[1], key[3]) != (kind, name)}

    def before(self, verb: str, act: Act, *, kind: str = "", name: str = "", times: float = 1) -> None:
        """Call or raise `act` when such a request arrives, before it is served, so many times. One hook a request, in the order in which they were set."""
        assert verb in VERBS, verb
        self._hooks.append((_Hook(verb, kind, name, act), times))

    def always(self, verb: str, act: Act, *, kind: str = "", name: str = "") -> None:
        self.before(verb, act, kind=kind, name=name, times=math.inf)

    def asked(self, *verbs: str) -> list[Call]:
        """The requests of these verbs."""
        return [call for call in self.calls if call.verb in verbs]

    @property
    def written(self) -> list[Call]:
        """The requests that would change something, rehearsals included."""
        return self.asked(*WRITES)

    def stored(self, kind: str, name: str) -> Object | None:
        return next((copy.deepcopy(one) for key, one in self.objects.items() if (key[1], key[3]) == (kind, name)), None)

    # --- requests --------------------------------------------------------------------------------------------------------

    def send(self, method: str, path: str, doing: str, **options: t.Any) -> t.Any:
        kind, namespace, name, subresource = self._resource(path, doing)
        body: Object = copy.deepcopy(options.get("body") or {})
        verb = _verb(method, name, subresource, options.get("content_type"))
        key = (kind.api_version, kind.kind, namespace, name or (body.get("metadata") or {}).get("name", ""))
        call = Call(verb, kind.kind, key[3], body, bool(options.get("dry_run")))
        self._arrive(call)
        if verb == "list":
            items = self._select(kind, namespace, options)
            return copy.deepcopy({"items": items, "metadata": {"resourceVersion": str(self._version)}})
        there = self.objects.get(key)
        if verb == "create" and there is not None:
            raise self._failure(409, "AlreadyExists", f"{key[3]} already exists", doing)
        if verb not in ("create", "apply") and there is None:
            raise self._failure(404, "NotFound", f"{key[3]} not found", doing)
        if verb == "get":
            return copy.deepcopy(there)
        if verb in ("delete", "evict"):
            self._check((body.get("deleteOptions") or body).get("preconditions") or {}, there, doing)
            self.deleted.append(call)
            return self.objects.pop(key)
        self._check(body.get("metadata") or {}, there, doing)
        return self._store(key, _changed(verb, there or {}, body), dry_run=call.dry_run)

    def events(self, path: str, doing: str, timeout: float, **options: t.Any) -> t.Iterator[tuple[str, Object]]:
        """Every object once that is newer than the version from which it goes on; then the time is up at once."""
        kind, namespace, _name, _subresource = self._resource(path, doing)
        since = int(options.get("resource_version") or 0)
        self._arrive(Call("watch", kind.kind, "", {"resourceVersion": str(since)}))
        for one in self._select(kind, namespace, options):
            if int(one["metadata"]["resourceVersion"]) > since:
                yield "ADDED", copy.deepcopy(one)

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
        body = {"container": container, "command": list(command), "stdin": stdin, "timeout": timeout}
        self._arrive(Call("exec", "Pod", pod, body))
        answer = self.answers[pod]
        if isinstance(answer, OvnError):
            raise answer
        return answer

    def _arrive(self, call: Call) -> None:
        self.requests += 1
        self.calls.append(call)
        for index, (hook, times) in enumerate(self._hooks):
            if hook.matches(call):
                self._hooks[index : index + 1] = [(hook, times - 1)] if times > 1 else []
                if isinstance(hook.act, OvnError):
                    raise hook.act
                hook.act()
                return

    def _resource(self, path: str, doing: str) -> tuple[Kind, str, str, str]:
        """The kind, the namespace, the name and the subresource that a path names; no kinds but those that the collection knows."""
        if found := _RESOURCE.fullmatch(path):
            plural, name, subresource = (*found["rest"].split("/"), "", "")[:3]
            for kind in KNOWN_KINDS.values():
                if (kind.api_version, kind.plural) == (found["version"], plural):
                    return kind, found["namespace"] or "", name, subresource
        raise response_failure(404, "", doing, server=self.server, credentials=self.credentials)

    def _select(self, kind: Kind, namespace: str, options: Object) -> list[Object]:
        labels, fields = options.get("label_selector") or "", options.get("field_selector") or ""
        return [
            one
            for (api_version, name, where, _kind), one in sorted(self.objects.items())
            if (api_version, name) == kind[:2] and namespace in ("", where) and _selected(one, labels, fields)
        ]

    def _check(self, wanted: Object, there: Object | None, doing: str) -> None:
        """A conflict if the request names another uid or version than is there; a uid cannot be patched."""
        for field in ("uid", "resourceVersion"):
            if wanted.get(field) and (there is None or wanted[field] != there["metadata"][field]):
                code, reason = (422, "Invalid") if field == "uid" and doing.startswith("patch ") else (409, "Conflict")
                raise self._failure(code, reason, f"the {field} is another one", doing)

    def _store(self, key: Key, wanted: Object, *, version: str | None = None, dry_run: bool = False) -> Object:
        """What differs from what is stored gets a new version."""
        there = self.objects.get(key)
        known = there["metadata"] if there is not None else {"uid": "", "resourceVersion": "", "creationTimestamp": ""}
        after = copy.deepcopy(wanted)
        metadata = after.setdefault("metadata", {})
        metadata["uid"] = metadata.get("uid") or known["uid"] or f"uid-{next(self._uids)}"
        metadata["creationTimestamp"] = metadata.get("creationTimestamp") or known["creationTimestamp"] or self.now
        metadata["resourceVersion"] = version or known["resourceVersion"]
        if not dry_run and not version and after != there:
            self._version = max(self._version, int(known["resourceVersion"] or 0)) + 1
            metadata["resourceVersion"] = str(self._version)
        if not dry_run:
            self.objects[key] = after
        return copy.deepcopy(after)

    def _failure(self, code: int, reason: str, message: str, doing: str) -> OvnError:
        body = json.dumps({"kind": "Status", "reason": reason, "message": message})
        return response_failure(code, body, doing, server=self.server, credentials=self.credentials)


def _verb(method: str, name: str, subresource: str, content_type: str | None) -> str:
    if method == "patch":
        return ("apply_status" if subresource else "apply") if content_type == APPLY else "patch"
    if method == "post":
        return "evict" if subresource else "create"
    return {"get": "get" if name else "list", "put": "replace", "delete": "delete"}[method]


def _changed(verb: str, there: Object, body: Object) -> Object:
    """The object as the request wants it."""
    if verb == "patch":
        return t.cast(Object, _merged(there, body))
    if verb == "apply_status":
        return {**there, "status": body["status"]}
    return {**({"status": there["status"]} if "status" in there else {}), **body}


def _merged(there: t.Any, patch: t.Any) -> t.Any:
    """JSON merge patch."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(there) if isinstance(there, dict) else {}
    for key, value in patch.items():
        merged[key] = _merged(merged.get(key), value)
    return {key: value for key, value in merged.items() if value is not None}


def _selected(one: Object, labels: str, fields: str) -> bool:
    there = one["metadata"].get("labels") or {}
    assert not _REQUIREMENT.sub("", labels).strip(","), f"a label selector of another form: {labels}"
    field, _equals, value = fields.partition("=")
    assert field in ("", "metadata.name", "spec.nodeName"), f"a field selector of another form: {fields}"
    for found in _REQUIREMENT.finditer(labels):
        values = [found["value"]] if found["values"] is None else re.split(r"\s*,\s*", found["values"])
        if there.get(found["key"]) not in values:
            return False
    section, _dot, name = field.partition(".")
    return not field or (one.get(section) or {}).get(name, "") == value
