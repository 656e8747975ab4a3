"""The blocks of a Markdown page, and a session that runs them in order in one folder.

Blocks that run:

- ``console``: lines that begin with ``$ `` are commands, what follows them is their expected output;
- ``python``: run in one namespace a page; a block of kind ``output`` right after it is what it must print;
- any block with ``title="name"``: written to a file of that name instead;
- ``sh``, and indented blocks whose first line is a ``rnncheck`` command: every line is run.

A comment before a block says what cannot be seen in it: ``<!-- exit: 1 -->`` is the exit code of its last command, and
``<!-- not run: reason -->`` leaves it out.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rnncheck import load_model, verify, zoo
from rnncheck.automata.formats.dot import write_dot
from rnncheck.cli import main

PLAIN = ("sh", "indented")  # commands without their output
RUNNING = ("console", "python", "output", *PLAIN)
# The exit codes that a verification may end with: a plain block does not say what it expects.
_VERDICTS = (0, 1, 3)
_SHELL_SECONDS = 120
_COMMAND = re.compile(r"    (\$ )?rnncheck ")
_FENCE = re.compile(r"( *)(```+)\s*([\w.-]*)(.*)")
_COMMENT = re.compile(r"\s*<!-- ([a-z ]+): (.*?) -->\s*")
_TITLE = re.compile(r'title="([^"]+)"')
# What a shell would do something about, once the quoted parts are gone.
_SHELL_SIGNS = re.compile(r"[|&;<>$`*]")
_ELLIPSES = ("…", "...")
_ELLIPSIS = re.compile(r"\s*(?:…|\.\.\.)\s*")
_ESCAPED_SECONDS = re.compile(r"\d+(\\\.\d+)?\\ s\b")  # 0\.41\ s
_QUOTED = re.compile(r"""'[^']*'|"[^"$`]*\"""")


@dataclass(frozen=True)
class Block:
    """A piece of a page that a reader may want to run."""

    page: Path
    line: int
    kind: str
    text: str
    title: str | None
    marks: dict[str, str]

    @property
    def runs(self) -> bool:
        return "not run" not in self.marks and (self.kind in RUNNING or self.title is not None)

    @property
    def place(self) -> str:
        return f"{self.page.name}:{self.line}"


@dataclass(frozen=True)
class Command:
    """A command of a console block, and the output that the page shows for it."""

    text: str
    output: list[str]


def blocks_of(page: Path) -> list[Block]:
    """All fenced blocks of a page, and the indented ones that hold commands."""
    return list(_blocks(page, page.read_text().split("\n")))


def _blocks(page: Path, lines: list[str]) -> Iterator[Block]:
    marks: dict[str, str] = {}
    at = 0
    while at < len(lines):
        line = lines[at]
        begin = at + 1
        if comment := _COMMENT.fullmatch(line):
            marks[comment[1]] = comment[2].strip()
        elif fence := _FENCE.fullmatch(line):
            indent, ticks, kind, rest = fence.groups()
            body = []
            at += 1
            while lines[at].strip() != ticks:
                body.append(lines[at].removeprefix(indent))
                at += 1
            title = _TITLE.search(rest)
            yield Block(page, begin, kind, "\n".join(body) + "\n", title[1] if title else None, marks)
            marks = {}
        elif _COMMAND.match(line) and not lines[at - 1].strip():
            body = []
            while at < len(lines) and lines[at].startswith("    "):
                body.append(lines[at].strip())
                at += 1
            yield Block(page, begin, "indented", "\n".join(body), None, marks)
            marks = {}
        elif line.strip():
            marks = {}
        at += 1


def commands_of(block: Block) -> list[Command]:
    """The commands of a block. A backslash at the end of a line continues it."""
    lines = block.text.rstrip("\n").replace("\\\n", "").split("\n")
    if block.kind in PLAIN:
        return [Command(line.removeprefix("$ "), []) for line in lines if line]
    commands: list[Command] = []
    for line in lines:
        if line.startswith("$ "):
            commands.append(Command(line[2:], []))
        elif commands:
            commands[-1].output.append(line)
        elif line:
            raise ValueError(f"{block.place}: {line!r} stands before the first command")
    return commands


def provide(folder: Path) -> None:
    """What a reader has at hand: the zoo's networks, one as ``model.safetensors``, its property and its verdict."""
    for entry in zoo.entries():
        shutil.copy(entry.path, folder)
    entry = zoo.entry("response-faulty-lstm")
    shutil.copy(entry.path, folder / "model.safetensors")
    spec = entry.spec()
    (folder / "spec.dot").write_text(write_dot(spec.dfa))
    verdict = verify(load_model(folder / "model.safetensors"), spec)
    (folder / "verdict.json").write_text(verdict.to_json())


class Session:
    """What a reader of one page does, in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.namespace: dict[str, object] = {"__name__": "__page__"}
        self.printed = ""

    def run(self, block: Block) -> None:
        """Run a block, and compare what comes out with what the page shows."""
        if block.title is not None:
            path = self.folder / block.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text)
        elif block.kind == "python":
            self._run_python(block)
        elif block.kind == "output":
            problem = difference(block.text.split("\n"), self.printed)
            assert problem is None, f"{block.place}: {problem}"
        else:
            self._run_commands(block)

    def forget_modules(self) -> None:
        """Leave no module of the folder behind: the next page may have one of the same name."""
        for name, module in list(sys.modules.items()):
            if (getattr(module, "__file__", None) or "").startswith(f"{self.folder}{os.sep}"):
                del sys.modules[name]

    def _run_python(self, block: Block) -> None:
        code = compile("\n" * block.line + block.text, str(block.page), "exec")
        out = io.StringIO()
        with contextlib.redirect_stdout(out), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what other libraries say about themselves is not the page's fault
            exec(code, self.namespace)
        self.printed = out.getvalue()

    def _run_commands(self, block: Block) -> None:
        commands = commands_of(block)
        for command in commands:
            code, printed = run_command(command.text, self.folder)
            last = command is commands[-1]
            expected: tuple[int, ...] = (int(block.marks.get("exit", "0")) if last else 0,)
            if block.kind in PLAIN:
                expected = _VERDICTS
            assert code in expected, f"{block.place}: `{command.text}` exits with {code}: {printed[-2000:]}"
            problem = difference(command.output, printed) if any(map(str.strip, command.output)) else None
            assert problem is None, f"{block.place}: `{command.text}`: {problem}"


def run_command(text: str, folder: Path) -> tuple[int, str]:
    """The exit code and the output of a command. ``rnncheck`` runs in this process, all else in a shell."""
    if text.startswith("rnncheck ") and not _SHELL_SIGNS.search(_QUOTED.sub("", text)):
        return _run_here(shlex.split(text, comments=True)[1:])
    tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    result = subprocess.run(
        ["bash", "-c", text],
        cwd=folder,
        env={**os.environ, "PATH": tools, "COLUMNS": "100"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_SHELL_SECONDS,
    )
    return result.returncode, _without_progress(result.stdout)


def _run_here(arguments: list[str]) -> tuple[int, str]:
    out = io.StringIO()
    code = 0
    program, sys.argv = sys.argv, ["rnncheck", *arguments]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            main(arguments)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
    finally:
        sys.argv = program
    return code, _without_progress(out.getvalue())


def _without_progress(printed: str) -> str:
    """The output without the lines that a slow machine gets to see after ten seconds."""
    return re.sub(r"^(\S+  \d+ s  .*|\d+ of \d+ pieces, .*)\n", "", printed, flags=re.MULTILINE)


def difference(expected: list[str], printed: str) -> str | None:
    """Where the output differs from what a page shows, or None.

    ``…`` (or ``...``) in a line stands for anything, alone on a line for any number of lines. Times are not compared.
    """
    wanted = "\n".join(expected).strip("\n")
    seen = "".join(f"{line.rstrip()}\n" for line in printed.strip("\n").split("\n"))
    if re.fullmatch("".join(map(_line_pattern, wanted.split("\n"))), seen):
        return None
    return f"expected\n{wanted}\nbut it printed\n{seen}"


def _line_pattern(line: str) -> str:
    if line.strip() in _ELLIPSES:
        return r"(?:.*\n)*?"
    pattern = ".*".join(map(re.escape, _ELLIPSIS.split(line.rstrip())))
    return _ESCAPED_SECONDS.sub(r"[\\d.]+\\ s", pattern) + r"\n"
