"""The mail that tells of a new second factor, over HTTP: its link takes the factor back, on the page and by a call."""

import unittest
import urllib.parse

import mailbox_of_relay
from authenticator import Authenticator
from gateway_client import PASSWORD, TOKENS, Administrator, Assertions, Web, new_email, send
from mailbox_of_relay import Link, link
from test_gateway_mail_links import Form

MODE, KIND = "revertSecondFactorAddition", "REVERT_SECOND_FACTOR_ADDITION"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
NAME = "Ada's device"


def enrol(web, user, name=NAME):
    """Enrols a TOTP factor. The tokens know of it."""
    started = web.call(
        "accounts/mfaEnrollment:start", {"idToken": user["idToken"], "totpEnrollmentInfo": {}}, version="v2")["totpSessionInfo"]
    return web.call("accounts/mfaEnrollment:finalize", {
        "idToken": user["idToken"], "displayName": name,
        "totpVerificationInfo": {
            "sessionInfo": started["sessionInfo"], "verificationCode": Authenticator(started["sharedSecretKey"]).code()},
    }, version="v2")


class MailTest(Assertions, unittest.TestCase):
    def setUp(self):
        self.web, self.administrator = Web(), Administrator()

    def user(self):
        """A user whose address is proven by an administrator's link: no mail has gone out."""
        user = self.web.sign_up(new_email())
        given = self.administrator.call("/accounts:sendOobCode", {
            "requestType": "VERIFY_EMAIL", "email": user["email"], "returnOobLink": True})
        self.web.apply_link(Link(given["oobLink"]).code)
        return self.web.sign_in_with_password(user["email"])

    def factors(self, user):
        return self.administrator.user(user["localId"]).get("mfaInfo", [])

    def require_taken_back(self, user, tokens, found):
        self.assertEqual(self.factors(user), [])
        self.refused("TOKEN_EXPIRED", self.web.refresh, tokens["refreshToken"])
        self.assertLessEqual(TOKENS, set(self.web.sign_in_with_password(user["email"], PASSWORD)))
        self.refused("INVALID_OOB_CODE", self.web.look_at_link, found.code)
        self.refused("INVALID_OOB_CODE", self.web.apply_link, found.code)

    def test_the_page_takes_it_back(self):
        user = self.user()
        tokens = enrol(self.web, user)
        found = link(user["email"])
        self.assertEqual(found.mode, MODE)
        self.assertIn(NAME, mailbox_of_relay.message(user["email"]).get_body(("plain",)).get_content())
        target = f"/__/auth/action?{urllib.parse.urlsplit(found.url).query}"
        # A scanner of mails spends nothing.
        for _ in range(3):
            shown = send(self.web.url, "GET", target)
            form = Form(shown.body.decode())
            self.assertEqual((shown.status, form.method, form.scripts), (200, "post", 0))
        self.assertEqual(len(self.factors(user)), 1)
        self.assertIn("mfaPendingCredential", self.web.sign_in_with_password(user["email"]))
        done = send(self.web.url, "POST", target, "", FORM)
        self.assertEqual(done.status, 200)
        self.assertIn("all devices are signed out", done.body.decode())
        self.require_taken_back(user, tokens, found)
        self.assertIsNone(Form(send(self.web.url, "GET", target).body.decode()).method)

    def test_a_call_takes_it_back(self):
        user = self.user()
        tokens = enrol(self.web, user)
        found = link(user["email"])
        looked = self.web.look_at_link(found.code)
        self.assertEqual((looked["requestType"], looked["email"]), (KIND, user["email"]))
        factor = looked["mfaInfo"]
        self.assertEqual((factor["mfaEnrollmentId"], factor["displayName"], factor["totpInfo"]), (
            self.factors(user)[0]["mfaEnrollmentId"], NAME, {}))
        self.assertEqual(self.web.apply_link(found.code)["localId"], user["localId"])
        self.require_taken_back(user, tokens, found)

    def test_a_hostile_name_reaches_the_mail_as_words(self):
        user = self.user()
        enrol(self.web, user, "https://evil.example/?\"><b>call us")
        text = mailbox_of_relay.message(user["email"]).get_body(("plain",)).get_content()
        self.assertIn("https evil example b call us", text)
        self.assertNotIn("evil.example", text)
