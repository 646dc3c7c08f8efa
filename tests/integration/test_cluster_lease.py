"""Two runs of ovn_cluster on one control plane, with a real API server: who waits, who takes over, and what a run does that slept too long."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import typing as t

import _control_plane
import pytest
from _control_plane import PLACES, SPEC, WHOLE, ControlPlane
from _pods_on_api import Controllers, Kubelet
from conftest import Ran, RunPlaybook, within

from ansible_collections.c5c3.ovn.plugins.module_utils._control_plane.pod_steps import PodMembers

plane, kubelet = _control_plane.plane, _control_plane.kubelet  # fixtures

ELSEWHERE = "2026-01-01T00:00:00Z on another-node, process 7 [4e0b8d5e-6f4e-4f52-9d8c-1c1f6ed22f0a/4026531836/123456]"
NAMED = "from ansible_collections.c5c3.ovn.plugins.module_utils._base.control_node import run_name; print(run_name('2026-01-01T00:00:00Z'), flush=True)"


def hold(plane: ControlPlane, holder: str, seconds: int) -> None:
    """Another run has the Lease from now on, for so long."""
    now = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime())
    spec = {"holderIdentity": holder, "leaseDurationSeconds": seconds, "renewTime": now}
    try:
        plane.patch("Lease", "ovn-run", {"spec": spec}, manager="another")
    except OSError:
        plane.make("Lease", "ovn-run", spec=spec)


def process(more: str = "") -> tuple[subprocess.Popen[str], str]:
    """A process of this machine, and its name as that of a run."""
    started = subprocess.Popen([sys.executable, "-c", f"{NAMED}\n{more}"], stdout=subprocess.PIPE, text=True)
    assert started.stdout is not None
    return started, started.stdout.readline().strip()


def test_a_run_that_was_killed_on_this_machine_is_not_waited_for(plane: ControlPlane) -> None:
    killed, name = process("import signal; signal.pause()")
    hold(plane, name, 600)
    refused = plane(may_fail=True)
    assert name in refused["msg"]
    assert plane.get("Lease", "ovn-run")["spec"]["holderIdentity"] == name
    killed.kill()
    killed.wait()
    ran = plane.late(wait_timeout=3)
    assert [
        words for words in ran.warnings if f'The run "{name}" was killed. Its Lease ovn-run was taken over.' in words
    ]
    assert plane.get("StatefulSet", "ovn-northbound")
    assert not plane.get("Lease", "ovn-run")["spec"].get("holderIdentity")


def test_a_run_elsewhere_is_waited_for_until_its_lease_expires(plane: ControlPlane) -> None:
    hold(plane, ELSEWHERE, 600)
    refused = plane(may_fail=True, wait_timeout=3)
    assert ELSEWHERE in refused["msg"]
    assert not [name for name in plane.ours() if name.startswith("StatefulSet")]
    hold(plane, ELSEWHERE, 6)
    ran = plane.late(wait_timeout=15)
    assert [words for words in ran.warnings if "for another run on this control plane to end" in words]
    assert plane.get("StatefulSet", "ovn-northbound")


def test_an_unattended_run_does_not_wait_for_another_and_names_it(plane: ControlPlane) -> None:
    hold(plane, ELSEWHERE, 600)
    refused = plane(may_fail=True, wait_timeout=3600, lock_wait_timeout=0)
    assert refused["holder"] == ELSEWHERE
    assert not [name for name in plane.ours() if name.startswith("StatefulSet")]


def test_what_a_run_waits_for_is_printed_while_it_waits(plane: ControlPlane, run_playbook: RunPlaybook) -> None:
    hold(plane, ELSEWHERE, 600)
    place = {"kubeconfig": plane.server.kubeconfig, "namespace": plane.namespace, "spec": SPEC, "wait_timeout": 25}
    task = {"c5c3.ovn.ovn_cluster": place, "ignore_errors": True}
    variables = {"ansible_python_interpreter": sys.executable}
    plays = [{"hosts": "localhost", "connection": "local", "gather_facts": False, "vars": variables, "tasks": [task]}]
    printed = run_playbook(plays).splitlines()
    words = f'localhost: wait for the run "{ELSEWHERE}" on this control plane ('
    assert [line for line in printed if line.startswith(words)], printed
    assert any("...ignoring" in line for line in printed)


@pytest.mark.parametrize("overtaken", [False, True], ids=["nobody came", "another run took its Lease"])
def test_a_run_that_slept_between_its_look_and_its_act_ends_nobody(
    plane: ControlPlane, monkeypatch: pytest.MonkeyPatch, overtaken: bool
) -> None:
    """It is stopped by a signal right before it writes the StatefulSet. Meanwhile there are three members."""
    plane.begin()
    changed = {**SPEC, "northbound": {"nodeSelector": {"disk": "fast"}}}
    real = Controllers.cluster

    def stopping(controllers: Controllers, params: t.Any) -> t.Any:
        cluster = real(controllers, params)
        apply = cluster.apply

        def stop_first(manifest: dict[str, t.Any], **options: t.Any) -> t.Any:
            if manifest["kind"] == "StatefulSet" and not options.get("dry_run"):
                os.kill(os.getpid(), signal.SIGSTOP)
            return apply(manifest, **options)

        monkeypatch.setattr(cluster, "apply", stop_first)
        return cluster

    monkeypatch.setattr(_control_plane.client, "Cluster", lambda params: stopping(Controllers(plane.server), params))
    result = pathlib.Path(f"/tmp/{plane.namespace}.json")
    child = os.fork()
    if child == 0:  # the run; whatever happens, it never comes back into pytest
        try:
            result.write_text(json.dumps(plane(may_fail=True, spec=changed, wait_timeout=5).result))
        finally:
            os._exit(0)
    try:
        for _stop in range(2):  # both databases have a StatefulSet
            _pid, status = os.waitpid(child, os.WUNTRACED)
            if not os.WIFSTOPPED(status):
                break
            if overtaken:
                hold(plane, ELSEWHERE, 600)
            plane.patch("StatefulSet", "ovn-northbound", {"spec": {"replicas": 3}})
            os.kill(child, signal.SIGCONT)
        os.waitpid(child, 0)
    except ChildProcessError:
        pass
    finally:
        with_result = json.loads(result.read_text())
        result.unlink()
    assert "run again" in with_result["msg"].lower()
    assert plane.get("StatefulSet", "ovn-northbound")["spec"]["replicas"] == 3


def test_a_run_that_lost_its_lease_while_it_slept_evicts_nobody(
    plane: ControlPlane, kubelet: Kubelet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has looked at its target for the last time when it falls asleep."""
    options: dict[str, t.Any] = {"wait": False, "wait_timeout": 120}
    plane(**options, spec=WHOLE)
    pods = {name: plane.get("Pod", name)["metadata"]["uid"] for name in kubelet.members}
    tagged = {**WHOLE, "northbound": {**WHOLE["northbound"], "nodeSelector": {"disk": "fast"}}}
    execute, clock = PodMembers.execute, time.clock_gettime

    def fall_asleep(members: PodMembers, *arguments: t.Any) -> None:
        hold(plane, ELSEWHERE, 600)
        monkeypatch.setattr(time, "clock_gettime", lambda which: clock(which) + 1000)
        execute(members, *arguments)

    monkeypatch.setattr(PodMembers, "execute", fall_asleep)
    ran: Ran = plane(**options, spec=tagged, may_fail=True)
    assert "Another run acquired the Lease ovn-run" in ran["msg"]
    assert {name: plane.get("Pod", name)["metadata"]["uid"] for name in kubelet.members} == pods
    assert plane.get("Lease", "ovn-run")["spec"]["holderIdentity"] == ELSEWHERE


def test_a_budget_that_allows_no_disruption_stops_a_restart(plane: ControlPlane, kubelet: Kubelet) -> None:
    """Somebody drains nodes at this moment: pods that are ready are not evicted against the budget."""
    options: dict[str, t.Any] = {"wait": False}
    plane(**options, spec=WHOLE, wait_timeout=120)
    for name in kubelet.members:
        ready = {"type": "Ready", "status": "True"}
        plane.server.request(
            "PATCH", f"{PLACES['Pod'].format(plane.namespace)}/{name}/status", {"status": {"conditions": [ready]}}
        )
    pods = {name: plane.get("Pod", name)["metadata"]["uid"] for name in kubelet.members}
    tagged = {**WHOLE, "northbound": {**WHOLE["northbound"], "nodeSelector": {"disk": "fast"}}}
    kubelet.may_go = 0
    ran = plane(**options, spec=tagged, may_fail=True, wait_timeout=within(15))
    assert "Timed out after" in ran["msg"]
    assert "disruption budget" in ran["msg"]
    assert {name: plane.get("Pod", name)["metadata"]["uid"] for name in kubelet.members} == pods
    kubelet.may_go = 1
    assert len([step for step in plane(**options, spec=tagged, wait_timeout=120)["steps"] if "restart" in step]) == 3
