"""Recipes: sets of defaults that lie under a config. Its keys, `--set` and the named flags decide above them."""

from types import MappingProxyType

from ltr.configtext.document import Document, Value
from ltr.errors import Place
from ltr.features.presets import RECOMMENDED

SPECIFICATION_RECIPE = "specification"  # the defaults of the config itself: four columns, descent, no scaling
RECIPES = MappingProxyType[str, MappingProxyType[str, Value]](
    {
        SPECIFICATION_RECIPE: MappingProxyType({}),
        RECOMMENDED: MappingProxyType(
            {
                "features": [RECOMMENDED],
                "train.trainer": "newton",
                "train.standardize": True,
                "train.l2": 0.001,
                "train.knots": 0,
            }
        ),
    }
)
VERSIONS = MappingProxyType({SPECIFICATION_RECIPE: 1, RECOMMENDED: 2})  # raised with a value above, or the columns


def with_recipe(document: Document) -> Document:
    """The document, where it says nothing, with the defaults of the recipe that its `train.recipe` names.

    >>> document = Document("ltr.yaml", {"train": {"recipe": "recommended", "l2": 0.1}}, {})
    >>> with_recipe(document).value["train"]
    {'recipe': 'recommended', 'l2': 0.1, 'trainer': 'newton', 'standardize': True, 'knots': 0}
    """
    train = document.value.get("train")
    name = train.get("recipe") if isinstance(train, dict) else None
    for path, value in RECIPES.get(name, {}).items() if isinstance(name, str) else ():
        section, _, key = path.rpartition(".")
        written = document.value.get(section) if section else document.value
        if isinstance(written, dict) and key not in written:
            document = document.replace(path, value, Place(f"recipe {name}"))
    return document


def recipe_version(name: str) -> str:
    """The name of a recipe with its version, as a run records it.

    >>> recipe_version("recommended")
    'recommended/2'
    """
    return f"{name}/{VERSIONS[name]}"
