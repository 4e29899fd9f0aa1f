"""The routers that `import ltr` gives: they learn anew in the background whenever they learn at once."""

import os
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

import msgspec

from ltr import serving
from ltr.config import Document, run_config, yaml_text
from ltr.encoders import AUTO
from ltr.errors import UsageError
from ltr.evaluation import BestFeature
from ltr.features import RECOMMENDED, Rarity
from ltr.files import locked, new_directory, write_file
from ltr.jsonl import excerpt
from ltr.paths import AnyPath
from ltr.records.run import RUN_FORMAT, RunRecord
from ltr.runs import RUN_KIND, Learned, Part, RunDirectory
from ltr.serving import Router


def load(path: AnyPath, *, tools: AnyPath | Iterable[object] | None = None, graphs: AnyPath | None = None) -> Router:
    """The router of a run directory, pack or model.json: with its own tools, or others of a file or in memory."""
    return refitting(serving.load(path, tools=tools, graphs=graphs))


def search(tools: AnyPath | Iterable[object], encoder: str = AUTO, *, into: AnyPath | None = None) -> Router:
    """Return a router over the tools that needs no training.

    Its columns compare a query with the names and texts of the tools; what weighs them was learned on public
    catalogues. Train on a log of your own as soon as there is one: `ltr.train`.

    Parameters
    ----------
    tools
        A catalogue file, or a list of MCP, OpenAI or Anthropic tool objects.
    encoder
        `hash`, `static` or `minilm`; `auto` takes the best that is installed.
    into
        A directory, which becomes a run: what `learn` is told lies there, corrects the ranking at once, and trains the
        router when there is enough of it. The next call with this directory goes on where the last one was.

    Raises
    ------
    UsageError
        Where there are no weights for the encoder.

    Examples
    --------
    >>> tools = [{"name": "get_weather", "description": "Weather of a city"}, {"name": "send_mail"}]
    >>> [choice.candidate for choice in search(tools, encoder="hash").rank("will the weather be good?", k=1)]
    ['get_weather']

    """
    if into is None:
        return serving.search(tools, encoder)
    home, listed = Path(into), tools if isinstance(tools, str | os.PathLike) else list(tools)
    with locked(home, wait=True):
        if not (home / Part.TRAINING).exists():
            begin(home, serving.search(listed, encoder))
    router = load(home, tools=listed)
    known = router.fitted.encoder.name
    if encoder not in (AUTO, known):
        raise UsageError(f"{home}: learns with the encoder {known}, found {excerpt(encoder)}; name another directory")
    return router


def begin(home: Path, router: Router) -> None:
    """Write the router into the directory as a run that has learned nothing yet."""
    RUN_KIND.refuse_taken(home, overwrite=False)
    encoder = router.fitted.encoder.name
    recipe = {"name": home.name, "encoder": encoder, "train": {"recipe": RECOMMENDED}}
    config = run_config(Document.of(recipe, "ltr.search"))
    training = msgspec.structs.replace(
        router.training, best_feature=BestFeature(router.names[int(router.w.argmax())], 1)
    )
    with new_directory(home) as folder:
        replace(router, training=training).save(folder)
        RunDirectory(folder).write_tools(router.tools)
        Learned(Rarity.flat()).write(folder)
        write_file(folder / Part.CONFIG, yaml_text(replace(config, kind="tool")))
        RunDirectory(folder).complete(RunRecord(format=RUN_FORMAT, name=home.name, recipe="zero-shot"))


def refitting(router: Router) -> Router:
    """Have the router refit its run in a thread after each `learn`, and take up what that came to; a pack is no run."""
    if router.home is None or not (router.home / Part.CONFIG).is_file():
        return router
    router.refit_by(partial(refit_and_serve, router))
    return router


def refit_and_serve(router: Router) -> None:
    """Refit the run of the router where outcomes came since the last refit, and rank by the result from then on."""
    from ltr.experiments.refit import refit  # a router that never learns does not need all of training

    if router.home is not None and refit(router.home) is not None:
        router.take_up()
