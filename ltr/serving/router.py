"""A trained run put to work: queries in, ranked candidates out."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ltr.arrays import FloatArray
from ltr.data.catalogue_query import graph_candidates, tool_candidates
from ltr.data.catalogues.graphs import GraphCatalogue, read_graphs
from ltr.data.catalogues.tools import ToolCatalogue, read_tools
from ltr.data.groups import Candidates, Groups, candidate_text, key_order, with_tool_texts
from ltr.data.sources import DataConfig
from ltr.errors import UsageError
from ltr.evaluation.ranking import Ties, order, rank
from ltr.files.reading import AnyPath
from ltr.storage.model_file import Router, contributions, load_router
from ltr.storage.read_samples import read
from ltr.storage.run_directory import TOOLS, refuse_changed
from ltr.training.objective import softmax


@dataclass(frozen=True, slots=True)
class Choice:
    """One ranked candidate."""

    rank: int
    candidate: str
    probability: float  # softmax of the scores of all candidates of the query
    score: float
    contributions: dict[str, float]  # of each feature to the score
    text: str  # the candidate as a person is told it: a graph with its first nodes


@dataclass(frozen=True, slots=True)
class Answer:
    """A query and its candidates, best first; equal scores by name."""

    trace_id: str
    node_id: str
    query: str
    choices: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class Ranker:
    """A router and the candidates it chooses from when a query comes alone."""

    router: Router
    tools: ToolCatalogue | None = None
    graphs: GraphCatalogue | None = None

    def rank(self, query: str, k: int | None = None) -> tuple[Choice, ...]:
        """The catalogue's candidates for the query, best first, the first k of them."""
        if not query.strip():
            raise UsageError(f"the query {query!r} says nothing; a text is needed")
        if k is not None and k < 1:
            raise UsageError(f"k is {k}; at least 1 is needed")
        return next(answers(self.router, self._offered(query), k)).choices

    def _offered(self, query: str) -> Candidates:
        if self.router.kind == "graph" and self.graphs:
            return graph_candidates(query, self.graphs)
        if self.router.kind == "tool" and self.tools:
            return tool_candidates(query, self.tools)
        flag = "--graphs" if self.router.kind == "graph" else "--tools"
        raise UsageError(f"no {self.router.kind}s to choose from: name a catalogue ({flag}), or samples to rank")


def load(path: AnyPath, *, tools: AnyPath | None = None, graphs: AnyPath | None = None) -> Ranker:
    """The ranker of a run directory or model.json: with its own tools, or those of another catalogue."""
    return Ranker(
        load_router(path),
        own_tools(path) if tools is None else read_tools(tools),
        None if graphs is None else read_graphs(graphs),
    )


def own_tools(path: AnyPath) -> ToolCatalogue | None:
    """The tools that a run directory, or that of a model.json, keeps, as they were written; None without any."""
    own = Path(path, TOOLS) if Path(path).is_dir() else Path(path).with_name(TOOLS)
    if not own.exists():
        return None
    refuse_changed(own)
    return read_tools(own)


def read_for(
    model: AnyPath, samples: str | tuple[str, ...], data: DataConfig, *, labels_required: bool = True
) -> Groups:
    """The groups of samples; tools without a text have the one that the model's run keeps."""
    groups, _ = read(samples, data, labels_required=labels_required)
    own = own_tools(model) if data.tools is None else None
    return replace(groups, candidates=with_tool_texts(groups.candidates, own)) if own else groups


def answers(router: Router, candidates: Candidates, k: int | None = None) -> Iterator[Answer]:
    """Each group's candidates ranked, the first k of them."""
    phi = router.phi(candidates)
    ranking = rank(router.scores(phi), candidates.offsets, keys=key_order(candidates))
    probabilities, listed = softmax(ranking.scores, candidates.offsets), order(ranking, Ties.EXPECTED)
    bounds = candidates.offsets.tolist()
    for group in range(len(bounds) - 1):
        rows = listed[bounds[group] : bounds[group + 1]][:k].tolist()
        yield Answer(
            candidates.trace_ids[candidates.traces[group]],
            candidates.node_ids[group],
            candidates.query_texts[candidates.queries[group]],
            tuple(
                _choice(router, candidates, place, row, phi=phi, probabilities=probabilities)
                for place, row in enumerate(rows, start=1)
            ),
        )


def _choice(
    router: Router, candidates: Candidates, place: int, row: int, *, phi: FloatArray, probabilities: FloatArray
) -> Choice:
    return Choice(
        place,
        candidates.name_texts[candidates.names[row]],
        float(probabilities[row]),
        float(router.scores(phi[row : row + 1])[0]),
        contributions(router, phi, row) or {},
        candidate_text(candidates, row),
    )
