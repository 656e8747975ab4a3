"""What the documentation site has beyond the pages in ``docs/``; MkDocs calls these functions.

Pages that live elsewhere in the project (the zoo's README, the measurements, …) are taken in, and links between them
and the pages of ``docs/`` are turned, so that they work in the site as they do in the checkout. The reference of the
command line is written from the commands themselves.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from mkdocs.structure.files import File, Files

from rnncheck.cli import rnncheck as command_line

ROOT = Path(__file__).resolve().parent.parent

# Pages of the site that are written elsewhere.
ELSEWHERE = {
    "examples.md": "examples/README.md",
    "measurements.md": "benchmarks/README.md",
    "zoo.md": "src/rnncheck/zoo/README.md",
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
}
COMMANDS_PLACE = "<!-- commands -->"
_LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")


def on_files(files: Files, config: Any) -> Files:
    """Take in what is written elsewhere: pages, and the scripts that pages link to."""
    for name, source in ELSEWHERE.items():
        files.append(File.generated(config, name, content=(ROOT / source).read_text(encoding="utf-8")))
    for script in sorted((ROOT / "examples").glob("*.py")):
        files.append(File.generated(config, f"examples/{script.name}", abs_src_path=str(script)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Turn links, and write the commands where their place is."""
    name = page.file.src_uri
    text = turned_links(markdown, ELSEWHERE.get(name, f"docs/{name}"))
    return text.replace(COMMANDS_PLACE, "\n".join(command_reference()))


def turned_links(markdown: str, source: str) -> str:
    """The text of a page that is written in ``source``, with links as the site has them."""
    pages = {path: name for name, path in ELSEWHERE.items()}

    def turned(link: re.Match[str]) -> str:
        before, target, anchor, after = link.groups()
        if ":" in target:
            return link[0]
        path = os.path.normpath(os.path.join(os.path.dirname(source), target))
        target = pages.get(path, path.removeprefix("docs/"))
        return f"{before}{target}{anchor or ''}{after}"

    return _LINK.sub(turned, markdown)


def command_reference() -> Iterator[str]:
    """Every command with its options, as Markdown."""
    yield from _section(command_line, click.Context(command_line, info_name="rnncheck"), level=2)


def _section(command: click.Command, context: click.Context, level: int) -> Iterator[str]:
    yield f"{'#' * level} {context.command_path}\n"
    yield f"```text\n{' '.join([context.command_path, *command.collect_usage_pieces(context)])}\n```\n"
    for text in (command.help, command.epilog):
        if text:
            yield _escaped(text) + "\n"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _section(inner, click.Context(inner, info_name=name, parent=context), min(level + 1, 3))
        return
    options = [parameter for parameter in command.get_params(context) if isinstance(parameter, click.Option)]
    records = [option.get_help_record(context) for option in options]
    yield "| option | meaning |\n|---|---|"
    for names, meaning in filter(None, records):
        yield f"| `{names.replace('|', chr(92) + '|')}` | {_escaped(meaning)} |"
    yield ""


def _escaped(text: str) -> str:
    """Help text as Markdown: nothing in it is markup, except backquotes."""
    text = re.sub(r"([|<>*_\[\]])(?=(?:[^`]*`[^`]*`)*[^`]*$)", r"\\\1", text)
    return "\n".join(line.strip() for line in text.split("\n"))
