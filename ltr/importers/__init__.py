"""Other people's formats: logs, tables, lists and rankings become samples, and samples become theirs."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ltr.importers.exporters import EXPORTERS as EXPORTERS
    from ltr.importers.exporters import Exported as Exported
    from ltr.importers.exporters import exporter as exporter
    from ltr.importers.frame import AUTO as AUTO
    from ltr.importers.frame import IMPORTERS as IMPORTERS
    from ltr.importers.frame import Count as Count
    from ltr.importers.frame import Imported as Imported
    from ltr.importers.frame import ImportSummary as ImportSummary
    from ltr.importers.frame import Tally as Tally
    from ltr.importers.frame import import_samples as import_samples
    from ltr.importers.frame import importer as importer
    from ltr.importers.frame import recognise as recognise
    from ltr.importers.rankings import is_trec as is_trec
    from ltr.importers.rankings import read_scored as read_scored
    from ltr.importers.redaction import redact_sample as redact_sample
    from ltr.importers.redaction import redacted as redacted
else:
    from ltr.lazy import attach

    __getattr__, __dir__, __all__ = attach(__name__)
