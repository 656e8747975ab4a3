"""The labels of a model with several outputs: their names, and which of them accepts."""

from __future__ import annotations

from collections.abc import Iterable

from rnncheck.errors import InputError, ModelError, short_repr


class LabelNeededError(ModelError):
    """A model has several labels, and the accepting one was not given."""


def number_names(outputs: int) -> tuple[str, ...]:
    """Names for outputs without names: their numbers."""
    return tuple(map(str, range(outputs)))


def check_label_names(labels: Iterable[str] | None) -> tuple[str, ...] | None:
    """Check the names given for the outputs of a model."""
    if labels is None:
        return None
    names = (labels,) if isinstance(labels, str) else tuple(labels)
    if not all(isinstance(name, str) and name for name in names) or len(set(names)) < len(names) or len(names) < 2:
        raise InputError(f"labels {short_repr(names)} are not two or more different names, one for each output")
    return names


def label_number(label: int | str | None, labels: tuple[str, ...] | None) -> int | None:
    """The position of a label, which may be given by name if there are names."""
    if not isinstance(label, str):
        return label
    if labels is None:
        raise ModelError(
            f"label {short_repr(label)} is a name, and this model has only numbers; give the number, or the names of "
            "all outputs (labels=[…], --labels)"
        )
    if label not in labels:
        raise ModelError(f"label {short_repr(label)} is unknown; there are {', '.join(labels)}")
    return labels.index(label)


def check_labels(outputs: int, label: int | None, labels: tuple[str, ...] | None) -> None:
    """Raise an error unless there is one name for each output, and the label is one of them."""
    if labels is not None and len(labels) != outputs:
        raise ModelError(f"{len(labels)} label names for {outputs} outputs; give one for each")
    if outputs == 1 and label is not None:
        raise ModelError(f"label {label} was chosen, but the model has one output; leave the label out")
    if outputs > 1 and (label is None or not 0 <= label < outputs):
        known = " or ".join(labels) if labels else f"0 to {outputs - 1}"
        choose = f"choose the one that means yes, {known}"
        if label is None:
            raise LabelNeededError(f"the model has {outputs} outputs; {choose} (label=…, --label)")
        raise ModelError(
            f"the model has {outputs} outputs, and label {label} is not among them; {choose} (label=…, --label)"
        )
