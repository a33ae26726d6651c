"""Pages of an app with the stock Firebase JavaScript SDK in a browser, for the modules that test it."""

import base64
import hashlib
import json
import os
import secrets
import socket
import ssl
import unittest
import urllib.parse

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

import simulator
import stack
import stock_sdk
from chromium import Browser, PageError
from gateway_client import KEY, PROJECT, Web, new_number, send
from local_server import Handler, Server
from waiting import eventually

CODES = f"/emulator/v1/projects/{PROJECT}/verificationCodes"
CODE_SECONDS = 60
# Chromium may note a call only after the page has its answer.
NOTED_SECONDS = 10
# Of the stack's page: a number that gets no SMS, and the ID at Apple.
FICTIONAL_NUMBER, FICTIONAL_CODE = "+16505553434", "654321"
APPLE_CLIENT = "com.example.web"
VERIFICATION_EXPIRES_AT = 14
PAGE = '<!doctype html>\n<meta charset="utf-8">\n<title>Sign in</title>\n<div id="button"></div>\n<script src="/sdk.js"></script>\n'
# The app of a page; `url` is null for one that is told of no server.
BEGIN = """
globalThis.auth = getAuth(initializeApp({apiKey: key, authDomain: "example.firebaseapp.com", projectId: "example", appId}));
if (url) connectAuthEmulator(auth, url, {disableWarnings: true});
globalThis.news = [];
onIdTokenChanged(auth, (user) => news.push(user && user.uid));
await auth.authStateReady();
"""
# An app of the README does this once; here every call gets a verifier of its own, as in a page that draws its button anew.
VERIFIER = "const verifier = new RecaptchaVerifier(auth, 'button', {size: 'invisible'});"
USER = """
const {uid, phoneNumber, isAnonymous, providerData, metadata} = user;
return {uid, phoneNumber, isAnonymous, providers: providerData.map((entry) => entry.providerId), created: metadata.creationTime};
"""


class Site(Server):
    def __init__(self, script):
        super().__init__(SiteHandler)
        self.script = script
        self.url = f"http://localhost:{self.server_port}/"


class SiteHandler(Handler):
    def do_GET(self):
        is_script = self.path == "/sdk.js"
        data = self.server.script if is_script else PAGE.encode()
        self.answer(200, data, "text/javascript; charset=utf-8" if is_script else "text/html; charset=utf-8")


def start(rules=(), flags=()):
    """One browser for all tests of a module: it reaches Google's hosts at nginx, and trusts the key of nginx's certificate.

    Further hosts go where `rules` say.
    """
    tls = urllib.parse.urlsplit(os.environ["COUNTERSIGN_GATEWAY_TLS_URL"])
    hosts = ["identitytoolkit.googleapis.com", "securetoken.googleapis.com", "www.googleapis.com"]
    site = Site(stock_sdk.script()).start(unittest.addModuleCleanup)
    browser = Browser(
        "--host-resolver-rules=" + ",".join([*(f"MAP {host}:443 127.0.0.1:{tls.port}" for host in hosts), *rules]), *flags,
        f"--ignore-certificate-errors-spki-list={key_hash(tls.hostname, tls.port)}")
    unittest.addModuleCleanup(browser.close)
    StockTest.site, StockTest.browser = site, browser


def key_hash(host, port):
    """The hash of the key of a server, whose certificate the stack's authority has signed."""
    context = ssl.create_default_context(cafile=os.environ["COUNTERSIGN_CA_FILE"])
    with socket.create_connection((host, port), timeout=30) as connection:
        with context.wrap_socket(connection, server_hostname=host) as secured:
            certificate = x509.load_der_x509_certificate(secured.getpeercert(binary_form=True))
    key = certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return base64.b64encode(hashlib.sha256(key).digest()).decode()


def new_address():
    """An address that Google vouches for."""
    return f"{secrets.token_hex(8)}@gmail.com"


def shown_code(number):
    """The code that a gateway shows of a number, as soon as the SMS has arrived. Of several, one knows it."""
    return eventually("the gateway shows the code", lambda: next((
        entry["code"] for url in stack.gateway_urls() for entry in send(url, "GET", CODES).json()["verificationCodes"]
        if entry["phoneNumber"] == number), None), CODE_SECONDS)


class StockTest(unittest.TestCase):
    """Each test has pages of its own, whose storage no other sees."""

    site = browser = None
    web = Web()

    def gateway_url(self):
        return os.environ["COUNTERSIGN_GATEWAY_URL"]

    def new_page(self):
        """A page that has the SDK, and no app yet."""
        page = self.browser.page(self.site.url)
        self.addCleanup(page.close)
        return page

    def begin(self, page=None, **options):
        page = page or self.new_page()
        values = {"key": KEY, "url": self.gateway_url(), "appId": "1:100000000001:web:0123456789abcdef05", **options}
        page.run(BEGIN, **values)
        return page

    def send_code(self, page, number, call="signInWithPhoneNumber(auth, number, verifier)"):
        page.run(f"{VERIFIER} globalThis.confirmation = await {call};", number=number)

    def asked(self):
        """A page whose user has been sent a code: the page, the number and the code."""
        page, number = self.begin(), new_number()
        self.send_code(page, number)
        return page, number, shown_code(number)

    def confirm(self, page, code):
        return page.run(f"const result = await confirmation.confirm(code); const {{user}} = result; {USER}", code=code)

    def sign_in(self, page, number=None):
        number = number or new_number()
        self.send_code(page, number)
        return number, self.confirm(page, shown_code(number))

    def sign_in_again(self, page, number):
        """A sign-in with a number that has had an SMS before."""
        count = len(simulator.messages(number))
        self.send_code(page, number)
        return self.confirm(page, simulator.code(simulator.message(number, count=count + 1)["body"]))

    # --- credentials that a page has got from a provider's own script, as expressions of the SDK's ------------------------

    def apple(self, person):
        form = person.form(client_id=APPLE_CLIENT)
        return f"new OAuthProvider('apple.com').credential({json.dumps({'idToken': form['id_token'], 'rawNonce': form['nonce']})})"

    def google(self, person):
        return f"GoogleAuthProvider.credential({json.dumps(person.form()['id_token'])})"

    def facebook(self, person):
        return f"FacebookAuthProvider.credential({json.dumps(person.form()['access_token'])})"

    # --- what a page knows ------------------------------------------------------------------------------------------------

    def user(self, page):
        return page.run(f"const user = auth.currentUser; if (!user) return null; {USER}")

    def claims(self, page, fresh=False):
        return self.web.claims(page.run("return await auth.currentUser.getIdToken(fresh);", fresh=fresh))

    def refused(self, error, page, text, /, **values):
        with self.assertRaises(PageError) as caught:
            page.run(text, **values)
        self.assertEqual(caught.exception.code, error, caught.exception)

    def calls(self, page):
        found = page.run("return performance.getEntriesByType('resource').map((entry) => entry.name);")
        paths = [urllib.parse.urlsplit(name).path for name in found]
        return [path for path in paths if path != "/sdk.js"]

    def require_noted(self, expected, read):
        """What is read of a page's notes of its calls is as expected, as soon as Chromium has taken them."""
        eventually(lambda: f"{read()} is {expected}", lambda: read() == expected, NOTED_SECONDS)
