"""A network that others trained and published: the English letters-to-sounds network of the package g2p_en.

An encoder (GRU, 256 units) reads the letters of a word and an end delimiter; a decoder then outputs the sounds, one
after the other, until it outputs "end", at most twenty. This is not a recurrent classifier, but the encoder can be
stepped: its state is the model's state, and ``score`` reads the end delimiter and runs the decoder. The script verifies
three claims about it. The package is not a dependency; only its file of weights is read, which is data::

    pip install --no-deps g2p_en
    python examples/published_g2p.py
"""

import importlib.util
import string
import sys
from pathlib import Path

import numpy as np

import rnncheck

LETTERS = list(string.ascii_lowercase)
FIRST_LETTER, END_OF_WORD, START, END = 3, 2, 2, 3  # rows: <pad> <unk> </s> a b …; sounds: <pad> <unk> <s> </s> AA0 …
M = 4 + 43  # after <pad> <unk> <s> </s>, and 43 sounds that come before it in the alphabet


def weights() -> dict[str, np.ndarray]:
    found = importlib.util.find_spec("g2p_en")
    if found is None or found.submodule_search_locations is None:
        sys.exit("this example reads the weights of the package g2p_en: pip install --no-deps g2p_en")
    with np.load(Path(found.submodule_search_locations[0]) / "checkpoint20.npz") as file:
        return {name: file[name].astype(np.float32) for name in file}


class G2p:
    """The package's own formulas, for many words at once."""

    def __init__(self) -> None:
        self.w = weights()

    def cell(self, which: str, x: np.ndarray, h: np.ndarray) -> np.ndarray:
        w = self.w
        from_x = x @ w[f"{which}_w_ih"].T + w[f"{which}_b_ih"]
        from_h = h @ w[f"{which}_w_hh"].T + w[f"{which}_b_hh"]
        cut = 2 * h.shape[1]
        r, z = np.split(1 / (1 + np.exp(-(from_x[:, :cut] + from_h[:, :cut]))), 2, axis=1)
        return (1 - z) * np.tanh(from_x[:, cut:] + r * from_h[:, cut:]) + z * h

    def initial(self, rows: int) -> np.ndarray:
        return np.zeros((rows, 256), dtype=np.float32)

    def step(self, states: np.ndarray, letters: np.ndarray) -> np.ndarray:
        return self.cell("enc", self.w["enc_emb"][letters + FIRST_LETTER], states)

    def sounds(self, states: np.ndarray, most: int) -> np.ndarray:
        """How far each sound is ahead, for the first ``most`` sounds: words × sounds × 74."""
        h = self.cell("enc", self.w["enc_emb"][np.full(len(states), END_OF_WORD)], states)
        said, outputs = np.full(len(states), START), []
        for _ in range(most):
            h = self.cell("dec", self.w["dec_emb"][said], h)
            outputs.append(h @ self.w["fc_w"].T + self.w["fc_b"])
            said = outputs[-1].argmax(axis=1)
        return np.stack(outputs, axis=1)


def ahead(outputs: np.ndarray, sound: int) -> np.ndarray:
    """How far one sound is ahead of all others; above 0 where it is said."""
    return outputs[:, sound] - np.delete(outputs, sound, axis=1).max(axis=1)


def main() -> None:
    g2p = G2p()

    def says_nothing(states: np.ndarray) -> np.ndarray:
        return ahead(g2p.sounds(states, 1)[:, 0], END)

    def begins_with_m(states: np.ndarray) -> np.ndarray:
        return ahead(g2p.sounds(states, 1)[:, 0], M)

    def never_ends(states: np.ndarray) -> np.ndarray:  # it is cut off after twenty sounds
        outputs = g2p.sounds(states, 20)
        return -np.stack([ahead(outputs[:, place], END) for place in range(20)]).max(axis=0)

    questions = [
        ("every word has a sound", says_nothing, "$none", {}),
        ("a word that begins with the sound M begins with the letter m", begins_with_m, "(m .*)?", {}),
        ("what is said of a word of up to 12 letters comes to an end", never_ends, "$none", {"max_length": 12}),
    ]
    for claim, score, expression, options in questions:
        model = rnncheck.wrap_steps(g2p.initial, g2p.step, score, LETTERS, empty=False)
        spec = rnncheck.Spec.from_regex(expression, alphabet=LETTERS, definitions={"none": "a & b"})
        verdict = rnncheck.verify(model, spec, distribution=rnncheck.WordDistribution(model.alphabet, stop=0.12),
                                  epsilon=5e-3, gamma=5e-3, timeout=60, **options)  # fmt: skip
        print(f"{claim}: {verdict.outcome.value}")
        print(f"  {verdict.guarantee if verdict.counterexample is None else ''.join(verdict.counterexample)}")


if __name__ == "__main__":
    main()
