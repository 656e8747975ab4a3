"""A user's ``torch.nn.Module`` as it is.

The reference of such a model is the module's own ``forward`` on a word alone, in evaluation mode. Where the module
turns out to be recurrent layers with a linear layer after them, it is compiled and stepped; otherwise its forward is
called on whole words. The module itself is never changed: mode, parameters, hooks and random state stay as they are.
"""

from __future__ import annotations

import contextlib
import hashlib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from rnncheck.errors import ModelError, RnncheckError
from rnncheck.models.conventions import (
    EMPTY_WORD_REJECTED,
    Convention,
    Encode,
    find_convention,
    layouts,
    row_of_first_letter,
    rows_of,
)
from rnncheck.models.identity import digest_of, without_digest
from rnncheck.models.protocol import Model
from rnncheck.models.self_check import MismatchError, NetworkParts, Reading, compile_checked, probability_by_range
from rnncheck.models.torch.letter_flow import Spoiling, check_letter_flow, rows_to_spoil
from rnncheck.models.torch.script import followed, is_scripted, layers_called, parts_for_digest
from rnncheck.models.torch.tracing import (
    Call,
    Recorder,
    first_input,
    last_function,
    logits_of,
    looks_at_values,
    parts_of,
)
from rnncheck.models.whole_words import DEFAULT_BATCH, Decision, Outputs, WholeWords, calibrated
from rnncheck.runtime.watchdog import guarded
from rnncheck.words import Alphabet, Codes, IntArray, Word

_FLOW_LETTERS = 5  # of the word on which the way of letters is followed

EncodeWords = Callable[[list[Word]], Any]


@dataclass(frozen=True)
class ModuleOptions:
    """What a user may say about a module; see :func:`rnncheck.models.wrapping.wrap`."""

    reading: Reading
    encode: EncodeWords | None = None
    first_row: int | None = None
    empty: bool | None = None
    batch_size: int = DEFAULT_BATCH
    seed: int = 0
    notes: tuple[str, ...] = ()
    fingerprint: str | None = None


def wrap_module(module: torch.nn.Module, alphabet: Alphabet, options: ModuleOptions) -> Model:
    """The module as a model: compiled and stepped where its forward allows it, called on whole words otherwise."""
    rng = np.random.default_rng(options.seed)
    asker = Asker(module)
    candidates, notes = _candidates(module, alphabet, options)
    notes += options.notes
    convention = find_convention(asker, candidates, len(alphabet), rng)
    evaluate = Evaluator(asker, convention, options.fingerprint)
    empty = _empty_answer(evaluate, options.empty, notes)
    facts = {
        "kind": "TorchScript module" if is_scripted(module) else "PyTorch module",
        "name": module.original_name if is_scripted(module) else type(module).__name__,
        "input": convention.note,
        "reference": "the module's own forward on the word alone, in evaluation mode",
        "sha256": _digest(module),
        "notes": notes,
    }
    try:
        parts = _parts(evaluate, len(alphabet))
        return compile_checked(parts, evaluate, alphabet, options.reading, empty, facts, rng)
    except MismatchError as reason:
        facts["stepping"] = f"not possible: {reason}"
    decision = _decision(evaluate, len(alphabet), options.reading, notes, rng)
    most = options.batch_size if convention.batched and not evaluate.looks_at_values(rng, len(alphabet)) else 1
    batch_size, margin = calibrated(evaluate, decision, len(alphabet), most, rng)
    if batch_size < options.batch_size:
        notes.append("words are asked one at a time, since answers would change if they were asked together")
    return WholeWords(alphabet, evaluate, decision, empty=empty, batch_size=batch_size, margin=margin, facts=facts)


def load_script(path: Path, alphabet: Alphabet, options: ModuleOptions) -> Model:
    """The TorchScript module in a file, which is a program and is run; it is on the CPU, whatever it was saved on."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # TorchScript is old, which whoever has a file of it cannot change now
            module = torch.jit.load(str(path), map_location="cpu")
    except Exception as error:  # a damaged file can fail anywhere inside the reader
        text = " ".join(str(error).split())[:200]
        raise ModelError(f"is no TorchScript file that PyTorch {torch.__version__} reads ({text})") from None
    return wrap_module(module, alphabet, options)


def understood(
    module: torch.nn.Module, alphabet: Alphabet, options: ModuleOptions
) -> tuple[Asker, Encode, Decision, bool]:
    """How a module is called on words, what its outputs mean, and whether it takes the empty word."""
    rng = np.random.default_rng(options.seed)
    asker = Asker(module)
    convention = find_convention(asker, _candidates(module, alphabet, options)[0], len(alphabet), rng)
    evaluate = Evaluator(asker, convention)
    decision = _decision(evaluate, len(alphabet), options.reading, [], rng)
    return asker, convention.encode, decision, _empty_answer(evaluate, options.empty, []) is None


class Asker:
    """Calls a module in evaluation mode and leaves it as it was."""

    def __init__(self, module: torch.nn.Module) -> None:
        if any(map(torch.nn.parameter.is_lazy, module.parameters())):
            raise ModelError("the module has parameters without values (lazy layers); call it once before wrapping it")
        self.module = module
        self._calls = 0
        self._parameters = self._fingerprint()

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._parameters = self._fingerprint()  # a copy in another process has other addresses

    def __call__(self, arguments: Any) -> npt.NDArray[Any]:
        """The module's raw output."""
        with self._evaluation():
            return _as_numbers(_first_tensor(self._called(self._tensors(arguments))))

    def watched(self, arguments: Any) -> tuple[npt.NDArray[Any], Sequence[Call], Any]:
        """The raw output, the functions that were called, and the output as a tensor."""
        with self._evaluation():
            tensors = self._tensors(arguments)
            with Recorder() as recorder:
                output = self._watched(tensors)
            tensor = _first_tensor(output)
            own = _first_tensor(self._called(tensors)) if is_scripted(self.module) else tensor
            return _as_numbers(own), recorder.calls, tensor

    def with_gradients(self, arguments: Any) -> Any:
        """The tensor that holds the answers, from which gradients lead back; the parameters may have changed."""
        self._parameters = self._fingerprint()
        with self._evaluation(gradients=True):
            return _first_tensor(self._called(self._tensors(arguments)))

    def check_letter_flow(self, arguments: Any) -> None:
        """Refuse a module in which letters reach more than one place of the recurrent layer's input."""
        rows = [0]
        while rows:
            with self._evaluation():
                mode = Spoiling(rows[0])
                tensors = mode.spoilt(self._tensors(arguments))
                with mode:
                    output = self._watched(tensors)
                check_letter_flow(mode, _first_tensor(output))
            rows = rows[1:] if rows[0] else rows_to_spoil(mode.rows)[1:]

    def _called(self, tensors: list[Any]) -> Any:
        return guarded(lambda: self.module(*tensors), lambda: f"{type(self.module).__name__} was being called")

    def _watched(self, tensors: list[Any]) -> Any:
        """The same, so that every function of PyTorch is seen."""
        if not is_scripted(self.module):
            return self._called(tensors)
        return guarded(lambda: followed(self.module, tensors), lambda: "a TorchScript module was being followed")

    @contextlib.contextmanager
    def _evaluation(self, *, gradients: bool = False) -> Iterator[None]:
        if self._fingerprint() != self._parameters:
            raise ModelError("the module's parameters have changed since it was wrapped; wrap it again")
        modes = [(part, part.training) for part in self.module.modules()]
        device = self._device()
        devices = [device] if device.type == "cuda" else []
        try:
            with torch.inference_mode(not gradients), torch.random.fork_rng(devices=devices):
                self._calls += 1  # another seed each time: a module that draws random numbers shows it
                torch.default_generator.manual_seed(self._calls)
                for part, _ in modes:
                    part.training = False
                yield
        finally:
            for part, training in modes:
                part.training = training

    def _fingerprint(self) -> list[tuple[int, int]]:
        """Changes when a parameter is replaced or changed in place."""
        return [
            (parameter.data_ptr(), 0 if parameter.is_inference() else parameter._version)
            for parameter in self.module.parameters()
        ]

    def _device(self) -> Any:
        first = next(self.module.parameters(), None)
        return torch.device("cpu") if first is None else first.device

    def _tensors(self, arguments: Any) -> list[Any]:
        given = arguments if isinstance(arguments, tuple) else (arguments,)
        return [self._tensor(value) for value in given]

    def _tensor(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            tensor = torch.from_numpy(value)
            first = next(self.module.parameters(), None)
            if tensor.is_floating_point() and first is not None and first.is_floating_point():
                tensor = tensor.to(first.dtype)
            return tensor.to(self._device())
        return value.to(self._device()) if isinstance(value, torch.Tensor) else value


class Evaluator:
    """Words of equal length to outputs, by the module's forward."""

    def __init__(self, asker: Asker, convention: Convention, fingerprint: str | None = None) -> None:
        self.asker = asker
        self.convention = convention
        self.fingerprint = fingerprint

    def __call__(self, codes: IntArray) -> Outputs:
        with _telling(codes):
            return rows_of(self.asker(self.convention.encode(codes)), len(codes))

    def identity(self) -> str:
        """Of a TorchScript program, and of how words are put to it; of any other module, what its owner says of it.

        Its weights count beside that: they can be seen.
        """
        module = self.asker.module
        if self.fingerprint is not None:
            return digest_of("module", self.fingerprint, _digest(module), self.convention.note)
        if not is_scripted(module):
            raise without_digest(f"the code of the module {type(module).__name__}")
        return digest_of("TorchScript", *parts_for_digest(module), self.convention.encode)

    def see(self, word: Codes) -> tuple[Outputs, Outputs]:
        """The logits and the outputs for one word."""
        raw, calls, _ = self.watched(word)
        return logits_of(calls, self.convention.outputs), rows_of(raw, 1)[0]

    def looks_at_values(self, rng: np.random.Generator, letters: int) -> bool:
        """Whether the module's Python code does, on words of every length up to 40."""
        words = (rng.integers(letters, size=length).tolist() for length in range(1, 41))
        try:
            return any(looks_at_values(self.calls(tuple(word))) for word in words)
        except MismatchError:  # TorchScript that cannot be followed may
            return True

    def together(self, letters: int) -> int:
        """How many words may be asked in one call, as far as its code tells."""
        rng = np.random.default_rng(0)
        return DEFAULT_BATCH if self.convention.batched and not self.looks_at_values(rng, letters) else 1

    def calls(self, word: Codes) -> Sequence[Call]:
        """What the module calls for one word."""
        return self.watched(word)[1]

    def check_letter_flow(self, word: Codes) -> None:
        """Refuse a module in which a letter of this word has an effect but through the recurrent layer."""
        codes = np.array([word], dtype=np.int64)
        with _telling(codes):
            self.asker.check_letter_flow(self.convention.encode(codes))

    def watched(self, word: Codes) -> tuple[npt.NDArray[Any], Sequence[Call], Any]:
        """The raw output for one word, the functions that were called, and the output as a tensor."""
        codes = np.array([word], dtype=np.int64)
        with _telling(codes):
            return self.asker.watched(self.convention.encode(codes))


@contextlib.contextmanager
def _telling(codes: IntArray) -> Iterator[None]:
    """Whatever a user's forward raises becomes an error about the model."""
    try:
        yield
    except (RnncheckError, MismatchError):
        raise
    except Exception as error:
        text = " ".join(str(error).split())
        raise ModelError(
            f"the module raised {type(error).__name__} for {len(codes)} words of {codes.shape[1]} letters: {text}; "
            "let it take words of every length (empty=True or False says what the empty word is)"
        ) from error


class _ByUser:
    """A user's own encoding of words."""

    def __init__(self, encode: EncodeWords, alphabet: Alphabet) -> None:
        self._encode = encode
        self._alphabet = alphabet

    def __call__(self, codes: IntArray) -> Any:
        return self._encode([self._alphabet.decode(row) for row in codes.tolist()])


def _candidates(
    module: torch.nn.Module, alphabet: Alphabet, options: ModuleOptions
) -> tuple[list[tuple[Encode, bool, str]], list[str]]:
    """The ways to encode words that are worth trying, and what had to be assumed."""
    if options.encode is not None:
        return [(_ByUser(options.encode, alphabet), True, "by the function given as encode")], []
    letters = len(alphabet)
    recurrent = [part for part in module.modules() if isinstance(part, torch.nn.RNNBase)]
    recurrent += layers_called(module, ("RNN", "GRU", "LSTM"))
    time_first = bool(recurrent) and not getattr(recurrent[0], "batch_first", True)  # a trace does not say it
    embedding = _embedding(module, letters)
    if embedding is not None:
        rows, padding = len(embedding.weight), getattr(embedding, "padding_idx", None)
        first_row, note = row_of_first_letter(letters, rows, padding, options.first_row)
        found = layouts(letters, ids=True, first_row=first_row, rows=rows, time_first=time_first)
    else:
        width = int(recurrent[0].weight_ih_l0.shape[1]) if recurrent else 0
        note, first_row, rows = None, options.first_row or 0, letters + (options.first_row or 0)
        if width == letters + 1:  # one column more than letters
            rows = width
            first_row, note = row_of_first_letter(letters, rows, None, options.first_row, "one-hot input")
        found = layouts(letters, ids=False, first_row=first_row, rows=rows, time_first=time_first)
    return [(layout.encode, layout.batched, str(layout)) for layout in found], [note] if note else []


def _embedding(module: torch.nn.Module, letters: int) -> Any:
    """The embedding of letters: the one with a row for each, or else the first."""
    embeddings = [part for part in module.modules() if isinstance(part, torch.nn.Embedding | torch.nn.EmbeddingBag)]
    embeddings += layers_called(module, ("Embedding", "EmbeddingBag"))
    fitting = [part for part in embeddings if len(part.weight) in (letters, letters + 1)]
    return next(iter([*fitting, *embeddings]), None)


def _empty_answer(evaluate: Evaluator, asked: bool | None, notes: list[str]) -> bool | None:
    """What to answer to the empty word where the module is not asked; None where it can be."""
    if asked is not None:
        notes.append(f"the empty word is {'accepted' if asked else 'rejected'}, as empty={asked} says")
        return asked
    try:
        outputs = evaluate(np.zeros((1, 0), dtype=np.int64))
    except ModelError:
        takes_it = False
    else:
        takes_it = outputs.shape == (1, evaluate.convention.outputs) and bool(np.isfinite(outputs).all())
    if takes_it:
        return None
    notes.append(f"the module does not take the empty word; {EMPTY_WORD_REJECTED}")
    return False


def _parts(evaluate: Evaluator, letters: int) -> NetworkParts:
    calls = [evaluate.calls((letter,)) for letter in range(letters)]
    vectors = [first_input(of_letter) for of_letter in calls]
    if len({vector.shape for vector in vectors}) > 1:
        raise MismatchError("its recurrent layer is not fed one vector per letter")
    parts = parts_of(calls[0], np.stack(vectors))
    evaluate.check_letter_flow(tuple(letter % letters for letter in range(_FLOW_LETTERS)))
    return parts


def _decision(
    evaluate: Evaluator, letters: int, reading: Reading, notes: list[str], rng: np.random.Generator
) -> Decision:
    """What the outputs mean, where the module could not be compiled."""
    outputs = evaluate.convention.outputs
    probability = reading.probability
    if outputs == 1 and probability is None:
        with contextlib.suppress(MismatchError):
            _, calls, tensor = evaluate.watched(tuple(rng.integers(letters, size=3).tolist()))
            probability = {"sigmoid": True, "sigmoid_": True, "linear": False}.get(last_function(calls, tensor))
    if outputs == 1 and probability is None:
        probability = probability_by_range(evaluate, letters, rng)
        what = "a probability" if probability else "a logit"
        notes.append(f"the output is taken for {what}, by its range on 32 words (output='probability' or 'logit')")
    return reading.decision(outputs, bool(probability))


def _first_tensor(output: Any) -> Any:
    """The tensor that holds the answers: the output, its ``logits``, or the first of several."""
    if isinstance(output, torch.Tensor):
        return output
    logits = output.get("logits") if isinstance(output, Mapping) else getattr(output, "logits", None)
    if isinstance(logits, torch.Tensor):
        return logits
    if isinstance(output, tuple | list) and output and isinstance(output[0], torch.Tensor):
        return output[0]
    raise ModelError(f"the module returned a {type(output).__name__}, not a tensor")


def _as_numbers(tensor: Any) -> npt.NDArray[Any]:
    if tensor.is_complex() or not (tensor.is_floating_point() or tensor.dtype is torch.bool):
        raise ModelError(
            f"the module puts out {tensor.dtype}; expected floating-point numbers "
            "(wrap a function that says which values mean yes)"
        )
    return np.asarray(tensor.detach().to(torch.float64).cpu().numpy())


def _digest(module: torch.nn.Module) -> str:
    digest = hashlib.sha256(repr(module).encode())
    for name, tensor in module.state_dict().items():
        if isinstance(tensor, torch.Tensor):
            digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
            digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
