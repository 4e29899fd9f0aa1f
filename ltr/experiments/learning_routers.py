"""The routers that `import ltr` gives: they learn anew in the background whenever they learn at once."""

import os
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

import msgspec

from ltr.config.run import RunConfig, checked, render
from ltr.configtext.parsed_document import Document, Value
from ltr.data.value_excerpts import excerpt
from ltr.encoders.registry import AUTO
from ltr.errors import UsageError
from ltr.evaluation.best_single_feature import BestFeature
from ltr.features.corrections import Rarity
from ltr.features.presets import RECOMMENDED
from ltr.files.atomic_write import write_lines, write_text
from ltr.files.directory_lock import when_free
from ltr.files.output_replacement import new_directory
from ltr.files.path_arguments import AnyPath
from ltr.serving import router as routers
from ltr.serving import zero_shot
from ltr.serving.router import Router
from ltr.serving.threads import BackgroundWork
from ltr.storage.run_directory import CONFIG, refuse_taken, write_record
from ltr.storage.run_record import RUN_FORMAT, TOOLS, RunRecord
from ltr.storage.training_groups import Learned, write_learned
from ltr.storage.update_state import TRAINING


def load(path: AnyPath, *, tools: AnyPath | Iterable[object] | None = None, graphs: AnyPath | None = None) -> Router:
    """The router of a run directory, pack or model.json: with its own tools, or others of a file or in memory."""
    return refitting(routers.load(path, tools=tools, graphs=graphs))


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
        return zero_shot.search(tools, encoder)
    home, listed = Path(into), tools if isinstance(tools, str | os.PathLike) else list(tools)
    with when_free(home):
        if not (home / TRAINING).exists():
            begin(home, zero_shot.search(listed, encoder))
    router = load(home, tools=listed)
    known = router.fitted.encoder.name
    if encoder not in (AUTO, known):
        raise UsageError(f"{home}: learns with the encoder {known}, found {excerpt(encoder)}; name another directory")
    return router


def begin(home: Path, router: Router) -> None:
    """Write the router into the directory as a run that has learned nothing yet."""
    refuse_taken(home, overwrite=False)
    recipe: dict[str, Value] = {
        "name": home.name,
        "encoder": router.fitted.encoder.name,
        "train": {"recipe": RECOMMENDED},
    }
    config: RunConfig = checked(Document("ltr.search", recipe, {}))
    tools = ({"name": name, **text._asdict()} for name, text in (router.tools or {}).items())
    training = msgspec.structs.replace(
        router.training, best_feature=BestFeature(router.names[int(router.w.argmax())], 1)
    )
    with new_directory(home) as folder:
        replace(router, training=training).save(folder)
        write_lines(folder / TOOLS, map(msgspec.json.encode, tools))
        write_learned(folder / TRAINING, Learned(Rarity.flat()))
        write_text(folder / CONFIG, render(replace(config, kind="tool")))
        write_record(folder, RunRecord(format=RUN_FORMAT, name=home.name, recipe="zero-shot"))


def refitting(router: Router) -> Router:
    """Have the router refit its run in a thread after each `learn`, and take up what that came to; a pack is no run."""
    if router.home is None or not (router.home / CONFIG).is_file():
        return router
    object.__setattr__(router, "background", BackgroundWork(partial(refit_and_serve, router)))
    return router


def refit_and_serve(router: Router) -> None:
    """Refit the run of the router where outcomes came since the last refit, and rank by the result from then on."""
    from ltr.experiments.refit import refit  # a router that never learns does not need all of training

    if router.home is not None and refit(router.home) is not None:
        router.take_up()
