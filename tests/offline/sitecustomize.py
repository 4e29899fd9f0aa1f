"""No network: Python imports this by itself wherever its folder is on PYTHONPATH, so in children of tests too."""

import socket


class NetworkTouchedError(Exception):
    """A test opened a socket to somewhere."""


def block() -> None:
    """Refuse every connection and every look-up of a name."""

    def refuse(*args: object, **kwargs: object) -> None:
        raise NetworkTouchedError(args[1:])

    socket.socket.connect = refuse  # type: ignore[method-assign]
    socket.socket.connect_ex = refuse  # type: ignore[method-assign, assignment]
    socket.getaddrinfo = refuse  # type: ignore[assignment]


if __name__ == "sitecustomize":
    block()
