"""Whether what was learned belongs to the encoder at hand."""

from ltr.arrays import State
from ltr.errors import DataError
from ltr.features.feature_context import Context
from ltr.files.mergeable_tables import Part, texts_of


def encoder_revision(part: Part) -> str:
    """The revision of the encoder whose vectors were counted."""
    (revision,) = texts_of(part["encoder"].facts["name"])
    return revision


def refuse_other_revision(state: State, context: Context) -> None:
    """Raise unless the state's vectors are of the encoder at hand."""
    if state["revision"] != context.encoder.revision:
        encoder = f"{context.encoder.name} at revision {context.encoder.revision}"
        raise DataError(f"what was learned belongs to another encoder, revision {state['revision']}, not to {encoder}")
