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
        exec("")  # else Python remembers a Ctrl-C inside another text, as of a dataclass: -m would end by the signal


if __name__ == "__main__":
    main()
