"""Do the tests notice when the code is wrong? Small changes to the source, one at a time, and the tests that must fail.

    python scripts/mutate.py --module statistics --sample 100
    python scripts/mutate.py --module product --module learners       every mutant, which takes an hour or two
    python scripts/mutate.py --module learners --only "ttt:"          mutants whose name holds a text

Works on a copy of ``src`` and ``tests`` in a temporary folder, so the tree is never touched. A mutant is killed when a
test fails, and timed out when a test takes many times the processor time that it takes on the unchanged source. The
others survive, unless ``scripts/equivalent_mutants.txt`` has them with the reason why no test could tell.

Each mutant runs in a fork of a process that has already imported what the tests need. Property tests draw few examples,
always the same, and do not shrink. Which mutants a sample holds depends on their names and the seed alone, so that it
stays the same while other lines are edited. Exit code 1 says that there are survivors.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import importlib.abc
import importlib.machinery
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NoReturn

PROJECT = Path(__file__).resolve().parents[1]
EQUIVALENT = PROJECT / "scripts" / "equivalent_mutants.txt"

LEARNER_TESTS = ("learning/test_learners.py", "contract/test_learner_limits.py", "contract/test_learner_contract.py")
TREE_TESTS = (*LEARNER_TESTS, "extraction/test_moore.py")
# For each group its modules, and for each module the tests that should notice, quick ones first.
GROUPS: dict[str, dict[str, tuple[str, ...]]] = {
    "statistics": {
        "probability.confidence": ("probability/test_statistics.py",),
        "probability.statistics": ("probability/test_statistics.py",),
    },
    "product": {
        "automata.product": ("automata/test_product.py", "test_relations.py"),
        "automata.minimisation": ("automata/test_minimisation.py",),
        "automata.language": ("automata/test_language.py",),
        "relations": ("test_relations.py",),
    },
    "learners": {
        "learning.learners.answers": TREE_TESTS,
        "learning.learners.learner": TREE_TESTS,
        "learning.learners.counterexamples": LEARNER_TESTS,
        "learning.learners.discrimination_tree": TREE_TESTS,
        "learning.learners.kearns_vazirani": LEARNER_TESTS,
        "learning.learners.observation_table": TREE_TESTS,
        "learning.learners.tree_hypothesis": TREE_TESTS,
        "learning.learners.ttt": LEARNER_TESTS,
    },
}
# Parts of the names of tests that are left out: those that measure time, because a busy machine would kill mutants;
# long ones that show on more automata what others show on fewer; and those about networks.
LEFT_OUT = (
    *("deep_and_wide", "200_random_automata", "every_small_automaton"),
    *("network", "extraction", "verdicts", "trace_model", "too_close_to_call"),
)

EXAMPLES = 20  # of a property test
MOST_MEMORY = 6 << 30
NO_ANSWER = 900  # seconds after which a process that does not even compute is given up


# -- mutants ----------------------------------------------------------------------------------------------------------

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
}
# Parts that say nothing about what is computed.
SKIPPED = {"annotation", "returns", "decorator_list", "bases"}


@dataclass(frozen=True)
class Site:
    """Where a node hangs in its tree."""

    parent: ast.AST
    field: str
    index: int | None

    def put(self, node: ast.AST) -> None:
        if self.index is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.index] = node


@dataclass(frozen=True)
class Mutant:
    """One change. ``name`` has the module, the function, and the text before and after."""

    module: str
    name: str
    line: int
    tree: ast.Module
    site: Site
    old: ast.AST
    new: ast.AST

    def code(self, file: str) -> CodeType:
        self.site.put(ast.fix_missing_locations(ast.copy_location(self.new, self.old)))
        try:
            return compile(self.tree, file, "exec")
        finally:
            self.site.put(self.old)


def mutants_of(module: str, source: str) -> Iterator[Mutant]:
    """All mutants of a module, in the order of its text."""
    tree = ast.parse(source)
    seen: Counter[str] = Counter()
    for site, old, function in _sites(tree, "module"):
        for new in _changes(old, site):
            before, after = _text(old), _text(new)
            name = f"{module}:{function}: {before} → {after}"
            seen[name] += 1
            if seen[name] > 1:
                name += f" ({seen[name]})"
            yield Mutant(module, name, getattr(old, "lineno", 0), tree, site, old, new)


def _text(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 100 else f"{text[:60]} … {text[-35:]}"


def _sites(node: ast.AST, function: str) -> Iterator[tuple[Site, ast.AST, str]]:
    for field, value in ast.iter_fields(node):
        if field in SKIPPED or (isinstance(node, ast.ClassDef) and field == "keywords"):
            continue
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(child, ast.AST) or isinstance(child, ast.JoinedStr | ast.Import | ast.ImportFrom):
                continue
            if isinstance(child, ast.keyword) and child.arg == "strict":
                continue  # zip() checks what the code around it makes sure of
            inside = function
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                inside = child.name if function == "module" else f"{function}.{child.name}"
            yield Site(node, field, index), child, inside
            yield from _sites(child, inside)


def _changes(node: ast.AST, site: Site) -> Iterator[ast.AST]:
    match node:
        case ast.Compare(left=left, ops=operators, comparators=others):
            for i, operator in enumerate(operators):
                changed: list[ast.cmpop] = [*operators[:i], COMPARISONS[type(operator)](), *operators[i + 1 :]]
                yield ast.Compare(left, changed, others)
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in ARITHMETIC:
            yield ast.BinOp(left, ARITHMETIC[type(operator)](), right)
        case ast.AugAssign(target=target, op=operator, value=value):
            yield ast.Pass()
            if type(operator) in ARITHMETIC:
                yield ast.AugAssign(target, ARITHMETIC[type(operator)](), value)
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            yield ast.Constant(value + 1)
            yield ast.Constant(value - 1)
        case ast.UnaryOp(operand=operand):
            yield operand
        case ast.BoolOp(op=operator, values=values):
            yield ast.BoolOp(ast.Or() if isinstance(operator, ast.And) else ast.And(), values)
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            yield ast.Return(ast.Constant(None))
        case ast.Expr(value=value) if not isinstance(value, ast.Constant):
            yield ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]) | ast.Raise():
            yield ast.Pass()
        case ast.Break():
            yield ast.Pass()
        case ast.Slice(lower=lower, upper=upper, step=step):
            yield ast.Slice(_shifted(lower, 1), upper, step)
            yield ast.Slice(lower, _shifted(upper, -1), step)
    if isinstance(node, ast.expr) and site.field in ("test", "ifs") and not _has_an_opposite(node):
        yield ast.UnaryOp(ast.Not(), node)


def _has_an_opposite(condition: ast.expr) -> bool:
    """Whether the changes above have its negation already."""
    if isinstance(condition, ast.Compare):
        return len(condition.ops) == 1 and not isinstance(condition.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE)
    return isinstance(condition, ast.Constant) or (
        isinstance(condition, ast.UnaryOp) and isinstance(condition.op, ast.Not)
    )


def _shifted(bound: ast.expr | None, step: int) -> ast.expr:
    if bound is None:
        return ast.Constant(step)
    return ast.BinOp(bound, ast.Add() if step > 0 else ast.Sub(), ast.Constant(1))


def sample(mutants: Iterable[Mutant], count: int | None, seed: int) -> list[Mutant]:
    """A sample of mutants, chosen by their names."""
    ranked = sorted(mutants, key=lambda mutant: hashlib.sha256(f"{seed} {mutant.name}".encode()).digest())
    return sorted(ranked[:count], key=lambda mutant: (mutant.module, mutant.line, mutant.name))


def equivalent_mutants(file: Path = EQUIVALENT) -> dict[str, str]:
    """The reason why no test can tell, for each name. A name is a line, its reason the indented lines below."""
    reasons: dict[str, str] = {}
    names: list[str] = []
    for line in file.read_text().splitlines() if file.exists() else []:
        if line.startswith("#") or not line.strip():
            names = []
        elif line.startswith(" "):
            reasons |= {name: f"{reasons[name]} {line.strip()}".strip() for name in names}
        else:
            names = names if names and not reasons[names[-1]] else []
            names.append(line.strip())
            reasons[line.strip()] = ""
    return reasons


# -- running ----------------------------------------------------------------------------------------------------------


class _MutatedCode(importlib.machinery.SourceFileLoader):
    """Loads a module from the copy, with other code."""

    def __init__(self, fullname: str, path: str, code: CodeType) -> None:
        super().__init__(fullname, path)
        self._code = code

    def get_code(self, fullname: str) -> CodeType:
        return self._code


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the one module that is mutated; all others come from the copy as they are."""

    def __init__(self, loader: _MutatedCode) -> None:
        self._loader = loader

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._loader.name:
            return None
        return importlib.machinery.ModuleSpec(fullname, self._loader, origin=self._loader.path)


class _Watch:
    """A pytest plugin: tells the parent what happens, and limits the processor time of each test."""

    def __init__(self, pipe: int, usual: dict[str, float] | None) -> None:
        self._pipe = pipe
        self._usual = usual
        self._started = 0.0

    def _tell(self, **facts: object) -> None:
        os.write(self._pipe, (json.dumps(facts) + "\n").encode())

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._started = time.process_time()
        limit = 600.0 if self._usual is None else 2.0 + 8.0 * self._usual.get(nodeid, 1.0)
        signal.setitimer(signal.ITIMER_PROF, limit)
        self._tell(running=nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self._tell(failed=report.nodeid)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self._tell(finished=nodeid, seconds=time.process_time() - self._started)

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self._tell(failed=f"import of {report.nodeid}")


@dataclass(frozen=True)
class Run:
    """What came of one run of the tests."""

    outcome: str  # passed, killed, timeout
    by: str  # the test that failed or did not end
    seconds: dict[str, float]  # of processor time, test by test


class Runner:
    """Runs tests on a copy of the project, each time in a fork of this process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for part in ("src", "tests"):
            shutil.copytree(PROJECT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(PROJECT / "pyproject.toml", folder)
        self.output = folder / "output.txt"
        self.usual: dict[tuple[str, ...], dict[str, float]] = {}

    def source(self, module: str) -> Path:
        return self.folder.joinpath("src", "rnncheck", *module.split(".")).with_suffix(".py")

    def on_mutant(self, mutant: Mutant, tests: tuple[str, ...]) -> Run:
        if tests not in self.usual:
            unchanged = self._run(tests, None, None)
            if unchanged.outcome != "passed":
                _say(self.output.read_text()[-3000:])
                raise SystemExit(f"{unchanged.by or ', '.join(tests)} fails on the unchanged source; mend that first")
            self.usual[tests] = unchanged.seconds
        path = str(self.source(mutant.module))
        finder = _Finder(_MutatedCode(f"rnncheck.{mutant.module}", path, mutant.code(path)))
        return self._run(tests, finder, self.usual[tests])

    def _run(self, tests: tuple[str, ...], finder: _Finder | None, usual: dict[str, float] | None) -> Run:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            self._inside(tests, finder, _Watch(writing, usual))
        os.close(writing)
        with open(reading, encoding="utf-8") as pipe:
            facts = [json.loads(line) for line in pipe]
        status = os.waitpid(child, 0)[1]
        failed = [fact["failed"] for fact in facts if "failed" in fact]
        running = [fact["running"] for fact in facts if "running" in fact]
        seconds = {fact["finished"]: fact["seconds"] for fact in facts if "finished" in fact}
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGPROF, signal.SIGALRM):
            return Run("timeout", running[-1] if running else "import", seconds)
        if status == 0:
            return Run("passed", "", seconds)
        return Run("killed", failed[0] if failed else "import", seconds)

    def _inside(self, tests: tuple[str, ...], finder: _Finder | None, watch: _Watch) -> NoReturn:
        """The child: never returns."""
        code = 3
        try:
            resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
            signal.setitimer(signal.ITIMER_PROF, 60.0)
            signal.alarm(NO_ANSWER)
            output = os.open(self.output, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
            for stream in (1, 2):
                os.dup2(output, stream)
            os.chdir(self.folder)
            sys.path[:0] = [str(self.folder / part) for part in ("src", "tests")]
            if finder is not None:
                sys.meta_path.insert(0, finder)
            _few_examples()
            code = self._pytest(tests, watch)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)

    def _pytest(self, tests: tuple[str, ...], watch: _Watch) -> int:
        import pytest

        plain = ["-o", "addopts=", "--assert=plain", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:cov"]
        options = ["-x", "-q", "--tb=short", *plain]
        chosen = ["-m", "not slow", "-k", " and ".join(f"not {name}" for name in LEFT_OUT)]
        for test in tests:  # one after the other, because most mutants do not get past the first
            if code := int(pytest.main([*options, *chosen, f"tests/{test}"], plugins=[watch])):
                return code
        return 0


def _few_examples() -> None:
    from hypothesis import Phase, settings

    importlib.import_module("strategies")  # loads a profile, which must not happen later

    settings.register_profile(
        "mutate",
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        phases=(Phase.explicit, Phase.generate),
    )
    settings.load_profile("mutate")


def _preload() -> None:
    """Import once, before the first fork, what all tests need and no mutant changes."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "PYTHONHASHSEED"):
        os.environ[name] = "1"
    for name in ("numpy", "hypothesis.strategies", "hypothesis.extra.numpy", "pytest", "unittest.mock", "msgspec"):
        importlib.import_module(name)


# -- report -----------------------------------------------------------------------------------------------------------


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _judge(runner: Runner, group: str, mutants: list[Mutant], say: Callable[[str], None]) -> Counter[str]:
    equivalent = equivalent_mutants()
    outcomes: Counter[str] = Counter()
    for mutant in mutants:
        run = runner.on_mutant(mutant, GROUPS[group][mutant.module])
        outcome = run.outcome
        if outcome == "passed":
            outcome = "equivalent" if mutant.name in equivalent else "survived"
        elif mutant.name in equivalent:
            say(f"killed by {run.by}, so not equivalent: {mutant.name}")
        outcomes[outcome] += 1
        say(f"{outcome:10} {mutant.line:4} {mutant.name}" + (f"   [{run.by}]" if run.by else ""))
    return outcomes


def _score(group: str, all_of_them: int, outcomes: Counter[str]) -> str:
    decided = outcomes["killed"] + outcomes["timeout"]
    fair = decided + outcomes["survived"]
    return (
        f"{group}: {outcomes.total()} of {all_of_them} mutants, {outcomes['killed']} killed, "
        f"{outcomes['timeout']} timed out, {outcomes['equivalent']} equivalent, {outcomes['survived']} survived; "
        f"score {decided / max(fair, 1):.1%}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--module", choices=sorted(GROUPS), action="append", help="all three, unless some are given")
    parser.add_argument("--sample", type=int, metavar="N", help="at most N mutants of each; all by default")
    parser.add_argument("--seed", type=int, default=8)
    parser.add_argument("--only", action="append", metavar="TEXT", help="mutants of the sample whose name holds this")
    parser.add_argument("--list", action="store_true", help="show the mutants and run nothing")
    parser.add_argument("--quiet", action="store_true", help="show only survivors and scores")
    options = parser.parse_args()
    _preload()
    scores, survivors = [], 0
    with tempfile.TemporaryDirectory(prefix="mutate-") as folder:
        runner = Runner(Path(folder))
        for group in options.module or GROUPS:
            everything = [
                mutant for module in GROUPS[group] for mutant in mutants_of(module, runner.source(module).read_text())
            ]
            chosen = sample(everything, options.sample, options.seed)
            chosen = [mutant for mutant in chosen if any(text in mutant.name for text in options.only or [""])]
            if options.list:
                for mutant in chosen:
                    _say(f"{mutant.line:4} {mutant.name}")
                continue

            def say(text: str) -> None:
                if not options.quiet or text.startswith("survived"):
                    _say(text)

            outcomes = _judge(runner, group, chosen, say)
            survivors += outcomes["survived"]
            scores.append(_score(group, len(everything), outcomes))
            _say(scores[-1])
    if len(scores) > 1:
        _say("\n".join(scores))
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
