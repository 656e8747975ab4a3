"""Boolean functions in one canonical, shared form.

A function of numbered variables is an integer, and two functions are the same exactly when their integers are:
comparing, hashing and negating (``f ^ 1``) cost nothing, however large the formula that was written. Inside,
functions are binary decision diagrams with complemented edges; the variable numbered highest stands at the root,
so that combining a new variable with an old function is one step.

Nothing here recurses, so the size of a function is limited by ``max_terms`` and not by the interpreter's stack.
"""

from __future__ import annotations

from rnncheck.errors import ResourceLimitError

TRUE = 0
FALSE = 1

_MEMO_SIZE = 1 << 20
"""The cache of conjunctions is cleared above this size; it affects only the speed."""


class DecisionDiagrams:
    """A store of Boolean functions. ``f ^ 1`` is the negation of ``f``; ``f >> 1`` is where ``f`` is stored.

    ``levels``, ``highs`` and ``lows`` describe the function stored at an index: its root variable, and what
    remains of it where that variable is true, or false. Index 0 is the constant true, at level -1.
    """

    __slots__ = ("_conjunctions", "_known", "_max_terms", "_spent", "highs", "levels", "lows")

    def __init__(self, max_terms: int) -> None:
        self.levels = [-1]
        self.highs = [TRUE]
        self.lows = [TRUE]
        self._known: dict[tuple[int, int, int], int] = {}
        self._conjunctions: dict[int, int] = {}
        self._max_terms = max_terms
        self._spent = 0

    def spend(self, terms: int = 1) -> None:
        """Count computed terms; a ResourceLimitError ends work that would take too long."""
        self._spent += terms
        if self._spent > self._max_terms:
            raise ResourceLimitError(
                f"the formula needs more than {self._max_terms} terms to write down what is left to check, the limit; "
                "simplify it or check its parts one at a time (a larger max_states raises this limit too)"
            )

    def variable(self, level: int) -> int:
        return self.choice(level, TRUE, FALSE)

    def choice(self, level: int, high: int, low: int) -> int:
        """``high`` where the variable is true, ``low`` where it is false; both have smaller variables only."""
        if high == low:
            return high
        # The edge for "true" is never complemented: this makes the form canonical.
        flip = high & 1
        key = (level, high ^ flip, low ^ flip)
        known = self._known.get(key)
        if known is None:
            known = len(self.levels) << 1
            self._known[key] = known
            self.levels.append(level)
            self.highs.append(high ^ flip)
            self.lows.append(low ^ flip)
        return known ^ flip

    def cases(self, f: int, level: int) -> tuple[int, int]:
        """What remains of ``f`` where the variable at ``level`` (no lower than f's own) is true, and false."""
        index = f >> 1
        if self.levels[index] != level:
            return f, f
        flip = f & 1
        return self.highs[index] ^ flip, self.lows[index] ^ flip

    def both(self, f: int, g: int) -> int:
        """The function f ∧ g."""
        result = self._both_at_once(f, g)
        return self._both_by_cases(f, g) if result < 0 else result

    def either(self, f: int, g: int) -> int:
        """The function f ∨ g."""
        return self.both(f ^ 1, g ^ 1) ^ 1

    def _both_at_once(self, f: int, g: int) -> int:
        """The function f ∧ g where it is trivial or cached, otherwise -1."""
        if f > g:
            f, g = g, f
        if f <= FALSE:
            return g if f == TRUE else FALSE
        if f ^ g <= 1:
            return f if f == g else FALSE
        return self._conjunctions.get(f << 32 | g, -1)

    def _both_by_cases(self, f: int, g: int) -> int:
        """The function f ∧ g, by cases over the highest variable of the two."""
        levels, memo, at_once = self.levels, self._conjunctions, self._both_at_once
        if len(memo) > _MEMO_SIZE:
            memo.clear()
        waiting = [(f, g) if f < g else (g, f)]
        while waiting:
            f, g = waiting[-1]
            level = max(levels[f >> 1], levels[g >> 1])
            f_high, f_low = self.cases(f, level)
            g_high, g_low = self.cases(g, level)
            high = at_once(f_high, g_high)
            low = at_once(f_low, g_low)
            if high >= 0 and low >= 0:
                waiting.pop()
                self.spend()
                result = memo[f << 32 | g] = self.choice(level, high, low)
                continue
            if high < 0:
                waiting.append((f_high, g_high) if f_high < g_high else (g_high, f_high))
            if low < 0:
                waiting.append((f_low, g_low) if f_low < g_low else (g_low, f_low))
        return result
