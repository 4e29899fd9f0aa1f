"""A trained run put to work: queries in, ranked candidates out."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self, overload

from ltr.arrays import FloatArray
from ltr.data.catalogue_query import graph_candidates, tool_candidates
from ltr.data.catalogues.tools import ToolCatalogue, read_tools
from ltr.data.groups import Candidates, Groups, candidate_text, key_order, with_tool_texts, without_none
from ltr.data.ready_numbers import refuse_other_columns
from ltr.errors import DataError, UsageError
from ltr.evaluation.ranking import Ties, order, rank
from ltr.files.reading import AnyPath
from ltr.serving.candidate_warnings import candidate_warnings
from ltr.storage.model_file import StoredModel, load_model, save_model
from ltr.storage.run_record import TOOLS, refuse_changed
from ltr.training.softmax import softmax

if TYPE_CHECKING:
    from ltr.data.catalogues.graphs import GraphCatalogue
    from ltr.data.config import DataConfig

DEFAULT_K = 5


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
    """A query and its candidates, best first; equal scores by name. It is a sequence of its choices."""

    trace_id: str
    node_id: str
    query: str
    choices: tuple[Choice, ...]
    warnings: tuple[str, ...] = ()  # why the ranking of the samples may mean less than it seems to

    def __iter__(self) -> Iterator[Choice]:
        return iter(self.choices)

    def __len__(self) -> int:
        return len(self.choices)

    @overload
    def __getitem__(self, place: int) -> Choice: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[Choice, ...]: ...

    def __getitem__(self, place: int | slice) -> Choice | tuple[Choice, ...]:
        return self.choices[place]


@dataclass(frozen=True, slots=True)
class Router(StoredModel):
    """A model and the catalogues it chooses from when a query comes alone."""

    tools: ToolCatalogue | None = None
    graphs: "GraphCatalogue | None" = None

    @classmethod
    def of(
        cls, model: StoredModel, *, tools: ToolCatalogue | None = None, graphs: "GraphCatalogue | None" = None
    ) -> Self:
        """The router of a model that was read, with catalogues."""
        trained = (model.kind, model.names, model.w, model.features, model.trainer, model.training, model.knots)
        return cls(*trained, tools=tools, graphs=graphs)

    def phi(self, candidates: Candidates) -> FloatArray:
        """The features of the candidates: their ready numbers, or computed from their texts."""
        if candidates.kind != self.kind:
            raise DataError(f"the model ranks {self.kind}s; the candidates are {candidates.kind}s")
        if candidates.features is None:
            if self.features is None:
                raise DataError("the model was trained on ready numbers; it ranks featurised samples only")
            return self.features(candidates)
        refuse_other_columns(self.names, candidates.feature_names)
        return candidates.features

    def scores(self, phi: FloatArray) -> FloatArray:
        """Score of each row."""
        return self.knots.scores(phi, self.w)

    def contributions(self, phi: FloatArray) -> FloatArray:
        """What each feature adds to the score of each row, (rows, features)."""
        return self.knots.parts(phi, self.w)

    def named_contributions(self, row: FloatArray) -> dict[str, float]:
        """What each feature adds to the score of one row of phi, by name."""
        return dict(zip(self.names, self.contributions(row[None])[0].tolist(), strict=True))

    def rank(self, query: str, k: int | None = DEFAULT_K) -> Answer:
        """The catalogue's candidates for the query, best first: the first k of them, all where k is None."""
        if not query.strip():
            raise UsageError(f"the query {query!r} says nothing; a text is needed")
        if k is not None and k < 1:
            raise UsageError(f"k is {k}; at least 1 is needed")
        if self.kind == "graph" and self.graphs:
            candidates = graph_candidates(query, self.graphs)
        elif self.kind == "tool" and self.tools:
            candidates = tool_candidates(query, self.tools)
        else:
            raise UsageError(f"no {self.kind}s to choose from: name a catalogue (--{self.kind}s), or samples to rank")
        return next(self._answers(candidates, self.phi(candidates), k))

    def answers(self, candidates: Candidates, k: int | None = None) -> Iterator[Answer]:
        """Each group's candidates ranked, the first k of them, with the warnings about the candidates."""
        phi = self.phi(candidates)
        return self._answers(candidates, phi, k, tuple(candidate_warnings(self, candidates)))

    def _answers(
        self, candidates: Candidates, phi: FloatArray, k: int | None, warnings: tuple[str, ...] = ()
    ) -> Iterator[Answer]:
        ranking = rank(self.scores(phi), candidates.offsets, keys=key_order(candidates))
        probabilities, listed = softmax(ranking.scores, candidates.offsets), order(ranking, Ties.EXPECTED)
        bounds = candidates.offsets.tolist()
        for group in range(len(bounds) - 1):
            rows = listed[bounds[group] : bounds[group + 1]][:k].tolist()
            choices = [
                Choice(
                    rank=place,
                    candidate=candidates.name_texts[candidates.names[row]],
                    probability=float(probabilities[row]),
                    score=float(self.scores(phi[row : row + 1])[0]),
                    contributions=self.named_contributions(phi[row]),
                    text=candidate_text(candidates, row),
                )
                for place, row in enumerate(rows, start=1)
            ]
            yield Answer(
                candidates.trace_ids[candidates.traces[group]],
                candidates.node_ids[group],
                candidates.query_texts[candidates.queries[group]],
                tuple(choices),
                warnings,
            )

    def read(self, samples: str | tuple[str, ...], data: "DataConfig", *, labels_required: bool = True) -> Groups:
        """The groups of samples, without those where none is right if labels are required.

        Tools without a text have the one of this router's catalogue.
        """
        from ltr.storage.read_samples import read  # the reader of featurised files, which a single query does not need

        groups, _ = read(samples, data, labels_required=labels_required)
        groups = without_none(groups) if labels_required else groups
        if data.tools is not None or not self.tools:
            return groups
        return replace(groups, candidates=with_tool_texts(groups.candidates, self.tools))

    def save(self, directory: AnyPath) -> None:
        """Write the model into the directory: model.json, and model.npz where something learned is an array."""
        save_model(directory, self)


def load(path: AnyPath, *, tools: AnyPath | None = None, graphs: AnyPath | None = None) -> Router:
    """The router of a run directory or model.json: with its own tools, or those of another catalogue."""
    model, catalogue = load_model(path), own_tools(path) if tools is None else read_tools(tools)
    if graphs is None:
        return Router.of(model, tools=catalogue)
    from ltr.data.catalogues.graphs import read_graphs  # most routers choose among tools

    return Router.of(model, tools=catalogue, graphs=read_graphs(graphs))


def own_tools(path: AnyPath) -> ToolCatalogue | None:
    """The tools that a run directory, or that of a model.json, keeps, as they were written; None without any."""
    own = Path(path, TOOLS) if Path(path).is_dir() else Path(path).with_name(TOOLS)
    if not own.exists():
        return None
    refuse_changed(own)
    return read_tools(own)
