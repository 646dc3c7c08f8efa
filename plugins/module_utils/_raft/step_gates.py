# SPDX-License-Identifier: GPL-3.0-or-later
"""What every step of a recorded cluster has to pass before it is taken: its gate, room on the disks of the others, and whether the member would come back."""

from __future__ import annotations

from .._base.errors import Refused
from .gates import OF_STOPS, Name
from .observation import DISK_MISSING, Observation
from .recorded_cluster import RecordedCluster, describe_lost
from .step import Gate, Step
from .view import majority

# Bytes without which a log entry of usual size does not fit.
_LEAST_FREE = 2**16


class StepGates:
    """The gates of one round (R6, R7, R33), for every step that is planned."""

    def __init__(self, cluster: RecordedCluster, gate: Gate) -> None:
        self.cluster, self.gate = cluster, gate

    def gated(self, gate: Name, member: str | None, step: Step) -> Step:
        """Return the step if its gate is open now, else a wait that says why."""
        reason = self.gate(gate, list(self.cluster.observations.values()), member)
        if not reason:
            reason = self._disks_full(gate, member)
        return Step("wait", step.members, f"{step.reason}: {reason}{self.advise()}") if reason else step

    def advise(self) -> str:
        """Return what to do about members that a closed gate may wait for, and that do not come back by themselves; empty if there are none."""
        return f"{self._advise_mount()}{self.advise_restart()}"

    def advise_restart(self) -> str:
        """Return what to do about containers that could not write: their servers never try again, and no run restarts what it did not start."""
        failed = [o.member for o in self.cluster.observations.values() if o.write_failed and o.replace_reason]
        return (
            f"; the container of {', '.join(failed)} could not write: free space on its disk, then restart it"
            if failed
            else ""
        )

    def _advise_mount(self) -> str:
        missing = [o for o in self.cluster.observations.values() if o.file_class == DISK_MISSING and not o.running]
        if not missing:
            return ""
        return f"; {'; '.join(map(describe_lost, missing))}. Mount its disk, or accept the loss with {self.cluster.run.texts.accept_lost_disk}"

    def _disks_full(self, gate: Name, member: str | None) -> str:
        """Return why nothing could be written after this step, or while it changes the list; empty if it could (R20).

        A server with a full disk answers as before, and keeps nothing. A leader gives up when it cannot write.
        """
        is_stop = gate in OF_STOPS
        others = [o for o in self.cluster.observations.values() if o.connected and not (is_stop and o.member == member)]
        full = [o.member for o in others if o.free_bytes is not None and o.free_bytes < _LEAST_FREE]
        leader = self.cluster.leader
        if not is_stop and leader is not None and leader.member in full:
            return f"the disk of the leader {leader.member} is full"
        change = {"may_add": 1, "may_remove": -1}.get(gate, 0)
        writable = len(others) - len(full) + max(change, 0)
        if not full or writable >= majority(len(self.cluster.listed) + change):
            return ""
        without = f" without {member}" if is_stop else ""
        return f"the disk of {', '.join(full)} is full, so too few members could write{without}"

    def unsettled(self) -> str:
        """Return why the leader's list may not last, empty if it will: with a removal that is not committed, the next leader has the member again."""
        observed = list(self.cluster.observations.values())
        return self.gate("one_leader", observed, None) or self.gate("quiet", observed, None)

    def restart_of(self, o: Observation) -> Step:
        """Return the restart of one member; `Refused` if it would not come back."""
        self.refuse_start_problem(o)
        return Step("restart", (o.member,), f"restart {self.cluster.database} on {o.member}: {o.restart_reason}")

    def refuse_start_problem(self, o: Observation) -> None:
        """Raise `Refused` for a member that would not come back, or would join with an address that is not its own (R33)."""
        problem = o.file_reason if o.file_class == DISK_MISSING else o.start_problem
        if problem:
            raise Refused(
                f"{self.cluster.database} on {o.member} is not {'restarted' if o.running else 'started'}: it would not come back. "
                f"{problem.rstrip('.')}. Correct that, then run again."
            )
