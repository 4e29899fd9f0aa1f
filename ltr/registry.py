"""Plug-ins by name: one Registry per kind, which imports the module that defines a name when the name is used."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Annotated, Generic, TypeVar

from ltr.errors import UnknownNameError
from ltr.plugins import OURS, Source, load_installed, refuse_plugin, source_of

Plugin = TypeVar("Plugin")
RANGES: dict[str, Callable[[float], bool]] = {  # in which an option of a plug-in may lie
    "above 0": lambda value: value > 0,
    "of 0 or more": lambda value: value >= 0,
    "from 0 to 1": lambda value: 0 <= value <= 1,
}
Positive = Annotated[float, "above 0"]
NotNegative = Annotated[float, "of 0 or more"]
Rate = Annotated[float, "from 0 to 1"]
NO_HOMES: Mapping[str, tuple[str, ...]] = {}


class Registry(Generic[Plugin]):
    """The plug-ins of one kind. A second plug-in under one name is refused, an unknown name lists the known ones.

    `homes` says which module of our own defines which names: it is imported when one of them is first looked up.
    `modules` are imported at the first look: for a few modules that most runs need, whose names nobody repeats here.
    Installed packages (the entry points of the group `ltr.KINDs`) are imported when a name is not one of ours, or
    when all names are asked for.

    >>> greetings: Registry[str] = Registry("greeting")
    >>> greetings.add("english", "hello")
    'hello'
    >>> greetings["english"]
    'hello'
    """

    def __init__(
        self, kind: str, homes: Mapping[str, tuple[str, ...]] = NO_HOMES, *, modules: tuple[str, ...] = ()
    ) -> None:
        self.kind, self._modules = kind, modules
        self._homes = {name: module for module, names in homes.items() for name in names}
        self._own: dict[str, Plugin] = {}
        self._sources: dict[str, Source] = dict.fromkeys(self._homes, OURS)
        self._has_installed = False

    def add(self, name: str, plugin: Plugin, *, made_of: object = None) -> Plugin:
        """Register the plug-in under the name, and return it; `made_of` is the function it wraps, if it wraps one."""
        source = source_of(plugin if made_of is None else made_of)
        if source != OURS:
            self._load_modules()  # so that the plug-in from outside is refused, not ours
        if name in self._own or (name in self._homes and source != OURS):
            refuse_plugin(f"{self.kind} {name!r} is registered twice, by {self._sources[name]} and by {source}")
            return plugin
        self._own[name], self._sources[name] = plugin, source
        return plugin

    def register(self, name: str) -> Callable[[Plugin], Plugin]:
        """A decorator that adds what it decorates."""
        return lambda plugin: self.add(name, plugin)

    def __getitem__(self, name: str) -> Plugin:
        if not isinstance(name, str) or name not in self:
            raise UnknownNameError(self.kind, name, self.names())
        return self._own[name]

    def __contains__(self, name: object) -> bool:
        if name in self._own:
            return True
        self._load_modules()
        if name in self._homes:
            import_module(self._homes[str(name)])
        elif name not in self._own:
            self._load_installed()
        return name in self._own

    def names(self) -> tuple[str, ...]:
        """The known names, sorted: nothing depends on the order of registration."""
        self._load_modules()
        self._load_installed()
        return tuple(sorted(self._homes.keys() | self._own.keys()))

    def source(self, name: str) -> Source:
        """Where the plug-in comes from."""
        _ = self[name]
        return self._sources[name]

    def _load_modules(self) -> None:
        modules, self._modules = self._modules, ()  # first: the modules may look names up while they load
        for module in modules:
            import_module(module)

    def _load_installed(self) -> None:
        if not self._has_installed:
            self._has_installed = True  # first: the packages may look names up while they load
            load_installed(f"ltr.{self.kind}s")
