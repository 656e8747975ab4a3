"""``python -m rnncheck``: the command line."""

from rnncheck.cli import main

if __name__ == "__main__":
    main()
