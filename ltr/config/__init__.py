"""What a run is asked to do: strict YAML with places, checked dataclasses, recipes and sweeps."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ltr.config.checks import as_dataclass as as_dataclass
    from ltr.config.checks import json_schema as json_schema
    from ltr.config.checks import misfit as misfit
    from ltr.config.checks import not_text as not_text
    from ltr.config.keys import declared_keys as declared_keys
    from ltr.config.keys import near_path as near_path
    from ltr.config.run import EvaluateConfig as EvaluateConfig
    from ltr.config.run import NoneConfig as NoneConfig
    from ltr.config.run import RunConfig as RunConfig
    from ltr.config.run import load_config as load_config
    from ltr.config.run import run_config as run_config
    from ltr.config.run import run_schema as run_schema
    from ltr.config.sweeps import Point as Point
    from ltr.config.sweeps import runs as runs
    from ltr.config.sweeps import sweep as sweep
    from ltr.config.text import Document as Document
    from ltr.config.text import plain_values as plain_values
    from ltr.config.text import yaml_text as yaml_text
else:
    from ltr.lazy import attach

    __getattr__, __dir__, __all__ = attach(__name__)
