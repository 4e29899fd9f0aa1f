"""Plug-ins by name: one Registry per kind, filled where the plug-ins are defined."""

from collections.abc import Callable
from importlib import import_module
from typing import Generic, TypeVar

from ltr.errors import UnknownNameError
from ltr.plugins import OURS, Source, load_installed, refuse_plugin, source_of

Plugin = TypeVar("Plugin")


class Registry(Generic[Plugin]):
    """The plug-ins of one kind. A second plug-in under one name is refused, an unknown name lists the known ones.

    `modules` register the plug-ins of our own. They are imported at the first look, and so are those of installed
    packages (the entry points of the group `ltr.KINDs`).

    >>> greetings: Registry[str] = Registry("greeting")
    >>> greetings.add("english", "hello")
    'hello'
    >>> greetings["english"]
    'hello'
    """

    def __init__(self, kind: str, *modules: str) -> None:
        self.kind = kind
        self._modules = modules
        self._own: dict[str, Plugin] = {}
        self._sources: dict[str, Source] = {}
        self._is_complete = False

    def add(self, name: str, plugin: Plugin, *, made_of: object = None) -> Plugin:
        """Register the plug-in under the name, and return it; `made_of` is the function it wraps, if it wraps one."""
        source = source_of(plugin if made_of is None else made_of)
        if source != OURS:
            self._load_own()  # so that the plug-in from outside is refused, not ours
        if name in self._own:
            refuse_plugin(f"{self.kind} {name!r} is registered twice, by {self._sources[name]} and by {source}")
            return plugin
        self._own[name], self._sources[name] = plugin, source
        return plugin

    def register(self, name: str) -> Callable[[Plugin], Plugin]:
        """A decorator that adds what it decorates."""
        return lambda plugin: self.add(name, plugin)

    def __getitem__(self, name: str) -> Plugin:
        plugins = self._loaded()
        if not isinstance(name, str) or name not in plugins:
            raise UnknownNameError(self.kind, name, tuple(sorted(plugins)))
        return plugins[name]

    def __contains__(self, name: object) -> bool:
        return name in self._loaded()

    def names(self) -> tuple[str, ...]:
        """The known names, sorted: nothing depends on the order of registration."""
        return tuple(sorted(self._loaded()))

    def source(self, name: str) -> Source:
        """Where the plug-in comes from."""
        _ = self[name]
        return self._sources[name]

    def _load_own(self) -> None:
        modules, self._modules = self._modules, ()  # first: the modules may look names up while they load
        for module in modules:
            import_module(module)

    def _loaded(self) -> dict[str, Plugin]:
        """All plug-ins by name, after the import of our own and of installed ones."""
        self._load_own()
        if not self._is_complete:
            self._is_complete = True  # first: the modules may look names up while they load
            load_installed(f"ltr.{self.kind}s")
        return self._own
