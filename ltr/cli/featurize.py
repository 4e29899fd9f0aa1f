"""ltr featurize: samples in, phi out."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ltr.cli.config_of_flags import configured
from ltr.cli.options import (
    Address,
    AllowDownload,
    Code,
    ConfigFile,
    Encoder,
    EngineName,
    Features,
    Graphs,
    Negatives,
    Overwrite,
    Quiet,
    Recommended,
    Samples,
    Sets,
    ShardRows,
    Tools,
    Verbose,
    Workers,
    fetch_encoder,
    given_keys,
)
from ltr.cli.output import note, warn
from ltr.cli.progress import run_progress
from ltr.errors import count
from ltr.reporting.escaping import visible


def featurize(
    ctx: typer.Context,
    samples: Samples,
    out: Annotated[str, typer.Option("--out", "-o", help="OUT.npz, OUT.jsonl (.gz, .zst), or DIR/ for any amount.")],
    config: ConfigFile = None,
    recommended: Recommended = False,
    features: Features = None,
    model: Annotated[
        Path | None, typer.Option("--model", "-m", help="Apply the features of a model or of featurised data.")
    ] = None,
    tools: Tools = None,
    negatives: Negatives = None,
    graphs: Graphs = None,
    encoder: Encoder = None,
    sets: Sets = None,
    allow_download: AllowDownload = False,
    shard_rows: ShardRows = None,
    engine: EngineName = None,
    workers: Workers = None,
    address: Address = None,
    code: Code = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Turn SAMPLES into phi, the matrix of features.

    The features are fitted on the samples (cross-fitted), or those of a model are applied (-m).
    """
    from ltr.experiments.featurize import featurize_and_save, fitted_features

    wanted = configured(config, sets, given_keys(ctx))
    if allow_download:
        fetch_encoder(fitted_features(model).encoder.name if model else wanted.encoder)
    with run_progress(quiet=quiet) as on_progress:
        options: dict[str, Any] = {"model": model, "overwrite": overwrite, "rows": shard_rows, "code": code or ()}
        made = featurize_and_save(wanted, out, **options, on_progress=on_progress)
    for warning in made.warnings:
        warn(warning)
    if not quiet:
        rows, groups = count(made.candidates, "candidate"), count(made.groups, "group")
        how = "applied" if model else "fitted and cross-fitted"
        how += f" with encoder {made.auto_encoder} (auto)" if made.auto_encoder else ""
        note(f"{rows} of {groups}, {', '.join(made.names)} {how}: {visible(out)}")
