"""Which way letters take through an ONNX graph.

A graph may be taken apart where its first recurrent operator is fed one letter at a time, and nothing else of the word
reaches the other values that compiling reads: weights, first states, what comes between the operators. Random words
cannot tell: a product over the whole word may be silent but for one word.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rnncheck.models.onnx.graph import Graph, states_kept
from rnncheck.models.self_check import MismatchError

_SIZES = {"Shape", "Size"}  # tell nothing of the letters
_EACH_NUMBER = {"Add", "Sub", "Mul", "Div", "Relu", "Tanh", "Sigmoid", "Cast", "Identity", "Dropout"}
_EACH_LETTER = _EACH_NUMBER | {"Gather", "OneHot", "MatMul", "Gemm", "Transpose", "Squeeze", "Unsqueeze"}


def check_letter_flow(graph: Graph, letters: str) -> None:
    """Refuse a graph in which letters have an effect but one by one, through the first recurrent operator."""
    dependent = _dependent(graph, letters)
    first, *later = graph.recurrent
    beside = [name for node in graph.recurrent for name in node.input[1:]] + [node.input[0] for node in later]
    after = _dependent(graph, letters, past_recurrent=False)
    if any(name in after for name in beside + [output.name for output in graph.outputs]):
        raise MismatchError("letters reach its output past its recurrent operator, which may treat some words apart")
    for node in _above(graph, first.input[0], dependent):
        variable = [name for name in node.input if name in dependent]
        mixing = node.op_type not in _EACH_LETTER or len(variable) > 1
        if mixing or (node.op_type == "Gather" and node.input[0] in dependent):
            raise MismatchError(
                f"its operator {node.op_type} before the recurrent one may join letters, and treat some words apart"
            )


def _dependent(graph: Graph, letters: str, *, past_recurrent: bool = True) -> set[str]:
    """The values that the letters of a word have an effect on; nodes stand in the order in which they run."""
    operators = set() if past_recurrent else set(states_kept())
    names = {letters}
    for node in graph.model.graph.node:
        if node.op_type not in _SIZES | operators and any(name in names for name in node.input):
            names.update(filter(None, node.output))
    return names


def _above(graph: Graph, name: str, dependent: set[str]) -> Iterator[Any]:
    """The nodes between the letters and this value."""
    open_names, seen = [name], {name}
    while open_names:
        node = graph.made_by(open_names.pop())
        if node is None:
            continue
        yield node
        for name in node.input:
            if name in dependent and name not in seen:
                seen.add(name)
                open_names.append(name)
