# SPDX-License-Identifier: GPL-3.0-or-later
"""When the agent of a node has to ask the Southbound database about its chassis, and from when on its ovn-controller is late. Pure.

ovn-controller writes each heartbeat that it has answered into the database of its node, so while it answers in time nobody else has to be asked.
"""

from __future__ import annotations

import typing as t

from .._chassis.heartbeats import has_answered
from .heartbeat_sender import grace

# Seconds between two heartbeats if the observer sends none.
DEFAULT_INTERVAL = 60.0
_LATE = 1.1  # of an interval without an answer: the next heartbeat has come, or none was sent
_LONGEST = 300.0  # seconds between two questions while nobody sends heartbeats


class LocalAnswer(t.NamedTuple):
    """The last heartbeat that ovn-controller has answered, and when, in seconds since 1970 by the clock of the node; 0 before the first one."""

    number: int = 0
    at: float = 0.0


def local_answer(external_ids: t.Mapping[str, str]) -> LocalAnswer:
    """Return what ovn-controller has written to its integration bridge."""
    try:
        return LocalAnswer(int(external_ids.get("ovn-nb-cfg", "0")), int(external_ids.get("ovn-nb-cfg-ts", "0")) / 1000)
    except (ValueError, OverflowError):
        return LocalAnswer()


class AnswerWatch:
    """Follows the answers of one chassis. All times are seconds of a monotonic clock, but those of answers."""

    def __init__(self) -> None:
        self._answer: LocalAnswer | None = None
        self._next_question = 0.0
        self._pause = 0.0  # before the question after that
        self._unanswered: tuple[int, float] | None = None  # the first number without an answer, and when it was seen

    def is_fresh(self, answer: LocalAnswer, interval: float, clock: float) -> bool:
        """Return whether the answer is so new that no later heartbeat can be late. `clock` is that of the node, in seconds since 1970."""
        return answer.number > 0 and 0 <= clock - answer.at < _LATE * (interval or DEFAULT_INTERVAL)

    def must_ask(self, answer: LocalAnswer, now: float) -> bool:
        """Return whether the Southbound database is to be asked now. An answer that is new is a reason, too."""
        if answer != self._answer:
            self._answer, self._next_question, self._pause = answer, now, 0.0
        return now >= self._next_question

    def is_alive(self, latest: int, interval: float, now: float) -> bool | None:
        """Return whether ovn-controller has answered heartbeat `latest` of the Southbound database; None while there is time for the answer."""
        answered = self._answer.number if self._answer else 0
        if self._unanswered and (
            latest < self._unanswered[0] or has_answered(answered, self._unanswered[0], latest)
        ):  # a database that was created again counts from 0
            self._unanswered = None
        if latest and self._unanswered is None and not has_answered(answered, latest, latest):
            self._unanswered = (latest, now)
        if self._unanswered and now - self._unanswered[1] < grace(interval):
            self._next_question = self._unanswered[1] + grace(interval)
            return None
        self.postpone(interval, now)
        return self._unanswered is None

    def postpone(self, interval: float, now: float) -> None:
        """Ask later: twice as late each time. A new answer ends that."""
        interval = interval or DEFAULT_INTERVAL
        self._pause = min(max(self._pause * 2, interval / 4), max(_LONGEST, interval))
        self._next_question = now + self._pause

    def pause(self, longest: float, now: float) -> float:
        """Return the seconds until the next look, at most `longest`."""
        return min(longest, self._next_question - now) if self._next_question > now else longest
