# SPDX-License-Identifier: GPL-3.0-or-later
"""The connection to one API server: every request has a time limit, is counted, and fails with an `OvnError`.
Only this file imports kubernetes and kubernetes.core.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import threading
import time
import traceback
import typing as t

from .._base.deadline import Deadline
from .._base.errors import BadAnswer, InvalidInput, OvnError, Refused, TimedOut
from .auth import AUTH_ARG_SPEC, check_options, credentials_of
from .command import ExecResult, command_with_stdin, exec_url, exit_code
from .kinds import certificate_failure, network_failure
from .retries import PATIENCE, is_repeatable, pause_after, response_failure

try:
    import kubernetes
    import urllib3
    import websocket
    from ansible_collections.kubernetes.core.plugins.module_utils.k8s.client import get_api_client
    from kubernetes.client.exceptions import ApiException
    from kubernetes.dynamic import DynamicClient
    from kubernetes.stream.ws_client import WSClient
except ImportError:
    IMPORT_ERROR: str | None = traceback.format_exc()
else:
    IMPORT_ERROR = None

OLDEST = 26  # before it, the client could not send what server-side apply needs
_PIECE = 32768  # bytes of input in one frame
_WARNING = re.compile(r'\d{3} \S+ "((?:[^"\\]|\\.)*)"')
_T = t.TypeVar("_T")


def _run_within(seconds: float, work: t.Callable[[], _T], timed_out: t.Callable[[], OvnError]) -> _T:
    """Return the result of `work`; raise the error of `timed_out` if it takes longer, because some calls of the libraries have no limit."""
    outcome: list[tuple[_T | None, BaseException | None]] = []

    def run() -> None:
        try:
            outcome.append((work(), None))
        except BaseException as e:  # it is raised again by the thread that waits
            outcome.append((None, e))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if not outcome:
        raise timed_out()
    result, error = outcome[0]
    if error is not None:
        raise error
    return t.cast(_T, result)


def require_libraries() -> None:
    """Raise `Refused` if the control node lacks a library, or has one that is too old."""
    missing = IMPORT_ERROR
    if missing is None and int(str(kubernetes.__version__).split(".", maxsplit=1)[0]) < OLDEST:
        missing = f"kubernetes {kubernetes.__version__} is too old"
    if missing is not None:
        raise Refused(
            f"Cannot talk to Kubernetes: the control node needs the Python library kubernetes {OLDEST} or newer and the collection "
            f"kubernetes.core ({missing.strip().splitlines()[-1]}). Install them for the Python that runs local modules, which "
            "ansible_python_interpreter names: pip install kubernetes; ansible-galaxy collection install kubernetes.core"
        )


class ApiConnection:
    """One connection for one task; several threads may use it. `requests` counts the requests, `warnings` collects those of the server."""

    def __init__(self, params: t.Mapping[str, t.Any], timeout: float, credentials: str = "") -> None:
        require_libraries()
        check_options(params)
        self.timeout = timeout
        self.patience = PATIENCE
        self.requests = 0
        self.warnings: list[str] = []
        self.credentials = credentials or credentials_of(params)
        # Until a kubeconfig is read, its address is not known.
        self.server = params.get("host") or os.environ.get("K8S_AUTH_HOST") or f"of {self.credentials}"
        self._lock = threading.Lock()
        websocket.setdefaulttimeout(timeout)
        self._connect({name: params.get(name) for name in AUTH_ARG_SPEC if params.get(name) not in ("", [], {})})

    def _connect(self, options: dict[str, t.Any]) -> None:
        with self._translated_errors("connect"):
            client = _run_within(
                self.timeout, lambda: self._open(options), lambda: self._timed_out("connect", self.timeout)
            )
            configuration = client.configuration
            library_client = client.client.client
            # Requests until now were sent over connections that are not used any more.
            pools = library_client.rest_client.pool_manager.pools
            self.requests = sum(pools[key].num_requests for key in list(pools.keys()))
            library_client.rest_client.pool_manager.clear()
            self.server = configuration.host
            configuration.retries = (
                False  # or a frozen server costs four times the limit; `send` repeats what makes sense
            )
            self._configuration = configuration
            self._api = kubernetes.client.ApiClient(configuration)
            self._api.default_headers.update(library_client.default_headers)
            self._impersonates = any(name.lower().startswith("impersonate-") for name in library_client.default_headers)
            self._dynamic = DynamicClient(self._api, discoverer=lambda _client, _cache: None)

    def _open(self, options: dict[str, t.Any]) -> t.Any:
        # Loading a kubeconfig leaves it as the process' default, which would win over the options of the next connection.
        kubernetes.client.Configuration.set_default(None)
        try:
            return get_api_client(**options)
        except (ApiException, urllib3.exceptions.HTTPError):
            raise
        except OSError as e:
            raise InvalidInput(
                f"Cannot connect: {self.credentials} cannot be read ({e}). Correct the path or its permissions."
            ) from e
        except Exception as e:  # PyYAML, base64 and the loader raise many classes for a broken kubeconfig
            raise InvalidInput(
                f"Cannot connect: {self.credentials} cannot be used ({e}). Correct it, or name another one."
            ) from e

    def _timed_out(self, doing: str, seconds: float) -> TimedOut:
        return TimedOut(
            f"Cannot {doing}: no answer from the API server {self.server} within {seconds:g} s. Is it up? Look at it and run again."
        )

    @contextlib.contextmanager
    def _translated_errors(self, doing: str) -> t.Iterator[None]:
        """Raise errors of the libraries as `OvnError`s; `doing` completes "Cannot …"."""
        context = {"server": self.server, "credentials": self.credentials}
        try:
            yield
        except OvnError:
            raise
        except ApiException as e:
            if e.status:
                raise response_failure(e.status, e.body, doing, **context) from e
            if "SSLError" in str(e.reason) or "CERTIFICATE_VERIFY_FAILED" in str(e.reason):
                raise certificate_failure(str(e.reason), doing, **context) from e
            raise network_failure(e, doing, **context) from e
        except websocket.WebSocketBadStatusException as e:  # the server's answer to the handshake
            raise response_failure(e.status_code, getattr(e, "resp_body", None), doing, **context) from e
        except (urllib3.exceptions.HTTPError, websocket.WebSocketException, OSError) as e:
            raise network_failure(e, doing, **context) from e

    def count_request(self) -> None:
        with self._lock:
            self.requests += 1

    def send(self, method: str, path: str, doing: str, **options: t.Any) -> t.Any:
        """Return the JSON object of the answer. A request that can be repeated safely is retried while the server is not available, for 10 s."""
        deadline = Deadline(self.patience if is_repeatable(method, options.get("content_type")) else 0)
        attempt = 0
        while True:
            try:
                return self._send(method, path, doing, **options)
            except OvnError as e:
                pause = pause_after(e, attempt)
                if pause is None or pause >= deadline.left():
                    raise
            time.sleep(pause)
            attempt += 1

    def _send(self, method: str, path: str, doing: str, **options: t.Any) -> t.Any:
        options.setdefault("_request_timeout", (self.timeout, self.timeout))  # older clients ignore a single float
        self.count_request()
        with self._translated_errors(doing):
            response = self._dynamic.request(method, path, serialize=False, **options)
            data = response.data  # a body that is not read costs a new connection
        self._collect_warnings(response.headers.get("Warning") or "")
        try:
            return json.loads(data)
        except ValueError:
            raise BadAnswer(
                f"Cannot {doing}: {self.server} answered something else than JSON. Is it the address of an API server?"
            ) from None

    def _collect_warnings(self, header: str) -> None:
        for warning in _WARNING.findall(header):
            text = re.sub(r"\\(.)", r"\1", warning)
            with self._lock:
                if text not in self.warnings:
                    self.warnings.append(text)

    def events(
        self, path: str, doing: str, timeout: float, **options: t.Any
    ) -> t.Iterator[tuple[str, dict[str, t.Any]]]:
        """Yield the (type, object) of each event of a watch, for `timeout` seconds; none if the time is up."""
        if timeout <= 0:  # urllib3 refuses it
            return
        deadline = Deadline(timeout)
        self.count_request()
        with self._translated_errors(doing):
            response = self._dynamic.request(
                "get",
                path,
                serialize=False,
                watch="true",
                timeout_seconds=math.ceil(timeout),
                _request_timeout=(self.timeout, timeout),
                **options,
            )
        try:
            for line in self._lines(response, doing, deadline):
                event = json.loads(line)
                if event["type"] == "ERROR":
                    code = event["object"].get("code") or 500
                    raise response_failure(
                        code, json.dumps(event["object"]), doing, server=self.server, credentials=self.credentials
                    )
                yield event["type"], event["object"]
                if deadline.expired:
                    return
        finally:
            response.close()  # the rest of the stream is of no use, so the connection ends with it

    def _lines(self, response: t.Any, doing: str, deadline: Deadline) -> t.Iterator[bytes]:
        rest = b""
        with self._translated_errors(doing):
            try:
                for part in response.stream(amt=None, decode_content=True):
                    *lines, rest = (rest + part).split(b"\n")
                    yield from lines
            except (urllib3.exceptions.ReadTimeoutError, urllib3.exceptions.ProtocolError):
                if not deadline.expired:
                    raise

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
        doing = f"run {command[0]} in pod {namespace}/{pod}, container {container}"
        if self._impersonates:
            raise Refused(
                f"Cannot {doing}: the kubernetes client cannot impersonate a user here. Use credentials that have this right themselves."
            )
        self.count_request()

        def timed_out() -> TimedOut:
            return TimedOut(
                f"Cannot {doing}: it did not end within {timeout:g} s and may still be running. Look at the pod and its node."
            )

        with self._translated_errors(doing):
            return _run_within(
                timeout + 0.5,
                lambda: self._exec(namespace, pod, container, command, stdin, timeout, doing, timed_out),
                timed_out,
            )

    def _exec(
        self,
        namespace: str,
        pod: str,
        container: str,
        command: t.Sequence[str],
        stdin: str | None,
        timeout: float,
        doing: str,
        timed_out: t.Callable[[], TimedOut],
    ) -> ExecResult:
        deadline = Deadline(timeout)
        data = None if stdin is None else stdin.encode()
        url = exec_url(
            self._configuration.host, namespace, pod, container, command_with_stdin(command, data), data is not None
        )
        # Not by `kubernetes.stream.stream`: it swaps methods of a client that threads share, and needs CoreV1Api, whose
        # import takes longer than many commands.
        token = self._configuration.auth_settings().get("BearerToken", {}).get("value")
        connection = WSClient(self._configuration, url, {"authorization": token} if token else {}, capture_all=False)
        try:
            for start in range(0, len(data or b""), _PIECE):
                connection.write_stdin((data or b"")[start : start + _PIECE])
                connection.update(timeout=0)
            while connection.is_open() and not deadline.expired:
                connection.update(timeout=deadline.left())
            if connection.is_open():
                raise timed_out()
            stdout, stderr, error = (connection.read_channel(channel) for channel in (1, 2, 3))
        finally:
            connection.close(timeout=0.2)
        return ExecResult(exit_code(error, doing), stdout, stderr)
