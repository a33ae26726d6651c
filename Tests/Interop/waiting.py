"""Waiting for what happens outside of a test, never without a bound."""

import time


def eventually(what, condition, timeout=120, pause=0.1):
    """The value of a condition as soon as it is true. `what` may be a function that tells of the state when the time is over."""
    deadline = time.monotonic() + timeout
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {timeout} s: {what() if callable(what) else what}")
        time.sleep(pause)
    return found
