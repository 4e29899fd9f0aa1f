"""What is counted in groups: tables by key, which add up over shards, in memory or on disk where they are large."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ltr.tables.keys import KEY as KEY
    from ltr.tables.keys import digests as digests
    from ltr.tables.keys import halves as halves
    from ltr.tables.keys import pairs as pairs
    from ltr.tables.keys import place_counts as place_counts
    from ltr.tables.keys import places as places
    from ltr.tables.merging import Merging as Merging
    from ltr.tables.merging import Part as Part
    from ltr.tables.merging import Table as Table
    from ltr.tables.merging import merged as merged
    from ltr.tables.merging import merges_without_each as merges_without_each
    from ltr.tables.merging import parts_without_each as parts_without_each
    from ltr.tables.merging import release as release
    from ltr.tables.merging import spilled as spilled
    from ltr.tables.merging import table as table
else:
    from ltr.lazy import attach

    __getattr__, __dir__, __all__ = attach(__name__)
