"""Runs on disk: directories part by part, models, what they learned from, how far one is that is not complete.

They know files and records, and no router.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ltr.runs.contents import RunContents as RunContents
    from ltr.runs.directory import EVALUATION_KIND as EVALUATION_KIND
    from ltr.runs.directory import RUN_KIND as RUN_KIND
    from ltr.runs.directory import Part as Part
    from ltr.runs.directory import RunDirectory as RunDirectory
    from ltr.runs.directory import inputs as inputs
    from ltr.runs.directory import machine as machine
    from ltr.runs.learned import Learned as Learned
    from ltr.runs.model import ModelRecord as ModelRecord
    from ltr.runs.model import StoredModel as StoredModel
    from ltr.runs.model import load_model as load_model
    from ltr.runs.model import model_digest as model_digest
    from ltr.runs.model import save_model as save_model
    from ltr.runs.resume import Checkpoints as Checkpoints
    from ltr.runs.resume import Digests as Digests
    from ltr.runs.resume import refuse_other_task as refuse_other_task
    from ltr.runs.resume import task_of as task_of
else:
    from ltr.lazy import attach

    __getattr__, __dir__, __all__ = attach(__name__)
