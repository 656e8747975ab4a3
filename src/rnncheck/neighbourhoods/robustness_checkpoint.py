"""A checkpoint of the results so far, from which the work can be resumed."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import msgspec

from rnncheck.errors import FormatError
from rnncheck.models.protocol import Model
from rnncheck.neighbourhoods.neighbourhoods import Explored, Request
from rnncheck.neighbourhoods.robustness_result import WordRobustness
from rnncheck.runtime.checkpoint import check_same_question, read_checkpoint, write_checkpoint
from rnncheck.runtime.files import check_writable
from rnncheck.version import __version__
from rnncheck.words import Word


class _Document(msgspec.Struct, forbid_unknown_fields=True):
    schema: Literal["rnncheck/checkpoint-of-robust/1"]
    question: dict[str, Any]
    words: list[WordRobustness]
    compared: int = 0
    steps: int = 0
    notes: list[str] = []


class RobustCheckpoint:
    """A file with the results so far, written after every piece, always as a whole."""

    def __init__(self, path: str | Path, model: Model, request: Request, *, resume: bool) -> None:
        check_writable(path)
        self._path = Path(path)
        question = _question(model, request)
        self._document = _Document("rnncheck/checkpoint-of-robust/1", question, [])
        if resume:
            self._document = self._read(question)

    @property
    def compared(self) -> int:
        return self._document.compared

    @property
    def steps(self) -> int:
        return self._document.steps

    @property
    def notes(self) -> list[str]:
        return list(self._document.notes)

    def earlier(self, words: list[Word]) -> dict[Word, WordRobustness]:
        """The results for those of the words that were finished before."""
        requested = set(words)
        return {found.word: found for found in self._document.words if found.word in requested}

    def save(self, explored: Explored) -> None:
        document = self._document
        document.words += explored.words
        document.compared += explored.compared
        document.steps += explored.steps
        document.notes += [] if explored.note is None else [explored.note]
        write_checkpoint(self._path, msgspec.json.encode(document))

    def _read(self, question: dict[str, Any]) -> _Document:
        source = str(self._path)
        try:
            document = msgspec.json.decode(read_checkpoint(self._path), type=_Document)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise FormatError(f"not a checkpoint of robust: {error}; start again without --resume", source) from None
        check_same_question(self._path, document.question, question)
        return document


def _question(model: Model, request: Request) -> dict[str, Any]:
    """Everything that a result depends on, but for the words."""
    settings = {
        "model": model.fingerprint(),
        "distance": str(request.distance),
        "edits": request.edits.describe(),
        "specification": None if request.spec is None else request.spec.transitions.tolist(),
        "accepting": None if request.spec is None else request.spec.accepting.tolist(),
        "confidence": [request.confidence.epsilon, request.confidence.gamma],
        "most steps": request.max_steps,
        "seed": request.seed,
        "version": __version__,
    }
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(settings))
    return plain
