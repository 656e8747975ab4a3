"""``pytest --slowest 30``: the tests that take the most processor time, and what the whole run takes.

Processor time hardly depends on what else the machine does, so two runs can be compared. That of programs which a test
starts counts too, as soon as it has waited for their end.
"""

from __future__ import annotations

import resource
from collections import defaultdict
from collections.abc import Generator

import pytest

_OPTION = "slowest"
_SPENT = "processor_seconds"


def processor_seconds() -> float:
    """What this process and its ended children have used up to now."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        f"--{_OPTION}", type=int, metavar="N", help="print the N tests that take the most processor time, and the sum"
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption(_OPTION) is not None:
        config.pluginmanager.register(ProcessorTimes(config.getoption(_OPTION)))


class ProcessorTimes:
    """Measures tests in the workers, and adds them up where the summary is printed."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.before = 0.0
        self.of_tests: defaultdict[str, float] = defaultdict(float)
        self.of_workers = 0.0

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        self.before = processor_seconds()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        now = processor_seconds()
        setattr(report, _SPENT, now - self.before)  # goes from a worker to the main process with the report
        self.before = now
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.of_tests[report.nodeid] += getattr(report, _SPENT, 0.0)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if (output := getattr(session.config, "workeroutput", None)) is not None:
            output[_SPENT] = processor_seconds()

    @pytest.hookimpl(optionalhook=True)  # of xdist
    def pytest_testnodedown(self, node: object) -> None:
        self.of_workers += getattr(node, "workeroutput", {}).get(_SPENT, 0.0)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("processor time")
        slowest = sorted(self.of_tests.items(), key=lambda pair: -pair[1])[: self.count]
        for name, seconds in slowest:
            terminalreporter.write_line(f"{seconds:8.2f} s  {name}")
        # Without workers all is in this process, whose children are then the tests' own.
        total = self.of_workers or processor_seconds()
        terminalreporter.write_line(f"{sum(self.of_tests.values()):8.0f} s  all tests")
        terminalreporter.write_line(f"{total:8.0f} s  with starting, importing and collecting")
