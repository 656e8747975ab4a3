"""One browser for the tests of pages."""

from collections.abc import Iterator

import pytest

from support.browser import CHROMIUM, Browser, no_browser


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Headless Chromium, where the machine has one."""
    if CHROMIUM is None:
        no_browser()
    running = Browser()
    try:
        yield running
    finally:
        running.close()
