"""What the simulated providers have received, and what they are to answer."""

import json
import os
import re
import time
import urllib.parse
import urllib.request


def _url():
    return os.environ["COUNTERSIGN_SIMULATOR_URL"]


def _request(method, path, body=None):
    request = urllib.request.Request(
        _url() + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as response:
        data = response.read()
    return json.loads(data) if data else None


def messages(number=None):
    """Everything received, or what was received for one number."""
    query = "" if number is None else "?to=" + urllib.parse.quote(number)
    return _request("GET", "/control/sms" + query)


def newest(limit):
    """The newest messages, whoever received them."""
    return _request("GET", f"/control/sms?limit={limit}")


def message(number, timeout=90, count=1):
    """The newest message to a number, as soon as there are `count`."""
    deadline = time.monotonic() + timeout
    while True:
        found = messages(number)
        if len(found) >= count:
            return found[-1]
        if time.monotonic() > deadline:
            raise TimeoutError(f"no SMS within {timeout} s")
        time.sleep(0.05)


def pushes(device_token):
    """The pushes that a device has received, oldest first."""
    return _request("GET", "/control/pushes?deviceToken=" + device_token)


def push(device_token, timeout=90, count=1):
    """The newest push to a device, as soon as there are `count`."""
    deadline = time.monotonic() + timeout
    while True:
        found = pushes(device_token)
        if len(found) >= count:
            return found[-1]
        if time.monotonic() > deadline:
            raise TimeoutError(f"no push within {timeout} s")
        time.sleep(0.05)


def device(device_token, topic, **order):
    """Registers a device for an app, and says what becomes of its pushes."""
    _request("POST", "/control/devices", {"deviceToken": device_token, "topic": topic, **order})


def recaptcha(token, **order):
    """Says what is to be said of a reCAPTCHA token."""
    _request("POST", "/control/recaptcha", {"token": token, **order})


def access_tokens():
    """How many access tokens the token endpoint has given."""
    return _request("GET", "/control/google/tokens")["given"]


def revoke_access_tokens():
    """No access token that was given is valid any more."""
    _request("DELETE", "/control/google/tokens")


def authorization_code(client_id, **order):
    """An authorization code, as after somebody signed in with Apple."""
    return _request("POST", "/control/apple/codes", {"clientID": client_id, **order})["code"]


def revocations(**query):
    """The tokens that were revoked: those of one `code`, or one `token`."""
    return _request("GET", "/control/revocations?" + urllib.parse.urlencode(query))


def code(text):
    """The verification code in a message."""
    found = re.search(r"(?<![0-9])[0-9]{6}(?![0-9])", text)
    if not found:
        raise ValueError("the message has no code")
    return found.group(0)


def inject(**fault):
    """Makes the provider fail on demand."""
    return _request("POST", "/control/faults", fault)


def faults():
    """The faults in force, each with how often it was hit."""
    return _request("GET", "/control/faults")


def clear_faults():
    """The provider works again."""
    _request("DELETE", "/control/faults")


def report(number, status, **fields):
    """What the provider reports of the messages for a number."""
    return _request("POST", "/control/receipts", {"to": number, "status": status, **fields})


def clear_receipts():
    """All messages are delivered again."""
    _request("DELETE", "/control/receipts")
