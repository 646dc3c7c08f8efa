"""A run waits for all pods of changed Secrets together, and says so."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import typing as t

import pytest

from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import OvnError, Refused
from ansible_collections.c5c3.ovn.plugins.module_utils._roles.pki import Secret
from ansible_collections.c5c3.ovn.plugins.plugin_utils import _pki_clusters

BUNDLE = b"bundle"
DIGEST = hashlib.sha256(BUNDLE).hexdigest()


def pod(name: str) -> dict[str, t.Any]:
    return {
        "metadata": {"name": name, "namespace": "ovn-system"},
        "status": {"phase": "Running"},
        "spec": {
            "volumes": [
                {"name": "tls", "secret": {"secretName": "ovn-tls", "items": [{"key": "ca.crt", "path": "ca.crt"}]}}
            ],
            "containers": [{"name": "ovn", "volumeMounts": [{"name": "tls", "mountPath": "/tls"}]}],
        },
    }


class Clock:
    """A cluster whose kubelets bring each pod the Secret at its time; seconds pass in pauses alone."""

    def __init__(self, **pods: float) -> None:
        self.pods, self.now = pods, 0.0
        self.asked: list[str] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def call(self, module: str, **arguments: t.Any) -> dict[str, t.Any]:
        if module == "kubernetes.core.k8s_exec":
            name = arguments["pod"]
            self.asked.append(name)
            if self.now < self.pods[name] and name == "starts":
                raise OvnError("container not found")
            return {"stdout": f"{DIGEST if self.now >= self.pods[name] else '0' * 64}  /tls/ca.crt\n"}
        if arguments["kind"] == "Pod":
            return {"resources": [pod(name) for name in self.pods]}
        data = {"ca.crt": base64.b64encode(BUNDLE).decode()}
        return {"resources": [{"metadata": {"name": "ovn-tls"}, "data": data}]}


@pytest.fixture
def wait(monkeypatch: pytest.MonkeyPatch) -> t.Callable[[Clock], None]:
    def waited(clock: Clock) -> None:
        monkeypatch.setattr(_pki_clusters, "time", clock)
        monkeypatch.setattr(_pki_clusters, "secret_state", lambda *_args, **_options: {})
        secret = Secret("", "", "ovn-system", "ovn-tls", given=False)
        clusters = _pki_clusters.ClusterSecrets(clock.call, lambda _host: secret, 36, {"inventory_hostname": "plane"})
        clusters.states(["plane"], "issuer")

    return waited


def test_pods_that_are_up_to_date_are_asked_once(wait: t.Callable[[Clock], None]) -> None:
    clock = Clock(a=0, b=0)
    wait(clock)
    assert (clock.asked, clock.now) == (["a", "b"], 0)


def test_late_pods_are_waited_for_together(wait: t.Callable[[Clock], None]) -> None:
    clock = Clock(a=0, b=120, starts=100)
    wait(clock)
    assert clock.now == 120
    assert (clock.asked.count("a"), clock.asked.count("starts")) == (1, 21), "those that are right are left alone"


def test_all_pods_have_one_deadline(wait: t.Callable[[Clock], None]) -> None:
    clock = Clock(a=1000, b=1000, c=170)
    with pytest.raises(Refused, match=r"^ovn-system/a, ovn-system/b did not show the CA bundle"):
        wait(clock)
    assert clock.now == 180


def test_the_wait_is_printed(wait: t.Callable[[Clock], None], monkeypatch: pytest.MonkeyPatch) -> None:
    printed: list[str] = []

    @contextlib.contextmanager
    def record(awaited: str, task_vars: t.Mapping[str, t.Any]) -> t.Iterator[None]:
        printed.append(f"{task_vars['inventory_hostname']}: {awaited}")
        yield

    monkeypatch.setattr(_pki_clusters, "print_while_waiting", record)
    wait(Clock(a=5, b=0))
    wait(Clock(a=0))
    assert printed == ["plane: the changed Secret in ovn-system/a", "plane: "]
