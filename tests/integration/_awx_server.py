"""AWX's REST API on loopback: it validates, lists, pages and refuses as AWX's serializers and views do. It starts no jobs.

What is here is AWX's, not what the collection needs: unknown fields are ignored, a template is refused until its project is fetched, secrets are hidden.
"""

from __future__ import annotations

import base64
import contextlib
import copy
import http.server
import json
import re
import ssl
import threading
import typing as t
import urllib.parse
import uuid

import _awx_rules as rules
from _awx_fields import FIELDS, LISTS, REQUIRED, UNIQUE, Field

Json = dict[str, t.Any]
BASE = "/api/v2/"
TOKEN, USER, PASSWORD = "a-token-of-the-tests", "admin", "a-password-of-the-tests"
FETCHING = frozenset({"scm_url", "scm_branch", "scm_type", "scm_refspec"})
TRUE, FALSE = (True, "true", "True", "1", 1), (False, "false", "False", "0", 0)
SINGULAR = {"inventories": "inventory"}


class Answer(Exception):
    """An answer that ends a request."""

    def __init__(self, status: int, body: t.Any = None) -> None:
        super().__init__(status, body)
        self.status, self.body = status, body


class Awx:
    """`playbooks` are in each project once it is fetched, which takes `fetching` looks at it and ends as `fetched`. `requests`: method and path of each."""

    def __init__(self, playbooks: t.Iterable[str], *, fetching: int = 2, fetched: str = "successful") -> None:
        self.playbooks, self.fetching, self.fetched = set(playbooks), fetching, fetched
        self.objects: dict[str, dict[int, Json]] = {kind: {} for kind in FIELDS}
        self.surveys: dict[int, Json] = {}
        self.linked: dict[tuple[int, str], list[int]] = {}
        self.left: dict[int, int] = {}  # looks until a project is fetched
        self.files: dict[int, set[str]] = {}  # playbooks of a project, those of the last time that it was fetched
        self.forbidden: set[tuple[str, str]] = set()  # method and kind that the user has no right for
        self.broken: dict[tuple[str, str], int] = {}  # method and path that answer with this status
        self.last: int | None = None  # how many writes of nodes it takes before it breaks
        self.prefix = ""  # of the API behind the gateway of a platform
        self.requests: list[tuple[str, str]] = []
        self._number = 0
        self.host = ""

    # What AWX has from the start, and what people make in it.

    def add(self, kind: str, /, **values: t.Any) -> int:
        """Create an object as somebody else does. Returns its id."""
        return int(self._create(kind, values)["id"])

    @property
    def writes(self) -> list[tuple[str, str]]:
        return [(method, path) for method, path in self.requests if method != "GET"]

    def named(self, kind: str, name: str) -> Json:
        return next(one for one in self.objects[kind].values() if one["name"] == name)

    # Requests.

    def handle(self, method: str, target: str, authorization: str, body: t.Any) -> tuple[int, t.Any]:
        path, _mark, query = target.partition("?")
        self.requests.append((method, path))
        try:
            if (method, path) in self.broken:
                raise Answer(self.broken[method, path], {"detail": "broken"})
            base = f"{self.prefix}{BASE}"
            if path == "/api/":
                if self.prefix:
                    raise Answer(200, {"apis": {"gateway": "/api/gateway/", "controller": f"{self.prefix}/api/"}})
                raise Answer(
                    200, {"description": "AWX REST API", "current_version": base, "available_versions": {"v2": base}}
                )
            if self.prefix and path == f"{self.prefix}/api/":
                raise Answer(200, {"current_version": base})
            self._authenticate(authorization)
            if self.last is not None and method != "GET" and "/workflow_job_template_nodes/" in path:
                self.last -= 1
                if self.last < 0:
                    raise Answer(502, {"detail": "broken"})
            if not path.startswith(base) or not path.endswith("/"):
                raise Answer(404, {"detail": "not found"})
            kind, *rest = path.removeprefix(base).strip("/").split("/")
            if kind not in self.objects or (rest and not rest[0].isdecimal()):
                raise Answer(404, {"detail": "not found"})
            if method != "GET" and (method, kind) in self.forbidden:
                raise Answer(403, {"detail": "no permission"})
            self._route(method, kind, [int(rest[0]), *rest[1:]] if rest else [], path, query, body)
        except Answer as answer:
            return answer.status, answer.body
        raise AssertionError("no answer")

    def _authenticate(self, given: str) -> None:
        basic = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        if given not in (f"Bearer {TOKEN}", basic):
            raise Answer(401, {"detail": "not authenticated"})

    def _route(self, method: str, kind: str, rest: list[t.Any], path: str, query: str, body: t.Any) -> t.NoReturn:
        if not rest:
            if method == "POST":
                raise Answer(201, self._create(kind, self._object(body)))
            if method == "GET":
                raise Answer(200, self._page(kind, list(self.objects[kind].values()), path, query))
            raise Answer(405, {"detail": "method"})
        number, *sub = rest
        if number not in self.objects[kind]:
            raise Answer(404, {"detail": "not found"})
        if kind == "projects" and sub == ["playbooks"] and method == "GET":
            raise Answer(200, sorted(self.files.get(number, ())))
        if kind == "projects" and sub == ["update"] and method == "POST":
            self._fetch(number)
            raise Answer(202, {"project_update": number, "status": "pending"})
        if not sub:
            self._detail(method, kind, number, body)
        name = sub[0]
        if name == "survey_spec" and kind in ("job_templates", "workflow_job_templates"):
            self._survey(method, number, body)
        if name == "create_approval_template" and kind == "workflow_job_template_nodes" and method == "POST":
            self._approval(number, self._object(body))
        if name not in LISTS.get(kind, ()):
            raise Answer(404, {"detail": "not found"})
        listed = "workflow_job_template_nodes" if name.endswith("_nodes") else "notification_templates"
        listed = "credentials" if name == "credentials" else listed
        members = self.linked.setdefault((number, name), [])
        if method == "GET":
            raise Answer(200, self._page(listed, [self.objects[listed][one] for one in members], path, query))
        given = self._object(body)
        if name.endswith("_nodes") and "id" not in given:
            # Made and linked in one transaction.
            workflow = self.objects[kind][number]["workflow_job_template"]
            made = self._create(listed, {**given, "workflow_job_template": workflow})
            members.append(made["id"])
            raise Answer(201, made)
        self._link(kind, number, name, listed, members, given)

    @staticmethod
    def _object(body: t.Any) -> Json:
        if not isinstance(body, dict):
            raise Answer(400, {"detail": "no object"})
        return copy.deepcopy(body)

    # Objects.

    def _detail(self, method: str, kind: str, number: int, body: t.Any) -> t.NoReturn:
        if method == "GET":
            if kind == "projects" and self.left.get(number, 0) > 0:
                self.left[number] -= 1
                done = self.left[number] == 0
                self.objects[kind][number]["status"] = self.fetched if done else "running"
                if done and self.fetched == "successful":
                    self.files[number] = set(self.playbooks)
            raise Answer(200, self._shown(kind, self.objects[kind][number]))
        if method == "PATCH":
            raise Answer(200, self._update(kind, number, self._object(body)))
        if method == "DELETE":
            del self.objects[kind][number]
            raise Answer(204)
        raise Answer(405, {"detail": "method"})

    def _value(self, name: str, field: Field, value: t.Any) -> t.Any:
        """What AWX makes of a value, or its refusal."""
        if value is None:
            if field.null:
                return None
            raise Answer(400, {name: ["not null"]})
        if field.kind == "boolean":
            if value not in (*TRUE, *FALSE):
                raise Answer(400, {name: ["no boolean"]})
            return value in TRUE
        if field.kind == "integer":
            if isinstance(value, bool) or not re.fullmatch(r"-?\d+", str(value)):
                raise Answer(400, {name: ["no integer"]})
            value = int(value)
        elif field.kind == "text":
            if isinstance(value, bool) or not isinstance(value, (str, int, float)):
                raise Answer(400, {name: ["no string"]})
            value = str(value).strip()
            if not value and field.default is REQUIRED:
                raise Answer(400, {name: ["blank"]})
        elif field.kind == "reference":
            if isinstance(value, bool) or not isinstance(value, (str, int)):
                raise Answer(400, {name: ["no primary key"]})
            if not any(int(value) in self.objects[kind] for kind in field.to if str(value).isdecimal()):
                raise Answer(400, {name: [f"{value} does not exist"]})
            value = int(value)
        if field.choices and value not in field.choices and value != "":
            raise Answer(400, {name: [f'"{value}" is no choice']})
        return value

    def _create(self, kind: str, given: Json) -> Json:
        fields = FIELDS[kind]
        missing = {
            name: ["required"] for name, field in fields.items() if field.default is REQUIRED and name not in given
        }
        if missing:
            raise Answer(400, missing)
        values = {name: copy.deepcopy(field.default) for name, field in fields.items() if name not in given}
        values |= {name: self._value(name, field, given[name]) for name, field in fields.items() if name in given}
        if kind == "workflow_job_template_nodes" and not values["identifier"]:
            values["identifier"] = str(uuid.uuid4())
        self._validate(kind, values, None)
        self._number += 1
        values |= {
            "id": self._number,
            "type": SINGULAR.get(kind, kind.removesuffix("s")),
            "url": f"{BASE}{kind}/{self._number}/",
        }
        self.objects[kind][self._number] = values
        if kind == "projects":
            self._fetch(self._number)
        return self._shown(kind, values)

    def _update(self, kind: str, number: int, given: Json) -> Json:
        old = self.objects[kind][number]
        changed = {
            name: self._value(name, field, given[name])
            for name, field in FIELDS[kind].items()
            if name in given and not field.fixed
        }
        if kind == "notification_templates" and "notification_configuration" in changed:
            # What it hides it takes back hidden.
            configuration = changed["notification_configuration"]
            if configuration.get("password") == "$encrypted$":
                configuration["password"] = old["notification_configuration"]["password"]
        self._validate(kind, {**old, **changed}, old)
        again = kind == "projects" and any(changed.get(name, old[name]) != old[name] for name in FETCHING)
        old.update(changed)
        if again:
            self._fetch(number)
        return self._shown(kind, old)

    def _fetch(self, number: int) -> None:
        project = self.objects["projects"][number]
        project["status"] = "pending" if project["scm_type"] else "ok"
        self.left[number] = self.fetching

    def _validate(self, kind: str, values: Json, old: Json | None) -> None:
        if kind == "job_templates":
            project = self.objects["projects"].get(values["project"] or 0)
            values["organization"] = project["organization"] if project else None
        for one in self.objects[kind].values():
            if one is not old and kind in UNIQUE and all(one[key] == values[key] for key in UNIQUE[kind]):
                raise Answer(400, {"__all__": [f"{kind}: the combination of {', '.join(UNIQUE[kind])} exists"]})
        errors = getattr(self, f"_check_{kind}", lambda _values, _old: {})(values, old)
        if errors:
            raise Answer(400, errors)

    def _check_credential_types(self, values: Json, old: Json | None) -> Json:
        used = old is not None and any(
            one["credential_type"] == old["id"] for one in self.objects["credentials"].values()
        )
        if old is not None and used and values["inputs"] != old["inputs"]:
            raise Answer(403, {"detail": "inputs of a type in use"})
        return rules.credential_type(values)

    def _check_execution_environments(self, values: Json, old: Json | None) -> Json:
        moved = old is not None and values["organization"] not in (None, old["organization"])
        return {"organization": ["cannot change"]} if moved else {}

    def _check_projects(self, values: Json, _old: Json | None) -> Json:
        if values["scm_type"] and not values["scm_url"]:
            return {"scm_url": ["required"]}
        if not values["scm_type"] and (values["scm_update_on_launch"] or values["scm_clean"]):
            return {"scm_clean": ["not for manual projects"]}
        if values["credential"]:
            kind = self.objects["credentials"][values["credential"]]["credential_type"]
            if self.objects["credential_types"][kind]["kind"] != "scm":
                return {"credential": ["no source control credential"]}
        return {}

    def _check_inventory_sources(self, values: Json, _old: Json | None) -> Json:
        if values["source"] == "scm":
            if not values["source_project"]:
                return {"source_project": ["required for scm"]}
            if not self.objects["projects"][values["source_project"]]["scm_type"]:
                return {"source_project": ["manual project"]}
        elif values["source_project"] or values["source_path"] or values["source"] == "constructed":
            return {"detail": ["not of this source"]}
        return {}

    def _check_notification_templates(self, values: Json, _old: Json | None) -> Json:
        if values["notification_type"] != "webhook":
            raise AssertionError("the stand-in knows webhooks alone")
        problems = rules.webhook(values["notification_configuration"])
        return {"__all__": problems} if problems else {}

    def _check_job_templates(self, values: Json, _old: Json | None) -> Json:
        project = self.objects["projects"].get(values["project"] or 0)
        if project is None:
            return {"project": ["required"]}
        if values["inventory"] is None and not values["ask_inventory_on_launch"]:
            return {"inventory": ["set a value or ask"]}
        if not values["playbook"]:
            return {"playbook": ["select one"]}
        if not project["allow_override"]:
            if values["playbook"] not in self.files.get(project["id"], ()):
                return {"playbook": ["not found in the project"]}
            if values["scm_branch"] or values["ask_scm_branch_on_launch"]:
                return {"scm_branch": ["the project allows no other branch"]}
        return {}

    def _check_schedules(self, values: Json, _old: Json | None) -> Json:
        problems = rules.rrule(values["rrule"])
        return {"rrule": problems} if problems else {}

    # Parts of objects.

    def _survey(self, method: str, number: int, body: t.Any) -> t.NoReturn:
        if method == "GET":
            raise Answer(200, self.surveys.get(number, {}))
        if method == "DELETE":
            self.surveys.pop(number, None)
            raise Answer(200)
        given = self._object(body)
        if problem := rules.survey(given):
            raise Answer(400, {"error": problem})
        self.surveys[number] = given
        raise Answer(200)

    def _approval(self, number: int, given: Json) -> t.NoReturn:
        made = self._create("workflow_approval_templates", given)
        self.objects["workflow_job_template_nodes"][number]["unified_job_template"] = made["id"]
        raise Answer(201, made)

    def _link(self, kind: str, number: int, name: str, listed: str, members: list[int], body: Json) -> t.NoReturn:
        other = body.get("id")
        if not isinstance(other, int) or isinstance(other, bool):
            raise Answer(400, {"msg": "id is no integer"})
        if other not in self.objects[listed]:
            raise Answer(400, {"detail": f"{other} does not exist"})
        if body.get("disassociate"):
            if other in members:
                members.remove(other)
            raise Answer(204)
        self._check_link(kind, number, name, listed, members, other)
        if other not in members:
            members.append(other)
        raise Answer(204)

    def _slot(self, number: int) -> tuple[int, str]:
        """Of credentials with the same one, a template takes one."""
        one = self.objects["credentials"][number]
        vault = self.objects["credential_types"][one["credential_type"]]["kind"] == "vault"
        return one["credential_type"], one["inputs"].get("vault_id", "") if vault else ""

    def _check_link(self, kind: str, number: int, name: str, listed: str, members: list[int], other: int) -> None:
        if name == "credentials" and other not in members and self._slot(other) in map(self._slot, members):
            raise Answer(400, {"error": "two credentials of one type"})
        if not name.endswith("_nodes"):
            return
        nodes = self.objects[kind]
        if nodes[number]["workflow_job_template"] != nodes[other]["workflow_job_template"]:
            raise Answer(400, {"detail": "another workflow"})
        lists = LISTS[kind][:3]
        if any(other in self.linked.get((number, one), ()) for one in lists if one != name):
            raise Answer(400, {"Error": "the nodes are linked otherwise"})
        edges = {node: [to for one in lists for to in self.linked.get((node, one), ())] for node in nodes}
        edges[number] = [*edges[number], other]
        if rules.has_cycle(edges, number):
            raise Answer(400, {"Error": "a cycle"})

    # What AWX shows.

    def _shown(self, kind: str, one: Json) -> Json:
        shown = copy.deepcopy(one)
        summary: Json = {}
        if kind == "job_templates":
            credentials = [self.objects["credentials"][n] for n in self.linked.get((one["id"], "credentials"), ())]
            summary["credentials"] = [{"id": each["id"], "name": each["name"]} for each in credentials]
        if kind == "workflow_job_template_nodes":
            for name in LISTS[kind][:3]:
                shown[name] = sorted(self.linked.get((one["id"], name), ()))
            summary |= self._template_of(one["unified_job_template"])
        if kind == "notification_templates":
            configuration = shown["notification_configuration"]
            if configuration.get("password"):
                configuration["password"] = "$encrypted$"
        if kind == "credentials":
            shown["inputs"] = {
                name: value if name in ("username", "vault_id") else "$encrypted$"
                for name, value in shown["inputs"].items()
            }
            shown["kind"] = self.objects["credential_types"][one["credential_type"]]["kind"]
        return {**shown, "summary_fields": summary, "related": {}}

    def _template_of(self, number: int | None) -> Json:
        for kind, job in (("job_templates", "job"), ("workflow_approval_templates", "workflow_approval")):
            if number in self.objects[kind]:
                found = self.objects[kind][number]
                summary = {key: found[key] for key in ("id", "name", "description")} | {"unified_job_type": job}
                return {"unified_job_template": summary | ({"timeout": found["timeout"]} if job != "job" else {})}
        return {}

    def _page(self, kind: str, objects: list[Json], path: str, query: str) -> Json:
        given = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        size = min(int(given.pop("page_size", 25)), 200)
        page = int(given.pop("page", 1))
        order = given.pop("order_by", "id")
        found = [one for one in objects if all(self._matches(kind, one, key, value) for key, value in given.items())]
        found.sort(key=lambda one: str(one[order.lstrip("-")]).zfill(9), reverse=order.startswith("-"))
        last = max(1, -(-len(found) // size))
        if page > last:
            raise Answer(404, {"detail": "no such page"})

        def link(other: int) -> str | None:
            parameters = {**given, "order_by": order, "page": other, "page_size": size}
            return f"{path}?{urllib.parse.urlencode(parameters)}" if 1 <= other <= last else None

        shown = [self._shown(kind, one) for one in found[(page - 1) * size : page * size]]
        return {"count": len(found), "next": link(page + 1), "previous": link(page - 1), "results": shown}

    @staticmethod
    def _matches(kind: str, one: Json, key: str, value: str) -> bool:
        field, _mark, lookup = key.partition("__")
        if (field not in FIELDS[kind] and field not in ("id", "organization")) or lookup not in ("", "exact", "in"):
            raise Answer(400, {"detail": f"{kind} cannot be filtered by {key}"})
        return str(one.get(field)) in (value.split(",") if lookup == "in" else [value])


@contextlib.contextmanager
def serving(awx: Awx, tls: ssl.SSLContext | None = None) -> t.Iterator[Awx]:
    """Let it answer at `awx.host`, a URL on loopback, with TLS if a context is given."""
    lock = threading.Lock()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            try:
                body = json.loads(content) if content else None
            except ValueError:
                body = None
            with lock:
                status, answer = awx.handle(self.command, self.path, self.headers.get("Authorization", ""), body)
            data = b"" if answer is None else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PATCH = do_DELETE = do_PUT = _answer

        def log_message(self, format: str, *args: t.Any) -> None:
            """Say nothing."""

    class Server(http.server.ThreadingHTTPServer):
        def handle_error(self, request: t.Any, client_address: t.Any) -> None:
            """Say nothing of clients that go away."""

    server = Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    awx.host = f"http{'s' if tls else ''}://127.0.0.1:{server.server_address[1]}"
    try:
        yield awx
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
