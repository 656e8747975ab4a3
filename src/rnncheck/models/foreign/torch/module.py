"""A user's ``torch.nn.Module`` as it is.

The reference of such a model is the module's own ``forward`` on a word alone, in evaluation mode. If every function
between the letters and the answer is supported, and they are recurrent layers with a head, it is compiled and stepped;
otherwise its forward is called on whole words. The module itself is never changed: mode, parameters, hooks and random
state stay as they are.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from rnncheck.errors import ModelError, RnncheckError
from rnncheck.models.black_box import DEFAULT_BATCH, BlackBoxModel, Decision, Outputs, calibrate
from rnncheck.models.fingerprint import digest_of, no_digest
from rnncheck.models.foreign.graph_flow import parts_of, same_network
from rnncheck.models.foreign.input_layouts import (
    EMPTY_WORD_REJECTED,
    Encode,
    InputEncoding,
    check_ids,
    find_encoding,
    layouts,
    lengths_within,
    row_of_first_letter,
    rows_of,
)
from rnncheck.models.foreign.torch.module_caller import ModuleCaller
from rnncheck.models.foreign.torch.module_reader import RecordReading, letter_rows, logits_of, read_record
from rnncheck.models.foreign.torch.record_values import Constants
from rnncheck.models.foreign.torch.recording import Record, last_function, reads_values
from rnncheck.models.foreign.torch.script import is_scripted, layers_of_kind, parts_for_digest
from rnncheck.models.protocol import Model
from rnncheck.models.self_check import (
    MismatchError,
    NetworkParts,
    OutputMeaning,
    compile_and_check,
    probability_by_range,
)
from rnncheck.words import Alphabet, Codes, IntArray, Word

_RECORDED_LENGTHS = (2, 3, 7)  # letters; the network read must be the same for each
_LETTERS_AT_ONCE = 256  # the letters of a word off which inputs are read

EncodeWords = Callable[[list[Word]], Any]


@dataclass(frozen=True)
class ModuleOptions:
    """The user's options for a module; see :func:`rnncheck.models.wrapping.wrap`."""

    meaning: OutputMeaning
    encode: EncodeWords | None = None
    first_row: int | None = None
    empty: bool | None = None
    batch_size: int = DEFAULT_BATCH
    seed: int = 0
    notes: tuple[str, ...] = ()
    ids: tuple[int, ...] | None = None  # the letters' numbers, if the alphabet has them
    longest: int | None = None  # the longest words to try
    fingerprint: str | None = None


def wrap_module(module: torch.nn.Module, alphabet: Alphabet, options: ModuleOptions) -> Model:
    """The module as a model: compiled and stepped if its forward allows it, called on whole words otherwise."""
    rng = np.random.default_rng(options.seed)
    caller = ModuleCaller(module)
    candidates, notes = _candidates(module, alphabet, options)
    notes += options.notes
    encoding = find_encoding(caller, candidates, len(alphabet), rng, options.longest)
    evaluate = Evaluator(caller, encoding, options.longest, options.fingerprint)
    notes += [] if encoding.layout is None else encoding.layout.notes()
    empty = _empty_answer(evaluate, options.empty, notes)
    facts = {
        "kind": "TorchScript module" if is_scripted(module) else "PyTorch module",
        "name": module.original_name if is_scripted(module) else type(module).__name__,
        "input": encoding.note,
        "reference": "the module's own forward on the word alone, in evaluation mode",
        "sha256": _digest(module),
        "notes": notes,
    }
    try:
        parts = _parts(evaluate, len(alphabet))
        model = compile_and_check(
            parts, evaluate, alphabet, options.meaning, empty, facts, rng, longest=options.longest
        )
        caller.watch_buffers()
        return model
    except MismatchError as reason:
        facts["stepping"] = f"not possible: {reason}"
    decision = _decision(evaluate, len(alphabet), options.meaning, notes, rng)
    alone = evaluate.reason_to_query_alone(rng, len(alphabet))
    most = 1 if alone else options.batch_size
    batch_size, margin = calibrate(evaluate, decision, len(alphabet), most, rng, options.longest)
    if batch_size < options.batch_size:
        notes.append(f"words are evaluated one at a time, since {alone or 'answers change if they share a call'}")
    return BlackBoxModel(alphabet, evaluate, decision, empty=empty, batch_size=batch_size, margin=margin, facts=facts)


def load_script(path: Path, alphabet: Alphabet, options: ModuleOptions) -> Model:
    """The TorchScript module in a file, which is a program and is run; it is loaded on the CPU."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # TorchScript is deprecated, which the owner of a file cannot change now
            module = torch.jit.load(str(path), map_location="cpu")
    except Exception as error:  # a damaged file can fail anywhere inside the reader
        text = " ".join(str(error).split())[:200]
        raise ModelError(f"is not a TorchScript file that PyTorch {torch.__version__} can read ({text})") from None
    return wrap_module(module, alphabet, options)


def analyse_module(
    module: torch.nn.Module, alphabet: Alphabet, options: ModuleOptions
) -> tuple[ModuleCaller, Encode, Decision, bool]:
    """How a module is called on words, what its outputs mean, and whether it takes the empty word."""
    rng = np.random.default_rng(options.seed)
    caller = ModuleCaller(module)
    candidates = _candidates(module, alphabet, options)[0]
    encoding = find_encoding(caller, candidates, len(alphabet), rng, options.longest)
    evaluate = Evaluator(caller, encoding, options.longest)
    decision = _decision(evaluate, len(alphabet), options.meaning, [], rng)
    return caller, encoding.encode, decision, _empty_answer(evaluate, options.empty, []) is None


class Evaluator:
    """Words of equal length to outputs, by the module's forward."""

    def __init__(
        self, caller: ModuleCaller, encoding: InputEncoding, longest: int | None = None, fingerprint: str | None = None
    ) -> None:
        self.caller = caller
        self.encoding = encoding
        self.longest = longest
        self._given_fingerprint = fingerprint
        self._constants: Constants | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_constants": None}  # tensors are known by their addresses

    def __call__(self, codes: IntArray) -> Outputs:
        with _user_errors(codes):
            return rows_of(self.caller(self.encoding.encode(codes)), len(codes))

    def fingerprint(self) -> str:
        """A digest of a TorchScript program and its input layout; for any other module, of the owner's fingerprint.

        The weights are always included, since they can be seen.
        """
        module = self.caller.module
        if self._given_fingerprint is not None:
            return digest_of("module", self._given_fingerprint, _digest(module), self.encoding.note)
        if not is_scripted(module):
            raise no_digest(f"the code of the module {type(module).__name__}")
        return digest_of("TorchScript", *parts_for_digest(module), self.encoding.encode)

    def logits_and_outputs(self, word: Codes) -> tuple[Outputs, Outputs]:
        """The logits and the outputs for one word."""
        raw, reading = self.read(word)
        return logits_of(reading, self.encoding.outputs), rows_of(raw, 1)[0]

    def read(self, word: Codes) -> tuple[npt.NDArray[Any], RecordReading]:
        """The raw output for one word, and how it is computed; a MismatchError names what is not supported."""
        layout = self.encoding.layout
        if layout is None:
            raise MismatchError("words are encoded by a function of yours, which may treat some words differently")
        raw, record, given, output = self.record(word)
        if self._constants is None:
            self._constants = Constants(self.caller.module, any_origin=is_scripted(self.caller.module))
        axes = layout.axes + ("F" if layout.one_hot else "")
        return raw, read_record(record, (given[0], axes), output, self._constants)

    def reason_to_query_alone(self, rng: np.random.Generator, letters: int) -> str | None:
        """Why words have to be evaluated alone, as far as the code shows on words of every length up to 40."""
        if not self.encoding.batched:
            return "it takes no batches, or answers differently in one"
        lengths = lengths_within(range(1, 41), self.longest)
        words = (rng.integers(letters, size=length).tolist() for length in lengths)
        try:
            shown = next(filter(None, (reads_values(self.record(tuple(word))[1].calls) for word in words)), None)
        except MismatchError:  # TorchScript that cannot be followed
            return "it is a program that is not supported"
        return None if shown is None else f"its code reads values ({shown}), so one word may decide about the others"

    def largest_batch(self, letters: int) -> int:
        """How many words may be evaluated in one call, as far as the code shows."""
        return DEFAULT_BATCH if self.reason_to_query_alone(np.random.default_rng(0), letters) is None else 1

    def record(self, word: Codes) -> tuple[npt.NDArray[Any], Record, list[Any], Any]:
        """The raw output for one word, the functions called, the arguments as tensors and the output as a tensor."""
        codes = np.array([word], dtype=np.int64)
        with _user_errors(codes):
            return self.caller.record(self.encoding.encode(codes))


@contextlib.contextmanager
def _user_errors(codes: IntArray) -> Iterator[None]:
    """Turn any exception of the user's forward into an error about the model."""
    try:
        yield
    except (RnncheckError, MismatchError):
        raise
    except Exception as error:
        text = " ".join(str(error).split())
        raise ModelError(
            f"the module raised {type(error).__name__} for {len(codes)} words of {codes.shape[1]} letters: {text}; "
            "let it take words of every length (empty=True or False gives the answer to the empty word)"
        ) from error


class _UserEncoding:
    """A user's own encoding of words."""

    def __init__(self, encode: EncodeWords, alphabet: Alphabet) -> None:
        self._encode = encode
        self._alphabet = alphabet

    def __call__(self, codes: IntArray) -> Any:
        return self._encode([self._alphabet.decode(row) for row in codes.tolist()])


def _candidates(
    module: torch.nn.Module, alphabet: Alphabet, options: ModuleOptions
) -> tuple[list[tuple[Encode, bool, str]], list[str]]:
    """The encodings of words to try, and the assumptions behind them."""
    if options.encode is not None:
        return [(_UserEncoding(options.encode, alphabet), True, "by the function given as encode")], []
    letters = len(alphabet)
    recurrent = [part for part in module.modules() if isinstance(part, torch.nn.RNNBase)]
    recurrent += layers_of_kind(module, ("RNN", "GRU", "LSTM"))
    time_first = bool(recurrent) and not getattr(recurrent[0], "batch_first", True)  # a trace does not have it
    embedding = _embedding(module, letters)
    if options.ids is not None:
        width = int(recurrent[0].weight_ih_l0.shape[1]) if recurrent else max(options.ids) + 1
        rows = width if embedding is None else len(embedding.weight)
        check_ids(options.ids, rows, options.first_row, "one-hot input" if embedding is None else "embedding")
        note, tried = None, layouts(letters, ids=embedding is not None, first_row=0, rows=rows, time_first=time_first)
        found = [dataclasses.replace(layout, ids=options.ids) for layout in tried]
    elif embedding is not None:
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
    """The embedding of letters: one with a row for each letter, or else the first."""
    embeddings = [part for part in module.modules() if isinstance(part, torch.nn.Embedding | torch.nn.EmbeddingBag)]
    embeddings += layers_of_kind(module, ("Embedding", "EmbeddingBag"))
    fitting = [part for part in embeddings if len(part.weight) in (letters, letters + 1)]
    return next(iter([*fitting, *embeddings]), None)


def _empty_answer(evaluate: Evaluator, given: bool | None, notes: list[str]) -> bool | None:
    """The answer to the empty word if the module does not give it; None if it does."""
    if given is not None:
        notes.append(f"the empty word is {'accepted' if given else 'rejected'}, as set by empty={given}")
        return given
    try:
        outputs = evaluate(np.zeros((1, 0), dtype=np.int64))
    except ModelError:
        takes_it = False
    else:
        takes_it = outputs.shape == (1, evaluate.encoding.outputs) and bool(np.isfinite(outputs).all())
    if takes_it:
        return None
    notes.append(f"the module does not take the empty word; {EMPTY_WORD_REJECTED}")
    return False


def _parts(evaluate: Evaluator, letters: int) -> NetworkParts:
    """The network in a module, read off words of several lengths that contain every letter."""
    readings = [
        evaluate.read(tuple(letter % letters for letter in range(length)))[1]
        for length in lengths_within(_RECORDED_LENGTHS, evaluate.longest)
    ]
    if not all(same_network(readings[0].answer, reading.answer) for reading in readings):
        raise MismatchError("it calls other functions for words of another length")
    inputs = []
    at_once = min(_LETTERS_AT_ONCE, evaluate.longest or _LETTERS_AT_ONCE)
    for start in range(0, letters, at_once):
        word = [letter % letters for letter in range(start, max(min(start + at_once, letters), start + 2))]
        inputs.append(letter_rows(evaluate.read(tuple(word))[1], word))
    return parts_of(readings[-1].answer, np.concatenate(inputs)[:letters], odds=True)


def _decision(
    evaluate: Evaluator, letters: int, meaning: OutputMeaning, notes: list[str], rng: np.random.Generator
) -> Decision:
    """The decision, if the module could not be compiled."""
    outputs = evaluate.encoding.outputs
    probability = meaning.probability
    if outputs == 1 and probability is None:
        with contextlib.suppress(MismatchError):
            _, record, _, tensor = evaluate.record(tuple(rng.integers(letters, size=3).tolist()))
            last = last_function(record.calls, tensor)
            probability = {"sigmoid": True, "sigmoid_": True, "linear": False}.get(last)
    if outputs == 1 and probability is None:
        probability = probability_by_range(evaluate, letters, rng)
        what = "a probability" if probability else "a logit"
        notes.append(f"the output is taken for {what}, by its range on 32 words (output='probability' or 'logit')")
    return meaning.decision(outputs, bool(probability))


def _digest(module: torch.nn.Module) -> str:
    digest = hashlib.sha256(repr(module).encode())
    for name, tensor in module.state_dict().items():
        if isinstance(tensor, torch.Tensor):
            digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
            digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
