import socket
import subprocess
import sys

import pytest

from tests.offline.sitecustomize import NetworkTouchedError

pytestmark = pytest.mark.contract


@pytest.mark.parametrize(
    "touch",
    [
        lambda: socket.create_connection(("127.0.0.1", 9)),
        lambda: socket.getaddrinfo("localhost", 80),
        lambda: socket.socket().connect(("127.0.0.1", 9)),
        lambda: socket.socket().connect_ex(("127.0.0.1", 9)),
    ],
)
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_no_test_reaches_the_network(touch):
    with pytest.raises(NetworkTouchedError):
        touch()


def test_no_program_a_test_starts_reaches_the_network():
    code = "import socket; socket.create_connection(('127.0.0.1', 9))"
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "NetworkTouchedError" in child.stderr
