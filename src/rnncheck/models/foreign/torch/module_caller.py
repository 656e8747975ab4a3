"""Call a user's PyTorch module in evaluation mode, and leave it as it was."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from rnncheck.errors import ModelError, RnncheckError
from rnncheck.models.foreign.torch.recording import Record, Recorder
from rnncheck.models.foreign.torch.script import follow, is_scripted
from rnncheck.models.self_check import MismatchError
from rnncheck.runtime.watchdog import guarded


class ModuleCaller:
    """Calls a module in evaluation mode and leaves it as it was."""

    def __init__(self, module: torch.nn.Module) -> None:
        if any(map(torch.nn.parameter.is_lazy, module.parameters())):
            raise ModelError("the module has parameters without values (lazy layers); call it once before wrapping it")
        self.module = module
        self._calls = 0
        self._with_buffers = False
        self._parameters = self._fingerprint()

    def watch_buffers(self) -> None:
        """Report changes of buffers too from now on, since their numbers were read."""
        self._with_buffers = True
        self._parameters = self._fingerprint()

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._parameters = self._fingerprint()  # a copy in another process has other addresses

    def __call__(self, arguments: Any) -> npt.NDArray[Any]:
        """The module's raw output."""
        with self._evaluation():
            return _as_numbers(_first_tensor(self._call(self._tensors(arguments))))

    def record(self, arguments: Any) -> tuple[npt.NDArray[Any], Record, list[Any], Any]:
        """The raw output, the functions called, the arguments as tensors, and the output as a tensor."""
        with self._evaluation():
            tensors = self._tensors(arguments)
            try:
                output, record = self._record(tensors)
            except (RnncheckError, MismatchError):
                raise
            except Exception:  # recorded sizes are not quite integers
                output, record = self._record(tensors, plain=True)
            tensor = _first_tensor(output)
            own = _first_tensor(self._call(tensors)) if is_scripted(self.module) else tensor
            return _as_numbers(own), record, tensors, tensor

    def _record(self, tensors: list[Any], *, plain: bool = False) -> tuple[Any, Record]:
        with Recorder(plain=plain) as recorder:
            try:
                return self._call_recorded(tensors), recorder.record
            except (RnncheckError, MismatchError):
                raise
            except Exception as error:
                if not plain:
                    raise
                text = " ".join(str(error).split())
                raise MismatchError(f"it cannot be recorded ({type(error).__name__}: {text})") from None

    def with_gradients(self, arguments: Any) -> Any:
        """The output tensor with gradients; the parameters may have changed."""
        self._parameters = self._fingerprint()
        with self._evaluation(gradients=True):
            return _first_tensor(self._call(self._tensors(arguments)))

    def _call(self, tensors: list[Any]) -> Any:
        return guarded(lambda: self.module(*tensors), lambda: f"{type(self.module).__name__} was being called")

    def _call_recorded(self, tensors: list[Any]) -> Any:
        """Call the module so that every function of PyTorch is recorded."""
        if not is_scripted(self.module):
            return self._call(tensors)
        return guarded(lambda: follow(self.module, tensors), lambda: "a TorchScript module was being followed")

    @contextlib.contextmanager
    def _evaluation(self, *, gradients: bool = False) -> Iterator[None]:
        if self._fingerprint() != self._parameters:
            raise ModelError("the module's parameters have changed since it was wrapped; wrap it again")
        modes = [(part, part.training) for part in self.module.modules()]
        device = self._device()
        devices = [device] if device.type == "cuda" else []
        try:
            with torch.inference_mode(not gradients), torch.random.fork_rng(devices=devices):
                self._calls += 1  # another seed each time, so that a module that draws random numbers is noticed
                torch.default_generator.manual_seed(self._calls)
                for part, _ in modes:
                    part.training = False
                yield
        finally:
            for part, training in modes:
                part.training = training

    def _fingerprint(self) -> list[tuple[int, int]]:
        """A value that changes when a parameter, or a watched buffer, is replaced or changed in place."""
        buffers = self.module.buffers() if self._with_buffers else ()
        return [
            (parameter.data_ptr(), 0 if parameter.is_inference() else parameter._version)
            for parameter in (*self.module.parameters(), *buffers)
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


def _first_tensor(output: Any) -> Any:
    """The tensor with the answers: the output, its ``logits``, or the first of several."""
    if isinstance(output, torch.Tensor):
        return output
    logits = output.get("logits") if isinstance(output, Mapping) else getattr(output, "logits", None)
    if isinstance(logits, torch.Tensor):
        return logits
    if isinstance(output, tuple | list) and output and isinstance(output[0], torch.Tensor):
        return output[0]
    raise ModelError(
        f"the module returned a {type(output).__name__}, not a tensor; return a tensor, a tuple that begins "
        "with one, or a dict or an object that has one called logits"
    )


def _as_numbers(tensor: Any) -> npt.NDArray[Any]:
    if tensor.is_complex() or not (tensor.is_floating_point() or tensor.dtype is torch.bool):
        raise ModelError(
            f"the module's output is {tensor.dtype}; expected floating-point numbers "
            "(wrap a function that returns True for the values that accept)"
        )
    return np.asarray(tensor.detach().to(torch.float64).cpu().numpy())
