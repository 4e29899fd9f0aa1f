"""The command line: parse, call, show. Only here are things printed, and only here exit codes are known."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ltr.cli.commands import COMMANDS as COMMANDS
    from ltr.cli.commands import app as app
    from ltr.cli.output import emphasis as emphasis
    from ltr.cli.output import lines_of as lines_of
    from ltr.cli.start import EXIT_CODES as EXIT_CODES
    from ltr.cli.start import ONE_THREAD as ONE_THREAD
    from ltr.cli.start import main as main
else:
    from ltr.lazy import attach

    __getattr__, __dir__, __all__ = attach(__name__)
