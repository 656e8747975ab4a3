"""A violation is known: which is the shortest? All words in turn as far as that pays, then those that look promising.

Whoever had asked every word from the beginning, for as many network steps as the whole verification takes, would have
come no further: at least so far every word is asked here too.
"""

from __future__ import annotations

from rnncheck.search.guided import RANKINGS, GuidedSearch, Ranking
from rnncheck.search.merged import MergedPass
from rnncheck.verification.searches import every_word, prefix_tree
from rnncheck.verification.task import Task
from rnncheck.words import Codes

_MERGED_SHARE = 0.65  # of the steps that are left; beams have the rest
_FEWEST_STEPS = 5_000  # of a pass that is worth beginning
_BEAM_WIDTH = 1024
# The network is known to err, and a short word is where it hardly decides.
_RANKINGS = (Ranking.NEAR_DECISION_OR_OUTLIER, *(ranking for ranking in RANKINGS if ranking != Ranking.NEAR_DECISION))
_BEAMS = 2 * len(_RANKINGS)  # tried in vain before the search gives up


def shortest_violation(task: Task, than: Codes, steps: int, plainly: int) -> Codes:
    """The shortest of all violations, or ``than``: every word is asked, as far as so many steps lead.

    It goes at least as far as asking every word from the beginning does for ``plainly`` steps. ``task.exact_length``
    says how far.
    """
    search = every_word(task)
    longest = search.affordable(len(than) - 1, steps, plainly)
    while search.length < longest and not search.finished:
        search.next_length(last=search.length + 1 == longest)
        if task.confirmed(search.violation):
            return search.violation or ()
        task.exact_length = search.length
    return than


def shorter_violation(task: Task, than: Codes, end: int) -> Codes:
    """The shortest violation that searches find until the count of work is ``end``, or ``than`` itself."""
    best, before = than, None
    while best != before:  # where merging has found one, what is left of the steps may do so again
        before, best = best, _merged(task, best, int(_MERGED_SHARE * (end - task.oracle.cost.work)))
    left = end - task.oracle.cost.work
    if every_word(task).affordable(len(best) - 1, left) == len(best) - 1:  # better to know than to seek
        return shortest_violation(task, best, left, plainly=0)
    return _guided(task, best, end)


def _proved(task: Task, word: Codes) -> bool:
    return not word or (task.exact_length is not None and task.exact_length >= len(word) - 1)


def _merged(task: Task, than: Codes, steps: int) -> Codes:
    """By one pass from the longest words that are all held."""
    start = every_word(task).kept
    if _proved(task, than) or steps < _FEWEST_STEPS or start.words.shape[1] >= len(than) - 1:
        return than
    memory = task.settings.memory_limit // 4
    tree, rng = prefix_tree(task), task.rng("merged")
    search = MergedPass(tree, start, rng, steps=steps, shorter_than=len(than), memory=memory)
    while not search.finished:
        search.advance()
    return search.violation or () if task.confirmed(search.violation) else than


def _guided(task: Task, best: Codes, end: int) -> Codes:
    """Beams of every ranking."""
    tree, rng = prefix_tree(task), task.rng("shorter")
    while not _proved(task, best):
        memory = task.settings.memory_limit // 4
        search = GuidedSearch(tree, rng, width=_BEAM_WIDTH, shorter_than=len(best), memory=memory, rankings=_RANKINGS)
        while not search.finished:
            if task.oracle.cost.work >= end or search.beams > _BEAMS:
                return best
            search.advance()
        if not task.confirmed(search.violation):
            break
        best = search.violation or ()
    return best
