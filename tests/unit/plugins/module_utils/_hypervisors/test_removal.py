"""Who has gone, with a database that is only played and an API server in memory."""

from __future__ import annotations

import contextlib
import types
import typing as t

import pytest
from fake_cluster import FakeCluster
from southbound_registry import registry

from ansible_collections.c5c3.ovn.plugins.module_utils._base.deadline import Deadline
from ansible_collections.c5c3.ovn.plugins.module_utils._base.errors import (
    CertificateProblem,
    InvalidInput,
    Unreachable,
)
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors import removal
from ansible_collections.c5c3.ovn.plugins.module_utils._hypervisors.southbound import Registry
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes import pod_watch
from ansible_collections.c5c3.ovn.plugins.module_utils._kubernetes.wait_tracker import Progress
from ansible_collections.c5c3.ovn.plugins.module_utils._ovsdb.tls_files import TlsFiles

LABELS = {
    "app.kubernetes.io/managed-by": "c5c3.ovn",
    "app.kubernetes.io/instance": "ovn",
    "app.kubernetes.io/component": "controller",
}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "net", "labels": LABELS},
    "spec": {"nodeName": "n1"},
}


class World:
    """`rows` are name, address, owner. A pod ends when `ends` looks at it are over."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *rows: tuple[str, str, str]) -> None:
        self.rows = {name: (ip, owner) for name, ip, owner in rows}
        self.immortal: set[str] = set()
        self.ends = 0
        self.deleted: list[str] = []
        self.cluster = FakeCluster(POD)
        self.cluster.always("list", self._look, kind="Pod")
        for module in (removal, pod_watch):
            monkeypatch.setattr(module, "time", types.SimpleNamespace(sleep=lambda _seconds: None))
        monkeypatch.setattr(removal, "delete_chassis", self._delete)
        monkeypatch.setattr(removal, "read_registry", lambda *_: self.registry())

    def registry(self) -> Registry:
        return registry(*((name, ip, owner) for name, (ip, owner) in self.rows.items()))

    def _delete(self, names: list[str], *_: object) -> dict[str, list[str]]:
        assert self.ends <= 0, "its pod still runs"
        self.deleted += names
        for name in set(names) - self.immortal:
            del self.rows[name]
        return {}

    def _look(self) -> None:
        self.ends -= 1
        if self.ends <= 0:
            self.cluster.remove("Pod", "p")

    def remove(self, **more: t.Any) -> removal.ChassisRemoval:
        to_remove = more.pop("to_remove", {"n1": "n1"})
        desired = {"name": "ovn", "namespace": "net", "wait": True, "asked": [], "tls": None, "signer": None}
        desired = {**desired, "has_node_certificates": False, "directory": "/nowhere", **more}
        live = {"nodes": [], "our_chassis": {}, "owner": "abc", "addresses": lambda: {"n1": {"192.0.2.1"}}}
        make = t.cast("t.Any", removal.ChassisRemoval)
        one: removal.ChassisRemoval = make(
            self.cluster,
            types.SimpleNamespace(**desired),
            types.SimpleNamespace(**live),
            to_remove,
            (),
            Progress(),
        )
        self.last = one
        one.run(self.registry(), Deadline(60), check_mode=False)
        return one


@pytest.mark.parametrize(
    ("row", "removed", "left", "message"),
    [
        pytest.param(("192.0.2.1", ""), ["n1"], {}, None, id="the noted address"),
        pytest.param(("192.0.2.9", "abc"), ["n1"], {}, None, id="it says that it is ours"),
        pytest.param(("192.0.2.9", ""), [], {"n1": "n1"}, "there is no proof that it was node n1", id="in doubt"),
        pytest.param(("192.0.2.9", "def"), [], {}, "of another Kubernetes cluster", id="a namesake elsewhere"),
    ],
)
def test_only_what_is_ours_goes(
    monkeypatch: pytest.MonkeyPatch,
    row: tuple[str, str],
    removed: list[str],
    left: dict[str, str],
    message: str | None,
) -> None:
    world = World(monkeypatch, ("n1", *row))
    done = world.remove()
    assert (done.removed, world.deleted, done.left) == (removed, removed, left)
    assert len(done.progress.warnings) == (message is not None)
    assert message is None or message in done.progress.warnings[0]


def test_a_pod_of_a_deleted_node_is_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, ("n1", "192.0.2.1", "abc"))
    world.ends = 4
    assert world.remove().removed == ["n1"]


def test_a_pod_of_a_deleted_node_keeps_its_row_for_the_next_run(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, ("n1", "192.0.2.1", "abc"))
    world.ends = 4
    done = world.remove(wait=False)
    assert (done.removed, world.deleted, done.left) == ([], [], {"n1": "n1"})
    assert "pod p is still there" in done.progress.warnings[0]


def test_a_chassis_that_comes_back_stays_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, ("n1", "192.0.2.1", "abc"))
    world.immortal = {"n1"}
    done = world.remove()
    assert (done.removed, done.left) == ([], {"n1": "n1"})
    assert "registered again" in done.progress.warnings[0]


def of_chassis(monkeypatch: pytest.MonkeyPatch, problems: dict[str, Exception]) -> dict[str, t.Any]:
    """Options with which each row is deleted by the rights of its chassis. `problems` by name of the chassis."""

    @contextlib.contextmanager
    def pair(_signer: object, name: str, directory: str) -> t.Iterator[TlsFiles]:
        assert directory == "/nowhere"
        if name in problems:
            raise problems[name]
        yield TlsFiles("key", "certificate", None)

    monkeypatch.setattr(removal, "pair_of_chassis", pair)
    tls = TlsFiles("shared", "shared", "ca")
    names = {name: name for name in ("n1", "n2", "n3")}
    return {"signer": object(), "has_node_certificates": True, "tls": tls, "to_remove": names}


def test_the_address_of_a_node_is_no_proof_where_it_would_get_the_rights_of_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A node claims name and address of another chassis and gives up its label: that row is not deleted."""
    world = World(monkeypatch, ("n1", "192.0.2.1", ""), ("n2", "192.0.2.2", "abc"))
    done = world.remove(**of_chassis(monkeypatch, {}))
    assert (done.removed, done.left) == (["n2"], {"n1": "n1"})
    assert "there is no proof that it was node n1" in done.progress.warnings[0]


def test_a_name_that_no_certificate_can_have_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, *((name, "192.0.2.1", "abc") for name in ("n1", "n2", "n3")))
    done = world.remove(**of_chassis(monkeypatch, {"n2": InvalidInput("It cannot be.")}))
    assert (done.removed, done.left) == (["n1", "n3"], {"n2": "n2"})
    (warning,) = done.progress.warnings
    assert warning.startswith('The row of chassis "n2" stays in the Southbound database: It cannot be. Run')


def test_what_was_deleted_before_a_failure_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, *((name, "192.0.2.1", "abc") for name in ("n1", "n2", "n3")))
    with pytest.raises(Unreachable):
        world.remove(**of_chassis(monkeypatch, {"n3": Unreachable("gone")}))
    assert world.last.removed == ["n1", "n2"]


def test_where_no_server_knows_the_ca_the_shared_certificate_deletes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The CA is there, and chassis connect to members: an installation without a role."""
    world = World(monkeypatch, ("n1", "192.0.2.1", "abc"))

    def delete(names: list[str], _endpoints: object, tls: TlsFiles, _deadline: object) -> dict[str, list[str]]:
        if tls.private_key != "shared":
            raise CertificateProblem("unknown CA")
        return world._delete(names)

    options = of_chassis(monkeypatch, {})
    monkeypatch.setattr(removal, "delete_chassis", delete)
    assert world.remove(**{**options, "to_remove": {"n1": "n1"}}).removed == ["n1"]
