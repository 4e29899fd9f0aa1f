"""The command line, as `ltr` and as `python -m ltr`: a Ctrl-C ends it quietly from its first import on."""

import sys

INTERRUPTED = 130


def main() -> None:
    """Run the command line and end the process."""
    try:
        from ltr.cli import main as command

        command()
    except KeyboardInterrupt:  # while it was loaded
        sys.exit(INTERRUPTED)
    finally:
        # CPython notes a Ctrl-C inside a text that it executes, as dataclasses do, and ends `-m` by the signal for it,
        # caught or not; executing an empty text clears the note
        exec("")


if __name__ == "__main__":
    main()
