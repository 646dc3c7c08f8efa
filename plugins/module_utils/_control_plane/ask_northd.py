# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of every northd that runs in a pod, from one command in each."""

from __future__ import annotations

import typing as t

from .._api.names import label_selector, selector
from .._base.deadline import Deadline
from .._base.errors import OvnError
from .._daemons.central_host import parse_northd_state, parse_version
from .._kubernetes.command import COMMAND_SECONDS
from .._kubernetes.pod_diagnosis import diagnose_containers
from .._kubernetes.pod_watch import node_of, unresponsive_nodes
from .._kubernetes.rollout_progress import is_terminating
from .._ovsdb.wire import ask_all

if t.TYPE_CHECKING:
    from .._kubernetes.client import Cluster, ExecResult

CONTAINER = "northd"

# One line each: the state, both connections, the version. A northd that hangs costs one time limit, not four.
_SCRIPT = """
ask="ovn-appctl -T 5 -t /run/ovn/ovn-northd.ctl"
state=$($ask status) || exit
echo "$state"
$ask nb-connection-status
$ask sb-connection-status
$ask version | head -n 1
"""

Northd = dict[str, t.Any]


def unreachable(reason: str) -> Northd:
    return {
        "state": "unreachable",
        "northbound_connected": None,
        "southbound_connected": None,
        "version": "",
        "reason": reason,
    }


def parse_northd(result: ExecResult) -> Northd:
    """Return the state of one northd from the output of the command, in the form of `ask_northd` on a machine."""
    lines = result.stdout.splitlines()
    if result.code != 0 or len(lines) < 4:
        return unreachable(result.stderr.strip()[-300:] or f"the command in its pod ended with code {result.code}")
    try:
        state = parse_northd_state(lines[0])
    except OvnError as e:
        return unreachable(str(e))
    return {
        "state": state,
        # Exactly: "not connected" contains "connected", too.
        "northbound_connected": lines[1].strip() == "connected",
        "southbound_connected": lines[2].strip() == "connected",
        "version": parse_version(lines[3]),
        "reason": "",
    }


def ask_northds(cluster: Cluster, namespace: str, name: str, timeout: float = 0.0) -> dict[str, Northd]:
    """Return the state of each northd by pod, all asked at the same time for `timeout` seconds (at least `COMMAND_SECONDS`), terminating pods excepted."""
    labels = label_selector(selector(name, "northd"))
    pods = [pod for pod in cluster.list("v1", "Pod", namespace, labels=labels) if not is_terminating(pod)]

    gone, timeout = unresponsive_nodes(cluster), max(timeout, COMMAND_SECONDS)

    def one(pod: dict[str, t.Any]) -> Northd:
        node = gone.get(node_of(pod))
        if node:
            return unreachable(node)
        if (pod.get("status") or {}).get("phase") != "Running":
            messages = "; ".join(diagnose_containers(pod)) or "it does not run"
            return unreachable(f"Kubernetes says: {messages}")
        command = ["sh", "-c", _SCRIPT]
        return parse_northd(cluster.exec(namespace, pod["metadata"]["name"], CONTAINER, command, timeout=timeout))

    answers: dict[str, Northd] = {}
    for pod, outcome in zip(pods, ask_all(pods, one, Deadline(timeout + 5))):
        answers[pod["metadata"]["name"]] = unreachable(str(outcome)) if isinstance(outcome, OvnError) else outcome
    return dict(sorted(answers.items()))
