"""An app of a user that computes the codes of a TOTP factor (RFC 6238 with HMAC-SHA1, as apps for this do it)."""

import base64
import hashlib
import hmac
import time

PERIOD_SECONDS, DIGITS = 30, 6
# So long before the end of a step no code is computed: it might reach the server in the next one.
MARGIN_SECONDS = 5


class Authenticator:
    def __init__(self, text):
        self.key = base64.b32decode(text + "=" * (-len(text) % 8))
        self.step = 0

    def code(self):
        """A code that was not shown before. Servers take that of the step before and of the next one too."""
        self.step = max(self.step + 1, present_step() - 1)
        while present_step() < self.step - 1:
            time.sleep(0.1)
        return self.code_of(self.step)

    def code_in(self, seconds):
        """The code of a time, in so many seconds from now."""
        return self.code_of(int((time.time() + seconds) // PERIOD_SECONDS))

    def wrong_code(self):
        """One of no step that a server might take."""
        right = {self.code_of(present_step() + step) for step in range(-3, 4)}
        return next(text for number in range(10) if (text := str(number) * DIGITS) not in right)

    def code_of(self, step):
        """RFC 4226, section 5.3."""
        digest = hmac.digest(self.key, step.to_bytes(8, "big"), hashlib.sha1)
        offset = digest[-1] & 15
        number = int.from_bytes(digest[offset:offset + 4], "big") & 0x7FFF_FFFF
        return f"{number % 10 ** DIGITS:0{DIGITS}d}"


def present_step():
    now = time.time()
    left = PERIOD_SECONDS - now % PERIOD_SECONDS
    if left < MARGIN_SECONDS:
        time.sleep(left)
        now = time.time()
    return int(now // PERIOD_SECONDS)
