"""Work that goes on beside a test."""

from __future__ import annotations

import contextlib
import threading
import typing as t


@contextlib.contextmanager
def beside(work: t.Callable[[threading.Event], None]) -> t.Iterator[None]:
    """Do `work` at the same time. Its event is set when the block has ended; a failure of it fails the test."""
    ended, failures = threading.Event(), list[BaseException]()

    def run() -> None:
        try:
            work(ended)
        except BaseException as e:
            failures.append(e)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    if failures:
        raise failures[0]
