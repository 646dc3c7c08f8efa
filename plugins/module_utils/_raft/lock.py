# SPDX-License-Identifier: GPL-3.0-or-later
"""The right to change a control plane, as one host keeps it: a file that names the run that holds it and when that right expires.

Two flock(2) locks guard it. The file itself is read and written under the first one. The second one, on `FILE.act`, is held shared by every process that
acts, for as long as it acts: no other run acquires the lock before the act is over, even if its own run was killed. The kernel
releases both when a process ends.

The age is judged by this host's clock since its boot. It counts sleep and knows no jumps; a lock of an earlier boot has expired.

What a lock permits is decided by pure functions (`LockRequest.yields_to`, `renewed`, `check_held`); the others read and write the file.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import fcntl
import json
import os
import pathlib
import select
import time
import typing as t

from .._base.deadline import Deadline
from .._base.errors import OvnError, Refused

DEFAULT_PATH = "/run/c5c3-ovn/run.lock"
_POLL_SECONDS = 0.5
# A process that is refused has touched FILE.act for a moment.
_ACT_SECONDS = 1.0


class Clock(t.NamedTuple):
    """A host's clock: seconds since the boot `boot`."""

    now: float
    boot: str


@dataclasses.dataclass(frozen=True)
class Lock:
    """`expires` counts seconds since the boot `boot`."""

    holder: str
    step: str
    expires: float
    boot: str

    def seconds_left(self, clock: Clock) -> float:
        """Return the seconds until it expires; not positive if it has expired."""
        return self.expires - clock.now if self.boot == clock.boot else 0.0

    def as_dict(self, clock: Clock) -> dict[str, t.Any]:
        """Return what messages and callers show of another run."""
        return {"holder": self.holder, "step": self.step, "seconds": max(0, int(self.seconds_left(clock)) + 1)}


@dataclasses.dataclass(frozen=True)
class LockRequest:
    """What a run requests. `ended_runs` are holders whose process is known to have ended; `break_lock` breaks the lock of a live one, too."""

    holder: str
    step: str = ""
    seconds: float = 300
    ended_runs: tuple[str, ...] = ()
    break_lock: bool = False

    def yields_to(self, current: Lock | None, clock: Clock) -> bool:
        if current is None or current.holder == self.holder or current.seconds_left(clock) <= 0:
            return False
        return not self.break_lock and current.holder not in self.ended_runs

    def lock(self, clock: Clock) -> Lock:
        return Lock(self.holder, self.step, clock.now + self.seconds, clock.boot)


def renewed(current: Lock | None, request: LockRequest, clock: Clock, path: str) -> Lock:
    """Return the extended lock if this run still holds it, also an expired one that no other run has acquired meanwhile; else `Refused`."""
    if current is None or current.holder != request.holder:
        raise Refused(_lost_message(path, current))
    return request.lock(clock)


def check_held(current: Lock | None, holder: str, clock: Clock, path: str) -> None:
    """Refuse to act unless the run `holder` holds the lock now."""
    if current is None or current.holder != holder:
        raise Refused(_lost_message(path, current))
    if current.seconds_left(clock) <= 0:
        raise Refused(
            f"Nothing was done on this host: the lock {path} of this run expired {-current.seconds_left(clock):.0f} s ago. "
            "Run again; raise ovn_wait_timeout if steps take longer than that."
        )


def read_clock() -> Clock:
    boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return Clock(time.clock_gettime(time.CLOCK_BOOTTIME), boot)


def _parse(text: str) -> Lock | None:
    """Return the lock in the file, expired or not. A file that is no lock is left over from a crash in the middle of a write."""
    try:
        data = json.loads(text)
        return Lock(str(data["holder"]), str(data["step"]), float(data["expires"]), str(data["boot"]))
    except (ValueError, TypeError, KeyError):
        return None


@contextlib.contextmanager
def _opened(path: str, mode: str = "a+") -> t.Iterator[t.TextIO]:
    """Yield the lock file at its beginning; no other process reads or writes it meanwhile."""
    if "a" in mode:
        os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
    with open(path, mode, encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        yield t.cast("t.TextIO", file)


def _write(file: t.TextIO, lock: Lock | None) -> None:
    file.truncate(0)
    file.write(json.dumps(dataclasses.asdict(lock)) if lock else "")
    file.flush()


def _is_acting(path: str) -> bool:
    """Return whether a process is in the middle of an act."""
    with open(_act_file(path), "a", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as e:
            if e.errno not in (errno.EAGAIN, errno.EACCES):
                raise
            return True
    return False


def _act_file(path: str) -> str:
    return f"{path}.act"


def read_lock(path: str) -> Lock | None:
    """Return the lock, expired or not; None if there is none."""
    try:
        with _opened(path, "r") as file:
            return _parse(file.read())
    except FileNotFoundError:
        return None


def acquire(path: str, request: LockRequest, wait_timeout: float, check_mode: bool = False) -> None:
    """Acquire the lock, or extend it if the run holds it. `Refused` carries `held_by` if another run holds it longer than `wait_timeout` seconds."""
    deadline = Deadline(wait_timeout)
    while True:
        lock, acting = _try(path, request, check_mode)
        if lock is None:
            return
        if deadline.expired and not (acting and deadline.elapsed < _ACT_SECONDS):
            raise Refused(_held_message(path, lock, acting, deadline), held_by=lock.as_dict(read_clock()))
        if _has_caller_ended():
            raise OvnError(f"The lock {path} was not acquired: the run that asked for it has ended.")
        time.sleep(min(_POLL_SECONDS, max(0.05, lock.seconds_left(read_clock()))) if not acting else 0.1)


def _try(path: str, request: LockRequest, check_mode: bool) -> tuple[Lock | None, bool]:
    """Return None if the lock is acquired, else its holder and whether that still acts."""
    if check_mode:
        current = read_lock(path)
        return (current if request.yields_to(current, read_clock()) else None), False
    with _opened(path) as file:
        current, clock = _parse(file.read()), read_clock()
        if request.yields_to(current, clock):
            return current, False
        if (current is None or current.holder != request.holder) and _is_acting(path):
            return current or Lock("a run that has released its lock", "", *clock), True
        _write(file, request.lock(clock))
    return None, False


def _held_message(path: str, lock: Lock, acting: bool, deadline: Deadline) -> str:
    waited = f" This run waited {deadline.seconds:g} s for it." if deadline.seconds else ""
    if acting:
        return (
            f'The run "{lock.holder}" has ended or its lock has expired, but its step "{lock.step}" still runs on this host.{waited} '
            "Nothing was changed. Run again when that step is over."
        )
    left = lock.as_dict(read_clock())["seconds"]
    return (
        f'Another run works on this control plane: "{lock.holder}", step "{lock.step}".{waited} Wait for it. '
        f"If it is dead, its lock {path} expires in {left} s; to go on at once set ovn_break_lock=true."
    )


def _has_caller_ended() -> bool:
    """Return whether the reader of the result is gone: SSH and Ansible close the pipe when the run is killed, and the module goes on without notice."""
    poll = select.poll()
    poll.register(1, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _fd, event in poll.poll(0))


def renew(path: str, request: LockRequest, check_mode: bool = False) -> None:
    """Extend the lock as `renewed` decides."""
    if check_mode:
        return
    with _opened(path) as file:
        _write(file, renewed(_parse(file.read()), request, read_clock(), path))


def release(path: str, holder: str, check_mode: bool = False) -> str | None:
    """Release the lock if this run holds it; return the run that holds it afterwards, None if there is none."""
    if not os.path.exists(path):
        return None
    with _opened(path, "r" if check_mode else "a+") as file:
        current = _parse(file.read())
        if current is not None and current.holder != holder and current.seconds_left(read_clock()) > 0:
            return current.holder
        if not check_mode:
            _write(file, None)
    return None


@contextlib.contextmanager
def acting(path: str, holder: str) -> t.Iterator[None]:
    """Act in here: the lock is held at the beginning, and no other run acquires it before the end, not even after it has expired."""
    os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
    with open(_act_file(path), "a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        check_held(read_lock(path), holder, read_clock(), path)
        yield


def _lost_message(path: str, current: Lock | None) -> str:
    if current is None:
        cause = f"the lock {path} is gone: this host was restarted, or another run held the lock meanwhile"
    else:
        cause = f'the lock {path} is held by another run, "{current.holder}", step "{current.step}"'
    return f"Nothing was done on this host: {cause}. Run again when no other run works on this control plane."
