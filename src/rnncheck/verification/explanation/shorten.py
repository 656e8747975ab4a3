"""A violation is known: which is the shortest? All words in turn as far as that pays, then those that look promising.

Whoever had asked every word from the beginning, for as many network steps as the whole verification takes, would have
come no further, unless that took most of the steps: at least so far every word is asked here too.
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
_FEWEST_STEPS = 5_000  # of a pass that is worth beginning
_BEAM_WIDTH = 512
# The network is known to err, and a short word is where it hardly decides.
_RANKINGS = (
    Ranking.UNUSUAL,
    Ranking.NEAR_DECISION_OR_OUTLIER,
    *(ranking for ranking in RANKINGS if ranking != Ranking.NEAR_DECISION),
)
# This ranking costs little more than the steps, and wide beams of it find short words that no other beam does.
_WIDER_RANKINGS = (Ranking.NEAR_DECISION_OR_OUTLIER,)
_BEAMS = len(_RANKINGS)  # of the full width that are followed


def short_words(task: Task, than: Codes, steps: int) -> Codes:
    """The shortest of all violations, or ``than``: every word is asked, as far as a share of so many steps leads.

    It goes as far as asking every word from the beginning does for all steps of the verification, where that leaves
    enough for other searches.
    """
    plainly = task.oracle.cost.work + steps
    longest = every_word(task).affordable(
        len(than) - 1, int(_SHORT_WORDS * steps), plainly, int(_MOST_SHORT_WORDS * steps)
    )
    return _every_word(task, than, longest)


def _every_word(task: Task, than: Codes, longest: int) -> Codes:
    """The shortest of all violations of at most so many letters, or ``than``; ``task.exact_length`` says how far."""
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
    if every_word(task).affordable(len(than) - 1, left) == len(than) - 1:  # better to know than to seek
        return _every_word(task, than, len(than) - 1)
    best, before = _guided(task, than, end - int(_MERGED_SHARE * left)), None
    while best != before:  # where merging has found one, what is left of the steps may do so again
        before, best = best, _merged(task, best, end - task.oracle.cost.work)
    return best


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
    """Beams of every ranking, each find a bound for the next one."""
    if _proved(task, best):
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
    while not _proved(task, best) and not search.finished and search.beams <= _BEAMS and task.oracle.cost.work < end:
        search.advance()
        if task.confirmed(search.violation):
            best = search.violation or ()
            search.seek_shorter(len(best))
    return best
