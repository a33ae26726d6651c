"""What the simulated providers have received, and what they are to answer."""

import contextlib
import json
import os
import re
import urllib.error
import urllib.parse
import urllib.request

from waiting import eventually


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
    query = "" if number is None else "?to=" + urllib.parse.quote(number)
    return _request("GET", "/control/sms" + query)


def newest(limit):
    return _request("GET", f"/control/sms?limit={limit}")


def message(number, timeout=90, count=1):
    return eventually(
        f"{count} SMS", lambda: len(found := messages(number)) >= count and found, timeout, pause=0.05)[-1]


def pushes(device_token):
    return _request("GET", "/control/pushes?deviceToken=" + device_token)


def push(device_token, timeout=90, count=1):
    return eventually(
        f"{count} push", lambda: len(found := pushes(device_token)) >= count and found, timeout, pause=0.05)[-1]


def device(device_token, topic, **order):
    _request("POST", "/control/devices", {"deviceToken": device_token, "topic": topic, **order})


def recaptcha(token, **order):
    _request("POST", "/control/recaptcha", {"token": token, **order})


def access_tokens():
    return _request("GET", "/control/google/tokens")["given"]


def revoke_access_tokens():
    _request("DELETE", "/control/google/tokens")


def authorization_code(client_id, **order):
    return _request("POST", "/control/apple/codes", {"clientID": client_id, **order})["code"]


def apple_id_token(client_id, subject, **order):
    return _request("POST", "/control/apple/id-tokens", {"clientID": client_id, "subject": subject, **order})["idToken"]


def apple_notice(client_id, kind, subject, **order):
    """A signed notification, which is sent too where there is a `url`."""
    order = {"clientID": client_id, "type": kind, "subject": subject, **order}
    return _request("POST", "/control/apple/notifications", order)["payload"]


def google_tokens(client_id, subject, **order):
    """An ID token, and an access token."""
    answer = _request("POST", "/control/google/id-tokens", {"clientID": client_id, "subject": subject, **order})
    return answer["idToken"], answer["accessToken"]


def facebook_tokens(app_id, subject, **order):
    """An access token, and the ID token of Limited Login."""
    answer = _request("POST", "/control/facebook/access-tokens", {"appID": app_id, "subject": subject, **order})
    return answer["accessToken"], answer["idToken"]


def openid_tokens(client_id, subject, **order):
    """An ID token, and an access token, that its user got somewhere else."""
    answer = _request("POST", "/control/oidc/id-tokens", {"clientID": client_id, "subject": subject, **order})
    return answer["idToken"], answer["accessToken"]


def openid_issuer():
    return _url() + "/oidc"


def consent(provider, **order):
    """Says who consents next at the page of `apple`, `google`, `facebook` or `oidc`."""
    _request("POST", f"/control/{provider}/users", order)


def asked_of_page(state):
    """The parameters that a page was asked with, and which page that was."""
    [seen] = _request("GET", "/control/authorizations?" + urllib.parse.urlencode({"state": state}))
    return seen["parameters"], seen["provider"]


def change_discovery(**members):
    _request("POST", "/control/oidc/metadata", members)


def clear_identities():
    """Forgets users who have not consented, and changes of discovery."""
    _request("DELETE", "/control/identities")


def keys(provider, **order):
    """Changes the keys of `apple`, `google`, `facebook` or `oidc`: their IDs then."""
    return _request("POST", f"/control/{provider}/keys", order)["keyIDs"]


def answers(provider):
    """How many requests a provider has answered, by status."""
    with urllib.request.urlopen(_url() + "/metrics", timeout=60) as response:
        page = response.read().decode()
    found = re.findall(rf'^countersign_simulator_answers_total{{provider="{provider}",status="(\w+)"}} (\d+)', page, re.MULTILINE)
    return {status: int(count) for status, count in found}


def revocations(**query):
    return _request("GET", "/control/revocations?" + urllib.parse.urlencode(query))


def code(text):
    found = re.search(r"(?<![0-9])[0-9]{6}(?![0-9])", text)
    if not found:
        raise ValueError("the message has no code")
    return found.group(0)


def inject(**fault):
    return _request("POST", "/control/faults", fault)


def faults():
    """The faults in force, each with how often it was hit."""
    return _request("GET", "/control/faults")


def clear_fault(number):
    """One that may have hit as often as it was to."""
    with contextlib.suppress(urllib.error.HTTPError):
        _request("DELETE", f"/control/faults/{number}")


def clear_faults():
    _request("DELETE", "/control/faults")


def report(number, status, **fields):
    return _request("POST", "/control/receipts", {"to": number, "status": status, **fields})


def clear_receipts():
    """All messages are delivered again."""
    _request("DELETE", "/control/receipts")
