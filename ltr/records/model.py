"""What a model, or featurised data, says of the features and the encoder that it needs."""

from typing import Annotated

import msgspec

from ltr.records.run import Json
from ltr.training import Knots

Knot = tuple[float, float]  # the value from which on the weight changes, and by how much


class FeatureRecord(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A feature with what it has learned; of a model also what its terms need."""

    name: str
    options: dict[str, Json]
    state: dict[str, Json] | None
    source: str | None = None  # the package or file that brings it, where that is not ltr
    knots: Annotated[list[Knot], msgspec.Meta(max_length=Knots.MOST)] = []
    centre: float | None = None  # of a feature with products: where the others count as if they stood alone
    ends: tuple[float, float] | None = None  # of a feature with terms: its least and greatest training value


class EncoderRecord(msgspec.Struct, forbid_unknown_fields=True):
    """An encoder with what it has learned."""

    name: str
    revision: str
    state: dict[str, Json] | None
