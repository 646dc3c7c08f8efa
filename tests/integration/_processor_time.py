"""Which tests cost most processor time: printed at the end, because it is what continuous integration runs short of.

Counted is what a test's own process and the processes that it waited for have spent; daemons that a fixture started are counted where they end.
"""

from __future__ import annotations

import resource
import typing as t

import pytest

_SHOWN = 12


def _spent() -> float:
    """Processor seconds of this process and of all that it has waited for."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


class ProcessorTime:
    """Adds the seconds to the report of each test, which goes from a worker to the controller, and shows the largest sums."""

    def __init__(self) -> None:
        self._before = _spent()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self) -> None:
        self._before = _spent()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> t.Generator[None, object, object]:
        result = yield
        item.user_properties.append(("processor seconds", _spent() - self._before))
        return result

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        reports = [
            report
            for reports in terminalreporter.stats.values()
            for report in reports
            if hasattr(report, "user_properties")
        ]
        spent = {
            report.nodeid: seconds
            for report in reports
            for name, seconds in report.user_properties
            if name == "processor seconds"
        }
        if not spent:
            return
        terminalreporter.section(f"{sum(spent.values()):.0f} processor seconds, most of them in")
        for nodeid, seconds in sorted(spent.items(), key=lambda pair: -pair[1])[:_SHOWN]:
            terminalreporter.write_line(f"{seconds:6.1f} s {nodeid}")
