"""Whether kinds of calls take the same time, as far as somebody far away can measure it."""

import math
import statistics
import time

# A round that shows a difference may be a busy machine's: another one is added to it, and all samples are judged together.
ROUNDS = 3
# Difference of the medians that counts. A wrong password takes 20 to 60 ms, so it is 3 to 9 ms: one hash of Argon2id is 20 ms. The
# rounds to the database that an account costs take up to a tenth in a debug build.
SHARE = 0.15
# Difference in rank, in standard deviations: from QUIET on, which chance makes once in twenty times, more samples are taken;
# beyond Z, once in a million times, it counts.
QUIET = 2
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


def differ(first, second, share, deviations):
    slow, quick = sorted([statistics.median(first), statistics.median(second)], reverse=True)
    return slow - quick > share * slow and rank_difference(first, second) > deviations


def require_same(test, measure, share=SHARE):
    """`measure` gives the seconds of each kind, measured in turn. All are compared with the last one."""
    samples = []
    for _ in range(ROUNDS):
        more = measure()
        samples = [[*old, *new] for old, new in zip(samples or [[]] * len(more), more)]
        *kinds, last = samples
        print(f"\n  medians of {len(last)} each in ms: {', '.join(f'{statistics.median(one) * 1000:.1f}' for one in samples)}; apart from the "
              f"last in rank: {', '.join(f'{rank_difference(one, last):.1f}' for one in kinds)} standard deviations", flush=True)
        if not any(differ(one, last, share, QUIET) for one in kinds):
            return
    test.assertFalse(any(differ(one, last, share, Z) for one in kinds), "the time of an answer tells which addresses have an account")
