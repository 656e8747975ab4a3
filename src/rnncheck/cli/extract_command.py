"""``rnncheck extract``: an automaton that stands for a network."""

from __future__ import annotations

from collections.abc import Iterator

from rnncheck.automata.moore import MooreMachine
from rnncheck.cli.automaton_files import automaton_text
from rnncheck.cli.command import command as make_command
from rnncheck.cli.given_options import GivenOptions
from rnncheck.cli.learning_request import learning_settings
from rnncheck.cli.model_request import ModelRequest, model_argument
from rnncheck.cli.output import say
from rnncheck.cli.progress import progress_line, progress_text
from rnncheck.cli.results import result_document, show_result
from rnncheck.cli.time_limit import TimeLimit
from rnncheck.cli.word_requests import check_distribution, distribution
from rnncheck.errors import InputError
from rnncheck.extraction.extract import extract as extract_automaton
from rnncheck.extraction.method import Extraction
from rnncheck.learning.learning_settings import LearningSettings
from rnncheck.runtime.budget import BudgetExceeded
from rnncheck.runtime.files import write_atomically


@make_command("extract", model_argument())
def command(options: GivenOptions) -> int:
    """Extract an automaton that answers like the network, except on words whose probability is below ε.

    Exit codes: 0 it passed its test, 3 it did not, or the time limit or a bound came first. What there is by then is
    written all the same, if there is anything.
    """
    model, output = ModelRequest.of(options), options["output"]
    check_distribution(options)
    if not options["moore"]:
        automaton_text(str(output))  # a name of another kind is an error before the work
    elif output.suffix not in (".dot", ".json"):
        raise InputError(f"{output}: a Moore machine is written as .dot or .json; name the file so")
    try:
        extraction = _extract(options, model)
    except BudgetExceeded as end:  # before anything was learned
        say(f"no automaton: {end}", err=True)
        return 3
    automaton = extraction.automaton
    if isinstance(automaton, MooreMachine):
        from rnncheck.automata.formats.moore_files import machine_text

        write_atomically(output, machine_text(automaton, str(output)))
        head = f"{output}: {len(automaton)} states, labels {', '.join(automaton.labels)}"
    else:
        write_atomically(output, automaton_text(str(output))(automaton))
        head = f"{output}: {len(automaton)} states"
    facts: dict[str, object] = {"output": str(output), "states": len(automaton), "passed": extraction.passed}
    facts |= {name: getattr(extraction, name) for name in ("epsilon", "sentence", "unfinished", "agreement_sentence")}
    show_result(options, result_document(options, **facts, cost=extraction.cost), [head, *_lines(options, extraction)])
    return 0 if extraction.passed else 3


def _extract(options: GivenOptions, model: ModelRequest) -> Extraction:
    limit = TimeLimit(options["timeout"])
    with progress_line(quiet=options["quiet"]) as show:
        loaded = limit.load(model, options["alphabet"], any_label=options["moore"])
        return extract_automaton(
            loaded,
            **options.pick("method", "states", "epsilon", "gamma", "seed"),
            labels=options["moore"],
            distribution=distribution(options, loaded.alphabet),
            timeout=limit.left,
            progress=lambda progress: show(progress_text(progress)),
            settings=learning_settings(options, loaded.alphabet, LearningSettings),
        )


def _lines(options: GivenOptions, extraction: Extraction) -> Iterator[str]:
    yield f"  {extraction.sentence}"
    if options["method"] == "auto" and extraction.how:
        yield f"  {extraction.how}"
    if extraction.chosen:
        yield f"  {extraction.chosen}"
    yield f"  {extraction.agreement_sentence}"
    if extraction.cost is not None:
        cost = extraction.cost
        yield f"  {cost.seconds:.1f} s, {cost.membership_queries} queries, {cost.network_steps} network steps"
    if options["curve"] and extraction.curve is not None:
        for size, agreement, low, high in extraction.curve.rows():
            yield f"  {size:>6} states  {agreement:.4f}  ({low:.4f} to {high:.4f})"
