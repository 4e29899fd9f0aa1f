"""The catalogue that a run keeps beside its model."""

from pathlib import Path

from ltr.data.catalogues.tools import ToolCatalogue, read_tools
from ltr.files.path_arguments import AnyPath
from ltr.storage.run_record import TOOLS, refuse_changed


def own_tools(path: AnyPath) -> ToolCatalogue | None:
    """The tools that a run directory, or that of a model.json, keeps, as they were written; None without any."""
    own = Path(path, TOOLS) if Path(path).is_dir() else Path(path).with_name(TOOLS)
    if not own.exists():
        return None
    refuse_changed(own)
    return read_tools(own)
