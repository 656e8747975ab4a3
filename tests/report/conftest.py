"""One browser for the tests of pages."""

from collections.abc import Iterator

import pytest

from support.browser import CHROMIUM, Browser


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Headless Chromium, where the machine has one."""
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine; with Debian's package `chromium` pages are tested in it")
    running = Browser()
    try:
        yield running
    finally:
        running.close()
