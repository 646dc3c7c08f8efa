# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings inside a database whose members are pods: read and changed through the leader's pod, on the unix sockets of its server."""

from __future__ import annotations

import json
import typing as t

from .._base.errors import BadAnswer, OvnError, Unreachable
from .._daemons.database_converge import MemberState
from .._daemons.database_member import committed, member_state, read_settings
from .._daemons.database_settings import Layout, ObservedSettings
from .._kubernetes.client import Cluster
from .._kubernetes.lease import RunLease
from .._ovsdb.rows import Operation, write
from .._raft.parse import ClusterStatus, parse_cluster_status

_SECONDS = 10


class PodConnection:
    """Sends each OVSDB request with one command in the pod."""

    # A request is one argument of a command, which Linux limits to 128 KiB, and part of a URL, which proxies limit.
    single_rows_bytes = 16_000

    def __init__(self, cluster: Cluster, namespace: str, pod: str, socket: str) -> None:
        self.cluster, self.namespace, self.pod, self.socket = cluster, namespace, pod, socket

    @property
    def name(self) -> str:
        return f"pod {self.pod}"

    def run(self, *command: str) -> str:
        result = self.cluster.exec(self.namespace, self.pod, "database", list(command), timeout=_SECONDS + 5)
        if result.code != 0:
            message = (result.stderr or result.stdout).strip()[-500:]
            raise Unreachable(f"{command[0]} in pod {self.pod} ended with code {result.code}: {message}.")
        return result.stdout

    def call(self, method: str, params: list[t.Any]) -> t.Any:
        """Return the result of `transact` or `get_schema`, which ovsdb-client can send; `BadAnswer` if it is not JSON."""
        arguments = params if method == "get_schema" else [json.dumps(params)]
        text = self.run(
            "ovsdb-client", "-t", str(_SECONDS), method.replace("_", "-"), f"unix:{self.socket}", *arguments
        )
        try:
            return json.loads(text)
        except ValueError as e:
            raise BadAnswer(f"Pod {self.pod} answered {method} with {text[:200]!r}.") from e


class PodDatabase:
    """The member of `converge()`: the pod that leads. `pods` maps Raft address to pod name."""

    def __init__(
        self,
        cluster: Cluster,
        namespace: str,
        layout: Layout,
        pods: t.Mapping[str, str],
        leader: str | None,
        status: ClusterStatus | None,
        lease: RunLease,
    ) -> None:
        self.cluster, self.namespace, self.layout, self.pods = cluster, namespace, layout, dict(pods)
        self.pod = leader or next(iter(self.pods.values()))
        self.lease = lease
        self._known = status  # read a moment ago, so the first request is not needed
        self._committed: int | None = None

    def _connection(self) -> PodConnection:
        return PodConnection(self.cluster, self.namespace, self.pod, f"/run/ovn/{self.layout.stem}.sock")

    def _status(self) -> ClusterStatus:
        if self._known is not None:
            status, self._known = self._known, None
            return status
        control = f"/run/ovn/{self.layout.stem}.ctl"
        return parse_cluster_status(
            self._connection().run("ovs-appctl", "-T", "5", "-t", control, "cluster/status", self.layout.name)
        )

    def examine(self) -> MemberState:
        """Return the state of the leader's pod, following leadership transfers. A pod that does not respond is skipped."""
        last_error = ""
        for _hop in self.pods:
            try:
                status = self._status()
            except OvnError as e:
                last_error = f": {e}"
                names = list(self.pods.values())
                self.pod = names[(names.index(self.pod) + 1) % len(names)]
                continue
            state = member_state(status, self._committed)
            self._committed = committed(status)
            address = next((s.address for s in status.servers if s.sid == status.leader_sid), "")
            if state.role != "follower" or address not in self.pods:
                return state
            self.pod, self._committed = self.pods[address], None
        return MemberState("none", reason=f"no pod leads{last_error}")

    def read(self) -> ObservedSettings:
        return read_settings(self._connection(), self.layout)

    def write(self, operations: t.Sequence[Operation]) -> None:
        self.lease.acquire_or_renew(f"set listeners of the {self.layout.title} database")
        write(self._connection(), self.layout.name, operations, "c5c3.ovn.ovn_cluster")

    def change_timer(self, milliseconds: int) -> None:
        self.lease.acquire_or_renew(f"set the election timer of the {self.layout.title} database")
        control = f"/run/ovn/{self.layout.stem}.ctl"
        self._connection().run(
            *(
                "ovs-appctl",
                "-T",
                "5",
                "-t",
                control,
                "cluster/change-election-timer",
                self.layout.name,
                str(milliseconds),
            )
        )
