"""Recipes: sets of defaults that lie under a config. Its keys, `--set` and the named flags decide above them."""

from collections.abc import Mapping
from types import MappingProxyType

from ltr.config.text import Document, Value
from ltr.errors import Place
from ltr.features import RECOMMENDED
from ltr.training import APART, CHOICES, COLUMNS, KNOTS, L2, PRODUCTS

SPECIFICATION = "specification"  # the defaults of the config itself: four columns, descent, no scaling
RECIPES = MappingProxyType[str, Mapping[str, Value]](
    {
        SPECIFICATION: {},
        RECOMMENDED: {
            "features": [RECOMMENDED],
            "train.trainer": "newton",
            "train.standardize": True,
            "train.l2": 0.001,
            "train.knots": 0,
            "train.products": False,
            "train.targets": APART,
            "train.prior": "shipped",
            "train.newcomers": True,
            "train.choose": list(CHOICES),
        },
    }
)
VERSIONS = MappingProxyType({SPECIFICATION: 1, RECOMMENDED: 7})  # raised with a value above, or the columns


def with_recipe(document: Document) -> Document:
    """Return the document, where it says nothing, with the defaults of the recipe that its `train.recipe` names.

    >>> document = Document.of({"train": {"recipe": "recommended", "l2": 0.1}}, "ltr.yaml")
    >>> with_recipe(document).get("train", "choose")  # what the document names is not chosen
    ['columns', 'knots', 'products']
    """
    train, name = document.get("train"), document.get("train", "recipe")
    recipe = dict(RECIPES.get(name, {})) if isinstance(name, str) else {}
    if recipe and isinstance(train, dict):
        recipe |= _left_to_folds(train, has_features="features" in document.value)
    for path, value in recipe.items():
        section, _, key = path.rpartition(".")
        written = document.get(section) if section else document.value
        if isinstance(written, dict) and key not in written:
            document = document.replace(path, value, Place(f"recipe {name}"))
    return document


def _left_to_folds(train: Mapping[str, Value], *, has_features: bool) -> dict[str, Value]:
    """Return what folds choose, and the prior, beside the keys of train that a document names.

    >>> _left_to_folds({"knots": 7}, has_features=True)
    {'train.choose': ['products', 'l2']}
    >>> _left_to_folds({"trainer": "descent"}, has_features=False)
    {'train.choose': [], 'train.prior': 'zero', 'train.newcomers': False}
    """
    has_one_scale = train.get("trainer", "newton") == "newton" and train.get("standardize", True) is True
    if not has_one_scale:
        return {"train.choose": [], "train.prior": "zero", "train.newcomers": False}
    is_named = {COLUMNS: has_features, **{key: key in train for key in (KNOTS, PRODUCTS, L2)}}
    several = isinstance(train.get(L2), list)  # among which train.folds choose
    return {"train.choose": [] if several else [key for key in CHOICES if not is_named[key]]}
