"""What every test lives in: no network, a fixed hypothesis profile."""

import os
from pathlib import Path

from hypothesis import settings

from tests.offline import sitecustomize

settings.register_profile("ltr", derandomize=True, deadline=None, max_examples=60, database=None)
settings.load_profile("ltr")

sitecustomize.block()
offline = str(Path(sitecustomize.__file__).parent)
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (offline, os.environ.get("PYTHONPATH"))))  # for children
