"""A trained run put to work: queries in, ranked candidates out."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self, Unpack

import numpy as np

from ltr.arrays import FloatArray, IntArray
from ltr.data.candidates import Candidates, candidate_text, key_order, with_tool_texts
from ltr.data.catalogue_as_candidates import graph_candidates
from ltr.data.catalogues.tools import ToolCatalogue, read_tools
from ltr.data.catalogues.tools_in_memory import offered_tools
from ltr.data.groups import Groups
from ltr.data.none_of_these_groups import without_none
from ltr.data.supplied_feature_names import refuse_other_columns
from ltr.data.value_excerpts import excerpt
from ltr.errors import DataError, UsageError, count
from ltr.evaluation.ranking import Ties, order, rank
from ltr.features.fitted_features import FittedFeatures
from ltr.files.path_arguments import AnyPath
from ltr.serving import DEFAULT_K
from ltr.serving.answers import Answer, Choice
from ltr.serving.candidate_warnings import candidate_warnings
from ltr.serving.none_probability import none_probabilities
from ltr.serving.prepared_tools import PreparedTools
from ltr.serving.query_checks import checked_queries
from ltr.serving.rank_options import RankKeywords, RankOptions
from ltr.serving.shared_by_threads import SharedByThreads
from ltr.serving.shortlist import MOST_SCORED
from ltr.serving.tool_offer import Offer
from ltr.storage.model_file import StoredModel, load_model, save_model
from ltr.storage.run_catalogue import own_tools
from ltr.storage.update_state import UpdateBase, files_of
from ltr.training.softmax import softmax

if TYPE_CHECKING:
    from ltr.data.catalogues.graphs import GraphCatalogue
    from ltr.data.config import DataConfig
    from ltr.serving.learning_from_outcomes import Applied, Feedback, Update
    from ltr.serving.outcomes import Outcome

ROWS_AT_ONCE, FEWEST_AT_ONCE = 1 << 17, 16  # rows of many queries, and queries of very large catalogues
OPENING = SharedByThreads()  # the outcomes of a run
UPDATED = "outcomes have moved the weights since the calibration"
CUT = "the catalogue was cut to a shortlist for each query"
READY_NUMBERS = "the model was trained on ready numbers; it ranks featurised samples only"


@dataclass(frozen=True, slots=True, repr=False)
class Router(StoredModel):
    """A model and the catalogues it chooses from when a query comes alone."""

    tools: ToolCatalogue | None = None
    graphs: "GraphCatalogue | None" = None
    tool_objects: tuple[object, ...] = ()  # of the tools, where they came as objects
    home: Path | None = None  # the directory it was loaded from, which keeps outcomes
    known: PreparedTools = field(init=False, repr=False, compare=False, default_factory=PreparedTools)
    feedback: "Feedback | None" = field(init=False, repr=False, compare=False, default=None)

    def __repr__(self) -> str:
        """What a notebook shows of it: where it lies, what it ranks and by how much; none of its tables."""
        home = "" if self.home is None else f" {excerpt(self.home.name or str(self.home))}"
        number = len(self.tools or self.graphs or ())
        ranked = count(number, self.kind) if number else f"{self.kind}s"
        return f"<Router{home}: ranks {ranked} by {count(len(self.names), 'feature')}>"

    @classmethod
    def of(
        cls,
        model: StoredModel,
        *,
        tools: ToolCatalogue | None = None,
        graphs: "GraphCatalogue | None" = None,
        tool_objects: tuple[object, ...] = (),
        home: Path | None = None,
    ) -> Self:
        """The router of a model that was read, with catalogues."""
        trained = (model.kind, model.names, model.w, model.features, model.trainer, model.training, model.terms)
        return cls(
            *trained,
            none=model.none,
            abstain=model.abstain,
            tools=tools,
            graphs=graphs,
            tool_objects=tool_objects,
            home=home,
        )

    @property
    def fitted(self) -> FittedFeatures:
        """The features; an error of a model that was trained on ready numbers."""
        if self.features is None:
            raise DataError(READY_NUMBERS)
        return self.features

    def phi(self, candidates: Candidates) -> FloatArray:
        """The features of the candidates: their ready numbers, or computed from their texts."""
        if candidates.kind != self.kind:
            raise DataError(f"the model ranks {self.kind}s; the candidates are {candidates.kind}s")
        if candidates.features is None:
            return self.fitted(candidates)
        refuse_other_columns(self.names, candidates.feature_names)
        return candidates.features

    def scores(self, phi: FloatArray) -> FloatArray:
        """Score of each row."""
        return self.terms.scores(phi, self.w)

    def contributions(self, phi: FloatArray) -> FloatArray:
        """What each feature adds to the score of each row, (rows, features)."""
        return self.terms.parts(phi, self.w)

    def none_probabilities(self, candidates: Candidates, phi: FloatArray, scores: FloatArray) -> FloatArray | None:
        """P(none) of each group; None of a model that did not learn it."""
        return None if self.none is None else none_probabilities(self.none, self.names, candidates, phi, scores)

    def named_contributions(self, row: FloatArray) -> dict[str, float]:
        """What each feature adds to the score of one row of phi, by name."""
        return dict(zip(self.names, self.contributions(row[None])[0].tolist(), strict=True))

    def rank(
        self,
        query: str,
        tools: Iterable[object] | None = None,
        k: int | None = DEFAULT_K,
        **options: Unpack[RankKeywords],
    ) -> Answer:
        """The candidates for the query, best first: the first k of them, all where k is None.

        They are the tools of a list in memory, MCP, OpenAI or Anthropic objects, or without one the router's catalogue.
        `at_least` drops choices that are less probable. `previous` names what was used before in the same trace.
        Of more than MOST_SCORED tools a shortlist is scored, over which probabilities are, unless `exact` is set.
        """
        return self.rank_many([query], tools, k, **options)[0]

    async def arank(
        self,
        query: str,
        tools: Iterable[object] | None = None,
        k: int | None = DEFAULT_K,
        **options: Unpack[RankKeywords],
    ) -> Answer:
        """The same in a thread of its own, while the event loop goes on."""
        import asyncio

        return await asyncio.to_thread(partial(self.rank, query, tools, k, **options))

    def rank_many(
        self,
        queries: Iterable[str],
        tools: Iterable[object] | None = None,
        k: int | None = DEFAULT_K,
        **options: Unpack[RankKeywords],
    ) -> list[Answer]:
        """The answers to queries with the same candidates, each as `rank` gives it."""
        texts, wanted = checked_queries(queries), RankOptions.of(k, options)
        if self.kind == "graph":
            return [self._rank_graphs(text, tools, wanted) for text in texts]
        if tools is not None:
            offered = offered_tools(tools)
            offer = Offer.of(offered.names, offered.texts, offered.objects)
        elif self.tools:
            offer = self.known.own_offer(self.tools, self.tool_objects)
        else:
            raise UsageError("no tools to choose from: name a catalogue (--tools), tools in memory, or samples to rank")
        if not offer.tools.names:
            none = None if self.none is None else 1.0
            return [Answer("", "", text, (), 0, 0, none=none, abstains=self.abstain is not None) for text in texts]
        if len(offer.tools.names) > MOST_SCORED and not wanted.exact:
            shortlist = self.known.shortlist(self.fitted, offer.tools)
            some = ((offer.of_tools(shortlist.best(offer.asked([text], None), self)), text) for text in texts)
            return [answer for part, text in some for answer in self._rank_tools(part, [text], wanted, whole=offer)]
        return list(self._rank_tools(offer, texts, wanted, whole=offer))

    def _rank_tools(
        self, offer: Offer, queries: Sequence[str], wanted: RankOptions, *, whole: Offer
    ) -> Iterator[Answer]:
        """The tools of the offer for each query; they may be some of a whole catalogue."""
        at_once = max(ROWS_AT_ONCE // len(offer.tools.names), FEWEST_AT_ONCE)
        warnings = tuple(self._warnings(is_cut=whole is not offer))
        for first in range(0, len(queries), at_once):
            part = queries[first : first + at_once]
            phi = self.known.phi(self.fitted, offer, part, wanted.previous)
            for answer in self._answers(offer.asked(part, wanted.previous), phi, wanted, offer=offer):
                yield replace(answer, offered=len(whole.tools.names), warnings=warnings)

    def _rank_graphs(self, query: str, tools: Iterable[object] | None, wanted: RankOptions) -> Answer:
        """The graphs of the catalogue for the query."""
        if tools is not None:
            raise UsageError("the model ranks graphs; tools were given")
        if not self.graphs:
            raise UsageError("no graphs to choose from: name a catalogue (--graphs), or samples to rank")
        candidates = graph_candidates(query, self.graphs)
        return next(self._answers(candidates, self.phi(candidates), wanted))

    def answers(
        self, candidates: Candidates, k: int | None = None, *, at_least: float | None = None
    ) -> Iterator[Answer]:
        """Each group's candidates ranked, the first k of them, with the warnings about the candidates."""
        phi, warnings = self.phi(candidates), tuple(candidate_warnings(self, candidates))
        return self._answers(candidates, phi, RankOptions(k, at_least), warnings=warnings)

    def _answers(
        self,
        candidates: Candidates,
        phi: FloatArray,
        wanted: RankOptions,
        *,
        offer: Offer | None = None,
        warnings: tuple[str, ...] = (),
    ) -> Iterator[Answer]:
        groups = len(candidates.offsets) - 1
        keys = key_order(candidates) if offer is None else np.tile(offer.keys, groups)
        ranking = rank(self.scores(phi), candidates.offsets, keys=keys)
        listed = order(ranking, Ties.EXPECTED)
        none = self.none_probabilities(candidates, phi, ranking.scores)
        probabilities = self._probabilities(ranking.scores, candidates.offsets, none)
        best, bounds = listed[candidates.offsets[:-1]], candidates.offsets.tolist()
        for group in range(groups):
            rows = listed[bounds[group] : bounds[group + 1]][: wanted.k]
            if wanted.at_least is not None:
                rows = rows[probabilities[rows] >= wanted.at_least]
            choices = [
                Choice(
                    rank=place,
                    candidate=candidates.name_texts[candidates.names[row]],
                    probability=float(probabilities[row]),
                    score=float(ranking.scores[row]),
                    contributions=dict(zip(self.names, parts, strict=True)),
                    text=candidate_text(candidates, row),
                    tool=offer.objects[candidates.names[row]] if offer and offer.objects else None,
                )
                for place, (row, parts) in enumerate(
                    zip(rows.tolist(), self.contributions(phi[rows]).tolist(), strict=True), start=1
                )
            ]
            size = bounds[group + 1] - bounds[group]
            yield Answer(
                candidates.trace_ids[candidates.traces[group]],
                candidates.node_ids[group],
                candidates.query_texts[candidates.queries[group]],
                tuple(choices),
                scored=size,
                offered=size,
                warnings=warnings,
                none=None if none is None else float(none[group]),
                abstains=self.abstain is not None and self.abstain.abstains(float(probabilities[best[group]])),
            )

    def _probabilities(self, scores: FloatArray, offsets: IntArray, none: FloatArray | None) -> FloatArray:
        """Of each row: the softmax at the temperature, of what P(none) leaves."""
        temperature = 1.0 if self.abstain is None else self.abstain.temperature
        shares = softmax(scores / temperature, offsets)
        return shares if none is None else shares * np.repeat(1 - none, np.diff(offsets))

    def _warnings(self, *, is_cut: bool) -> Iterator[str]:
        """What a cut does to probabilities, and why what abstaining claims does not apply to an answer."""
        lost = "" if self.abstain is None else f"{self.abstain.claim} of abstaining does not apply"
        if is_cut:
            yield f"{CUT}: probabilities are over that" + (f", and {lost}" if lost else "")
        if lost and self.feedback is not None:
            yield f"{UPDATED}: {lost}"

    def first_choices(self, candidates: Candidates) -> tuple[IntArray, FloatArray]:
        """The row that stands first in each group, and its probability."""
        phi = self.phi(candidates)
        return self.first_of(candidates, phi, self.scores(phi))

    def first_of(self, candidates: Candidates, phi: FloatArray, scores: FloatArray) -> tuple[IntArray, FloatArray]:
        """The same of columns and scores that another model gave them."""
        ranking = rank(scores, candidates.offsets, keys=key_order(candidates))
        none = self.none_probabilities(candidates, phi, scores)
        first: IntArray = order(ranking, Ties.EXPECTED)[candidates.offsets[:-1]]
        return first, self._probabilities(scores, candidates.offsets, none)[first]

    def read(self, samples: str | tuple[str, ...], data: "DataConfig", *, labels_required: bool = True) -> Groups:
        """The groups of samples, without those where none is right if labels are required.

        Tools without a text have the one of this router's catalogue.
        """
        from ltr.storage.plain_or_featurized_samples import (
            read,  # the reader of featurised files, which a single query does not need
        )

        groups, _ = read(samples, data, labels_required=labels_required)
        groups = without_none(groups) if labels_required else groups
        if data.tools is not None or not self.tools:
            return groups
        return replace(groups, candidates=with_tool_texts(groups.candidates, self.tools))

    def update(
        self,
        query: str,
        offered: Iterable[object] | None = None,
        *,
        right: str | None = None,
        chosen: str | None = None,
        previous: Sequence[str] | None = None,
    ) -> "Update":
        """Learn from what became of a query, and write it to the journal of the run, from which `load` learns again.

        `offered` are names of the catalogue or tool objects, without them the whole catalogue. `right` is a name,
        "none" where nothing offered was right, from which P(none) learns, or None: then `chosen` is known to be wrong,
        offers are counted, and the weights learn nothing. Outcomes of other processes are learned from, too.
        """
        from ltr.serving.outcomes import Outcome

        return self._updated([Outcome(query, offered, right, chosen, previous)], is_strict=True)

    def update_many(self, outcomes: "Iterable[Outcome | Mapping[str, object]]") -> "Update":
        """The same of many, written at once; those that cannot be learned from are left out and counted.

        Each is a dict of the arguments of `update`: {"query": ..., "offered": ..., "right": ...}.
        """
        return self._updated(outcomes, is_strict=False)

    def _updated(self, outcomes: "Iterable[Outcome | Mapping[str, object]]", *, is_strict: bool) -> "Update":
        """What all outcomes of the run come to, with these in its journal."""
        from ltr.serving.outcomes import candidates_of, usable_outcomes

        feedback = self._opened_feedback()
        usable = usable_outcomes(outcomes, self.tools, is_strict=is_strict)
        with feedback.lock:
            if usable.offers:
                feedback.append(usable.rows(self.known.columns(self.fitted, candidates_of(usable.offers))))
            self._apply(feedback.replayed(), feedback)
            return feedback.summary(len(usable.offers), usable.skipped)

    def compact(self) -> "Update":
        """Fold the outcomes of the journal into what stands for the training data, for all who load the run.

        Of outcomes that are folded in, the weights keep the curvature alone. The journal stays. Another process that
        folds at the same time is refused.
        """
        from ltr.files.directory_lock import locked

        feedback = self._opened_feedback()
        with feedback.lock, locked(feedback.home):
            feedback.compact()
            self._apply(feedback.replayed(), feedback)
            return feedback.summary(0, {})

    def update_base(self) -> UpdateBase | None:
        """What outcomes are learned with, after those of today; None where the run does not keep it."""
        if self.home is None or not files_of(self.home)[0].exists():
            return None
        base = self._opened_feedback().compacted()
        return UpdateBase(base.hessian, base.parts)

    def _opened_feedback(self) -> "Feedback":
        """The outcomes of the run; an error where there can be none."""
        from ltr.serving.learning_from_outcomes import Feedback

        with OPENING.lock:
            feedback = self.feedback
            if feedback is None:
                if self.home is None:
                    raise UsageError("outcomes are kept in a run directory: train with one (out=), then load it")
                feedback = Feedback(self.home, load_model(self.home))
                object.__setattr__(self, "feedback", feedback)
            return feedback

    def _apply(self, applied: "Applied | None", feedback: "Feedback") -> None:
        """Rank by the weights and counts after an update.

        A thread that ranks meanwhile reads `known` before `features`: it never puts columns of old counts into the new.
        """
        if applied is not None:
            known = self.known.renewed(applied.features, feedback.moved_columns)
            changed = {"w": applied.w, "features": applied.features, "none": applied.none, "known": known}
            for name, value in changed.items():
                object.__setattr__(self, name, value)

    def save(self, directory: AnyPath) -> None:
        """Write the model into the directory: model.json, and model.npz where something learned is an array."""
        save_model(directory, self)


def load(path: AnyPath, *, tools: AnyPath | Iterable[object] | None = None, graphs: AnyPath | None = None) -> Router:
    """The router of a run directory, pack or model.json: with its own tools, or others of a file or in memory."""
    if str(path).lower().endswith(".zip"):
        raise UsageError(f"{path}: a packed router; unzip it, then name the directory")
    model, objects = load_model(path), tuple[object, ...]()
    if tools is None:
        catalogue = own_tools(path)
    elif isinstance(tools, str | os.PathLike):
        catalogue = read_tools(tools)
    else:
        offered = offered_tools(tools)
        catalogue, objects = dict(zip(offered.names, offered.texts, strict=True)), offered.objects
    read = None
    if graphs is not None:
        from ltr.data.catalogues.graphs import read_graphs  # most routers choose among tools

        read = read_graphs(graphs)
    home = Path(path) if Path(path).is_dir() else Path(path).parent
    router = Router.of(model, tools=catalogue, graphs=read, tool_objects=objects, home=home)
    if any(file.exists() for file in files_of(home)[1:]):
        from ltr.serving.learning_from_outcomes import Feedback  # most runs have no outcomes

        feedback = Feedback(home, model)
        object.__setattr__(router, "feedback", feedback)
        router._apply(feedback.replayed(), feedback)
    return router
