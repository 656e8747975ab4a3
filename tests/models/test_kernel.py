"""The compiled kernel computes what the numpy layers compute, is loaded only where that is safe, and never needed."""

from __future__ import annotations

import itertools
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rnncheck import Spec, verify, zoo
from rnncheck.errors import ModelError
from rnncheck.models.engine import check_words, compiled, kernel_rows, self_check_cache
from rnncheck.models.engine import kernel as kernels
from rnncheck.models.engine.compiled import CompiledNetwork
from rnncheck.models.engine.kernel import SWITCH, Kernel, usable_kernel
from rnncheck.models.engine.kernel_rows import KernelRows
from rnncheck.models.engine.stepped_reference import SteppedReference
from rnncheck.models.network import Cell, RecurrentNetwork
from rnncheck.verification.verify_settings import VerifySettings
from rnncheck.words import WordBatch
from support.networks import random_network

TANH, SIGMOID = 6 * 2.0**-24, 4 * 2.0**-24  # what docs/query-engine.md says; docs/proofs.md assumes 8 of both


@pytest.fixture
def kernel() -> Kernel:
    found = usable_kernel(keep=True)
    if found is None:
        pytest.skip("no compiled kernel here: no C compiler, or another processor than x86-64 with AVX2")
    return found


@pytest.fixture
def anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """Nothing is loaded yet, and the cache is empty: its folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(SWITCH, raising=False)
    kernels._load.cache_clear()
    yield tmp_path / "cache" / "rnncheck" / "kernels"
    kernels._load.cache_clear()


def without_kernel(network: RecurrentNetwork) -> CompiledNetwork:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(SWITCH, "off")
        return CompiledNetwork(network)


def check_tanh(kernel: Kernel, x: np.ndarray) -> None:
    ours = kernel.tanh(x)
    assert np.abs(ours - np.tanh(x.astype(np.float64))).max() <= TANH
    assert np.abs(ours).max() <= 1
    sigmoid = np.float32(0.5) + np.float32(0.5) * kernel.tanh(x * np.float32(0.5))
    with np.errstate(over="ignore"):
        assert np.abs(sigmoid - 1 / (1 + np.exp(-x.astype(np.float64)))).max() <= SIGMOID


def test_tanh_and_sigmoid_are_as_near_as_proofs_assume(kernel: Kernel) -> None:
    every_so_manieth = np.arange(0, 0x7F800000, 10_007, dtype=np.uint32).view(np.float32)  # up to the largest
    check_tanh(kernel, np.concatenate([every_so_manieth, -every_so_manieth]))
    edges = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 9.02, 9.03], dtype=np.float32)
    np.testing.assert_allclose(kernel.tanh(edges), np.tanh(edges), atol=TANH)


@pytest.mark.slow
def test_tanh_and_sigmoid_of_every_number(kernel: Kernel) -> None:
    """Beyond these, tanh(x) is x or 1 to all digits."""
    least, most = (int(np.float32(bound).view(np.uint32)) for bound in (2.0**-13, 20.0))
    for start in range(least, most, 1 << 22):
        some = np.arange(start, min(most, start + (1 << 22)), dtype=np.uint32).view(np.float32)
        check_tanh(kernel, some)
        check_tanh(kernel, -some)


@pytest.mark.parametrize("cell", Cell)
@pytest.mark.parametrize("hidden", [(1,), (7,), (8,), (16,), (17, 15), (5, 9, 3), (33, 64), (65,), (100, 130)])
def test_it_computes_what_the_numpy_layers_compute(kernel: Kernel, cell: Cell, hidden: tuple[int, ...]) -> None:
    network = random_network(cell, hidden, seed=2)
    ours, plain = CompiledNetwork(network), without_kernel(network)
    rng = np.random.default_rng(1)
    for rows in (1, 5, 95, 96, 97, 200):
        states = mine = plain.initial(rows)
        for _ in range(4):
            letters = rng.integers(len(network.alphabet), size=rows)
            states, mine = plain.step(states, letters), ours.step(mine, letters)
        siblings, each = np.repeat(np.arange(rows), 3), np.tile(np.arange(3), rows)
        mine, states = ours.step(mine, each, siblings), plain.step(states, each, siblings)
        np.testing.assert_allclose(mine, states, atol=3e-6)
        np.testing.assert_allclose(ours.scores(mine), plain.scores(states), atol=1e-5)


@pytest.mark.parametrize("most_products", [1, 1 << 33])
def test_a_wrong_weight_is_seen_by_the_self_check(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch, most_products: int
) -> None:
    monkeypatch.setattr(check_words, "_MOST_PRODUCTS", most_products)  # with one: as of a large network

    def broken(*arguments: Any) -> object:
        rows = KernelRows(*arguments)
        rows.numbers[0]["own"][0, 1, 0, 0] += 0.1
        return rows

    monkeypatch.setattr(compiled, "KernelRows", broken)
    model = CompiledNetwork(random_network(Cell.LSTM, (5, 4), seed=8), cache=False)
    assert "kernel" not in model.describe()["queries"]  # numpy takes its place


def test_states_that_cannot_be_written_and_none_at_all_are_read(kernel: Kernel) -> None:
    """Should find the numbers of every array: read-only, transposed, in other types, empty."""
    model = CompiledNetwork(random_network(Cell.LSTM, (5,), seed=9), threads=1)
    letters = np.array([2, 0, 1])
    states = model.step(model.initial(3), letters)
    expected = model.step(states, letters)
    frozen, turned = states.copy(), np.asfortranarray(states)
    frozen.flags.writeable = False
    for same in (frozen, turned, states.astype(np.float64), np.repeat(states, 2, axis=0)[::2]):
        assert np.array_equal(model.step(same, letters), expected)
    letters.flags.writeable = False
    assert np.array_equal(model.step(frozen, letters, np.array([0, 1, 2])), expected)
    assert np.array_equal(model.step(frozen, letters.astype(np.int8)), expected)
    assert model.step(states[:0], letters[:0]).shape == states[:0].shape
    assert model.prefix_scores(WordBatch.from_codes([(), ()])).shape == (0,)
    assert SteppedReference(model.network).prefix_scores(WordBatch.from_codes([(), ()])).shape == (0,)


@pytest.mark.parametrize("cell", Cell)
def test_a_row_is_computed_by_itself(kernel: Kernel, cell: Cell) -> None:
    """Bit by bit the same alone, among others, with siblings, on two threads."""
    network = random_network(cell, (33, 20), seed=3)
    model, letters = CompiledNetwork(network, threads=1), len(network.alphabet)
    rng = np.random.default_rng(4)
    states = model.step(model.initial(150), rng.integers(letters, size=150))
    rows, each = np.repeat(np.arange(150), letters), np.tile(np.arange(letters), 150)
    together = model.step(states, each, rows)
    assert np.array_equal(together, model.step(states[rows], each))
    assert np.array_equal(together, model.with_threads(2).step(states, each, rows))
    for row in (0, 95, 96, 449):
        assert np.array_equal(together[[row]], model.step(states[rows[[row]]], each[[row]]))
    words = WordBatch.from_codes([rng.integers(letters, size=1 + number % 40).tolist() for number in range(150)])
    scores = model.prefix_scores(words)
    for word in (0, 38, 149):
        alone = model.prefix_scores(words.take(np.array([word])))
        assert np.array_equal(scores[words.offsets[word] : words.offsets[word + 1]], alone)


@pytest.mark.parametrize("cell", Cell)
@pytest.mark.parametrize("hidden", [(17, 15), (5, 9, 3), (70, 33)])
def test_few_words_are_read_as_they_would_be_stepped(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch, cell: Cell, hidden: tuple[int, ...]
) -> None:
    """Bit by bit: alone or together, of many letters, cut into calls of any size, and longer than one block."""
    model = CompiledNetwork(random_network(cell, hidden, seed=7), threads=1)
    rng = np.random.default_rng(3)
    words = WordBatch.from_codes([rng.integers(3, size=size).tolist() for size in (1, 97, 230, 96, 0, 12, 96, 2, 99)])
    found, ticks = [], []
    for few, at_once in ((0, 1), (8, 1 << 26), (8, 1), (1, 1), (9, 10_000)):  # the first: all of them stepped
        monkeypatch.setattr(kernel_rows, "_FEW_ROWS", few)
        monkeypatch.setattr(kernel_rows, "_PRODUCTS_AT_ONCE", at_once)
        counted: list[int] = []
        found.append(model.prefix_scores(words, counted.append))
        assert sum(counted) == len(words.codes)
        ticks.append(len(counted))
    assert all(np.array_equal(scores, found[0]) for scores in found)
    assert ticks[0] == 230
    assert ticks[1] <= 7  # of different lengths


@pytest.mark.parametrize("cell", [Cell.GRU, Cell.LSTM])
def test_no_bit_depends_on_threads_or_on_who_else_asks(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch, cell: Cell
) -> None:
    """Two callers at a time, one of which finds the kernel's threads taken."""
    monkeypatch.setattr(kernel_rows, "TOO_LITTLE_TO_SPLIT", 1)
    network = random_network(cell, (17, 9), seed=6)
    models = [CompiledNetwork(network, threads=threads) for threads in (1, 2, 3, 100)]
    rng = np.random.default_rng(0)
    states = models[0].step(models[0].initial(400), rng.integers(3, size=400))
    rows, letters = np.sort(rng.integers(400, size=1000)), rng.integers(3, size=1000)
    words = WordBatch.from_codes([rng.integers(3, size=size).tolist() for size in rng.integers(30, size=300)])
    after, scores = models[0].step(states, letters, rows), models[0].prefix_scores(words)

    def the_same(model: CompiledNetwork) -> bool:
        again, along = model.step(states, letters, rows), model.prefix_scores(words)
        return np.array_equal(after, again) and np.array_equal(scores, along)

    with ThreadPoolExecutor(3) as callers:
        assert all(callers.map(the_same, models * 10))


def test_a_fork_has_threads_of_its_own(kernel: Kernel) -> None:
    """The kernel's threads are not copied, whatever they were doing; a step that waited for one would never end."""
    script = """if True:
        import os, sys, threading
        import numpy as np
        from rnncheck.models.engine.compiled import CompiledNetwork
        from rnncheck.models.network import Cell
        from support.networks import random_network

        model = CompiledNetwork(random_network(Cell.LSTM, (64,)), threads=3)
        states, letters = model.initial(2000), np.arange(2000) % 3
        after, ended = model.step(states, letters), False

        def work():
            while not ended:
                model.step(states, letters)

        other = threading.Thread(target=work)
        other.start()
        for _ in range(5):
            child = os.fork()
            if not child:
                os._exit(0 if np.array_equal(after, model.step(states, letters)) else 1)
            assert os.waitpid(child, 0)[1] == 0
        ended = True
        other.join()
    """
    path = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script], check=True, timeout=60, env={**os.environ, "PYTHONPATH": path}
    )


def test_rows_that_there_are_not_are_refused(kernel: Kernel) -> None:
    model = CompiledNetwork(random_network(Cell.LSTM, (5,)))
    states, letters = model.initial(3), np.array([0, 1])
    for rows in ([0, 3], [-1, 0], [0]):
        with pytest.raises(ModelError, match="of 3 states for 2 letters"):
            model.step(states, letters, np.array(rows))
    with pytest.raises(ModelError, match="have 11 numbers"):
        model.step(states[:, 1:], np.array([0, 1, 2]))


@pytest.mark.parametrize("cell", Cell)
def test_states_of_any_memory_order_and_type_are_taken(kernel: Kernel, cell: Cell) -> None:
    model = CompiledNetwork(random_network(cell, (9, 4)))
    states = model.step(model.initial(40), np.arange(40) % 3)
    rows, each = np.repeat(np.arange(40), 3), np.tile(np.arange(3), 40)
    after = model.step(states, each, rows)
    for other in (np.asfortranarray(states), states.astype(np.float64)):
        assert np.array_equal(after, model.step(other, each.astype(np.int32), rows))


def test_values_that_overflow_stay_no_numbers(kernel: Kernel) -> None:
    model = CompiledNetwork(random_network(Cell.RNN_RELU, (5,)))
    states = model.initial(2)
    states[1, 2] = np.nan
    assert np.isnan(model.step(states, np.array([0, 0]))[1, 1:]).all()


@pytest.mark.parametrize("cell", Cell)
def test_answers_do_not_depend_on_it(kernel: Kernel, cell: Cell) -> None:
    network = random_network(cell, (12, 6), seed=5, scale=2.0)
    words = [word for length in range(8) for word in itertools.product(range(len(network.alphabet)), repeat=length)]
    batch = WordBatch.from_codes(words)
    assert np.array_equal(CompiledNetwork(network).accepts_batch(batch), without_kernel(network).accepts_batch(batch))


def test_a_verdict_names_its_evaluator_and_no_checkpoint_takes_one_for_the_other(kernel: Kernel) -> None:
    network = random_network(Cell.GRU, (6,), seed=1)
    ours, plain = CompiledNetwork(network), without_kernel(network)
    assert ours.describe()["queries"] == "stepped, float32, compiled kernel"
    assert plain.describe()["queries"] == "stepped, float32"
    assert ours.fingerprint() != plain.fingerprint()
    verdicts = [verify(model, Spec.from_regex("(a|b|c)*", model.alphabet)) for model in (ours, plain)]
    assert {verdict.outcome for verdict in verdicts} == {verdicts[0].outcome}


def test_double_precision_is_numpys() -> None:
    network = random_network(Cell.GRU, (6,))
    assert CompiledNetwork(network, dtype=np.float64).describe()["queries"] == "stepped, float64"


def counting_compiler(folder: Path, then: str) -> Path:
    """A ``cc`` that notes its calls and goes on with ``then``; alone on the path. The notes."""
    folder.mkdir()
    calls = folder / "calls"
    path = folder / "cc"
    path.write_text(f"#!/bin/sh\necho called >> {calls}\n{then}\n")
    path.chmod(0o755)
    return calls


def real_compiler() -> str:
    return f'exec {next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))))} "$@"'


def test_it_is_compiled_once_and_kept(
    kernel: Kernel, anew: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = counting_compiler(tmp_path / "bin", real_compiler())
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    for _ in range(2):
        assert usable_kernel(keep=True) is not None
        kernels._load.cache_clear()
    (library,) = anew.iterdir()
    assert stat.S_IMODE(library.stat().st_mode) == 0o600
    assert calls.read_text() == "called\n"


def test_without_the_cache_nothing_is_kept(kernel: Kernel, anew: Path) -> None:
    model = CompiledNetwork(random_network(Cell.GRU, (6,)), cache=False)
    assert "kernel" in model.describe()["queries"]
    assert not anew.exists()


@pytest.mark.parametrize("compiler", ["exit 1", "exit 0", "echo nonsense > kernel.so"])
def test_a_compiler_that_does_not_compile(
    anew: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiler: str
) -> None:
    calls = counting_compiler(tmp_path / "bin", compiler)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    model = CompiledNetwork(random_network(Cell.LSTM, (6,)))
    assert model.describe()["queries"] == "stepped, float32"
    assert calls.exists() or kernels._instructions() is None


def test_no_compiler_no_kernel(anew: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert usable_kernel(keep=True) is None


def test_it_is_switched_off_by_the_environment(anew: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SWITCH, "OFF")
    assert usable_kernel(keep=True) is None
    assert not anew.exists()


@pytest.mark.parametrize("writable", ["folder", "file"])
def test_what_others_could_have_written_is_not_loaded(kernel: Kernel, anew: Path, writable: str) -> None:
    assert usable_kernel(keep=True) is not None
    (library,) = anew.iterdir()
    (anew if writable == "folder" else library).chmod(0o777)
    kernels._load.cache_clear()
    assert usable_kernel(keep=True) is None


@pytest.mark.parametrize(
    "damage", [lambda content: content[:-5000], lambda content: content[:99] + b"?" + content[100:]]
)
def test_a_damaged_library_is_not_used(kernel: Kernel, anew: Path, damage: Callable[[bytes], bytes]) -> None:
    assert usable_kernel(keep=True) is not None
    (library,) = anew.iterdir()
    content = library.read_bytes()
    library.unlink()  # not written over: it is mapped
    library.write_bytes(damage(content))
    library.chmod(0o600)
    kernels._load.cache_clear()
    assert usable_kernel(keep=True) is None


def test_a_kernel_that_computes_something_else_is_not_used(
    kernel: Kernel, anew: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Kernel, "tanh", lambda self, x: np.tanh(x) + np.float32(1e-6))
    assert usable_kernel(keep=True) is None


@pytest.mark.parametrize(
    ("features", "flag"),
    [({"X86_V3", "X86_V4"}, "v4"), ({"AVX2", "FMA3", "AVX512_SKX"}, "v4"), ({"AVX2", "FMA3"}, "v3"), ({"AVX2"}, None)],
)
def test_instructions_are_those_of_the_processor(
    monkeypatch: pytest.MonkeyPatch, features: set[str], flag: str | None
) -> None:
    monkeypatch.setattr(kernels, "processor_features", lambda: frozenset(features))
    monkeypatch.setattr("platform.system", lambda: "Linux")
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    found = kernels._instructions()
    assert (found is None) if flag is None else (found is not None and found[0].endswith(flag))
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    assert kernels._instructions() is None


def test_a_processor_with_nothing_beyond_the_common_instructions(monkeypatch: pytest.MonkeyPatch) -> None:
    """numpy leaves out of its configuration what is empty."""
    monkeypatch.setattr(np, "show_config", lambda mode: {"SIMD Extensions": {"baseline": ["X86_V2"]}})
    assert self_check_cache.processor_features() == frozenset()
    assert kernels._instructions() is None


def test_it_is_nobody_elses_from_the_first_moment(kernel: Kernel, anew: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the umask: another process may look at once, and this one may end at any time."""
    modes = []
    replace = os.replace

    def watched(source: Path, target: Path) -> None:
        replace(source, target)
        modes.append(stat.S_IMODE(os.stat(target).st_mode))

    monkeypatch.setattr(os, "replace", watched)
    before = os.umask(0)
    try:
        assert usable_kernel(keep=True) is not None
    finally:
        os.umask(before)
    assert modes == [0o600]


def test_what_is_loaded_is_what_was_looked_at(
    kernel: Kernel, anew: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folders above may be others' to write: they may put another file there between the look and the loading."""
    assert usable_kernel(keep=True) is not None
    kernels._load.cache_clear()
    load, loaded = Kernel.__init__, []

    def after_a_swap(self: Kernel, path: Path, digest: str) -> None:
        anew.rename(tmp_path / "away")
        anew.mkdir()
        (anew / f"{digest}.so").write_bytes(b"theirs")
        loaded.append(path.read_bytes())
        load(self, path, digest)

    monkeypatch.setattr(Kernel, "__init__", after_a_swap)
    assert usable_kernel(keep=True) is not None
    assert loaded != [b"theirs"]


def test_a_compiler_that_hangs(anew: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counting_compiler(tmp_path / "bin", "exec sleep 60")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    monkeypatch.setattr(kernels, "_SECONDS", 0.1)
    assert usable_kernel(keep=True) is None


def test_importing_compiles_nothing(tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    subprocess.run([sys.executable, "-c", "import rnncheck.models.engine.compiled"], check=True, env=environment)
    assert not (tmp_path / "rnncheck").exists()


@pytest.mark.parametrize("cache", [False, True])
def test_a_kernel_that_is_too_far_from_the_reference_gives_way_to_numpy(
    kernel: Kernel, anew: Path, monkeypatch: pytest.MonkeyPatch, cache: bool
) -> None:
    """Should not refuse a network that carries roundings on, where numpy's are small enough."""

    def imprecise(advance: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *arguments: advance(*arguments) + np.float32(0.01)

    for name in ("step", "run"):
        monkeypatch.setattr(KernelRows, name, imprecise(getattr(KernelRows, name)))
    network = random_network(Cell.LSTM, seed=1, hidden=(7,))
    model = CompiledNetwork(network, cache=cache)
    assert "kernel" not in model.describe()["queries"]
    assert model.self_check == without_kernel(network).self_check
    words = WordBatch.from_codes(list(itertools.product(range(len(network.alphabet)), repeat=4)))
    assert np.array_equal(model.prefix_scores(words), without_kernel(network).prefix_scores(words))


def test_a_verification_costs_as_many_steps_without_the_kernel(kernel: Kernel) -> None:
    """Scores differ in the last bits, so searches visit other words of the same lengths; the count shows none of it.

    A loop is repeated until a state is the same to the last bit, so its steps are left out.
    """
    entry = zoo.entry("even-elman")
    few = {"epsilon": 0.05, "gamma": 0.05, "settings": VerifySettings(search_steps=20_000)}
    ours, plain = (verify(make(entry.network()), entry.spec(), **few) for make in (CompiledNetwork, without_kernel))
    assert ours.cost.membership_queries == plain.cost.membership_queries
    steps, plain_steps = (verdict.cost.network_steps - verdict.searched.loop_steps for verdict in (ours, plain))
    assert steps == plain_steps
