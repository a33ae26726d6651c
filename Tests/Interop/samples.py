"""Values of messages that no two tests share."""

import datetime
import random


def new_number(prefix="+49171", digits=7):
    """A mobile number that no other test uses: of the plan of Germany, unless told otherwise."""
    return f"{prefix}{random.randrange(10 ** digits):0{digits}d}"


def in_seconds(seconds):
    """An RFC 3339 time from now."""
    at = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def wrong(code):
    return f"{(int(code) + 1) % 1_000_000:06d}"
