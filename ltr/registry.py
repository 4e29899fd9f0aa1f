"""Plug-ins by name: one Registry per kind, filled where the plug-ins are defined."""

from collections.abc import Callable
from typing import Generic, TypeVar

from ltr.errors import UnknownNameError, UsageError

Plugin = TypeVar("Plugin")


class Registry(Generic[Plugin]):
    """The plug-ins of one kind. A second plug-in under one name is refused, an unknown name lists the known ones.

    >>> greetings: Registry[str] = Registry("greeting")
    >>> greetings.add("english", "hello")
    'hello'
    >>> greetings["english"]
    'hello'
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._plugins: dict[str, Plugin] = {}

    def add(self, name: str, plugin: Plugin) -> Plugin:
        """The plug-in itself, kept under the name."""
        if name in self._plugins:
            raise UsageError(f"{self.kind} {name!r} is registered twice")
        self._plugins[name] = plugin
        return plugin

    def register(self, name: str) -> Callable[[Plugin], Plugin]:
        """A decorator that adds what it decorates."""
        return lambda plugin: self.add(name, plugin)

    def __getitem__(self, name: str) -> Plugin:
        if not isinstance(name, str) or name not in self._plugins:
            raise UnknownNameError(self.kind, name, self.names())
        return self._plugins[name]

    def __contains__(self, name: object) -> bool:
        return name in self._plugins

    def names(self) -> tuple[str, ...]:
        """The known names, sorted: nothing depends on the order of registration."""
        return tuple(sorted(self._plugins))
