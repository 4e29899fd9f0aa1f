"""No network: Python imports this by itself wherever its folder is on PYTHONPATH, so in children of tests too."""

import socket


class NetworkTouchedError(Exception):
    """A test opened a socket to somewhere."""


def block() -> None:
    """Refuse every connection and every look-up of a name; processes of this machine may talk through a file."""
    connect, own = socket.socket.connect, getattr(socket, "AF_UNIX", None)

    def refuse(*args: object, **kwargs: object) -> None:
        raise NetworkTouchedError(args[1:])

    def connect_here(opened: socket.socket, address: object) -> None:
        (connect if opened.family == own else refuse)(opened, address)

    socket.socket.connect = connect_here  # type: ignore[method-assign, assignment]
    socket.socket.connect_ex = refuse  # type: ignore[method-assign, assignment]
    socket.getaddrinfo = refuse  # type: ignore[assignment]


if __name__ == "sitecustomize":
    block()
