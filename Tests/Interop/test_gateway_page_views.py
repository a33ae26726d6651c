"""Pages of the gateway in a browser, at two widths, light and dark: seen, used by the keyboard, and read aloud.

Pages of mails' links: LinkViewTest
the page of sign-ins at providers, in each of its states: SignInViewTest
"""

import json
import unittest
import urllib.parse

from chromium import Browser, PageError
from gateway_client import CONTINUE_URL, KEY, PASSWORD, Administrator, Web, new_email
from identities import sha256
from local_server import Handler, Server
from mailbox_of_relay import Link, link
from page_flow import PageFlow
from page_views import Views
from test_gateway_second_factor_mail import enrol
from waiting import eventually

LANGUAGES = ["en", "de", "es", "fr", "pt-BR", "pt-PT", "ar", "bn", "hi", "ja"]
PAGE_SECONDS = 60
SHOW = "for (const text of document.querySelectorAll('[data-text]')) text.hidden = text.dataset.text !== name;"
SHOWN = """
const main = document.querySelector("main");
return main.innerText.includes(text) && (!isLedBack || document.querySelector("#app").href !== "");
"""
BROWSER = None


class NowhereHandler(Handler):
    """A provider that the browser stays away from, so that the page that leads there goes on waiting."""

    def do_GET(self):
        self.answer(204, b"", "text/html")


def setUpModule():
    global BROWSER
    # Google's scripts are not to be had.
    provider = urllib.parse.urlsplit(PageFlow(Web(), "oidc.example").address)
    nowhere = Server(NowhereHandler).start(unittest.addModuleCleanup)
    BROWSER = Browser("--host-resolver-rules=MAP www.google.com ~NOTFOUND, "
                      f"MAP {provider.netloc} 127.0.0.1:{nowhere.server_port}")
    unittest.addModuleCleanup(BROWSER.close)


class ViewTest(unittest.TestCase):
    def setUp(self):
        self.web, self.administrator = Web(), Administrator()
        self.page = BROWSER.page("about:blank")
        self.addCleanup(self.page.close)
        self.page.call("Network.enable")
        self.page.call("Emulation.setFocusEmulationEnabled", enabled=True)

    def open(self, path, **query):
        self.page.open(f"{self.web.url}{path}?{urllib.parse.urlencode(query)}")

    def require(self, name, *hosts, language="en"):
        Views(self, name, self.page).require(language).require_own_requests(*hosts)


class LinkViewTest(ViewTest):
    def user(self):
        return self.web.sign_up(new_email())

    def given(self, kind, user):
        """A link without a mail."""
        return Link(self.administrator.call("/accounts:sendOobCode", {
            "requestType": kind, "email": user["email"], "continueUrl": CONTINUE_URL, "returnOobLink": True})["oobLink"])

    def changed(self):
        user, email = self.user(), new_email()
        self.web.apply_link(self.given("VERIFY_EMAIL", user).code)
        user = self.web.sign_in_with_password(user["email"])
        self.web.send_link("VERIFY_AND_CHANGE_EMAIL", idToken=user["idToken"], newEmail=email)
        return user, link(email)

    def show(self, found, language="en"):
        self.open("/__/auth/action", **{**found.query, "lang": language, "continueUrl": CONTINUE_URL})

    def enter(self):
        """Presses Enter and waits for the next page."""
        self.page.run("globalThis.isOld = true;")
        self.page.press("Enter")

        def is_new():
            try:
                return self.page.run("return !globalThis.isOld && document.readyState === 'complete';")
            except (PageError, RuntimeError):
                return False
        eventually("the form is sent", is_new, PAGE_SECONDS)

    def confirm(self, name, found):
        """The first and only control is the button."""
        self.show(found)
        self.require(name)
        self.enter()
        self.require(f"{name}-done")

    def test_an_address_is_confirmed(self):
        user = self.user()
        self.confirm("verify", self.given("VERIFY_EMAIL", user))
        self.assertIs(self.administrator.user(user["localId"])["emailVerified"], True)

    def test_an_address_is_changed_and_taken_back(self):
        user, found = self.changed()
        self.confirm("change", found)
        self.assertNotEqual(self.administrator.user(user["localId"])["email"], user["email"])
        self.confirm("recover", link(user["email"]))
        self.assertEqual(self.administrator.user(user["localId"])["email"], user["email"])

    def test_a_new_second_factor_is_taken_back(self):
        user = self.user()
        self.web.apply_link(self.given("VERIFY_EMAIL", user).code)
        enrol(self.web, self.web.sign_in_with_password(user["email"]))
        self.confirm("revert", link(user["email"]))
        self.assertNotIn("mfaInfo", self.administrator.user(user["localId"]))

    def type_password(self, password):
        """In the field, which the first Tab reaches. Enter sends the form from there."""
        self.page.run("document.querySelector('input').focus();")
        self.page.call("Input.insertText", text=password)
        self.enter()

    def test_a_password_is_set_anew(self):
        user = self.user()
        self.show(self.given("PASSWORD_RESET", user))
        self.require("reset")
        self.type_password("12345")
        self.require("reset-weak")
        field = next(node for node in Views(self, "reset-weak", self.page).focusable() if node["role"]["value"] == "textbox")
        self.assertIn("too simple", field["description"]["value"])
        self.assertIn({"name": "invalid", "value": {"type": "token", "value": "true"}}, field["properties"])
        self.type_password(f"another {PASSWORD}")
        self.require("reset-done")
        self.web.sign_in_with_password(user["email"], f"another {PASSWORD}")

    def test_a_sign_in_and_a_link_that_is_wrong(self):
        self.show(self.given("EMAIL_SIGNIN", self.user()))
        self.require("sign-in-link")
        self.open("/__/auth/action", apiKey=KEY, mode="verifyEmail", oobCode="made-up", lang="en")
        self.require("wrong-link")

    def test_every_language(self):
        found = self.given("PASSWORD_RESET", self.user())
        for language in LANGUAGES:
            self.show(found, language)
            self.require(f"reset-{language}", language=language)


class SignInViewTest(ViewTest):
    def handler(self, text, is_led_back=False, **fields):
        """Opens the page until it says a text. It may lead on before it is loaded, and an error leads back to the app."""
        query = {
            "apiKey": KEY, "authType": "signInWithRedirect", "ibi": "com.example.app", "sessionId": sha256("session"), "v": "11.5.0",
            "eventId": "event-1", "appId": "1:100000000001:ios:0123456789abcdef01", "providerId": "oidc.example", "hl": "en",
            "scopes": "email", "customParameters": json.dumps({"prompt": "consent"}), **fields}
        query = {name: value for name, value in query.items() if value is not None}
        self.page.call("Page.navigate", url=f"{self.web.url}/__/auth/handler?{urllib.parse.urlencode(query)}")

        def is_shown():
            try:
                return self.page.run(SHOWN, text=text, isLedBack=is_led_back)
            except (PageError, RuntimeError):
                return False
        eventually(f"the page says {text}", is_shown, PAGE_SECONDS)

    def test_each_state_of_a_sign_in(self):
        self.handler("One moment")
        self.require("wait")
        for name in ["done", "lost", "storage"]:
            self.page.run(SHOW, name=name)
            self.require(name)

    def test_errors(self):
        for name, fields, text in [
            ("off", {"providerId": "oidc.off"}, "switched off"), ("foreign", {"ibi": "com.example.stranger"}, "Only an app"),
            ("refused", {"customParameters": "["}, "not signed in")]:
            self.handler(text, name != "foreign", **fields)
            self.require(name)
        self.handler("not signed in", authType=None, code="x", state="y")
        self.require("unasked")

    def test_a_check_that_fails(self):
        self.handler("did not work", True, authType="verifyApp")
        self.require("check-failed", "www.google.com")

    def test_without_javascript(self):
        self.page.call("Emulation.setScriptExecutionDisabled", value=True)
        self.handler("needs JavaScript")
        self.require("no-javascript")

    def test_every_language(self):
        for language in LANGUAGES:
            self.handler("", True, providerId="oidc.off", hl=language)
            self.require(f"off-{language}", language=language)
