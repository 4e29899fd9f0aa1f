"""Samples: what was asked, what was offered and what was right, read from files and from Python, as columns."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ltr.samples.candidates import GIVEN_IN_PYTHON as GIVEN_IN_PYTHON
    from ltr.samples.candidates import LIST as LIST
    from ltr.samples.candidates import Candidates as Candidates
    from ltr.samples.candidates import Past as Past
    from ltr.samples.candidates import SourceFile as SourceFile
    from ltr.samples.candidates import ToolList as ToolList
    from ltr.samples.candidates import refuse_other_columns as refuse_other_columns
    from ltr.samples.candidates import tools_of_rows as tools_of_rows
    from ltr.samples.columns import coded as coded
    from ltr.samples.config import DataConfig as DataConfig
    from ltr.samples.draws import DRAW_RULES as DRAW_RULES
    from ltr.samples.draws import LOGGED as LOGGED
    from ltr.samples.draws import NEAR as NEAR
    from ltr.samples.draws import RANDOM as RANDOM
    from ltr.samples.draws import Draws as Draws
    from ltr.samples.frames import Table as Table
    from ltr.samples.frames import TableRows as TableRows
    from ltr.samples.frames import rows_of as rows_of
    from ltr.samples.grouping import group_samples as group_samples
    from ltr.samples.grouping import read_groups as read_groups
    from ltr.samples.groups import ABSENT as ABSENT
    from ltr.samples.groups import RIGHT as RIGHT
    from ltr.samples.groups import Groups as Groups
    from ltr.samples.groups import Shards as Shards
    from ltr.samples.groups import Whole as Whole
    from ltr.samples.groups import none_warnings as none_warnings
    from ltr.samples.lenient import LenientReader as LenientReader
    from ltr.samples.outcomes import all_told as all_told
    from ltr.samples.outcomes import beside as beside
    from ltr.samples.outcomes import corrections_of as corrections_of
    from ltr.samples.outcomes import outcomes_apart as outcomes_apart
    from ltr.samples.outcomes import outcomes_once as outcomes_once
    from ltr.samples.past import past_from_labels as past_from_labels
    from ltr.samples.past import with_past as with_past
    from ltr.samples.reader import Builder as Builder
    from ltr.samples.scan import SampleShards as SampleShards
    from ltr.samples.scan import are_large as are_large
    from ltr.samples.scan import sample_shards as sample_shards
    from ltr.samples.schema import Candidate as Candidate
    from ltr.samples.schema import Kind as Kind
    from ltr.samples.schema import Sample as Sample
    from ltr.samples.schema import seconds as seconds
else:
    from ltr.lazy import attach

    __getattr__, __dir__, __all__ = attach(__name__)
