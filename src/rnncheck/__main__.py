"""``python -m rnncheck``: the command line."""

from rnncheck_start import main

if __name__ == "__main__":
    main()
