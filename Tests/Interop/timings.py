"""Whether two kinds of calls take the same time, as far as somebody far away can measure it."""

import math
import statistics
import time

ROUNDS = 3
# A difference that counts: of the medians, and one that chance alone does not make once in a million times.
SHARE = 0.25
Z = 4.9


def seconds(call, *arguments):
    begun = time.perf_counter()
    call(*arguments)
    return time.perf_counter() - begun


def rank_difference(first, second):
    """Mann and Whitney's U as a number of standard deviations."""
    pairs = sum((one > other) + (one == other) / 2 for one in first for other in second)
    size = len(first) * len(second)
    return abs(pairs - size / 2) / math.sqrt(size * (len(first) + len(second) + 1) / 12)


def differ(first, second):
    slow, quick = sorted([statistics.median(first), statistics.median(second)], reverse=True)
    return slow - quick > SHARE * slow and rank_difference(first, second) > Z


def require_same(test, measure):
    """`measure` gives the seconds of both kinds, measured in turn. A busy machine may part them by chance, and not every time."""
    for _ in range(ROUNDS):
        first, second = measure()
        print(f"\n  medians: {statistics.median(first) * 1000:.1f} ms and {statistics.median(second) * 1000:.1f} ms, "
              f"{rank_difference(first, second):.1f} standard deviations apart in rank", flush=True)
        if not differ(first, second):
            return
    test.fail("the time of an answer tells which addresses have an account")
