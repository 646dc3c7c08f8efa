# SPDX-License-Identifier: GPL-3.0-or-later
"""The Kubernetes API from inside a pod, with the standard library alone: the service account's token, JSON, merge patches, watches."""

from __future__ import annotations

import http.client
import json
import os
import socket
import ssl
import threading
import typing as t
import urllib.parse

from .._base.errors import (
    BadAnswer,
    CertificateProblem,
    Conflict,
    InvalidInput,
    OvnError,
    Refused,
    TimedOut,
    Unreachable,
)
from .process import StoppableThread, as_ovn_error

SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
FIELD_MANAGER = "c5c3.ovn-observer"

Object = t.Any  # a Kubernetes object as JSON has it

# A watch is renewed this often (seconds), so that a server that vanished without closing the connection is noticed.
_WATCH = 45


class Api:
    """The client of one API server. Each call opens its own connection: calls are rare, and token and CA are read again because both rotate."""

    def __init__(self, server: str, folder: str = SERVICE_ACCOUNT, *, timeout: float = 5.0) -> None:
        parts = urllib.parse.urlsplit(server)
        if parts.scheme != "https" or not parts.hostname:
            raise InvalidInput(f"{server!r} is no API server: https://HOST:PORT is expected.")
        self.name = server
        self._host, self._port = parts.hostname, parts.port or 443
        self._folder, self._timeout = folder, timeout

    @classmethod
    def of_this_pod(cls, environment: t.Mapping[str, str]) -> Api:
        """Return a client with what every pod has in its environment; `InvalidInput` outside of a pod."""
        folder = environment.get("OVN_SERVICE_ACCOUNT_DIR", SERVICE_ACCOUNT)
        server = environment.get("OVN_API_SERVER", "")
        if not server:
            host, port = environment.get("KUBERNETES_SERVICE_HOST"), environment.get("KUBERNETES_SERVICE_PORT", "443")
            if not host:
                raise InvalidInput("KUBERNETES_SERVICE_HOST is not set: this command runs inside a pod.")
            server = f"https://{f'[{host}]' if ':' in host else host}:{port}"
        return cls(server, folder)

    def get(self, path: str, **query: str) -> Object:
        """Return the object or list at `path`, None if it does not exist."""
        return self._answer("GET", path, query)

    def create(self, path: str, body: Object) -> Object:
        """Create the object (POST) below `path` and return it; `Conflict` if it exists."""
        return self._answer("POST", path, {}, body)

    def patch(self, path: str, body: Object) -> Object:
        """Apply a JSON merge patch (RFC 7386; None removes a key, lists are replaced) and return the object, None if it does not exist."""
        return self._answer("PATCH", path, {"fieldManager": FIELD_MANAGER}, body)

    def watch(self, path: str, version: str, **query: str) -> t.Iterator[Object]:
        """Yield the events {type, object} after `version`; ends by itself after less than a minute."""
        query = {**query, "watch": "1", "resourceVersion": version, "allowWatchBookmarks": "true"}
        connection, response = self._send("GET", path, {**query, "timeoutSeconds": str(_WATCH)}, timeout=_WATCH + 10)
        try:
            while True:
                line = response.readline()
                if not line:
                    return
                yield json.loads(line)
        except (OSError, http.client.HTTPException) as e:
            raise self._failed(e) from e
        except ValueError as e:
            raise BadAnswer(f"{self.name} sent an event of {path} that is no JSON: {line[:100]!r}.") from e
        finally:
            connection.close()

    def _answer(self, method: str, path: str, query: t.Mapping[str, str], body: Object = None) -> Object:
        try:
            connection, response = self._send(method, path, query, body, self._timeout)
        except Refused as e:
            if e.details.get("status") == 404:
                return None
            raise
        try:
            return json.loads(response.read())
        except (OSError, http.client.HTTPException) as e:
            raise self._failed(e) from e
        except ValueError as e:
            raise BadAnswer(f"{self.name} answered {method} {path} with something that is no JSON.") from e
        finally:
            connection.close()

    def _send(
        self, method: str, path: str, query: t.Mapping[str, str], body: Object = None, timeout: float = 5.0
    ) -> tuple[http.client.HTTPSConnection, http.client.HTTPResponse]:
        headers = {"Authorization": f"Bearer {self._read('token')}", "Accept": "application/json"}
        content = None
        if body is not None:
            content = json.dumps(body).encode()
            headers["Content-Type"] = "application/json" if method == "POST" else "application/merge-patch+json"
        connection = http.client.HTTPSConnection(self._host, self._port, timeout=timeout, context=self._context())
        try:
            connection.request(method, f"{path}?{urllib.parse.urlencode(query)}", body=content, headers=headers)
            response = connection.getresponse()
            if response.status >= 300:
                raise _refusal(f"{self.name} answered {method} {path} with", response.status, response.read(4096))
        except (OSError, http.client.HTTPException) as e:
            connection.close()
            raise self._failed(e) from e
        except OvnError:
            connection.close()
            raise
        return connection, response

    def _read(self, name: str) -> str:
        path = os.path.join(self._folder, name)
        try:
            with open(path, encoding="utf-8") as file:
                return file.read().strip()
        except (OSError, ValueError) as e:
            raise InvalidInput(f"The service account's {name} cannot be read: {e}. Is its token mounted?") from e

    def _context(self) -> ssl.SSLContext:
        path = os.path.join(self._folder, "ca.crt")
        try:
            return ssl.create_default_context(cafile=path)
        except OSError as e:
            raise CertificateProblem(f"{path} holds no usable PEM certificate: {e}.") from e

    def _failed(self, e: Exception) -> OvnError:
        if isinstance(e, (TimeoutError, socket.timeout)):  # two classes before Python 3.10
            return TimedOut(f"{self.name} did not answer in time.")
        if isinstance(e, ssl.SSLError):
            return CertificateProblem(f"TLS with {self.name} failed: {e.reason or e}.")
        return Unreachable(f"{self.name} is not reachable: {getattr(e, 'strerror', None) or e!r}.")


def _refusal(request: str, status: int, body: bytes) -> OvnError:
    try:
        message = str(json.loads(body).get("message", ""))
    except (ValueError, AttributeError):
        message = body.decode(errors="replace")
    kind = Conflict if status == 409 else Refused
    return kind(f"{request} {status}: {message.strip()[:500]}", status=status)


class Mirror(StoppableThread):
    """A copy of the objects at `path`, kept up to date by a watch. `objects` is replaced as a whole, so readers need no lock.

    An object is never replaced by an older version: watch and `put` report the same writes in any order.
    """

    def __init__(
        self,
        api: Api,
        path: str,
        query: t.Mapping[str, str],
        changed: t.Callable[[], None],
        report_error: t.Callable[[str, OvnError | None], None],
    ) -> None:
        super().__init__(f"mirror of {path}")
        self.objects: dict[str, Object] | None = None  # by name; None until the first list came
        self._api, self._path, self._query = api, path, query
        self._changed, self._report_error = changed, report_error
        self._turn = threading.Lock()  # to replace `objects`

    def run(self) -> None:
        pause = 0.5
        while not self._stopped.is_set():
            try:
                self._follow()
                self._report_error(self._path, None)
                pause = 0.5
            except Exception as e:  # also for a bug: the thread must go on
                self._report_error(self._path, as_ovn_error(e))
                self._stopped.wait(pause)
                pause = min(pause * 2, 10)

    def _follow(self) -> None:
        """List, then apply events until the server wants a new list."""
        listed = self._api.get(self._path, **self._query) or {}
        # A list of a kind that does not exist (yet) is empty, and there is nothing to watch.
        self._replace({item["metadata"]["name"]: item for item in listed.get("items") or ()})
        version = listed.get("metadata", {}).get("resourceVersion")
        if version is None:
            raise Refused(f"{self._api.name} does not serve {self._path}. Is the CustomResourceDefinition missing?")
        self._report_error(self._path, None)
        while not self._stopped.is_set():
            for event in self._api.watch(self._path, version, **self._query):
                if event.get("type") == "ERROR":  # the version is too old to go on from
                    return
                item = event["object"]
                version = item["metadata"]["resourceVersion"]
                if event["type"] == "BOOKMARK":
                    continue
                self._apply_event(event["type"], item)

    def _apply_event(self, kind: str, item: Object) -> None:
        name = item["metadata"]["name"]
        with self._turn:
            objects = dict(self.objects or {})
            if kind == "DELETED":
                objects.pop(name, None)
            elif not _is_newer(objects.get(name), item):
                objects[name] = item
            changed = objects != self.objects
            self.objects = objects
        if changed:
            self._changed()

    def put(self, item: Object) -> None:
        """Store what a write of ours returned before the watch reports it, so that it is not written twice."""
        name = item["metadata"]["name"]
        with self._turn:
            if self.objects is not None and name in self.objects and not _is_newer(self.objects[name], item):
                self.objects = {**self.objects, name: item}

    def _replace(self, objects: dict[str, Object]) -> None:
        with self._turn:
            known = self.objects or {}
            newest = {name: known[name] if _is_newer(known.get(name), item) else item for name, item in objects.items()}
            changed = newest != self.objects
            self.objects = newest
        if changed:
            self._changed()


def _is_newer(known: Object | None, item: Object) -> bool:
    """Return whether `known` is a later version of the same object; False if the versions are no numbers."""
    if known is None or known["metadata"].get("uid") != item["metadata"].get("uid"):
        return False
    versions = [str(one["metadata"].get("resourceVersion", "")) for one in (known, item)]
    return all(version.isdecimal() for version in versions) and int(versions[0]) > int(versions[1])
