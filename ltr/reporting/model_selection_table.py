"""What folds chose for the recommended recipe: the choice in a sentence, and every alternative in a table."""

from ltr.reporting.page import Block, Text
from ltr.reporting.table import Bounds, Column, Kind, Table, Value, table_of
from ltr.storage.training_record import AlternativeRecord, RecommendedChoiceRecord

CAPTION = (
    "Alternatives on traces left out, and the difference of their MRR to that of the chosen one; of a query with "
    "several right answers the average precision counts; "
    "lines: a weight for each column, knots: a curve for each, products: each two columns multiplied too"
)


def choice_text(choice: RecommendedChoiceRecord) -> str:
    """What was chosen and why.

    >>> choice_text(RecommendedChoiceRecord("tool.proto alone", "no folds: 1 training trace, too few for folds"))
    'chosen: tool.proto alone; no folds: 1 training trace, too few for folds'
    """
    return f"{choice_headline(choice)}; {choice.reason}" if choice.folds else choice_headline(choice)


def choice_headline(choice: RecommendedChoiceRecord) -> str:
    """What was chosen, and why only where no folds could choose.

    >>> choice_headline(RecommendedChoiceRecord("ten", "the least loss", 5, []))
    'settings that 5-fold cross-validation chose among 0: ten'
    """
    if not choice.folds:
        return f"chosen: {choice.chosen}; {choice.reason}"
    return f"settings that {choice.folds}-fold cross-validation chose among {len(choice.alternatives)}: {choice.chosen}"


def alternatives_table(choice: RecommendedChoiceRecord) -> Table:
    """Each alternative from simple to rich, with its loss, Top-1 and MRR, and the paired interval of the MRR."""
    chosen = [place for place, way in enumerate(choice.alternatives) if way.title == choice.chosen]

    def difference(way: AlternativeRecord) -> Value:
        return "chosen" if way.title == choice.chosen else way.difference

    def interval(way: AlternativeRecord) -> Value:
        return None if way.title == choice.chosen else Bounds(way.low, way.high)

    columns = (
        Column("title", "alternative"),
        Column("loss", "loss", Kind.NEAR_LOSS),
        Column("top1_accuracy", "top-1", Kind.SHARE),
        Column("mrr", "MRR", Kind.SHARE),
        Column("difference", "difference", Kind.DIFFERENCE, value=difference),
        Column("", "95 %, by trace", Kind.INTERVAL, value=interval),
    )
    return table_of(columns, choice.alternatives, CAPTION, marked=chosen)


def alternatives_blocks(choice: RecommendedChoiceRecord | None) -> list[Block]:
    """The same on a page."""
    if choice is None:
        return []
    sentence = choice_text(choice)
    blocks: list[Block] = [Text(f"{sentence[0].upper()}{sentence[1:]}.")]
    return [*blocks, *([alternatives_table(choice)] if choice.alternatives else [])]
