"""The command line. Results go to stdout, progress and errors to stderr.

Exit codes: 0 satisfied or yes · 1 violated or no · 2 bad usage or bad input · 3 undecided.
"""

from __future__ import annotations

import os
import sys

import click

from rnncheck.cli.bench import bench
from rnncheck.cli.contacts import contacts
from rnncheck.cli.draw import draw_command
from rnncheck.cli.extraction import compare_surrogates, extract
from rnncheck.cli.models import classify, inspect, train
from rnncheck.cli.replay import replay
from rnncheck.cli.report import report_command
from rnncheck.cli.spec import spec
from rnncheck.cli.verify import verify
from rnncheck.errors import RnncheckError
from rnncheck.version import __version__


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="rnncheck")
def rnncheck() -> None:
    """Verify recurrent neural networks against regular specifications.

    Exit codes: 0 satisfied (or yes), 1 violated (or no), 2 bad usage or bad input, 3 undecided.
    """


for command in (
    verify,
    extract,
    replay,
    spec,
    train,
    inspect,
    classify,
    draw_command,
    report_command,
    compare_surrogates,
    contacts,
    bench,
):
    rnncheck.add_command(command)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its code; errors are one line on stderr, never a traceback."""
    try:
        code = rnncheck.main(arguments, prog_name="rnncheck", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.Abort:
        click.echo("interrupted", err=True)
        sys.exit(130)
    except RnncheckError as error:
        click.echo(f"rnncheck: {error}", err=True)
        sys.exit(2)
    except BrokenPipeError:  # the reader of our output has gone; there is nobody left to tell
        sys.stderr.close()
        sys.exit(141)
    except OSError as error:
        click.echo(f"rnncheck: {error.filename or 'output'}: {error.strerror or error}", err=True)
        sys.exit(2)
    except Exception as error:
        # An exit code must never look like a verdict. The traceback is for whoever mends it.
        if os.environ.get("RNNCHECK_TRACEBACK"):
            raise
        click.echo(
            f"rnncheck: unexpected {type(error).__name__}: {error}; this is a fault of rnncheck, please report it "
            "(with RNNCHECK_TRACEBACK=1 in the environment the whole story is shown)",
            err=True,
        )
        sys.exit(2)
    sys.exit(code if isinstance(code, int) else 0)
