"""Sign-ins at the page of a provider without a browser: the page is opened, and nothing that it leads to."""

import html
import http.client
import re
import urllib.parse

# A page of an app, on a domain of the project and registered at every provider of the stack.
CALLBACK = "http://localhost:5000/callback"
INPUT = re.compile(r'<input type="hidden" name="([^"]*)" value="([^"]*)">')
TIMEOUT = 60


def open_page(address):
    """What a provider's page leads to: an address, with the fields of a form in its query if it posts one."""
    parts = urllib.parse.urlsplit(address)
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

    def consent(self):
        self.back = open_page(self.address)
        return self

    @property
    def answer(self):
        return fields_of(self.back)

    def sign_in(self, back=None, client=None, **fields):
        """As SDKs do: signs in, or links with `idToken`."""
        return (client or self.client).call("accounts:signInWithIdp", {
            "requestUri": back or self.back, "sessionId": self.session, "returnSecureToken": True,
            "returnIdpCredential": True, **fields})
