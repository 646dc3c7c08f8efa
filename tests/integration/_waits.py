"""How tests wait: for an event, or as long as something must not happen. Limits grow with the load of the machine."""

from __future__ import annotations

import os
import pathlib
import time
import typing as t


def within(seconds: float) -> float:
    """Return the limit, longer on a loaded machine."""
    # The average is late by a minute, so what runs at this moment counts as well.
    average, _of_5, _of_15, running, _last = pathlib.Path("/proc/loadavg").read_text().split()
    return seconds * max(1.0, max(float(average), int(running.partition("/")[0])) / (os.cpu_count() or 1))


def until(reached: t.Callable[[], t.Any], what: str, timeout: float = 20) -> t.Any:
    """The first true value of `reached()`; the test fails with `what` if it does not come within `timeout` seconds."""
    start = time.monotonic()
    while True:
        value = reached()
        if value:
            return value
        if time.monotonic() - start > within(timeout):
            raise AssertionError(f"Timed out after {timeout:g} s waiting for {what}")
        time.sleep(0.02)  # what is awaited is a file, a row or an object: nothing that wakes us


def stays(holds: t.Callable[[], t.Any], what: str, seconds: float) -> None:
    """The test fails with `what` as soon as `holds()` is false in these seconds: what must not happen sends no event either."""
    start = time.monotonic()
    while True:
        # The end comes first: the last look is one after all of the seconds.
        over = time.monotonic() - start >= seconds
        assert holds(), f"Expected for {seconds:g} s: {what}. It ended after {time.monotonic() - start:.1f} s"
        if over:
            return
        time.sleep(0.1)  # often enough to catch what comes and goes
