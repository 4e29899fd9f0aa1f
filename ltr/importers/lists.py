"""Recommended lists: of each user, items in their order or with scores, and the items that were right."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ltr.arrays import LARGEST
from ltr.errors import DataError, FieldError, SampleError, UsageError, count
from ltr.files import ContentDigest
from ltr.importers.frame import Imported, Opening, Tally, importer, json_objects, read_opening
from ltr.importers.tables import read_table
from ltr.jsonl import excerpt
from ltr.paths import AnyPath, shown

USER = ("user", "user_id")
LIST = ("recommendations", "recommended", "items")
TRUTH = ("truth", "ground_truth", "relevant", "clicked")
ITEM, SCORE = ("item", "item_id", "id"), ("score", "probability", "p")
MISSED = "right items that are not in the list: not written (ltr evaluate --run counts them)"
EMPTY_LIST = "users with an empty list"
RIGHT_LISTED, NONE_LISTED = "users with a right item in the list", "users without one in the list"
FORM = '{"user": ..., "recommendations": [...], "truth": ...}'

Scores = dict[str, float]


@dataclass(frozen=True, slots=True)
class UserList:
    """The items recommended to a user, the best first or with scores, and the right ones with their grades."""

    user: str
    scores: Scores
    grades: Scores
    line: int

    @property
    def missed(self) -> list[str]:
        """The right items that the list does not have."""
        return [item for item in self.grades if item not in self.scores]


def looks_like_lists(opening: Opening) -> bool:
    """Whether the first object has a list of recommendations and its truth."""
    document = opening.document
    return isinstance(document, dict) and _key(document, LIST) != "" and _key(document, TRUTH) != ""


@importer("lists", title="recommended lists", looks_like=looks_like_lists)
def import_lists(files: Sequence[str]) -> Imported:
    """A line for each recommended item, its score the one feature, with label 1 or its grade where it was right."""
    if len(files) > 2 or not files:
        raise UsageError(f"one file of lists, and at most one of their truth, is needed; found {len(files)}")
    tally = Tally()
    return Imported(_samples(files[0], files[1] if files[1:] else None, tally), tally=tally)


def _samples(path: str, truth: str | None, tally: Tally) -> Iterator[dict[str, object]]:
    for entry in read_lists(path, truth):
        place = f"{shown(path)}:{entry.line}"
        tally.remark(MISSED, place, len(entry.missed))
        if not entry.scores:
            tally.skip(EMPTY_LIST, place)
            continue
        tally.keep(RIGHT_LISTED if entry.scores.keys() & entry.grades else NONE_LISTED)
        key = {"trace_id": entry.user, "node_id": "", "query": entry.user}
        for item, score in entry.scores.items():
            yield key | {"tool": item, "label": entry.grades.get(item, 0.0), "features": [score]}


def read_lists(path: AnyPath, truth: AnyPath | None = None, digest: ContentDigest | None = None) -> Iterator[UserList]:
    """Read the users of the file in its order, then those of the truth that it lacks.

    A user is an object {"user", "recommendations", "truth"}; or one object maps users to their lists, beside one that
    maps them to their truth: under the keys `recommendations` and `truth`, or in a file of its own (JSON, or a table
    with a column of users and one of items).
    """
    apart = None if truth is None else _truth_of(truth)
    seen: set[str] = set()
    for line, user, items, right in _entries(path, apart, digest):
        try:
            if user in seen:
                raise FieldError("", f"user {excerpt(user)} stands twice: keep one of them")
            seen.add(user)
            yield UserList(user, _scores(items), _grades(right), line)
        except FieldError as cause:
            raise SampleError(shown(path), line, *cause.args) from cause
    for user, right in (apart or {}).items():
        if user not in seen:
            yield UserList(user, {}, _grades(right), 1)


Entry = tuple[int, str, Any, Any]  # line, user, items, right items


def _entries(path: AnyPath, apart: Mapping[str, Any] | None, digest: ContentDigest | None) -> Iterator[Entry]:
    for line, document in json_objects(path, FORM, digest=digest):
        user, items, right = _key(document, USER), _key(document, LIST), _key(document, TRUTH)
        if user and items and (right or apart is not None):
            try:
                name = _item(document[user])
            except FieldError as cause:
                raise SampleError(shown(path), line, user, cause.args[1]) from cause
            yield line, name, document[items], document[right] if apart is None else apart.get(name, ())
        elif items and right and apart is None:
            lists, truths = document[items], document[right]
            if not isinstance(lists, dict) or not isinstance(truths, dict):
                raise SampleError(shown(path), line, "", f"no user; {FORM} is needed")
            yield from ((line, name, lists.get(name, ()), truths.get(name, ())) for name in {**lists, **truths})
        elif apart is not None and not (user or right):
            lists = document[items] if items else document
            yield from ((line, name, lists[name], apart.get(name, ())) for name in lists)
        else:
            missing = " and ".join(names[0] for names, key in ((USER, user), (LIST, items), (TRUTH, right)) if not key)
            raise SampleError(shown(path), line, "", f"no {missing}; {FORM} is needed")


def _truth_of(path: AnyPath) -> Mapping[str, Any]:
    """Users and their right items."""
    if isinstance(read_opening(path).document, dict):
        objects = [document for _, document in json_objects(path, FORM)]
        if all(_key(entry, USER) and _key(entry, TRUTH) for entry in objects):
            return {_item(entry[_key(entry, USER)]): entry[_key(entry, TRUTH)] for entry in objects}
        return {user: right for entry in objects for user, right in entry.items()}
    table = read_table(path)
    if len(table.header) != 2:
        columns = count(len(table.header), "column")
        raise DataError(f"{table.path}: found {columns}; one of users and one of their right items are needed")
    truth: dict[str, list[str]] = {}
    for _, (user, item) in table.rows:
        truth.setdefault(user.strip(), []).append(item.strip())
    return truth


def _key(document: Mapping[str, Any], names: Sequence[str]) -> str:
    """The first of the names that the object has; "" if it has none."""
    return next((name for name in names if name in document), "")


def _scores(items: Any) -> Scores:
    """The items with their scores; items without scores get 0, -1, -2, ... in their order.

    >>> _scores(["a", "b"]), _scores([["a", 0.5]]), _scores({"a": 0.5}), _scores([{"item": "a", "score": 1}])
    ({'a': 0.0, 'b': -1.0}, {'a': 0.5}, {'a': 0.5}, {'a': 1.0})
    """
    if not isinstance(items, list | dict | tuple):
        raise FieldError("", f"found {excerpt(items)}; a list of items in their order is needed")
    entries = [*items.items()] if isinstance(items, dict) else [_pair(entry) for entry in items]
    is_scored = {isinstance(entry, tuple) for entry in entries}
    if len(is_scored) > 1:
        raise FieldError("", "some items have scores and some have none; all or none is right")
    pairs = entries if True in is_scored else [(item, -place) for place, item in enumerate(entries)]
    scores = {_item(item): _number(score) for item, score in pairs}
    if len(scores) < len(pairs):
        raise FieldError("", "an item stands twice in the list: keep one of them")
    return scores


def _pair(entry: Any) -> Any:
    """(item, score) of a pair or of an object; an item as it is."""
    if isinstance(entry, list) and len(entry) == 2:
        return tuple(entry)
    if not isinstance(entry, dict):
        return entry
    item, score = _key(entry, ITEM), _key(entry, SCORE)
    if not item:
        raise FieldError("", f'found {excerpt(entry)}; an item, [item, score] or {{"item", "score"}} is needed')
    return (entry[item], entry[score]) if score else entry[item]


def _grades(right: Any) -> Scores:
    """The right items with their grades, 1 of those without one.

    >>> _grades("a"), _grades(["a", 7]), _grades({"a": 3}), _grades(None)
    ({'a': 1.0}, {'a': 1.0, '7': 1.0}, {'a': 3.0}, {})
    """
    if isinstance(right, dict):
        grades = {_item(item): _number(grade) for item, grade in right.items()}
        if any(grade < 0 for grade in grades.values()):
            raise FieldError("", "a grade is below 0; 0 or more is needed")
        return grades
    several = right if isinstance(right, list | tuple) else [] if right is None else [right]
    return {_item(item): 1.0 for item in several}


def _item(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise FieldError("", f"found {excerpt(value)}; an item is a text or an integer")
    return str(value)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST:
        raise FieldError("", f"found {excerpt(value)}; a finite number is needed")
    return float(value)
