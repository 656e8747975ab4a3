"""How the activities of ``auto`` take turns."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

from rnncheck.verification.methods.auto import _Activity


def test_long_turns_wait_until_the_others_have_come_so_far() -> None:
    """Should not let what takes 1 000 steps a turn be ahead of what takes 300 by more than its first turn."""
    cost = SimpleNamespace(work=0)
    task = cast(Any, SimpleNamespace(oracle=SimpleNamespace(cost=cost)))

    def turns(steps: int) -> Iterator[None]:
        while True:
            cost.work += steps
            yield

    long, short = (_Activity(cast(Any, turns(steps)), 1.0) for steps in (1_000, 300))
    order = []
    for _ in range(20):
        activity = min((long, short), key=lambda some: some.due)
        activity.turn(task)
        order.append(activity)
        if len(order) > 3:
            assert long.steps <= max(1_000, short.steps + 300)
    assert order.count(long) >= 4, "nothing is left out"
