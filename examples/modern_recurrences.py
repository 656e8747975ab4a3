"""RWKV- and Mamba-style layers as classifiers of words: trained here in a minute, stepped, checked and verified.

Such layers are trained on whole words at once and can be run letter by letter with a state of fixed size. Here are two
small ones. Each learns that every "open" is followed by a "close" later, on words of up to 12 letters, and is then
verified on words of any length. The steps are compared with an independent implementation for whole words::

    python examples/modern_recurrences.py
"""

import torch
from torch import nn
from torch.nn import functional

import rnncheck

LETTERS = ["open", "close", "work"]
HIDDEN = 16


class Rwkv(nn.Module):
    """One time-mixing layer: a mean of all values so far, weighted by keys that decay, and gated by the receptance.

    The state is the numerator and the denominator of that mean, and the last letter's vector, which is mixed with the
    next one's. Both grow with the exponentials of keys; keys are kept below 8, so that float32 holds them.
    """

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(len(LETTERS), HIDDEN)
        self.mix = nn.Parameter(torch.full((3, HIDDEN), 0.5))
        self.key, self.value, self.receptance = (nn.Linear(HIDDEN, HIDDEN, bias=False) for _ in range(3))
        self.decay = nn.Parameter(torch.linspace(-4.0, 2.0, HIDDEN))
        self.bonus = nn.Parameter(torch.zeros(HIDDEN))
        self.head = nn.Sequential(nn.LayerNorm(HIDDEN), nn.Linear(HIDDEN, HIDDEN), nn.GELU(), nn.Linear(HIDDEN, 1))

    def initial(self, rows: int) -> dict[str, torch.Tensor]:
        names = ("above", "below", "last", "out")
        return {name: torch.zeros(rows, HIDDEN) for name in names}

    def step(self, states: dict[str, torch.Tensor], letters: torch.Tensor) -> dict[str, torch.Tensor]:
        x, last = self.embedding(letters), states["last"]
        k, v, r = (linear(x * mix + last * (1 - mix)) for linear, mix in
                   zip((self.key, self.value, self.receptance), torch.sigmoid(self.mix), strict=True))  # fmt: skip
        weight, now = torch.exp(k.clamp(max=8.0)), torch.exp((k + self.bonus).clamp(max=8.0))
        mean = (states["above"] + now * v) / (states["below"] + now)
        fade = torch.exp(-torch.exp(self.decay))
        return {
            "above": fade * states["above"] + weight * v,
            "below": fade * states["below"] + weight,
            "last": x,
            "out": x + torch.sigmoid(r) * mean,
        }

    def score(self, states: dict[str, torch.Tensor]) -> torch.Tensor:
        return self.head(states["out"])[:, 0]

    def forward(self, letters: torch.Tensor) -> torch.Tensor:
        """The score of one whole word, without steps: the mean as a sum over all letters."""
        x = self.embedding(letters)
        last = torch.cat([torch.zeros(1, HIDDEN), x[:-1]])
        k, v, r = (linear(x * mix + last * (1 - mix)) for linear, mix in
                   zip((self.key, self.value, self.receptance), torch.sigmoid(self.mix), strict=True))  # fmt: skip
        age = torch.arange(len(x) - 2, -1, -1.0)[:, None]
        weight = torch.exp(k[:-1].clamp(max=8.0) - age * torch.exp(self.decay))
        now = torch.exp((k[-1] + self.bonus).clamp(max=8.0))
        mean = ((weight * v[:-1]).sum(dim=0) + now * v[-1]) / (weight.sum(dim=0) + now)
        return self.head(x[-1] + torch.sigmoid(r[-1]) * mean)


class Mamba(nn.Module):
    """One selective state-space layer: how far a letter moves the state, and what of it is read, depend on the letter.

    The state is a short memory of the last letters (the convolution) and a matrix of units × numbers each.
    """

    numbers, window = 8, 3

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(len(LETTERS), HIDDEN)
        self.convolution = nn.Parameter(torch.randn(self.window, HIDDEN) / self.window)
        self.rate, self.gate = nn.Linear(HIDDEN, HIDDEN), nn.Linear(HIDDEN, HIDDEN)
        self.write, self.read = (nn.Linear(HIDDEN, self.numbers, bias=False) for _ in range(2))
        self.decay = nn.Parameter(torch.arange(1.0, self.numbers + 1).log().repeat(HIDDEN, 1))
        self.skip = nn.Parameter(torch.ones(HIDDEN))
        self.head = nn.Sequential(nn.LayerNorm(HIDDEN), nn.Linear(HIDDEN, HIDDEN), nn.GELU(), nn.Linear(HIDDEN, 1))

    def initial(self, rows: int) -> tuple[torch.Tensor, ...]:
        recent = torch.zeros(rows, self.window, HIDDEN)
        return recent, torch.zeros(rows, HIDDEN, self.numbers), torch.zeros(rows, HIDDEN)

    def step(self, states: tuple[torch.Tensor, ...], letters: torch.Tensor) -> tuple[torch.Tensor, ...]:
        recent, memory, _ = states
        x = self.embedding(letters)
        recent = torch.cat([recent[:, 1:], x[:, None]], dim=1)
        u = functional.silu((recent * self.convolution).sum(dim=1))
        rate = functional.softplus(self.rate(u))[:, :, None]
        memory = torch.exp(-rate * torch.exp(self.decay)) * memory + rate * self.write(u)[:, None] * u[:, :, None]
        out = (memory * self.read(u)[:, None]).sum(dim=2) + self.skip * u
        return recent, memory, x + out * functional.silu(self.gate(x))

    def score(self, states: tuple[torch.Tensor, ...]) -> torch.Tensor:
        return self.head(states[2])[:, 0]

    def forward(self, letters: torch.Tensor) -> torch.Tensor:
        """The score of one whole word, without steps: what is left of each letter, summed up."""
        x = self.embedding(letters)
        padded = torch.cat([torch.zeros(self.window - 1, HIDDEN), x])
        recent = torch.stack([padded[t : t + len(x)] for t in range(self.window)], dim=1)
        u = functional.silu((recent * self.convolution).sum(dim=1))
        rate = functional.softplus(self.rate(u))
        later = rate.sum(dim=0) - rate.cumsum(dim=0)  # of all letters after each one
        left = torch.exp(-later[:, :, None] * torch.exp(self.decay))
        memory = (left * (rate * u)[:, :, None] * self.write(u)[:, None]).sum(dim=0)
        out = memory @ self.read(u)[-1] + self.skip * u[-1]
        return self.head(x[-1] + out * functional.silu(self.gate(x[-1])))


def train(module: nn.Module, steps: int = 400) -> nn.Module:
    """Teach it every prefix of random words; "right" is: no "open" after the last "close"."""
    torch.manual_seed(0)
    optimiser = torch.optim.Adam(module.parameters(), lr=0.01)
    for _ in range(steps):
        words = torch.randint(len(LETTERS), (128, 12))
        waiting, states, loss = torch.zeros(128, dtype=torch.bool), module.initial(128), torch.zeros(())
        for letters in words.T:
            waiting = (waiting | (letters == 0)) & (letters != 1)
            states = module.step(states, letters)
            loss = loss + functional.binary_cross_entropy_with_logits(module.score(states), (~waiting).float())
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(module.parameters(), 1.0)
        optimiser.step()
    return module.eval()


def whole_words(module: nn.Module):
    """The module as its owner would call it: on each word alone, all letters at once."""

    def scores(words: list[tuple[str, ...]]) -> list[float]:
        with torch.no_grad():
            return [float(module(torch.tensor(list(map(LETTERS.index, word))))) if word else 1.0 for word in words]

    return scores


def main() -> None:
    torch.set_num_threads(1)
    for module in (Rwkv(), Mamba()):
        name = type(module).__name__
        train(module)
        model = rnncheck.wrap_steps(
            module.initial, module.step, module.score, LETTERS, empty=True, whole_words=whole_words(module)
        )
        facts = model.describe()
        print(f"{name}: {facts['queries']}")
        print(f"  self-check: {facts['self_check']}")
        spec = rnncheck.Spec.from_ltlf("G(open -> F close)", alphabet=LETTERS)
        verdict = rnncheck.verify(model, spec, epsilon=5e-3, gamma=5e-3, timeout=60)
        print(f"  G(open -> F close): {verdict.outcome.value}, {verdict.reason}")
        if verdict.counterexample is not None:
            print(f"  {len(verdict.counterexample)} letters: {rnncheck.format_word(verdict.counterexample)}")
            print(f"  a random word is a violation with probability {verdict.severity}")


if __name__ == "__main__":
    main()
