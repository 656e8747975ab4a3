"""Check the links of a built site: every address inside it leads to a file, and every anchor to a place in that file.

    python scripts/check_links.py build/site

Addresses of other sites are not fetched.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import click


class _Page(HTMLParser):
    """The addresses that a page names, and the places in it that can be linked to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = {"", "__top"}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.places.add(value)
            elif name in ("href", "src") and value:
                self.links.append(value)


def dead_links(site: Path) -> list[str]:
    """Each link that leads nowhere, with the page that has it."""
    pages = {path: _Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    dead = []
    for path, page in pages.items():
        # The page for addresses that do not exist is shown at any of them, so its own links start at the root.
        folder = site if path.name == "404.html" else path.parent
        for link in dict.fromkeys(page.links):
            address = urlsplit(link)
            if address.scheme or address.netloc:
                continue
            target = path
            if address.path:
                start = site if address.path.startswith("/") else folder
                target = (start / unquote(address.path).lstrip("/")).resolve()
            if target.is_dir():
                target /= "index.html"
            if not target.is_file():
                dead.append(f"{path.relative_to(site)}: {link} is not there")
            elif target in pages and unquote(address.fragment) not in pages[target].places:
                dead.append(f"{path.relative_to(site)}: {link} has no such place")
    return dead


def main() -> None:
    site = Path(sys.argv[1]).resolve()
    dead = dead_links(site)
    for line in dead:
        click.echo(line)
    click.echo(f"{len(list(site.rglob('*.html')))} pages, {len(dead)} dead links")
    sys.exit(1 if dead else 0)


if __name__ == "__main__":
    main()
