"""A trained run put to work: queries in, ranked candidates out."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

import numpy as np

from ltr.arrays import FloatArray, IntArray
from ltr.catalogues import ToolCatalogue, ToolText, graph_names, offered_tools, read_tools
from ltr.doubts import candidate_warnings, rows_with_text, unseen_warning, without_text
from ltr.errors import DataError, FileError, UsageError, count
from ltr.evaluation import Ties, order, rank
from ltr.features import CORRECTIONS, FeatureConfig, FittedFeatures
from ltr.jsonl import excerpt
from ltr.paths import AnyPath
from ltr.runs import Part, RunDirectory, StoredModel, load_model, save_model
from ltr.samples import Candidates, Groups, corrections_of, refuse_other_columns
from ltr.serving import DEFAULT_K
from ltr.serving.answers import Answer, RankKeywords, RankOptions, answers_of, checked_queries
from ltr.serving.catalogue import MOST_SCORED, Offer, PreparedTools
from ltr.serving.threads import BackgroundWork, SharedByThreads
from ltr.steps import Ranked, Step, steps_of

if TYPE_CHECKING:
    from ltr.catalogues import GraphCatalogue
    from ltr.features import Rarity
    from ltr.samples import DataConfig
    from ltr.serving.journal import Feedback, Update
    from ltr.serving.outcomes import Offerable, Outcome

ROWS_AT_ONCE, FEWEST_AT_ONCE = 1 << 17, 16  # rows of many queries, and queries of very large catalogues
READS = 10  # of a model that other processes replace meanwhile
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
    live: "Router | None" = field(init=False, repr=False, compare=False, default=None)  # what answers; it never changes
    background: "BackgroundWork | None" = field(init=False, repr=False, compare=False, default=None)  # that refits

    def __repr__(self) -> str:
        """Show where it lies, what it ranks and by how much; none of its tables."""
        home = "" if self.home is None else f" {excerpt(self.home.name or str(self.home))}"
        number = len(self.tools or self.graphs or ())
        ranked = count(number, self.kind) if number else f"{self.kind}s"
        return f"<Router{home}: ranks {ranked} by {count(len(self.names), 'feature')}>"

    @classmethod
    def of(cls, model: StoredModel, **catalogues: Any) -> Self:
        """Return the router of a model that was read, with catalogues and the directory that it lies in."""
        return cls(**_learned(model), **catalogues)

    @property
    def fitted(self) -> FittedFeatures:
        """The features; an error of a model that was trained on ready numbers."""
        if self.features is None:
            raise DataError(READY_NUMBERS)
        return self.features

    def phi(self, candidates: Candidates) -> FloatArray:
        """Return the features of the candidates: their ready numbers, or computed from their texts."""
        if candidates.kind != self.kind:
            raise DataError(f"the model ranks {self.kind}s; the candidates are {candidates.kind}s")
        if candidates.features is None:
            return self.fitted(candidates)
        refuse_other_columns(self.names, candidates.feature_names)
        return candidates.features

    def scores(self, phi: FloatArray) -> FloatArray:
        """Return the score of each row."""
        return self.terms.scores(phi, self.w)

    def contributions(self, phi: FloatArray) -> FloatArray:
        """Return what each feature adds to the score of each row, (rows, features)."""
        return self.terms.parts(phi, self.w)

    @property
    def steps(self) -> tuple[Step, ...]:
        """What the model does beside scoring, in this order."""
        return steps_of(self)

    def named_contributions(self, row: FloatArray) -> dict[str, float]:
        """Return what each feature adds to the score of one row of phi, by name."""
        return dict(zip(self.names, self.contributions(row[None])[0].tolist(), strict=True))

    def rank(
        self,
        query: str,
        tools: Iterable[object] | None = None,
        k: int | None = DEFAULT_K,
        **options: Unpack[RankKeywords],
    ) -> Answer:
        """Rank the candidates for the query, best first: the first k of them, all where k is None.

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
        """Rank as `rank` does, in a thread of its own, while the event loop goes on."""
        import asyncio

        return await asyncio.to_thread(partial(self.rank, query, tools, k, **options))

    def rank_many(
        self,
        queries: Iterable[str],
        tools: Iterable[object] | None = None,
        k: int | None = DEFAULT_K,
        **options: Unpack[RankKeywords],
    ) -> list[Answer]:
        """Return the answers to queries with the same candidates, each as `rank` gives it."""
        if self.live is not None:
            return self.live.rank_many(queries, tools, k, **options)
        texts, wanted = checked_queries(queries), RankOptions.of(k, options)
        if self.kind == "graph":
            if tools is not None:
                raise UsageError("the model ranks graphs; tools were given")
            if not self.graphs:
                raise UsageError("no graphs to choose from: name a catalogue (--graphs), or samples to rank")
            asked = (Candidates.of_graphs(text, self.graphs) for text in texts)
            ranked = (self.ranked(candidates, self.phi(candidates)) for candidates in asked)
            return [next(answers_of(one, self.contributions, wanted)) for one in ranked]
        if tools is not None:
            offered = offered_tools(tools)
            offer = Offer.of(offered.names, offered.texts, offered.objects)
        elif (other := self.known.once(self.tools, self._instead)) is not None:
            router, why = other
            answers = router.rank_many(texts, None, k, **options)
            return [replace(one, warnings=(why, *one.warnings)) for one in answers]
        elif self.tools:
            offer = self.known.own_offer(self.tools, self.tool_objects)
        else:
            raise UsageError("no tools to choose from: name a catalogue (--tools), tools in memory, or samples to rank")
        if not offer.tools.names:
            said = {name: value for step in self.steps for name, value in step.of_nothing().items()}
            return [Answer("", "", text, (), scored=0, offered=0, **said) for text in texts]
        if len(offer.tools.names) > MOST_SCORED and not wanted.exact:
            shortlist = self.known.shortlist(self.fitted, offer.tools)
            some = ((offer.of_tools(shortlist.best(offer.asked([text], None), self)), text) for text in texts)
            return [answer for part, text in some for answer in self._rank_tools(part, [text], wanted, whole=offer)]
        return list(self._rank_tools(offer, texts, wanted, whole=offer))

    def _rank_tools(
        self, offer: Offer, queries: Sequence[str], wanted: RankOptions, *, whole: Offer
    ) -> Iterator[Answer]:
        """Rank the tools of the offer for each query; they may be some of a whole catalogue."""
        at_once = max(ROWS_AT_ONCE // len(offer.tools.names), FEWEST_AT_ONCE)
        warnings = tuple(self._warnings(whole.tools.names, is_cut=whole is not offer))
        said: dict[str, Any] = {"objects": offer.objects, "offered": len(whole.tools.names), "warnings": warnings}
        for first in range(0, len(queries), at_once):
            part = queries[first : first + at_once]
            phi = self.known.phi(self.fitted, offer, part, wanted.previous)
            keys = np.tile(offer.keys, len(part))
            ranked = self.ranked(offer.asked(part, wanted.previous), phi, keys=keys)
            yield from answers_of(ranked, self.contributions, wanted, **said)

    def _instead(self) -> "tuple[Router, str] | None":
        """Return what ranks the catalogue where a step has it ranked by other weights, and a warning."""
        tools = self.tools or {}
        other = next((other for step in self.steps if tools and (other := step.instead(tools))), None)
        if other is None:
            return None
        from ltr.serving.zero_shot import zero_shot_router  # it makes routers

        lost = " and ".join(step.title for step in self.steps if step.title)
        why = f"{other.why}, and {lost} {'do' if ' ' in lost else 'does'} not apply" if lost else other.why
        encoder = self.fitted.encoder.name
        return zero_shot_router(tools, encoder, tool_objects=self.tool_objects, weights=other.weights), why

    def answers(
        self, candidates: Candidates, k: int | None = None, *, at_least: float | None = None
    ) -> Iterator[Answer]:
        """Rank each group's candidates, the first k of them, with the warnings about the candidates."""
        phi, warnings = self.phi(candidates), list(candidate_warnings(self, candidates))
        warnings += without_text(rows_with_text(candidates))
        ranked, wanted = self.ranked(candidates, phi), RankOptions(k, at_least)
        return answers_of(ranked, self.contributions, wanted, warnings=tuple(warnings))

    def ranked(
        self,
        candidates: Candidates,
        phi: FloatArray,
        scores: FloatArray | None = None,
        *,
        keys: IntArray | None = None,
    ) -> Ranked:
        """Rank candidates by their columns, or by scores that another model gave them; every step adds what it says.

        `keys` are the order of their names, where that is known.
        """
        given = self.scores(phi) if scores is None else scores
        ranking = rank(given, candidates.offsets, keys=candidates.key_order() if keys is None else keys)
        ranked = Ranked(self.names, candidates, phi, ranking.scores, order(ranking, Ties.EXPECTED))
        for step in self.steps:
            ranked = step.apply(ranked)
        return ranked

    def _warnings(self, names: tuple[str, ...], *, is_cut: bool) -> Iterator[str]:
        """Say that most tools are unseen, what a cut does, and why what steps claim does not hold of an answer."""
        if unseen := unseen_warning(tuple(self.training.answers), names):
            yield unseen
        lost = " and ".join(f"{claim} does not apply" for step in self.steps if (claim := step.claim))
        if is_cut:
            yield f"{CUT}: probabilities are over that" + (f", and {lost}" if lost else "")
        if lost and self.feedback is not None:
            yield f"{UPDATED}: {lost}"

    def with_outcomes(self, answer: Answer) -> Answer:
        """Return the answer with the outcomes whose corrections moved its first choice."""
        router = self.live or self
        if router.names[-1] != CORRECTIONS or not answer.choices:
            return answer
        from ltr.features import Corrections

        query = Candidates.of_tools(answer.query, {answer[0].candidate: ToolText("")})
        state, encoder = router.fitted.states[-1], router.fitted.encoder
        return replace(answer, outcomes=Corrections.behind(state or {}, encoder, query, answer[0].candidate))

    def first_choices(self, candidates: Candidates) -> tuple[IntArray, FloatArray]:
        """Return the row that stands first in each group, and its probability."""
        ranked = self.ranked(candidates, self.phi(candidates))
        return ranked.first, ranked.probabilities()[ranked.first]

    def count_decided(self, candidates: Candidates, phi: FloatArray) -> int:
        """Count the groups that would have another first choice without the term of corrections."""
        if self.names[-1] != CORRECTIONS:
            return 0
        scores, term = self.scores(phi), phi[:, len(self.names) - 1]
        with_term, without = (self.ranked(candidates, phi, of).first for of in (scores, scores - term))
        return int((with_term != without).sum())

    def read(self, samples: str | tuple[str, ...], data: "DataConfig", *, labels_required: bool = True) -> Groups:
        """Read the groups of samples, without those where none is right if labels are required.

        Tools without a text have the one of this router's catalogue.
        """
        from ltr.featurized import read

        groups, _ = read(samples, data, labels_required=labels_required)
        groups = groups.without_none() if labels_required else groups
        if data.tools is not None or not self.tools:
            return groups
        return replace(groups, candidates=groups.candidates.with_texts(self.tools))

    def learn(self, outcomes: "Outcome | Mapping[str, object] | Iterable[Outcome | Mapping[str, object]]") -> "Update":
        """Learn from what became of queries, at once; an outcome is on the disk, and known to whom loads the run.

        Parameters
        ----------
        outcomes
            One, or several: `ltr.Outcome`, or dicts with its fields. `offered` are names of the catalogue or tool
            objects, without them the whole catalogue; graphs have ids and are objects as samples have them. `right`
            names the one that should have been used, `wrong` the one that was where nobody knows the right one, `none`
            says that nothing offered is right.

        Returns
        -------
        Update
            What all outcomes of the run came to, also those that other processes wrote.

        Raises
        ------
        UsageError
            Where one of them says what cannot be; nothing is written.

        Notes
        -----
        What is learned at once is the layer of corrections: the right tool of a corrected query comes first, for
        queries like it too, and others stay. `ltr update` learns columns and weights anew as well. Of graphs nothing is
        corrected at once (`at_once` of the result): the refit learns, in the background, or by `ltr update`.

        """
        from ltr.serving.outcomes import Outcome

        return self._learn([outcomes] if isinstance(outcomes, Mapping | Outcome) else list(outcomes))

    def forget(self, *names: str) -> "Update":
        """Take outcomes back, by their ids; a later `ltr update` learns nothing of a trace of that id, either."""
        return self._learn([], names)

    def _learn(self, outcomes: "Sequence[Outcome | Mapping[str, object]]", forget: Sequence[str] = ()) -> "Update":
        """Return what all outcomes of the run come to, with these in its journal."""
        if self.known.once(self.tools, self._instead) is not None:
            raise UsageError(
                "the catalogue is another one than the run's, which learns nothing of it; "
                "ltr.search(tools, into=DIR) learns in a directory of its own"
            )
        feedback = self.opened_feedback()
        with feedback.lock:
            written = feedback.write(outcomes, forget, is_strict=True)
            self._serve(feedback.router())
            update = feedback.summary(self, written)
        if self.background is None:
            return update
        failure = self.background.failure
        if not update.is_refit:
            self.background.ask()
        return update if failure is None else replace(update, failure=str(failure))

    @property
    def offerable(self) -> "Offerable | None":
        """What an outcome may name: the tools of the catalogue, or its graphs, as `rank` names them."""
        if self.kind == "tool":
            return self.tools
        return dict(zip(graph_names(self.graphs), self.graphs.values(), strict=True)) if self.graphs else None

    def refit_by(self, work: Callable[[], object]) -> None:
        """Have the work, which learns anew, done in a thread after each `learn`."""
        object.__setattr__(self, "background", BackgroundWork(work))

    def wait(self) -> None:
        """Wait until columns and weights know all that `learn` was told; raise what hindered it.

        A program that ends earlier loses nothing: who loads the run has all outcomes, in the layer at once.
        """
        if self.background is not None:
            self.background.wait()

    def take_up(self) -> None:
        """Rank by what the run has learned by now, from the next query on."""
        feedback = self.opened_feedback()
        with feedback.lock:
            self._serve(feedback.router())

    def again(self) -> "Router":
        """Return the router with the model that its directory serves by now."""
        if self.home is None:
            return self
        return replace(self, **_learned(_load_updated(self.home, self.home)))

    @property
    def rarity(self) -> "Rarity | None":
        """How rare the words of training queries are; None where the run does not keep it, or corrects nothing."""
        if (
            self.kind == "graph"
            or self.home is None
            or self.features is None
            or not (self.home / Part.TRAINING).exists()
        ):
            return None
        return self.opened_feedback().told[0]

    def opened_feedback(self) -> "Feedback":
        """Return the outcomes of the run; an error where there can be none."""
        from ltr.serving.journal import Feedback

        with OPENING.lock:
            feedback = self.feedback
            if feedback is None:
                if self.home is None:
                    raise UsageError("outcomes are kept in a run directory: train with one (out=), then load it")
                feedback = Feedback(self.home, replace(self))
                object.__setattr__(self, "feedback", feedback)
            return feedback

    def _serve(self, learned: "Router") -> None:
        """Rank by what was learned, from the next query on.

        A thread that ranks meanwhile goes on with `live`, which is set at once and never changed.
        """
        before, after = self.fitted.states, learned.fitted.states
        if learned.names == self.names and all(old is new for old, new in zip(before[:-1], after[:-1], strict=True)):
            known = self.known.renewed(learned.fitted, (CORRECTIONS,))
        else:
            known = self.known.anew(learned.fitted)
        object.__setattr__(learned, "known", known)
        object.__setattr__(learned, "feedback", self.feedback)
        object.__setattr__(self, "live", learned)
        for name in ("names", "w", "features", "terms", "none", "training", "known"):
            object.__setattr__(self, name, getattr(learned, name))

    def uncorrected(self) -> "Router":
        """Return the router without the term of corrections."""
        if self.names[-1] != CORRECTIONS:
            return self
        names, w = self.names[:-1], np.delete(self.w, len(self.names) - 1)
        features, terms = self.fitted.only(*names), self.terms.without_last_column()
        return replace(self, names=names, w=w, features=features, terms=terms)

    def corrected(self, outcomes: Groups | None, rarity: "Rarity") -> "Router":
        """Return the router with the term that outcomes make; without one that names a right tool, without a term."""
        corrections = None if outcomes is None else corrections_of(outcomes)
        return self.uncorrected() if corrections is None else self.with_term(corrections, rarity, Router.scores_below)

    def with_term(
        self, corrections: Groups, rarity: "Rarity", scored: "Callable[[Router, Groups], FloatArray]"
    ) -> "Router":
        """Return the router with the term of corrections, on top of what `scored` says of them; its scores stand still.

        One of graphs has no such term: what is added for one query says nothing of the graphs that others are offered.
        """
        from ltr.features import Corrections

        base = self.uncorrected()
        if base.kind == "graph":
            return base
        fitted = base.fitted
        if CORRECTIONS in base.names:
            raise UsageError(f"the model was trained with {CORRECTIONS} as a column of its own; train it without")
        state = Corrections.learned(corrections, scored(base, corrections), rarity, fitted.encoder)
        configs, states = (*fitted.configs, FeatureConfig(CORRECTIONS)), (*fitted.states, state)
        features, terms = replace(fitted, configs=configs, states=states), base.terms.with_plain_column()
        names, w = (*base.names, CORRECTIONS), np.insert(base.w, len(base.names), 1.0)
        return replace(base, names=names, w=w, features=features, terms=terms)

    def scores_below(self, groups: Groups) -> FloatArray:
        """Return the scores of groups without the term."""
        base, candidates = self.uncorrected(), groups.candidates
        is_tool = base.kind == "tool"
        return base.scores(base.known.columns(base.fitted, candidates) if is_tool else base.fitted(candidates))

    def save(self, directory: AnyPath) -> None:
        """Write the model into the directory: model.json, and model.npz where something learned is an array."""
        save_model(directory, self)


def load(path: AnyPath, *, tools: AnyPath | Iterable[object] | None = None, graphs: AnyPath | None = None) -> Router:
    """Open the router of a run directory, pack or model.json: with its own tools, or others of a file or in memory."""
    if str(path).lower().endswith(".zip"):
        raise UsageError(f"{path}: a packed router; unzip it, then name the directory")
    objects, home = tuple[object, ...](), Path(path) if Path(path).is_dir() else Path(path).parent
    if tools is None:
        catalogue = RunDirectory.around(path).tools()
    elif isinstance(tools, str | os.PathLike):
        catalogue = read_tools(tools)
    else:
        offered = offered_tools(tools)
        catalogue, objects = dict(zip(offered.names, offered.texts, strict=True)), offered.objects
    read = None
    if graphs is not None:
        from ltr.catalogues import read_graphs

        read = read_graphs(graphs)
    options: dict[str, Any] = {"tools": catalogue, "graphs": read, "tool_objects": objects, "home": home}
    if not RunDirectory(home).has_outcomes:
        return _at_work(Router.of(load_model(path), **options))
    from ltr.serving.journal import Feedback  # most runs have no outcomes

    router = Router.of(_load_updated(home, Path(path)), **options)
    feedback = Feedback(home, replace(router))
    object.__setattr__(router, "feedback", feedback)
    learned = feedback.router()
    if learned is not feedback.base:
        router._serve(learned)
    return _at_work(router)


def _at_work(router: Router) -> Router:
    """Return the router, which ranks by a copy that never changes: what it learns later is another one."""
    copy = replace(router)
    for name in ("known", "feedback"):
        object.__setattr__(copy, name, getattr(router, name))
    object.__setattr__(router, "live", copy)
    return router


def _learned(model: StoredModel) -> dict[str, Any]:
    return {each.name: getattr(model, each.name) for each in fields(StoredModel)}


def _load_updated(home: Path, path: Path) -> StoredModel:
    """Read the model of the last refit in the directory, else of the path, while other processes may replace it."""
    for _ in range(READS):
        updated = RunDirectory(home).updated
        if updated == home:
            return load_model(path)
        try:
            before = updated.stat()
            return load_model(updated)
        except FileNotFoundError:  # another process put its refit here in between
            continue
        except FileError:
            if updated.exists() and os.path.samestat(before, updated.stat()):
                raise
    return load_model(RunDirectory(home).updated)
