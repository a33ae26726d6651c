"""What the app's SDK does with a push, by the rules that its open source states.

`AuthAppCredentialManager` and `AuthNotificationManager` of firebase-ios-sdk: the value of the key is an object, or a text with
the JSON of one; it must have a receipt and a secret, both texts; a receipt that no request of the app waits for is ignored; a
value with `warning` is the SDK's own probe and no proof.
"""

import json

import simulator

KEY = "com.google.firebase.auth"
MAX_PENDING = 32


class App:
    def __init__(self):
        self.pending = []
        self.credential = None

    def wait_for(self, receipt):
        """Remembers a receipt; the oldest ones are forgotten."""
        self.pending = [*self.pending, receipt][-MAX_PENDING:]

    def receive(self, payload):
        """Takes a notification; says whether it was a proof that the app waits for."""
        value = payload.get(KEY)
        if isinstance(value, str):
            value = json.loads(value)
        if not isinstance(value, dict) or "warning" in value:
            return False
        receipt, secret = value.get("receipt"), value.get("secret")
        if not isinstance(receipt, str) or not isinstance(secret, str) or receipt not in self.pending:
            return False
        self.pending.remove(receipt)
        self.credential = {"receipt": receipt, "secret": secret}
        return True


def proof(receipt, device):
    """What the app brings with a start, once the push with that receipt has reached its device."""
    app = App()
    app.wait_for(receipt)
    if not app.receive(simulator.push(device)["payload"]):
        raise AssertionError("the push is no proof that the app waits for")
    return {"iosReceipt": app.credential["receipt"], "iosSecret": app.credential["secret"]}
