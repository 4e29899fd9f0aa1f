"""What processes of a team call on shards, in a file that they load quickly: pytest is not needed there."""

import os
import signal


def remembering(shard_that_kills=None):
    """What is called on shards: tells the process, and the keys it has seen."""
    seen = []

    def call(shard):
        key, number = shard
        if number == shard_that_kills:
            os.kill(os.getpid(), signal.SIGKILL)
        if number == -1:
            raise ZeroDivisionError("a bug")
        seen.append(key)
        return os.getpid(), number, list(seen)

    return call


def noisy():
    return print


def hearing(number):
    """What is called on shards: sends its own process the signal first."""

    def call(shard):
        os.kill(os.getpid(), number)
        return shard

    return call
