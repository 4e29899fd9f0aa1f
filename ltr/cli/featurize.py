"""ltr featurize: samples in, phi out."""

from pathlib import Path
from typing import Annotated

import typer

from ltr.cli.options import ConfigFile, Encoder, Graphs, Overwrite, Quiet, Samples, Sets, Tools, configured
from ltr.cli.terminal import count, note, visible


def featurize(
    samples: Samples,
    out: Annotated[Path, typer.Option("--out", "-o", help="OUT.npz, or OUT.jsonl (.gz, .zst).")],
    config: ConfigFile = None,
    model: Annotated[
        Path | None, typer.Option("--model", "-m", help="Apply the features of a model or of featurised data.")
    ] = None,
    tools: Tools = None,
    graphs: Graphs = None,
    encoder: Encoder = None,
    sets: Sets = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Turn SAMPLES into phi, the matrix of features.

    The features are fitted on the samples (cross-fitted), or those of a model are applied (-m).
    """
    from ltr.batch import featurize_and_save

    wanted = configured(config, sets, data__train=samples, data__tools=tools, data__graphs=graphs, encoder=encoder)
    groups, names = featurize_and_save(wanted, out, model=model, overwrite=overwrite)
    if not quiet:
        rows = count(len(groups.labels), "candidate")
        how = "applied" if model else "fitted and cross-fitted"
        note(
            f"{rows} of {count(len(groups.offsets) - 1, 'group')}, {', '.join(names)} {how}: {visible(out.as_posix())}"
        )
