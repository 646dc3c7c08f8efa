# SPDX-License-Identifier: GPL-3.0-or-later
"""What action plugins print themselves, beside what a callback plugin makes of their results."""

from __future__ import annotations

import abc
import contextlib
import os
import tempfile
import threading
import typing as t

import ansible.constants as C
from ansible.plugins.action.normal import ActionModule as Normal
from ansible.utils.display import Display

from ..module_utils._base.deadline import VARIABLE

EVERY_SECONDS = 10.0
display = Display()


def print_lines(text: str) -> None:
    """Print the text, unless the callback plugin writes JSON: that is for a program, which reads the result."""
    if "json" not in str(C.config.get_config_value("DEFAULT_STDOUT_CALLBACK")):
        display.display(text)


class PrintsProgress:
    """An action plugin that can print what its module is doing. It does so if the module runs on this machine."""

    _connection: t.Any
    _task: t.Any

    @contextlib.contextmanager
    def printed_progress(self, task_vars: t.Mapping[str, t.Any] | None) -> t.Iterator[None]:
        """Print every ten seconds what the module that is called inside is doing."""
        if self._connection.transport != "local" or self._task.async_val or self._task.no_log:
            yield
            return
        handle, path = tempfile.mkstemp(prefix="c5c3-ovn-progress-")
        os.close(handle)
        environment = self._task.environment
        self._task.environment = [*(environment or []), {VARIABLE: path}]
        try:
            with _printed(task_vars, lambda: reported(path)):
                yield
        finally:
            self._task.environment = environment
            with contextlib.suppress(OSError):
                os.unlink(path)


class ProgressAction(PrintsProgress, Normal):
    """Run a module as usual, and print every ten seconds what it is doing, if it runs on this machine."""

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        run_module: t.Callable[..., dict[str, t.Any]] = super().run
        with self.printed_progress(task_vars):
            return run_module(tmp, task_vars)


class WaitAction(Normal):
    """Run a module as usual, and print every ten seconds what it waits for: on another machine nobody can ask it what it is doing."""

    @abc.abstractmethod
    def waits_for(self, options: t.Mapping[str, t.Any]) -> str:
        """Return what a module with these options may wait for, empty if for nothing."""

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        run_module: t.Callable[..., dict[str, t.Any]] = super().run
        awaited = self.waits_for(self._task.args)
        if self._task.async_val or self._task.no_log:
            awaited = ""
        with print_while_waiting(awaited, task_vars):
            return run_module(tmp, task_vars)


@contextlib.contextmanager
def print_while_waiting(awaited: str, task_vars: t.Mapping[str, t.Any] | None) -> t.Iterator[None]:
    """Print every ten seconds what is waited for, until the context ends; an empty text is not printed."""
    if not awaited:
        yield
        return
    with _printed(task_vars, lambda: f"waiting for {awaited}"):
        yield


@contextlib.contextmanager
def _printed(task_vars: t.Mapping[str, t.Any] | None, doing: t.Callable[[], str]) -> t.Iterator[None]:
    """Print `doing()` every ten seconds until the context ends, with the host and the seconds so far."""
    ended = threading.Event()
    host = str((task_vars or {}).get("inventory_hostname", "localhost"))

    printer = threading.Thread(target=print_progress, args=(doing, host, ended), daemon=True)
    printer.start()
    try:
        yield
    finally:
        ended.set()
        printer.join()


def print_progress(doing: t.Callable[[], str], host: str, ended: threading.Event) -> None:
    """Print `doing()` every ten seconds until the event comes; an empty text is not printed."""
    seconds = 0.0
    while not ended.wait(EVERY_SECONDS):
        seconds += EVERY_SECONDS
        text = doing()
        if text:
            print_lines(f"{host}: {text} ({seconds:.0f} s)")


def reported(path: str) -> str:
    """Return what the module has reported last, in one line; empty if nothing."""
    with contextlib.suppress(OSError), open(path, encoding="utf-8") as file:
        return " ".join(file.read().split())
    return ""
