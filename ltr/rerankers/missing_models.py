"""Why a reranker's model cannot be used here."""

from ltr.encoders.model_folder import located
from ltr.encoders.registry import ENCODERS, INSTEAD
from ltr.encoders.transformer_models import PACKAGE
from ltr.files.installed_packages import are_installed, install_line
from ltr.rerankers.registry import Absent, Setting


def encoder_absent(name: str) -> Absent:
    """The function that says why the encoder of this name cannot be used on this machine."""

    def reason(argument: str, setting: Setting) -> str:
        return "" if ENCODERS[name].is_installed() else f"not installed: {install_line(INSTEAD[name][0])}"

    return reason


def absent_model(argument: str, setting: Setting) -> str:
    """Why a model of sentence-transformers cannot be used on this machine."""
    if not are_installed(PACKAGE):
        return f"not installed: {install_line(INSTEAD['minilm'][0])}"
    if not setting.allow_download and located(argument) is None:
        return f"the model {argument!r} is not on this machine; name its folder, or add --allow-download"
    return ""
