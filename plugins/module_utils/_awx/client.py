# SPDX-License-Identifier: GPL-3.0-or-later
"""AWX's REST API: requests, pages of lists, and errors in words that name the object and the next step."""

from __future__ import annotations

import base64
import http.client
import json
import socket
import ssl
import typing as t
import urllib.error
import urllib.parse
import urllib.request

from .._base.errors import BadAnswer, CertificateProblem, InvalidInput, Refused, TimedOut, Unreachable

PAGE_SIZE = 200  # the most that AWX returns
Json = dict[str, t.Any]


def explain(body: t.Any) -> str:
    """Return AWX's explanation of an error as one line: `field: message; field: message`."""
    if isinstance(body, dict):
        parts = (
            explain(value) if key in ("detail", "error", "msg", "__all__") else f"{key}: {explain(value)}"
            for key, value in body.items()
        )
        return "; ".join(parts)
    if isinstance(body, list):
        return " ".join(explain(value) for value in body)
    return " ".join(str(body).split())[:500]


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """The token is for this host alone, so nothing follows it elsewhere."""

    def redirect_request(self, *_arguments: t.Any) -> None:
        return None


def _context(ca_certificate: str, validate_certs: bool) -> ssl.SSLContext:
    """Return how certificates are checked. One for all requests: reading the certificates of the system takes longer than a request."""
    try:
        context = ssl.create_default_context(cafile=ca_certificate or None)
    except (OSError, ValueError) as e:
        raise InvalidInput(
            f"The CA certificates in {ca_certificate} cannot be read: {e}. Correct ovn_awx_controller.ca_certificate."
        ) from e
    if not validate_certs:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


class AwxClient:
    """One AWX. `request` raises a class of `_base.errors`; `what` is what the request is for, in words that follow "AWX did not".

    `host`: URL; `token`, or `username` and `password`; `ca_certificate`: file; `timeout`: seconds of one request.
    """

    def __init__(
        self,
        host: str,
        *,
        token: str = "",
        username: str = "",
        password: str = "",
        ca_certificate: str = "",
        validate_certs: bool = True,
        timeout: float = 30,
    ) -> None:
        self.host = host.rstrip("/") if "://" in host else f"https://{host.rstrip('/')}"
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        basic = base64.b64encode(f"{username}:{password}".encode()).decode()
        self._headers["Authorization"] = f"Bearer {token}" if token else f"Basic {basic}"
        self._timeout = timeout
        handler = urllib.request.HTTPSHandler(context=_context(ca_certificate, validate_certs))
        self._opener = urllib.request.build_opener(handler, _NoRedirect())
        self._base = ""

    @property
    def base(self) -> str:
        """Path of the API: AWX's own, or that of the controller behind the gateway of a platform."""
        if not self._base:
            found = self._send("GET", "/api/", None, "name its API")
            gateway = found.get("apis") or {}
            if isinstance(gateway, dict) and "controller" in gateway:
                found = self._send("GET", str(gateway["controller"]), None, "name its API")
            if "current_version" not in found:
                raise BadAnswer(
                    f"{self.host}/api/ is not the API of AWX: it names no current version. Correct ovn_awx_controller.host. Nothing was changed."
                )
            self._base = str(found["current_version"]).rstrip("/") + "/"
        return self._base

    def get(self, path: str, what: str) -> Json:
        return self._send("GET", self.base + path, None, what)

    def names(self, path: str, what: str) -> list[str]:
        """Return a page that is a bare list of texts, as that of a project's playbooks."""
        found = self._request("GET", self.base + path, None, what)
        if not isinstance(found, list):
            raise BadAnswer(f"AWX at {self.host} did not {what}: {path} is no list. Is ovn_awx_controller.host an AWX?")
        return [str(one) for one in found]

    def send(self, method: str, path: str, body: Json | None, what: str) -> Json:
        return self._send(method, self.base + path, body, what)

    def list(self, path: str, what: str, **filters: t.Any) -> list[Json]:
        """Return all objects of a list that match the filters, page after page."""
        query = urllib.parse.urlencode({**filters, "page_size": PAGE_SIZE, "order_by": "id"})
        following: str | None = f"{self.base}{path}?{query}"
        found: list[Json] = []
        while following:
            page = self._send("GET", following, None, what)
            if not isinstance(page.get("results"), list):
                raise BadAnswer(
                    f"AWX at {self.host} did not {what}: {path} is no list. Is ovn_awx_controller.host an AWX?"
                )
            found += page["results"]
            following = page.get("next")
        return found

    def _send(self, method: str, path: str, body: Json | None, what: str) -> Json:
        parsed = self._request(method, path, body, what)
        if not isinstance(parsed, dict):
            raise BadAnswer(f"AWX at {self.host} did not {what}: what {path} returned is no object.")
        return parsed

    def _request(self, method: str, path: str, body: Json | None, what: str) -> t.Any:
        if not path.startswith("/"):  # the token is for this host alone
            raise BadAnswer(f"AWX at {self.host} did not {what}: it names {path} instead of a path of its own.")
        url = self.host + path
        data = None if body is None else json.dumps(body).encode()
        try:
            request = urllib.request.Request(url, data, self._headers, method=method)
            with self._opener.open(request, timeout=self._timeout) as answer:
                content = answer.read()
        except urllib.error.HTTPError as e:
            raise self._refused(e, what) from e
        except (OSError, http.client.HTTPException) as e:
            raise self._not_reached(e, what) from e
        except ValueError as e:
            raise Unreachable(f"{self.host} is no URL of AWX: {e}. Correct ovn_awx_controller.host.") from e
        try:
            return json.loads(content) if content else {}
        except ValueError as e:
            raise BadAnswer(
                f"AWX at {self.host} did not {what}: what {path} returned is no JSON. Is ovn_awx_controller.host an AWX?"
            ) from e

    def _not_reached(self, error: Exception, what: str) -> Exception:
        reason = getattr(error, "reason", error)
        if isinstance(reason, ssl.SSLError) or "CERTIFICATE" in str(error).upper():
            return CertificateProblem(
                f"AWX at {self.host} did not {what}: its certificate is not trusted ({reason})."
                " Give its CA with ovn_awx_controller.ca_certificate."
            )
        if isinstance(reason, (TimeoutError, socket.timeout)) or "timed out" in str(reason):
            return TimedOut(
                f"AWX at {self.host} did not {what} within {self._timeout:g} s."
                " Look whether it is overloaded, then run again, or raise ovn_awx_controller.request_timeout."
            )
        return Unreachable(
            f"AWX at {self.host} did not {what}: it cannot be reached ({reason}). Check ovn_awx_controller.host and that AWX runs."
        )

    def _refused(self, error: urllib.error.HTTPError, what: str) -> Exception:
        raw = error.read() or b""
        try:
            said = explain(json.loads(raw))
        except ValueError:
            said = ""
        code, said = error.code, said or str(error.reason)
        did_not = f"AWX at {self.host} did not {what}"
        if 300 <= code < 400:
            return Refused(
                f"{did_not}: it sends requests on to {error.headers.get('Location')}. Correct ovn_awx_controller.host."
            )
        if code == 401:
            return Refused(
                f"{did_not}: it knows no such user or token ({said}). Correct ovn_awx_controller.token, or ovn_awx_controller.username and its password."
            )
        if code == 403:
            return Refused(
                f"{did_not}: the user of the token may not do that ({said}). Give the user the right, or use another token."
            )
        if code == 404:
            return Refused(
                f"{did_not}: there is no such page ({error.url}). Correct ovn_awx_controller.host, or run again if the object was deleted meanwhile."
            )
        if code == 429 or code >= 500:
            return BadAnswer(f"{did_not}: error {code} ({said}). Look at AWX's log, then run again.")
        return Refused(f"{did_not}: {said} (error {code}).")
