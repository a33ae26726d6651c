"""Sign-ins at the page of a provider without a browser: the page is opened, and nothing that it leads to."""

import html
import http.client
import re
import secrets
import urllib.parse

# A page of an app, on a domain of the project and registered at every provider of the stack.
CALLBACK = "http://localhost:5000/callback"
INPUT = re.compile(r'<input type="hidden" name="([^"]*)" value="([^"]*)">')
TIMEOUT = 60
# Parameters that belong to the flow, with what an attacker would have there.
RESERVED = {
    "client_id": "client-evil", "response_type": "token", "redirect_uri": "https://evil.example.com/", "state": "evil-state",
    "scope": "admin", "response_mode": "evil-mode", "nonce": "evil-nonce", "code_challenge": "evil-challenge",
    "code_challenge_method": "plain", "request": "evil.request.x", "request_uri": "https://evil.example.com/request"}


def configure_provider(administrator, issuer, client_id, secret, flow="code"):
    """A provider that an administrator sets: its ID."""
    provider = f"oidc.{secrets.token_hex(8)}"
    administrator.call("/oauthIdpConfigs", {
        "clientId": client_id, "issuer": issuer, "displayName": "Example", "enabled": True, "clientSecret": secret,
        "responseType": {flow: True}}, version="v2", query={"oauthIdpConfigId": provider})
    return provider


def open_page(address, context=None):
    """What a provider's page leads to: an address, with the fields of a form in its query if it posts one.

    A page of https needs the context of its authorities."""
    parts = urllib.parse.urlsplit(address)
    if parts.scheme == "https":
        connection = http.client.HTTPSConnection(parts.hostname, parts.port, timeout=TIMEOUT, context=context)
    else:
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=TIMEOUT)
    try:
        connection.request("GET", f"{parts.path}?{parts.query}")
        response = connection.getresponse()
        body = response.read().decode()
    finally:
        connection.close()
    if response.status in {302, 303}:
        return response.headers["Location"]
    action = re.search(r'<form method="post" action="([^"]*)">', body)
    if response.status != 200 or not action:
        raise AssertionError(f"{response.status} of a provider's page: {body[:1000]}")
    fields = [(html.unescape(name), html.unescape(value)) for name, value in INPUT.findall(body)]
    return f"{html.unescape(action[1])}?{urllib.parse.urlencode(fields)}"


def fields_of(address):
    """Parameters of an address, in its query or fragment."""
    parts = urllib.parse.urlsplit(address)
    return dict(urllib.parse.parse_qsl(parts.query or parts.fragment, keep_blank_values=True))


def every_word(address):
    """All words of all values of an address, also of a parameter that is there twice."""
    return {word for _, value in urllib.parse.parse_qsl(urllib.parse.urlsplit(address).query) for word in value.split()}


def change(address, **fields):
    """An address with other parameters; without those that are None."""
    parts = urllib.parse.urlsplit(address)
    changed = {**fields_of(address), **fields}
    text = urllib.parse.urlencode({name: value for name, value in changed.items() if value is not None})
    return urllib.parse.urlunsplit(parts._replace(query=text) if parts.query else parts._replace(fragment=text))


class PageFlow:
    def __init__(self, client, provider, **fields):
        answer = client.call("accounts:createAuthUri", {"providerId": provider, "continueUri": CALLBACK, **fields})
        self.client, self.provider = client, answer["providerId"]
        self.address, self.session = answer["authUri"], answer["sessionId"]
        self.asked = fields_of(self.address)
        self.state = self.asked["state"]
        self.back = None

    def consent(self, context=None):
        self.back = open_page(self.address, context)
        return self

    @property
    def answer(self):
        return fields_of(self.back)

    def sign_in(self, back=None, client=None, **fields):
        """As SDKs do: signs in, or links with `idToken`."""
        return (client or self.client).call("accounts:signInWithIdp", {
            "requestUri": back or self.back, "sessionId": self.session, "returnSecureToken": True,
            "returnIdpCredential": True, **fields})
