"""What an import keeps and skips, counted by reason while its lines are written."""

from collections import Counter
from dataclasses import dataclass, field

MOST_PLACES = 3


@dataclass(frozen=True, slots=True)
class Count:
    """How often something happened, why, and where the first few stand."""

    reason: str
    number: int
    places: tuple[str, ...] = ()


@dataclass(slots=True)
class Tally:
    """Counters that an importer fills while its lines are read; whoever reads the lines looks at it afterwards.

    >>> tally = Tally()
    >>> tally.skip("the answer was cut off", "log.jsonl:7")
    >>> tally.skipped()
    (Count(reason='the answer was cut off', number=1, places=('log.jsonl:7',)),)
    """

    _numbers: dict[str, Counter[str]] = field(default_factory=dict)
    _places: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def keep(self, reason: str, place: str = "", number: int = 1) -> None:
        """Count what became samples; the reason says what it is."""
        self._add("kept", reason, place, number)

    def skip(self, reason: str, place: str = "", number: int = 1) -> None:
        """Count what became no sample, and why."""
        self._add("skipped", reason, place, number)

    def remark(self, reason: str, place: str = "", number: int = 1) -> None:
        """Count what changed a sample, or what the reader of the samples should know."""
        self._add("remarks", reason, place, number)

    def kept(self) -> tuple[Count, ...]:
        """What became samples, in order of first appearance."""
        return self._counts("kept")

    def skipped(self) -> tuple[Count, ...]:
        """What became no sample, in order of first appearance."""
        return self._counts("skipped")

    def remarks(self) -> tuple[Count, ...]:
        """What else was counted, in order of first appearance."""
        return self._counts("remarks")

    def _add(self, kind: str, reason: str, place: str, number: int) -> None:
        if not number:
            return
        self._numbers.setdefault(kind, Counter())[reason] += number
        places = self._places.setdefault((kind, reason), [])
        if place and len(places) < MOST_PLACES:
            places.append(place)

    def _counts(self, kind: str) -> tuple[Count, ...]:
        numbers = self._numbers.get(kind, Counter()).items()
        return tuple(Count(reason, number, tuple(self._places[kind, reason])) for reason, number in numbers)
