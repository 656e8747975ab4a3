"""The command line. Results go to stdout, progress and errors to stderr.

Exit codes: 0 satisfied or yes · 1 violated or no · 2 bad usage or bad input · 3 undecided.
"""

from __future__ import annotations

import os
import sys

import click

from rnncheck.cli.command_group import LazyGroup
from rnncheck.cli.interruption import Interrupted, ending_on_sigterm, exit_code_of
from rnncheck.cli.output import lasting_output, say, say_lines
from rnncheck.errors import RnncheckError
from rnncheck.version import __version__

_START = """\
rnncheck verifies recurrent neural networks against regular specifications.

  rnncheck inspect MODEL                        what a model is, and its letters
  rnncheck verify MODEL --ltlf 'G(a -> F b)'    does it satisfy a property?
  rnncheck init MODEL                           a property file to begin with
  rnncheck check suite.toml                     many properties, many models, one run

MODEL is a .safetensors, .pt or .onnx file, or a folder; --module brings in your own code.
All commands: rnncheck --help. The options of one: rnncheck verify --help.
"""


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="rnncheck")
@click.pass_context
def rnncheck(ctx: click.Context) -> None:
    """Verify recurrent neural networks against regular specifications.

    Exit codes: 0 satisfied (or yes), 1 violated (or no), 2 bad usage or bad input, 3 undecided.
    """
    if ctx.invoked_subcommand is None:
        say_lines(_START)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its code; errors are one line on stderr, never a traceback."""
    with lasting_output() as lost, ending_on_sigterm():
        code = _answer(arguments)
        reason = lost()
        if reason is not None:
            say(f"rnncheck: stdout: {reason}; what is missing there is lost", err=True)
    # The exit code of a verdict holds even if its output was lost; of any other command the output is all there is.
    sys.exit((0 if reason is None else 2) if code is None else code)


def _answer(arguments: list[str] | None) -> int | None:
    """The exit code; None for success of a command without exit codes of its own."""
    try:
        code = rnncheck.main(arguments, prog_name="rnncheck", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.UsageError as error:
        command = "rnncheck" if error.ctx is None else error.ctx.command_path
        return _report_error(f"{error.format_message().rstrip('.')} (see {command} --help)", error.exit_code)
    except click.ClickException as error:
        return _report_error(error.format_message(), error.exit_code)
    except SystemExit:  # click exits where the help is piped to a closed reader
        return 0
    except (click.Abort, Interrupted) as end:
        say(str(end) or "interrupted", err=True)
        return exit_code_of(end.__cause__)
    except RnncheckError as error:
        return _report_error(str(error))
    except OSError as error:
        return _report_error(f"{error.filename or 'output'}: {error.strerror or error}")
    except Exception as error:
        # An exit code must never look like a verdict. The traceback is for developers.
        if os.environ.get("RNNCHECK_TRACEBACK"):
            raise
        return _report_error(
            f"unexpected {type(error).__name__}: {error}; this is an error in rnncheck, please report it "
            "(RNNCHECK_TRACEBACK=1 in the environment shows the traceback)"
        )
    return code if isinstance(code, int) else None


def _report_error(problem: str, code: int = 2) -> int:
    say(f"rnncheck: {problem}", err=True)
    return code
