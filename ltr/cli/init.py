"""ltr init: a config and a small data set to start from."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from ltr.cli.options import Overwrite
from ltr.reporting.escaping import visible


def init(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Where to put them; made if needed.")] = Path(),
    overwrite: Overwrite = False,
) -> None:
    """Write ltr.yaml and a small data set to start from."""
    from ltr.experiments.starter import write_starter

    for path in write_starter(directory, overwrite=overwrite):
        print(f"wrote {visible(path.as_posix())}")
    move = "" if directory == Path() else f"cd {shlex.quote(directory.as_posix())} && "
    print(f"next: {visible(move)}ltr run")
    print('then: ltr rank runs/mine "send an email to Ann", or look at runs/mine/report.html')
