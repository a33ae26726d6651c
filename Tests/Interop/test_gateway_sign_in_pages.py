"""Sign-ins at a provider's page by the gateway's pages in a browser, as the JavaScript SDK and the Apple SDK make them.

The stock JavaScript SDK: PopupTest, RedirectTest
the Apple SDK by its protocol, with its check of an app: AppleTest
Scripts of Google's that no test can have are stand-ins: stock-sdk/google.js.
"""

import json
import os
import pathlib
import secrets
import ssl
import unittest
import urllib.parse

import simulator
from chromium import PageError
from gateway_client import KEY, Apple, APIError, Assertions
from identities import ApplePerson, OpenIDPerson, sha256
from local_server import Handler, Server
from page_flow import RESERVED, fields_of
from stock_pages import StockTest, start
from stock_sdk import PARTS
from waiting import eventually

APP, APP_ID = "com.example.app", "1:100000000001:ios:0123456789abcdef01"
SCHEME = "app-1-100000000001-ios-0123456789abcdef01"
PAGE_SECONDS = 60
# A code of the protocol, as SDKs have it.
CANCELED = "auth/" + "USER_CANCELLED".lower().replace("_", "-")
CONSENTS = {"oidc.example": ("oidc", {"clientID": "client-web"}), "oidc.implicit": ("oidc", {"clientID": "client-web"}),
            "apple.com": ("apple", {"clientID": "com.example.web"})}


class GoogleHandler(Handler):
    def do_GET(self):
        self.answer(200, (PARTS / "google.js").read_bytes(), "text/javascript; charset=utf-8")


def setUpModule():
    secret = pathlib.Path(os.environ["COUNTERSIGN_CA_FILE"]).parent
    google = Server(GoogleHandler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(secret / "front-cert.pem", secret / "front-key.pem")
    google.socket = context.wrap_socket(google.socket, server_side=True)
    google.start(unittest.addModuleCleanup)
    hosts = ["apis.google.com", "www.google.com"]
    # Popups need a click otherwise.
    start([f"MAP {host}:443 127.0.0.1:{google.server_port}" for host in hosts], ["--disable-popup-blocking"])


def consents(provider, kind=OpenIDPerson, **order):
    """Somebody who consents at a page that is asked with this `login_hint`."""
    person, hint = kind(email=f"{secrets.token_hex(8)}@example.com"), secrets.token_hex(16)
    page, client = CONSENTS[provider]
    user = {"subject": person.subject, "name": "Ada Lovelace", **client, **person.profile, **order}
    simulator.consent(page, loginHint=hint, **user)
    return person, hint


PROVIDER = """
const provider = new OAuthProvider(id);
provider.addScope('email');
if (id === 'apple.com') provider.addScope('name');
provider.setCustomParameters({login_hint: hint});
"""
RESULT = """
const {user, operationType} = result;
const credential = OAuthProvider.credentialFromResult(result);
const {isNewUser, rawUserInfo} = result._tokenResponse;
return {
  uid: user.uid, operationType, providers: user.providerData.map((entry) => [entry.providerId, entry.uid]),
  tokens: [Boolean(credential.idToken), Boolean(credential.accessToken)], isNew: Boolean(isNewUser), profile: JSON.parse(rawUserInfo),
};
"""


class PopupTest(StockTest):
    def in_popup(self, page, call, provider, hint):
        return page.run(f"{PROVIDER} const result = await {call}; {RESULT}", id=provider, hint=hint)

    def test_a_popup_signs_in_links_and_reauthenticates(self):
        for provider, tokens in [("oidc.example", [True, True]), ("oidc.implicit", [True, False])]:
            with self.subTest(provider):
                page = self.begin()
                person, hint = consents(provider)
                result = self.in_popup(page, "signInWithPopup(auth, provider)", provider, hint)
                self.assertEqual((result["operationType"], result["isNew"]), ("signIn", True))
                self.assertEqual(result["providers"], [[provider, person.subject]])
                self.assertEqual((result["tokens"], result["profile"]["sub"]), (tokens, person.subject))
                self.assertEqual(self.claims(page)["sub"], result["uid"])
                self.consent_again(person, provider, again := secrets.token_hex(16))
                result = self.in_popup(page, "reauthenticateWithPopup(auth.currentUser, provider)", provider, again)
                self.assertEqual((result["operationType"], result["isNew"]), ("reauthenticate", False))
                page.run("await signOut(auth); await signInAnonymously(auth);")
                other, hint = consents(provider)
                result = self.in_popup(page, "linkWithPopup(auth.currentUser, provider)", provider, hint)
                self.assertEqual((result["operationType"], result["providers"]), ("link", [[provider, other.subject]]))

    def consent_again(self, person, provider, hint):
        page, client = CONSENTS[provider]
        simulator.consent(page, subject=person.subject, loginHint=hint, **client, **person.profile)

    def test_apple_posts_its_answer(self):
        page = self.begin()
        person, hint = consents("apple.com", ApplePerson)
        result = self.in_popup(page, "signInWithPopup(auth, provider)", "apple.com", hint)
        self.assertEqual(result["providers"], [["apple.com", person.subject]])
        self.assertEqual(page.run("return auth.currentUser.displayName;"), "Ada Lovelace")

    def test_refusals(self):
        page = self.begin()
        _, hint = consents("oidc.example", error="access_denied")
        sign_in = f"{PROVIDER} await signInWithPopup(auth, provider);"
        self.refused(CANCELED, page, sign_in, id="oidc.example", hint=hint)
        self.refused("auth/operation-not-allowed", page, sign_in, id="oidc.off", hint=hint)
        # Somebody else's identity.
        person, hint = consents("oidc.example")
        self.in_popup(page, "signInWithPopup(auth, provider)", "oidc.example", hint)
        page.run("await signOut(auth); await signInAnonymously(auth);")
        self.consent_again(person, "oidc.example", again := secrets.token_hex(16))
        self.refused("auth/credential-already-in-use", page, f"{PROVIDER} await linkWithPopup(auth.currentUser, provider);",
                     id="oidc.example", hint=again)


    def test_reserved_parameters(self):
        """A page that is made to add them would have the answer sent elsewhere: it is as if they were not there."""
        for provider in ["oidc.example", "oidc.implicit"]:
            with self.subTest(provider):
                page = self.begin()
                person, hint = consents(provider)
                more = f"{PROVIDER} provider.setCustomParameters({{login_hint: hint, ...reserved}});"
                result = page.run(f"{more} const result = await signInWithPopup(auth, provider); {RESULT}",
                                  id=provider, hint=hint, reserved=RESERVED)
                self.assertEqual((result["operationType"], result["providers"]), ("signIn", [[provider, person.subject]]))


class RedirectTest(StockTest):
    def gateway_url(self):
        # Of the site of the page, as the storage of the frame is.
        return super().gateway_url().replace("127.0.0.1", "localhost")

    def redirected(self, page, provider, hint):
        page.run(f"{PROVIDER} signInWithRedirect(auth, provider);", id=provider, hint=hint)

        def is_back():
            try:
                return page.run("return location.origin + '/' === url && !globalThis.auth && document.readyState === 'complete';",
                                url=self.site.url)
            except (PageError, RuntimeError):
                return False
        eventually("the browser is back", is_back, PAGE_SECONDS)
        self.begin(page)

    def test_a_redirect_signs_in(self):
        for provider, kind in [("oidc.example", OpenIDPerson), ("oidc.implicit", OpenIDPerson), ("apple.com", ApplePerson)]:
            with self.subTest(provider):
                page = self.begin()
                person, hint = consents(provider, kind)
                self.redirected(page, provider, hint)
                result = page.run(f"const result = await getRedirectResult(auth); {RESULT}")
                self.assertEqual(result["providers"], [[provider, person.subject]])
                self.assertEqual(self.claims(page)["sub"], result["uid"])

    def test_a_refusal_comes_back(self):
        page = self.begin()
        _, hint = consents("oidc.example", error="access_denied")
        self.redirected(page, "oidc.example", hint)
        self.refused(CANCELED, page, "await getRedirectResult(auth);")


class AppleTest(Assertions, StockTest):
    """The browser that the Apple SDK opens, and the call that follows."""

    def handler(self, session="", hint="", **fields):
        query = {
            "apiKey": KEY, "authType": "signInWithRedirect", "ibi": APP, "sessionId": sha256(session), "v": "11.5.0",
            "eventId": "event-1", "appId": APP_ID, "providerId": "oidc.example", "scopes": "email",
            "customParameters": json.dumps({"login_hint": hint}), "hl": "en", **fields}
        text = urllib.parse.urlencode({name: value for name, value in query.items() if value is not None})
        return f"{self.gateway_url()}/__/auth/handler?{text}"

    def deep_link(self, address, scheme=SCHEME):
        """What the app is opened with, as fields of its `deep_link_id`."""
        page = self.new_page()
        # The page may lead on before it is loaded.
        page.run("setTimeout(() => location.assign(address));", address=address)

        def link():
            try:
                return page.run("return document.querySelector('#app')?.href || null;")
            except (PageError, RuntimeError):
                return None
        found = eventually("the page leads to the app", link, PAGE_SECONDS)
        prefix = f"{scheme}://firebaseauth/link?deep_link_id="
        self.assertTrue(found.startswith(prefix), found)
        link = urllib.parse.urlsplit(urllib.parse.unquote(found[len(prefix):]))
        fields = dict(urllib.parse.parse_qsl(link.query))
        self.assertEqual(fields["eventId"], "event-1")
        return fields

    def sign_in(self, fields, session, **more):
        return Apple().call("accounts:signInWithIdp", {
            "requestUri": fields["link"], "sessionId": session, "returnSecureToken": True, "returnIdpCredential": True,
            "autoCreate": True, **more})

    def flow(self, provider="oidc.example", kind=OpenIDPerson, person=None, **fields):
        session = secrets.token_hex(16)
        new, hint = consents(provider, kind, **({"clientID": "client-ios"} if kind is OpenIDPerson else {}),
                             **({"subject": person.subject, **person.profile} if person else {}))
        scopes = {"scopes": "email,name"} if provider == "apple.com" else {}
        return person or new, session, self.deep_link(self.handler(session, hint, providerId=provider, **scopes, **fields))

    def test_signs_in_links_and_reauthenticates(self):
        for provider, kind in [("oidc.example", OpenIDPerson), ("apple.com", ApplePerson)]:
            with self.subTest(provider):
                person, session, fields = self.flow(provider, kind)
                self.assertEqual(fields["authType"], "signInWithRedirect")
                answer = self.sign_in(fields, session)
                self.assertEqual((answer["federatedId"], answer["isNewUser"]), (person.subject, True))
                self.assertLessEqual({"rawUserInfo", "oauthIdToken"}, set(answer))
                _, session, fields = self.flow(provider, kind, person=person)
                self.assertEqual(self.sign_in(fields, session, autoCreate=False)["localId"], answer["localId"])
                user = Apple().anonymous()
                other, session, fields = self.flow(provider, kind)
                linked = self.sign_in(fields, session, idToken=user["idToken"])
                self.assertEqual((linked["localId"], linked["federatedId"]), (user["localId"], other.subject))

    def test_another_session_is_refused(self):
        _, session, fields = self.flow()
        for other in [session[:-1], sha256(session), ""]:
            with self.assertRaises(APIError) as caught:
                self.sign_in(fields, other)
            self.assertEqual((caught.exception.status, caught.exception.code), (400, "INVALID_IDP_RESPONSE"))
        self.assertIn("idToken", self.sign_in(fields, session))

    def test_reserved_parameters(self):
        for name, value in RESERVED.items():
            with self.subTest(name):
                session = secrets.token_hex(16)
                _, hint = consents("oidc.example", clientID="client-ios")
                extras = {"login_hint": hint, name: value, name.upper(): value}
                fields = self.deep_link(self.handler(session, customParameters=json.dumps(extras)))
                asked, _ = simulator.asked_of_page(fields_of(fields["link"])["state"])
                self.assertNotIn(value, asked.values())
                self.assertNotIn(name.upper(), asked)
                self.assertIn("idToken", self.sign_in(fields, session))

    def test_client_id_in_place_of_the_app_id(self):
        session = secrets.token_hex(16)
        _, hint = consents("oidc.example", clientID="client-ios")
        client = "100000000001-ios.apps.googleusercontent.com"
        fields = self.deep_link(
            self.handler(session, hint, appId=None, clientId=client), "com.googleusercontent.apps.100000000001-ios")
        self.assertIn("idToken", self.sign_in(fields, session))

    def test_refusal(self):
        session = secrets.token_hex(16)
        _, hint = consents("oidc.example", error="access_denied")
        error = json.loads(self.deep_link(self.handler(session, hint))["firebaseError"])
        self.assertEqual(error["code"], CANCELED)
        error = json.loads(self.deep_link(self.handler(session, providerId="oidc.off"))["firebaseError"])
        self.assertEqual(error["code"], "auth/operation-not-allowed")

    def test_apps_of_the_project_alone(self):
        """Anybody else would get the answer of the provider."""
        for fields in [{"ibi": "com.example.stranger"}, {"appId": "1:1:ios:0"}, {"ibi": None}, {"appId": None}, {"apiKey": "other"},
                       {"clientId": "1-other.apps.googleusercontent.com", "appId": None}, {"sessionId": "short"}]:
            with self.subTest(fields):
                page = self.browser.page(self.handler(secrets.token_hex(16), **fields))
                self.addCleanup(page.close)
                shown = page.run("return [location.href, document.querySelector('#app')?.href || null];")
                self.assertTrue(shown[0].startswith(self.gateway_url()))
                self.assertIsNone(shown[1])

    def test_check_of_an_app(self):
        fields = self.deep_link(self.handler(authType="verifyApp", sessionId=None, providerId=None, customParameters=None, scopes=None))
        self.assertEqual((fields["authType"], fields["recaptchaToken"]), ("verifyApp", "stand-in:site-key"))
