"""The pytest plug-in: ``pytest --rnncheck suite.toml`` runs one test for each property and model of a property file.

It stands outside the package, so that test runs without it load nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from rnncheck.suite.check_results import Check
    from rnncheck.suite.loaded_model import LoadedModel
    from rnncheck.suite.property_file import PropertyEntry


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("rnncheck", "properties of networks")
    group.addoption(
        "--rnncheck",
        action="append",
        default=[],
        metavar="FILE.toml",
        help="verify each property of this property file on each of its models, one test each; may be repeated",
    )


@pytest.hookimpl(tryfirst=True)  # before -k and -m choose among the tests
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    for name in config.getoption("--rnncheck"):
        items.extend(_tests(session, config, config.invocation_params.dir / name))


def _tests(session: pytest.Session, config: pytest.Config, path: Path) -> Iterator[pytest.Item]:
    from rnncheck.errors import RnncheckError
    from rnncheck.suite.loaded_model import LoadedModel
    from rnncheck.suite.property_file import Suite

    try:
        suite = Suite.read(path)
    except RnncheckError as error:
        raise pytest.UsageError(f"--rnncheck: {error}") from None
    if not suite.models:
        raise pytest.UsageError(f'--rnncheck: {path}: there is no model in it; write [models.NAME] with path = "…"')
    file = SuiteFile.from_parent(session, path=path)
    loaded = {model.name: LoadedModel(model) for model in suite.models}
    for model, one in suite.selected():
        test = CheckTest.from_parent(file, name=f"{one.name}[{model.name}]", loaded=loaded[model.name], one=one)
        for tag in filter(str.isidentifier, one.tags):
            config.addinivalue_line("markers", f"{tag}: a tag of {path.name}")
            test.add_marker(tag)
        yield test


class SuiteFile(pytest.File):
    """A property file."""

    def collect(self) -> list[pytest.Item]:
        return []  # its tests are made for it


class CheckTest(pytest.Item):
    """One property of one model."""

    def __init__(self, *, loaded: LoadedModel, one: PropertyEntry, **others: Any) -> None:
        super().__init__(**others)
        self._loaded = loaded
        self._property = one

    def runtest(self) -> None:
        from rnncheck.verification.assertion import NotSatisfiedError

        found = self._loaded.check(self._property, {})
        self.user_properties.append(("verdict", found.outcome))
        if found.allowed and found.outcome != "satisfied":
            pytest.skip(f"allowed ({found.severity.value}): {found.outcome}: {found.sentence()}")
        if found.verdict is None:
            raise _NotCheckedError(_text(found))
        if not found.allowed:
            raise NotSatisfiedError(_text(found), found.verdict)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The word and the flow; the stack only for an unexpected error."""
        from rnncheck.verification.assertion import NotSatisfiedError

        if isinstance(excinfo.value, NotSatisfiedError | _NotCheckedError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, self._property.line - 1 if self._property.line else None, self.name


class _NotCheckedError(AssertionError):
    """A model that cannot be loaded, or a property that does not compile."""


def _text(found: Check) -> str:
    from rnncheck.report.checks.check_sentences import check_lines

    return "\n".join([f"{found.outcome}: {found.sentence()}", *check_lines(found)])
