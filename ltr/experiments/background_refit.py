"""Routers that learn anew in the background whenever they learn at once."""

from collections.abc import Iterable
from functools import partial

from ltr.files.path_arguments import AnyPath
from ltr.serving import router as routers
from ltr.serving.background_work import BackgroundWork
from ltr.serving.router import Router


def load(path: AnyPath, *, tools: AnyPath | Iterable[object] | None = None, graphs: AnyPath | None = None) -> Router:
    """The router of a run directory, pack or model.json: with its own tools, or others of a file or in memory."""
    return refitting(routers.load(path, tools=tools, graphs=graphs))


def refitting(router: Router) -> Router:
    """Have the router refit its run in a thread after each `learn`, and take up what that came to."""
    object.__setattr__(router, "background", BackgroundWork(partial(refit_and_serve, router)))
    return router


def refit_and_serve(router: Router) -> None:
    """Refit the run of the router where outcomes came since the last refit, and rank by the result from then on."""
    from ltr.experiments.refit import refit  # a router that never learns does not need all of training

    if router.home is not None and refit(router.home):
        router.take_up()
