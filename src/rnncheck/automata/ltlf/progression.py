"""What is left to check of a word after each of its letters: progression of temporal claims.

A *claim* is a property of the rest of a word. It is kept in two parts: whether it holds when nothing is left,
and a Boolean function for when at least one letter is left. The variables of that function
are of three kinds:

- a bit of the next letter's class code (these are highest: the letter decides most of a function at once);
- *next*: a claim about what follows the next letter;
- *fixpoint*: a variable that stands for its own definition, a function that may use the variable again
  behind a *next*.

Reading a letter turns a claim into the claim about what follows: the bits become constants, a *next* becomes its
claim, a fixpoint its progressed definition, and the Boolean function joins the results. As functions are
canonical, equal claims are equal integers; there are finitely many for any formula, and they are the states of
its automaton.

The two parts dispose of the classical trap: "X φ" is not "φ after one letter", it is "φ after one letter, and
something is left there", which is φ with its first part set to false.
"""

from __future__ import annotations

from typing import TypeAlias

from rnncheck.automata.ltlf.decision_diagrams import FALSE, TRUE, DecisionDiagrams

Claim: TypeAlias = int
"""A function shifted left by one, plus 1 if the claim holds of the empty rest."""

ALWAYS: Claim = TRUE << 1 | 1
NEVER: Claim = FALSE << 1
NOT_EMPTY: Claim = TRUE << 1
EMPTY: Claim = FALSE << 1 | 1

_FIRST_BIT = 1 << 40
"""The level of the lowest bit, above all other variables."""

_Effect: TypeAlias = tuple[Claim, dict[int, Claim]]
"""What a function becomes after a letter: the usual claim, and the classes of letters with another one."""

_MEMO_SIZE = 1 << 20


def negate(claim: Claim) -> Claim:
    return claim ^ 3


class Progression:
    """The claims that one formula needs, over letter classes coded ``0 … classes - 1``.

    ``max_terms`` bounds the work: above it, a ResourceLimitError.
    """

    def __init__(self, classes: int, max_terms: int) -> None:
        self._functions = DecisionDiagrams(max_terms)
        self._classes = classes
        self._last_class = classes - 1
        self._bits = self._last_class.bit_length()
        self._levels = 0
        self._next_claims: dict[int, Claim] = {}
        self._next_levels: dict[Claim, int] = {}
        self._definitions: dict[int, int] = {}
        self._untils: dict[tuple[int, int, int], int] = {}
        self._effects: dict[int, _Effect] = {TRUE: (ALWAYS, {})}
        self._remembered = 0

    def one_of(self, classes: set[int]) -> Claim:
        """The next letter is in one of these classes; in particular there is one."""
        found = FALSE
        for code in sorted(classes):
            found = self._functions.either(found, self._has_code(code))
        return found << 1

    def both(self, left: Claim, right: Claim) -> Claim:
        return self._functions.both(left >> 1, right >> 1) << 1 | (left & right & 1)

    def either(self, left: Claim, right: Claim) -> Claim:
        return self.both(left ^ 3, right ^ 3) ^ 3

    def follows(self, claim: Claim) -> Claim:
        """There is a next letter, and the claim holds of what follows it (perhaps nothing)."""
        if claim in (ALWAYS, NEVER):
            return claim & ~1
        # A next letter given, "not next c" is "next not c": keep one variable for both.
        flip = claim >> 1 & 1
        plain = negate(claim) if flip else claim
        level = self._next_levels.get(plain)
        if level is None:
            level = self._new_level()
            self._next_levels[plain] = level
            self._next_claims[level] = plain
        return (self._functions.variable(level) ^ flip) << 1

    def until(self, left: Claim, right: Claim, at_end: bool = False) -> Claim:
        """``right`` holds at some letter ahead, or ``at_end`` at the end, and ``left`` at every letter before it.

        Only letters count as places for ``left`` and ``right``. With ``at_end`` false this is LTLf's U.
        """
        hold, goal, end = left >> 1, right >> 1, int(at_end)
        if goal == TRUE or hold in (FALSE, goal) or (goal == FALSE and not at_end):
            return goal << 1 | end  # waiting cannot help, or helps never
        key = (hold, goal, end)
        level = self._untils.get(key)
        if level is None:
            level = self._new_level()
            self._untils[key] = level
            # a U (a U b) is a U b
            self._untils[hold, self._functions.variable(level), end] = level
            again = self.follows(self._functions.variable(level) << 1 | end)
            self.define(level, self.either(goal << 1, self.both(hold << 1, again)))
        return self._functions.variable(level) << 1 | end

    def fixpoint(self, at_end: bool) -> tuple[int, Claim]:
        """A new fixpoint's level, and the claim that stands for it; ``define`` must follow before ``after_each``."""
        level = self._new_level()
        return level, self._functions.variable(level) << 1 | int(at_end)

    def define(self, level: int, claim: Claim) -> None:
        """Define a fixpoint where a letter is left. It may refer to itself only behind ``follows``."""
        self._definitions[level] = claim >> 1

    def after_each(self, claim: Claim) -> list[Claim]:
        """For every class of letters, the claim about the rest of the word once such a letter was read."""
        function = claim >> 1
        flip = 3 * (function & 1)
        usual, exceptions = self._effect(function >> 1)
        claims = [usual ^ flip] * self._classes
        for code, exception in exceptions.items():
            claims[code] = exception ^ flip
        return claims

    def _new_level(self) -> int:
        self._functions.spend()
        self._levels += 1
        return self._levels - 1

    def _has_code(self, code: int) -> int:
        """The function of the bits that is true of one class.

        Codes beyond the last class count as the last class: no value of the bits is left without a class, so
        "one of all classes" is the constant true.
        """
        choice = self._functions.choice
        found = TRUE
        for bit in range(self._bits):
            if code >> bit & 1:
                found = choice(_FIRST_BIT + bit, found, FALSE)
            else:
                found = choice(_FIRST_BIT + bit, TRUE if code == self._last_class else FALSE, found)
        return found

    def _effect(self, index: int) -> _Effect:
        """What the letters make of the (uncomplemented) function at an index."""
        known, functions = self._effects, self._functions
        if self._remembered > _MEMO_SIZE:
            self._remembered = 0
            known.clear()
            known[TRUE] = (ALWAYS, {})
        waiting = [] if index in known else [index]
        while waiting:
            now = waiting[-1]
            level = functions.levels[now]
            if level >= _FIRST_BIT:
                last_case, cases = self._cases_by_letter(now << 1)
                needed = {last_case >> 1, *(case >> 1 for case in cases.values())}
            else:
                needed = {functions.highs[now] >> 1, functions.lows[now] >> 1}
                if level in self._definitions:
                    needed.add(self._definitions[level] >> 1)
            missing = [other for other in needed if other not in known]
            if missing:
                waiting.extend(missing)
                continue
            waiting.pop()
            effect = self._choose_by_letter(last_case, cases) if level >= _FIRST_BIT else self._choose_by_variable(now)
            known[now] = effect
            functions.spend(1 + len(effect[1]))
            self._remembered += 1 + len(effect[1])
        return known[index]

    def _cases_by_letter(self, function: int) -> tuple[int, dict[int, int]]:
        """What is left of a function once the letter's class is known: for the last class, and where different."""
        functions = self._functions
        last_case = function
        while (level := functions.levels[last_case >> 1]) >= _FIRST_BIT:
            high, low = functions.cases(last_case, level)
            last_case = high if self._last_class >> level - _FIRST_BIT & 1 else low
        cases = {}
        waiting = [(function, self._bits, 0)]
        while waiting:
            function, bits, code = waiting.pop()
            if function == last_case:
                continue
            functions.spend()
            if bits == 0:
                cases[code] = function
                continue
            high, low = functions.cases(function, _FIRST_BIT + bits - 1)
            waiting.append((high, bits - 1, code | 1 << bits - 1))
            waiting.append((low, bits - 1, code))
        return last_case, cases

    def _choose_by_letter(self, last_case: int, cases: dict[int, int]) -> _Effect:
        """The effect of a letter is its effect on the case that it leaves."""
        flip = 3 * (last_case & 1)
        usual, exceptions = self._effects[last_case >> 1]
        usual ^= flip
        chosen = {code: claim ^ flip for code, claim in exceptions.items() if code not in cases}
        for code, case in cases.items():
            claim, exceptions = self._effects[case >> 1]
            claim = exceptions.get(code, claim) ^ 3 * (case & 1)
            if claim != usual:
                chosen[code] = claim
        return usual, chosen

    def _choose_by_variable(self, index: int) -> _Effect:
        """The effect on the root variable chooses between the effects on the two cases."""
        functions = self._functions
        level, low = functions.levels[index], functions.lows[index]
        flip_low, flip_variable = 3 * (low & 1), 0
        yes, yes_exceptions = self._effects[functions.highs[index] >> 1]
        no, no_exceptions = self._effects[low >> 1]
        if level in self._definitions:
            definition = self._definitions[level]
            flip_variable = 3 * (definition & 1)
            variable, variable_exceptions = self._effects[definition >> 1]
        else:
            variable, variable_exceptions = self._next_claims[level], {}
        usual = self._if_else(variable ^ flip_variable, yes, no ^ flip_low)
        exceptions = {}
        for code in variable_exceptions | yes_exceptions | no_exceptions:
            claim = self._if_else(
                variable_exceptions.get(code, variable) ^ flip_variable,
                yes_exceptions.get(code, yes),
                no_exceptions.get(code, no) ^ flip_low,
            )
            if claim != usual:
                exceptions[code] = claim
        return usual, exceptions

    def _if_else(self, condition: Claim, yes: Claim, no: Claim) -> Claim:
        if yes == no:
            return yes
        if no == NEVER:
            return self.both(condition, yes)
        if yes == ALWAYS:
            return self.both(condition ^ 3, no ^ 3) ^ 3
        return self.either(self.both(condition, yes), self.both(condition ^ 3, no))
