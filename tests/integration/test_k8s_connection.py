"""The connection to Kubernetes: what it costs, and servers that are frozen, killed or busy."""

from __future__ import annotations

import collections
import contextlib
import http.server
import json
import pathlib
import socket
import ssl
import struct
import tempfile
import threading
import time
import typing as t
import urllib.error
import urllib.request

import _k8s_objects
import pytest
from _apiserver import ADMIN_TOKEN, ApiServer
from _k8s_objects import KINDS, Object, actions, config_map, expect, run

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import (
    CertificateProblem,
    InvalidInput,
    OvnError,
    Refused,
    TimedOut,
    Unreachable,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.client import Cluster

own_discovery_cache, cluster = _k8s_objects.own_discovery_cache, _k8s_objects.cluster  # fixtures


class TestConnection:
    def test_it_costs_few_requests(self, api_server: ApiServer, namespace: str) -> None:
        cold = Cluster({"kubeconfig": api_server.kubeconfig})
        assert cold.requests <= 3
        warm = Cluster({"kubeconfig": api_server.kubeconfig})
        assert warm.requests <= 1
        for api_version, kind in KINDS:
            warm.list(api_version, kind, namespace)
        assert warm.requests <= 1 + len(KINDS)

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            pytest.param(None, ["no such file"], id="no such file"),
            pytest.param("", ["cannot be used"], id="an empty file"),
            pytest.param("no: kubeconfig", ["cannot be used"], id="another YAML file"),
            pytest.param("{{{", ["cannot be used"], id="no YAML"),
            pytest.param("just text", ["cannot be used"], id="plain text"),
        ],
    )
    def test_a_kubeconfig_that_cannot_be_used(
        self, tmp_path: pathlib.Path, content: str | None, words: list[str]
    ) -> None:
        path = tmp_path / "not-there"
        if content is not None:
            path.write_text(content)
        with expect(InvalidInput, f"kubeconfig {path}", "name another one", *words):
            Cluster({"kubeconfig": str(path)})

    def test_a_wrong_context_is_named(self, api_server: ApiServer) -> None:
        with expect(InvalidInput, "admin.kubeconfig", "context production"):
            Cluster({"kubeconfig": api_server.kubeconfig, "context": "production"})

    def test_a_kubeconfig_as_a_dictionary(self, api_server: ApiServer, namespace: str) -> None:
        kubeconfig = json.loads(pathlib.Path(api_server.kubeconfig).read_text())
        assert Cluster({"kubeconfig": kubeconfig}).get("v1", "Namespace", namespace) is not None

    def test_a_host_and_a_token(self, api_server: ApiServer, cluster: Cluster, namespace: str) -> None:
        """Also after a kubeconfig was used by the same process."""
        options = {"host": api_server.url, "ca_cert": api_server.ca_certificate}
        other = Cluster({**options, "api_key": "token-of-somebody"})
        with expect(Refused, "somebody"):
            other.list("v1", "Secret", namespace)
        with expect(Refused, "credentials of host https://"):
            Cluster({**options, "api_key": "wrong"}).list("v1", "Secret", namespace)

    def test_a_certificate_that_is_not_trusted(self, api_server: ApiServer, make_pki: t.Any) -> None:
        stranger = make_pki("stranger").ca_certificate
        with expect(CertificateProblem, "TLS", "certificate authority"):
            Cluster({"host": api_server.url, "api_key": "x", "ca_cert": stranger}).get("v1", "Namespace", "default")

    def test_nobody_listens(self) -> None:
        with expect(Unreachable, "127.0.0.1:1", "nothing listens there"):
            Cluster({"host": "https://127.0.0.1:1", "api_key": "x"}).get("v1", "Namespace", "default")

    def test_a_name_that_nobody_knows(self) -> None:
        with expect(Unreachable, "no-such-host.invalid", "cannot be resolved"):
            Cluster({"host": "https://no-such-host.invalid", "api_key": "x"}).get("v1", "Namespace", "default")

    def test_without_the_library_the_message_says_what_to_install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes import connection

        monkeypatch.setattr(
            connection, "IMPORT_ERROR", "Traceback\nModuleNotFoundError: No module named 'kubernetes'\n"
        )
        with expect(Refused, "pip install kubernetes", "No module named"):
            Cluster({})


class TestServerThatGoesAway:
    """A server of its own for each test would cost seconds: frozen ones are thawed, a killed one comes back."""

    @pytest.fixture
    def frozen(self, api_server: ApiServer, cluster: Cluster, namespace: str) -> t.Iterator[Cluster]:
        cluster.connection.timeout = 1.0
        cluster.list("v1", "ConfigMap", namespace)
        api_server.freeze()
        yield cluster
        api_server.thaw()

    def test_a_frozen_server_costs_the_limit_once(
        self, api_server: ApiServer, frozen: Cluster, namespace: str, tmp_path: pathlib.Path
    ) -> None:
        asked: dict[str, t.Callable[[], t.Any]] = {
            "list": lambda: frozen.list("v1", "ConfigMap", namespace),
            "apply": lambda: frozen.apply(config_map(namespace, "a")),
            "watch": lambda: list(frozen.watch("v1", "ConfigMap", namespace, timeout=1)),
            "exec": lambda: frozen.exec(namespace, "p", "c", ["true"], timeout=1),
        }
        for name, ask in asked.items():
            before = frozen.requests
            with pytest.raises(TimedOut):
                ask()
            assert frozen.requests - before == 1, name

    def test_connecting_to_a_frozen_server(self, api_server: ApiServer, frozen: Cluster, namespace: str) -> None:
        """Nothing was discovered yet: kubernetes.core asks first, without any limit of its own."""
        for path in pathlib.Path(tempfile.gettempdir()).glob("k8srcp-*"):
            path.unlink()
        kubeconfig = json.loads(pathlib.Path(api_server.kubeconfig).read_text())
        # Another spelling of the same address: "localhost" may be ::1, where another server listens.
        kubeconfig["clusters"][0]["cluster"]["server"] = api_server.url.replace("127.0.0.1", "127.1")
        with pytest.raises(TimedOut, match="the given kubeconfig"):
            Cluster({"kubeconfig": kubeconfig}, timeout=1)

    def test_a_run_that_was_cut_short_is_finished_by_the_next(
        self, api_server: ApiServer, cluster: Cluster, namespace: str
    ) -> None:
        desired = [config_map(namespace, f"c{number}", x="1") for number in range(6)]
        original = cluster.apply
        cluster.connection.patience = 1.0

        def apply(manifest: Object, **options: t.Any) -> Object:
            if manifest["metadata"]["name"] == "c3":
                api_server.kill()
            return original(manifest, **options)

        cluster.apply = apply
        try:
            with expect(Unreachable, f"ConfigMap {namespace}/c3", "Is it up") as caught:
                run(cluster, namespace, desired)
            assert len(caught.value.details["done"]) == 3
        finally:
            api_server.restart()
        again = run(Cluster({"kubeconfig": api_server.kubeconfig}), namespace, desired)
        assert [one.action for one in again] == ["unchanged"] * 3 + ["created"] * 3

    def test_a_restart_is_waited_for(self, api_server: ApiServer, cluster: Cluster, namespace: str) -> None:
        cluster.connection.patience = 90.0  # a real one starts slowly on a busy machine
        desired = [config_map(namespace, "a", x="1"), config_map(namespace, "b", x="1")]
        run(cluster, namespace, desired[:1])
        api_server.kill()
        found: list[dict[str, str]] = []
        asking = threading.Thread(target=lambda: found.append(actions(run(cluster, namespace, desired))))
        asking.start()
        api_server.restart()  # here: it ends with the thread that started it
        asking.join()
        assert found == [{"ConfigMap/b": "created"}]


class Front:
    """Stands before the API server and answers for it as `plan` says; an empty plan passes all on."""

    def __init__(self, api_server: ApiServer) -> None:
        self.plan: list[int | str] = []
        self.seen: list[str] = []
        front, context = self, ssl.create_default_context(cafile=api_server.ca_certificate)

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                front.seen.append(self.command)
                what = front.plan.pop(0) if front.plan else None
                if what == "reset":
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    self.connection.close()
                    self.close_connection = True
                elif what is not None:
                    self.reply(int(what), b"busy", {"Retry-After": "1"} if what == 429 else {})
                else:
                    self.pass_on(body)

            def pass_on(self, body: bytes) -> None:
                kept = {
                    key: self.headers[key] for key in ("Authorization", "Content-Type", "Accept") if self.headers[key]
                }
                url = api_server.url + self.path
                request = urllib.request.Request(url, data=body or None, headers=kept, method=self.command)
                try:
                    with urllib.request.urlopen(request, timeout=20, context=context) as response:
                        self.reply(response.status, response.read())
                except urllib.error.HTTPError as e:
                    self.reply(e.code, e.read())

            def reply(self, status: int, body: bytes, headers: t.Mapping[str, str] | None = None) -> None:
                self.send_response(status)
                for key, value in {"Content-Type": "application/json", **(headers or {})}.items():
                    self.send_header(key, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

            def log_message(self, *_words: t.Any) -> None:
                pass

            def finish(self) -> None:
                with contextlib.suppress(OSError, ValueError):  # after a reset
                    super().finish()

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class TestServerThatIsBusy:
    @pytest.fixture
    def front(self, api_server: ApiServer) -> t.Iterator[Front]:
        front = Front(api_server)
        yield front
        front.close()

    @pytest.fixture
    def through(self, front: Front) -> Cluster:
        cluster = Cluster({"host": front.url, "api_key": ADMIN_TOKEN})
        front.seen.clear()
        return cluster

    @pytest.mark.parametrize("trouble", [429, 503, "reset"])
    def test_questions_and_applies_are_repeated_and_counted(
        self, front: Front, through: Cluster, namespace: str, trouble: int | str
    ) -> None:
        calls: list[tuple[str, t.Callable[[], t.Any]]] = [
            ("PATCH", lambda: through.apply(config_map(namespace, "a", x="1"))),
            ("GET", lambda: through.get("v1", "ConfigMap", "a", namespace)),
            ("GET", lambda: through.list("v1", "ConfigMap", namespace)[0]),
        ]
        for method, ask in calls:
            before = through.requests
            front.seen.clear()
            front.plan = [trouble, trouble]
            started = time.monotonic()
            assert ask()["metadata"]["namespace"] == namespace
            assert front.seen == [method] * 3
            assert through.requests - before == 3
            if trouble == 429:  # it asked for a second each time
                assert time.monotonic() - started >= 2

    @pytest.mark.parametrize("trouble", [429, 503, "reset"])
    def test_other_writes_are_sent_once(
        self, front: Front, through: Cluster, cluster: Cluster, namespace: str, trouble: int | str
    ) -> None:
        there = cluster.create(config_map(namespace, "a", x="1"))
        calls: dict[str, t.Callable[[], t.Any]] = {
            "POST": lambda: through.create(config_map(namespace, "b")),
            "PUT": lambda: through.replace(there),
            "PATCH": lambda: through.patch("v1", "ConfigMap", "a", namespace, {"data": {"x": "2"}}),
            "DELETE": lambda: through.delete("v1", "ConfigMap", "a", namespace),
        }
        for ask in calls.values():
            front.plan = [trouble]
            with pytest.raises(Unreachable):
                ask()
        front.plan = [trouble]
        with pytest.raises(OvnError):
            through.exec(namespace, "p", "c", ["true"])
        assert collections.Counter(front.seen) == {"POST": 1, "PUT": 1, "PATCH": 1, "DELETE": 1, "GET": 1}

    def test_patience_ends(self, front: Front, through: Cluster, namespace: str) -> None:
        through.connection.patience = 1.5
        front.plan = [503] * 50
        before = through.requests
        with expect(Unreachable, "503", "Try again later"):
            through.list("v1", "ConfigMap", namespace)
        assert through.requests - before == len(front.seen) > 2

    def test_final_refusals_are_not_repeated(self, front: Front, through: Cluster, namespace: str) -> None:
        for code in (401, 403, 409, 422, 500, 504):
            front.seen.clear()
            front.plan = [code]
            with pytest.raises(OvnError):
                through.list("v1", "ConfigMap", namespace)
            assert front.seen == ["GET"], code
