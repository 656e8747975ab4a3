"""Searches for the shortest violation, when one is known: all words in turn as far as that pays, then promising ones.

Every word is queried at least up to the length that a plain search from the start would reach with all network steps of
the verification, unless that took most of the steps.
"""

from __future__ import annotations

from rnncheck.search.guided import RANKINGS, GuidedSearch, Ranking
from rnncheck.search.merged_pass import MergedPass
from rnncheck.verification.searches import every_word, prefix_tree
from rnncheck.verification.verification_task import Task
from rnncheck.words import Codes

_SHORT_WORDS = 0.4  # the share of the steps that every short word is queried with
_MOST_SHORT_WORDS = 0.7  # the same, where this leads as far as querying every word plainly would
_MERGED_SHARE = 0.3  # of the steps that are left; beams have the rest
_FEWEST_STEPS = 5_000  # of a pass that is worth starting
_BEAM_WIDTH = 512
# The network is known to fail, and does so on short words near its threshold.
_RANKINGS = (
    Ranking.UNUSUAL,
    Ranking.NEAR_THRESHOLD_OR_OUTLIER,
    *(ranking for ranking in RANKINGS if ranking != Ranking.NEAR_THRESHOLD),
)
# This ranking costs little more than the steps, and wide beams of it find short words that no other beam does.
_WIDER_RANKINGS = (Ranking.NEAR_THRESHOLD_OR_OUTLIER,)
_BEAMS = len(_RANKINGS)  # of the full width that are run


def short_words(task: Task, than: Codes, steps: int) -> Codes:
    """The shortest of all violations, or ``than``: queries every word within a share of ``steps``.

    It goes at least as far as a plain search from the start with all steps of the verification, where that leaves
    enough for other searches.
    """
    plain_steps = task.oracle.cost.work + steps
    longest = every_word(task).affordable(
        len(than) - 1, int(_SHORT_WORDS * steps), plain_steps, int(_MOST_SHORT_WORDS * steps)
    )
    return _every_word(task, than, longest)


def _every_word(task: Task, than: Codes, longest: int) -> Codes:
    """The shortest of all violations of at most ``longest`` letters, or ``than``. Updates ``task.exact_length``."""
    search = every_word(task)
    while search.length < longest and not search.finished:
        search.next_length(last=search.length + 1 == longest)
        if task.confirmed(search.violation):
            return search.violation or ()
        task.exact_length = search.length
    return than


def shorter_violation(task: Task, than: Codes, end: int) -> Codes:
    """The shortest violation that searches find until the count of work is ``end``, or ``than`` itself."""
    left = end - task.oracle.cost.work
    if every_word(task).affordable(len(than) - 1, left) == len(than) - 1:  # certainty instead of a search
        return _every_word(task, than, len(than) - 1)
    best, before = _guided_search(task, than, end - int(_MERGED_SHARE * left)), None
    while best != before:  # where merging has found one, the remaining steps may find another
        before, best = best, _merged_search(task, best, end - task.oracle.cost.work)
    return best


def _is_shortest(task: Task, word: Codes) -> bool:
    return not word or (task.exact_length is not None and task.exact_length >= len(word) - 1)


def _merged_search(task: Task, than: Codes, steps: int) -> Codes:
    """One merged pass from the longest level of the prefix tree that is kept."""
    start = every_word(task).kept
    if _is_shortest(task, than) or steps < _FEWEST_STEPS or start.words.shape[1] >= len(than) - 1:
        return than
    memory = task.settings.memory_limit // 4
    tree, rng = prefix_tree(task), task.rng("merged")
    search = MergedPass(tree, start, rng, steps=steps, shorter_than=len(than), memory=memory)
    while not search.finished:
        search.advance()
    return search.violation or () if task.confirmed(search.violation) else than


def _guided_search(task: Task, best: Codes, end: int) -> Codes:
    """Beams of every ranking; each violation found bounds the length for the next one."""
    if _is_shortest(task, best):
        return best
    memory = task.settings.memory_limit // 4
    search = GuidedSearch(
        prefix_tree(task),
        task.rng("shorter"),
        width=_BEAM_WIDTH,
        shorter_than=len(best),
        memory=memory,
        rankings=_RANKINGS,
        wider=_WIDER_RANKINGS,
    )
    while (
        not _is_shortest(task, best) and not search.finished and search.beams <= _BEAMS and task.oracle.cost.work < end
    ):
        search.advance()
        if task.confirmed(search.violation):
            best = search.violation or ()
            search.search_below(len(best))
    return best
