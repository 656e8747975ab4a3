"""The section about faulty flows: the loops that can be pumped, and the network's scores along them."""

from __future__ import annotations

from rnncheck.report.markup import Markup, join, section, tag, word_markup
from rnncheck.report.plots import pumping_plot
from rnncheck.verdict.value import Verdict
from rnncheck.verdict.violation import FaultyFlow

_INTRODUCTION = (
    "A loop that can be inserted into the counterexample and repeated n times; for the n counted below the word is "
    "still a violation. So this is not a single mistake but a family of them."
)
_SHOWN = 16  # letters of a part of a flow; the counterexample is shown in full further up


def flows(verdict: Verdict) -> Markup | None:
    """The loops that can be pumped, with their plots."""
    if not verdict.faulty_flows:
        return None
    choices = [
        tag(
            "label",
            tag("input", type="radio", name="flow", value=number, checked=number == 0),
            tag("span", _flow_markup(flow)),
        )
        for number, flow in enumerate(verdict.faulty_flows)
    ]
    several = len(verdict.faulty_flows) > 1
    two = verdict.comparison is not None
    panels = [_flow_panel(number, flow, two_models=two) for number, flow in enumerate(verdict.faulty_flows)]
    return section(
        "flows",
        "Faulty flows" if several else "Faulty flow",
        tag("p", _INTRODUCTION),
        tag("fieldset", tag("legend", "Show and colour this flow" if several else "The flow"), *choices,
            class_="flow-choice"),
        *panels,
    )  # fmt: skip


def _flow_markup(flow: FaultyFlow) -> Markup:
    power = tag("sup", "n")
    return join([word_markup(flow.prefix, _SHOWN), tag("span", " · ( ", class_="dot"), word_markup(flow.loop, _SHOWN),
                 tag("span", " )", power, " · ", class_="dot"), word_markup(flow.suffix, _SHOWN)])  # fmt: skip


def _flow_panel(number: int, flow: FaultyFlow, *, two_models: bool) -> Markup:
    lines = [f"{flow.hits} of n = 1 … {flow.pumps} are violations{flow.ever}."]
    if flow.forever:
        lines.append(f"From n = {flow.settles_at} on the network’s state repeats itself bit by bit. Another processor "
                    "may round differently and not repeat there.")  # fmt: skip
    elif flow.settles_at is not None:
        lines.append(f"From n = {flow.settles_at} on the network’s state repeats itself, so the answers repeat, too.")
    title = f"{'Score' if two_models else 'Network’s score'} against n, 1 to {flow.pumps}: {flow.hits} violations"
    hits = frozenset(flow.violating_pumps or ())
    figure_ = tag("figure", pumping_plot(flow.scores, hits, flow.pumps, title, two_models=two_models),
                  tag("figcaption", "Filled points are violations; point at one for its numbers."))  # fmt: skip
    return tag("div", tag("p", " ".join(lines)), figure_, class_="flow-panel", data_flow=number, hidden=number > 0)
