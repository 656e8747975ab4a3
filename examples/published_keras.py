"""Two networks that others trained and published as Keras weights: textgenrnn and chars2vec.

Both are two layers of LSTM cells in an HDF5 file, which is data. textgenrnn predicts the next character; it reads a
window of 40 that is padded on the left, so it is a black-box model. chars2vec maps a word, which it reads letter by
letter, to a vector, so it is a stateful model. The script verifies three claims about each::

    pip install --no-deps textgenrnn chars2vec
    pip install h5py
    python examples/published_keras.py
"""

import importlib.util
import json
import string
import sys
from pathlib import Path

import numpy as np

import rnncheck

CHARACTERS = [*string.ascii_lowercase, "_", "(", ")", '"', "."]  # _ stands for a space
WINDOW = 40


def folder(package: str) -> Path:
    found = importlib.util.find_spec(package)
    if found is None or found.submodule_search_locations is None:
        sys.exit(f"this example reads the weights of the package {package}: pip install --no-deps {package}")
    return Path(found.submodule_search_locations[0])


def arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a Keras file by the last parts of their names: ``rnn_1/kernel``."""
    try:
        import h5py
    except ImportError:
        sys.exit("this example reads HDF5 files: pip install h5py")
    found: dict[str, np.ndarray] = {}

    def keep(name: str, item: object) -> None:
        if isinstance(item, h5py.Dataset):
            found["/".join(name.partition(":")[0].split("/")[1:])] = np.asarray(item, dtype=np.float32)

    with h5py.File(path) as file:
        file.visititems(keep)
    return found


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


class Lstm:
    """Keras's LSTM layer for many words at once; a file for graphics cards has its kernels in another order."""

    def __init__(self, kernel: np.ndarray, recurrent: np.ndarray, bias: np.ndarray) -> None:
        if len(bias) == 2 * kernel.shape[1]:
            gates = np.split(kernel, 4, axis=1)
            kernel = np.hstack([gate.ravel().reshape(gate.shape, order="F") for gate in gates])
            recurrent = np.hstack([gate.T for gate in np.split(recurrent, 4, axis=1)])
            bias = sum(np.split(bias, 2))
        self.kernel, self.recurrent, self.bias = kernel, recurrent, bias
        self.units = len(recurrent)

    def __call__(self, x: np.ndarray, h: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        i, f, g, o = np.split(x @ self.kernel + h @ self.recurrent + self.bias, 4, axis=1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        return sigmoid(o) * np.tanh(c), c


class TextGenRnn:
    """Which character comes next after a text, as far as the network knows: each says how far it is ahead."""

    def __init__(self) -> None:
        place = folder("textgenrnn")
        self.numbers = json.loads((place / "textgenrnn_vocab.json").read_text(encoding="utf-8"))
        w = arrays(place / "textgenrnn_weights.hdf5")
        self.embedding, self.attention = w["embedding/embeddings"], w["attention/attention_W"][:, 0]
        self.kernel, self.bias = w["output/kernel"], w["output/bias"]
        self.layers = [Lstm(*(w[f"rnn_{n}/{part}"] for part in ("kernel", "recurrent_kernel", "bias"))) for n in (1, 2)]

    def number(self, character: str) -> int:
        return int(self.numbers[" " if character == "_" else character])

    def logits(self, words: list[tuple[str, ...]]) -> np.ndarray:
        window = np.zeros((len(words), WINDOW), dtype=np.int64)
        for row, word in enumerate(words):
            text = [self.number("<s>"), *map(self.number, word)][-WINDOW:]
            window[row, WINDOW - len(text) :] = text
        states = [[np.zeros((len(words), 128), dtype=np.float32)] * 2 for _ in self.layers]
        seen = []
        for t in range(WINDOW):
            x = embedded = self.embedding[window[:, t]]
            for n, layer in enumerate(self.layers):
                states[n] = list(layer(x, *states[n]))
                x = states[n][0]
            seen.append(np.hstack([embedded, states[0][0], states[1][0]]))
        steps = np.stack(seen, axis=1)
        weights = np.exp(steps @ self.attention - (steps @ self.attention).max(axis=1, keepdims=True))
        return (
            (steps * (weights / weights.sum(axis=1, keepdims=True))[:, :, None]).sum(axis=1)
        ) @ self.kernel + self.bias

    def next_is(self, character: str):
        place = self.number(character)

        def score(words: list[tuple[str, ...]]) -> np.ndarray:
            outputs = self.logits(words)
            return outputs[:, place] - np.delete(outputs, place, axis=1).max(axis=1)

        return rnncheck.wrap(score, CHARACTERS, threshold=0.0, batch_size=256, max_length=WINDOW - 1)


class Chars2Vec:
    """The package's model of 50 numbers, of one word alone: the vector is the state of the second of two layers."""

    def __init__(self) -> None:
        w = arrays(folder("chars2vec") / "trained_models" / "eng_50" / "weights.h5")
        self.layers = [
            Lstm(*(w[f"lstm_{n}/{part}"] for part in ("kernel", "recurrent_kernel", "bias"))) for n in (1, 2)
        ]
        self.first = 33  # of the letters a to z among its 59 characters

    def initial(self, rows: int) -> list[np.ndarray]:
        return [np.zeros((rows, 50), dtype=np.float32) for _ in range(4)]

    def step(self, states: list[np.ndarray], letters: np.ndarray) -> list[np.ndarray]:
        one_hot = np.eye(59, dtype=np.float32)[letters + self.first]
        h1, c1 = self.layers[0](one_hot, *states[:2])
        return [h1, c1, *self.layers[1](h1, *states[2:])]

    def vector(self, word: str) -> np.ndarray:
        states = self.initial(1)
        for letter in word:
            states = self.step(states, np.array([string.ascii_lowercase.index(letter)]))
        return states[2][0]

    def near(self, word: str, other: str):
        """The words that are as near to ``word`` as ``other`` is."""
        centre = self.vector(word)
        radius = float(np.linalg.norm(self.vector(other) - centre))

        def score(states: list[np.ndarray]) -> np.ndarray:
            return radius * 1.0001 - np.linalg.norm(states[2] - centre, axis=1)

        return rnncheck.wrap_steps(self.initial, self.step, score, list(string.ascii_lowercase), empty=False)


def main() -> None:
    text, vectors = TextGenRnn(), Chars2Vec()
    typo = vectors.near("language", "lanuage")
    questions = [
        ("textgenrnn: a text does not end after an opening bracket", text.next_is("<s>"), '!(.* "(")'),
        ("textgenrnn: no space follows a space", text.next_is("_"), "!(.* _)"),
        ("textgenrnn: a bracket is closed only where one was opened", text.next_is(")"), '.* "(" .*'),
        ("chars2vec: what is as near to language as lanuage has 4 letters or more", typo, ".{4,}"),
        ("chars2vec: … and 16 letters at most", typo, ".{0,16}"),
        ("chars2vec: … and an l, an n or a g", typo, ".* (l|n|g) .*"),
    ]
    for claim, model, expression in questions:
        spec = rnncheck.Spec.from_regex(expression, alphabet=model.alphabet)
        stop = 0.12
        verdict = rnncheck.verify(model, spec, distribution=rnncheck.WordDistribution(model.alphabet, stop=stop),
                                  epsilon=0.01, gamma=0.01, timeout=60, max_length=model.max_length)  # fmt: skip
        print(f"{claim}: {verdict.outcome.value}")
        shown = verdict.guarantee if verdict.counterexample is None else " ".join(verdict.counterexample)
        print(f"  {shown}")


if __name__ == "__main__":
    main()
