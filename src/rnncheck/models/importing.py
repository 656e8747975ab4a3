"""Models in your own code, by name: what ``--module`` imports and runs."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rnncheck.errors import InputError, ModelError, RnncheckError, short_repr
from rnncheck.models.label_names import check_label_names
from rnncheck.models.protocol import Model
from rnncheck.models.wrapping import WrapOptions, is_module, wrap_with_options
from rnncheck.runtime.budget import BudgetExceeded


def import_model(
    reference: str,
    alphabet: Iterable[str] | None = None,
    *,
    state: str | os.PathLike[str] | None = None,
    **options: Any,
) -> Model:
    """The model that ``package.module:name`` refers to. This imports and runs that module: use it for trusted code.

    The name may refer to a model, a PyTorch module, a function from words to answers, or a function without arguments
    that returns one of these. Modules of the current folder are found. ``state`` is a file with the weights of a
    PyTorch module. The options are those of ``wrap``. A note of the model reports random weights.
    """
    with _current_folder_importable():
        found, notes = import_object(reference, state)
        before, after = options.pop("before", None), options.pop("after", None)
        given = WrapOptions(**{**options, "labels": check_label_names(options.get("labels"))}, notes=notes)
        try:
            return wrap_with_options(found, alphabet, given, before, after)
        except ModelError as error:
            raise type(error)(f"{reference}: {error}") from error


def import_object(reference: str, state: str | os.PathLike[str] | None = None) -> tuple[object, tuple[str, ...]]:
    """The object that ``package.module:name`` refers to, called if it is a function without arguments; and notes.

    The weights of ``state``, a file with a state dictionary, are loaded into it; it must then be a PyTorch module.
    """
    module_name, colon, path = reference.partition(":")
    if not colon or not module_name or not path:
        raise InputError(f"{short_repr(reference)} is not of the form package.module:function")
    with _current_folder_importable():
        found = _attribute(_import(module_name, reference), path, reference)
        made = _call_factory(found, reference) if _is_factory(found) else found
        if state is None:
            return made, _random_weights(found, made, reference) if made is not found else ()
    if not is_module(made):
        raise ModelError(
            f"{reference}: {type(made).__name__} is not a PyTorch module, and {state} has weights for one; name the "
            "module, or the function that builds it"
        )
    from rnncheck.models.foreign.torch.weights import load_weights

    load_weights(made, Path(state))
    return made, ()


def _call_factory(factory: Any, reference: str) -> object:
    try:
        return factory()
    except RnncheckError:
        raise
    except Exception as error:  # the user's own code
        raise ModelError(f"{reference}: raised {type(error).__name__}: {error}") from error


def _random_weights(factory: Any, made: object, reference: str) -> tuple[str, ...]:
    """A note if each call of the function returns other weights: then no trained ones were loaded."""
    if not is_module(made):
        return ()
    try:
        again = factory()
    except Exception:  # it may be callable only once, and then nothing is known
        return ()
    name = _first_difference(made, again)
    if name is None:
        return ()
    note = (
        f"the weights are random: {reference} returns other ones at each call ({name}, for example); name a file "
        "of trained weights (--state FILE, in a property file state), or load them where the module is built"
    )
    return (note,)


def _first_difference(one: Any, other: Any) -> str | None:
    """The name of the first parameter that differs between two modules."""
    torch = sys.modules["torch"]
    theirs = dict(other.named_parameters()) if is_module(other) else {}
    for name, parameter in one.named_parameters():
        same = name in theirs and theirs[name].shape == parameter.shape
        if not same or not torch.equal(theirs[name].detach().cpu(), parameter.detach().cpu()):
            return str(name)
    return None


def _import(name: str, reference: str) -> object:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(error.name + ".")):
            raise ModelError(f"{reference}: there is no module {name!r} in the current folder or installed") from None
        raise ModelError(f"{reference}: importing {name!r} needs a module that is missing: {error.name!r}") from error
    except BudgetExceeded:
        raise
    except Exception as error:  # whatever the module does when it is imported
        raise ModelError(f"{reference}: importing {name!r} raised {type(error).__name__}: {error}") from error


def _attribute(module: object, path: str, reference: str) -> Any:
    found = module
    for name in path.split("."):
        try:
            found = getattr(found, name)
        except AttributeError:
            raise ModelError(f"{reference}: there is no {name!r} in {module!r}") from None
    return found


def _is_factory(found: object) -> bool:
    """Whether this is a function without arguments, rather than the model itself."""
    if isinstance(found, Model) or is_module(found) or not callable(found):
        return False
    try:
        inspect.signature(found).bind()
    except (TypeError, ValueError):
        return False
    return True


@contextlib.contextmanager
def _current_folder_importable() -> Iterator[None]:
    folder = os.getcwd()
    added = folder not in sys.path
    if added:
        sys.path.insert(0, folder)
    try:
        yield
    finally:
        if added and folder in sys.path:
            sys.path.remove(folder)
