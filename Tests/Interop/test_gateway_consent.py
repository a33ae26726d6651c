"""Consent over HTTP: recorded, shown and revoked, and demanded before Sign in with Apple is linked to other data.

What an app is promised, and the test that shows it over HTTP:
a consent is recorded with text, time and data, told by events, and gone with its account: RecordTest
where the project demands it, nothing comes together with Apple without it, in either direction: RequiredTest
"""

import datetime
import json
import os
import re
import secrets
import unittest

import broker
import simulator
import stack
from gateway_client import IDENTITY_TOOLKIT, Administrator, APIError, Assertions, Web, new_email, new_number, received_code
from identities import ApplePerson, GooglePerson
from second_factors import Factors
from test_gateway_deletion import ERASED_SECONDS, holds
from waiting import eventually

PROJECT_FILE = stack.DIRECTORY / "config" / "projects" / "example.json5"
# Looks in a row at which all processes have read the file.
LOOKS = 8


def write(text):
    """Replaces the project's file at once, as editors do."""
    beside = PROJECT_FILE.with_name(".example.json5")
    beside.write_text(text)
    os.replace(beside, PROJECT_FILE)


class ConsentTest(Assertions, unittest.TestCase):
    def setUp(self):
        self.web = Web()
        self.factors = Factors(self.web)

    def post(self, client, path, **fields):
        """A call of our own, or an answer with fields of our own: Google's schemas have neither."""
        answer = client.send("POST", path, json.dumps(fields).encode(), Content_Type="application/json")
        return client.read(answer)

    def record(self, user, *consents, **fields):
        path = self.web.path("accounts:recordConsent")
        return self.post(self.web, path, idToken=user["idToken"], consents=list(consents), **fields)["consents"]

    def consent(self, *data, purpose="linking", version="2026-11"):
        now = datetime.datetime.now(datetime.timezone.utc)
        return {"purpose": purpose, "textVersion": version, "data": list(data), "givenAt": now.isoformat(timespec="milliseconds")}

    def consents_to(self, user, *data):
        self.assertIn("linking", [one["purpose"] for one in self.record(user, self.consent(*data))])

    def revoke(self, user, *purposes):
        path = f"{IDENTITY_TOOLKIT}/v1/projects/example/accounts:recordConsent"
        fields = {"localId": user["localId"], "revokePurposes": list(purposes)}
        return self.post(Administrator(), path, **fields)["consents"]

    def user(self, user):
        return self.post(self.web, self.web.path("accounts:lookup"), idToken=user["idToken"])["users"][0]

    def ways(self, user):
        return [entry["providerId"] for entry in self.user(user).get("providerUserInfo", [])]


class RecordTest(ConsentTest):
    def test_record_look_up_revoke_and_events(self):
        events = broker.Events(self, "account.consentChanged")
        user = self.web.anonymous()
        given = self.consent("phone", "email", version=f"v-{secrets.token_hex(8)}")
        (recorded,) = self.record(user, given)
        self.assertEqual((recorded["purpose"], recorded["textVersion"], recorded["data"]),
                         ("linking", given["textVersion"], ["phone", "email"]))
        self.assertNotIn("revokedAt", recorded)
        self.assertEqual(self.record(user, given), [recorded])
        self.assertEqual(self.user(user)["consents"], [recorded])
        (revoked,) = self.revoke(user, "linking")
        self.assertIn("revokedAt", revoked)
        self.assertEqual(self.record(user, given), [revoked])
        found = self.post(Administrator(), f"{IDENTITY_TOOLKIT}/v1/projects/example/accounts:lookup", localId=[user["localId"]])
        self.assertEqual(found["users"][0]["consents"], [revoked])
        eventually("both events", lambda: len(events.of(localID=user["localId"])) == 2)
        self.assertEqual([(one["textVersion"], one["isGiven"]) for _, one in events.of(localID=user["localId"])],
                         [(given["textVersion"], True), (given["textVersion"], False)])

    def test_what_is_wrong_is_named(self):
        user = self.web.anonymous()
        for consent in [self.consent(purpose=""), {**self.consent(), "givenAt": "yesterday"}, self.consent("x" * 65),
                        {**self.consent(), "givenAt": "2200-01-01T00:00:00Z"}]:
            with self.subTest(consent=consent):
                with self.assertRaises(APIError) as caught:
                    self.record(user, consent)
                self.assertEqual(caught.exception.status, 400)
                self.assertIn("consents", str(caught.exception))

    def test_consents_are_erased_with_the_account(self):
        user = self.web.anonymous()
        version = f"v-{secrets.token_hex(16)}"
        self.record(user, self.consent("phone", version=version))
        self.assertTrue(holds("accounts", version))
        self.web.delete(user["idToken"])
        eventually("nothing in accounts", lambda: not holds("accounts", version), ERASED_SECONDS)

    def test_without_the_demand_everything_links(self):
        person = ApplePerson()
        user = person.sign_in(self.web)
        self.web.sign_in_as(new_number(), idToken=user["idToken"])
        self.assertEqual(self.ways(user), ["apple.com", "phone"])


class RequiredTest(ConsentTest):
    """The project's file demands consents, and is as before in the end."""

    @classmethod
    def setUpClass(cls):
        before = PROJECT_FILE.read_text()
        changed = re.sub(r"^(\s*number: \d+,)$", r'\1\n  consent: { linking: "require" },', before, count=1, flags=re.M)
        assert changed != before
        write(changed)
        cls.addClassCleanup(cls.until, False)
        cls.addClassCleanup(write, before)
        cls.until(True)

    @classmethod
    def until(cls, is_demanded):
        web = Web()

        def look():
            user = ApplePerson().sign_in(web)
            try:
                web.sign_up(new_email(), idToken=user["idToken"])
            except Exception as error:
                if "CONSENT_REQUIRED" not in str(error):
                    raise
                return is_demanded
            return not is_demanded

        eventually("the project's file to be read", lambda: all(look() for _ in range(LOOKS)))

    def require_demand(self, answer):
        """No tokens, for want of a consent."""
        self.assertTrue(answer.get("errorMessage", "").startswith("CONSENT_REQUIRED"), sorted(answer))
        self.assertNotIn("idToken", answer)
        return answer

    def test_apple_then_a_number(self):
        user = ApplePerson().sign_in(self.web)
        number = new_number()
        session = self.web.send_code(number)
        code = received_code(number)
        self.refused("CONSENT_REQUIRED", self.web.sign_in, session, code, idToken=user["idToken"])
        self.assertEqual(self.ways(user), ["apple.com"])
        self.consents_to(user, "phone")
        # The code is not used up.
        self.web.sign_in(session, code, idToken=user["idToken"])
        self.assertEqual(self.ways(user), ["apple.com", "phone"])

    def test_a_number_then_apple(self):
        user = self.web.sign_in_as(new_number())
        person = ApplePerson()
        answer = self.require_demand(person.sign_in(self.web, idToken=user["idToken"]))
        self.assertEqual(answer["providerId"], "apple.com")
        self.assertEqual(self.ways(user), ["phone"])
        self.consents_to(user, "phone")
        linked = self.web.sign_in_with_pending_token(answer["pendingToken"], idToken=user["idToken"])
        self.assertEqual(linked["localId"], user["localId"])
        self.assertEqual(self.ways(user), ["apple.com", "phone"])

    def test_apple_joins_no_account_by_its_address_and_makes_none(self):
        email = f"{secrets.token_hex(8)}@gmail.com"
        user = GooglePerson(email=email, emailVerified=True).sign_in(self.web)
        person = ApplePerson(email=email)
        for _ in range(2):
            self.require_demand(person.sign_in(self.web))
        self.assertEqual(self.ways(user), ["google.com"])
        self.assertEqual([one["localId"] for one in Administrator().find(email=[email])], [user["localId"]])
        self.consents_to(user, "google.com")
        joined = person.sign_in(self.web)
        self.assertEqual(joined["localId"], user["localId"])
        self.assertEqual(self.ways(user), ["google.com", "apple.com"])

    def test_google_joins_no_account_of_apple_by_its_address(self):
        email = f"{secrets.token_hex(8)}@gmail.com"
        user = ApplePerson(email=email).sign_in(self.web)
        google = GooglePerson(email=email, emailVerified=True)
        self.require_demand(google.sign_in(self.web))
        self.refused("CONSENT_REQUIRED", google.sign_in, self.web, returnIdpCredential=False)
        self.assertEqual(self.ways(user), ["apple.com"])
        self.consents_to(user, "google.com")
        self.assertEqual(google.sign_in(self.web)["localId"], user["localId"])

    def test_update_of_the_address(self):
        user = ApplePerson().sign_in(self.web)
        email = new_email()
        self.refused("CONSENT_REQUIRED", self.web.update, user["idToken"], email=email, returnSecureToken=True)
        self.assertNotIn("email", self.user(user))
        self.consents_to(user, "email")
        self.web.update(user["idToken"], email=email, returnSecureToken=True)
        self.assertEqual(self.user(user)["email"], email)

    def test_revoked_by_an_administrator(self):
        user = ApplePerson().sign_in(self.web)
        number = new_number()
        self.consents_to(user, "phone", "email")
        self.web.sign_in_as(number, idToken=user["idToken"])
        self.revoke(user, "linking")
        self.refused("CONSENT_REQUIRED", self.web.sign_up, new_email(), idToken=user["idToken"])
        # What is linked stays.
        self.assertEqual(self.ways(user), ["apple.com", "phone"])
        self.assertEqual(self.web.sign_in_as(number, count=2)["localId"], user["localId"])

    def test_revoked_by_the_user_before_apple_comes(self):
        user = self.web.sign_in_as(new_number())
        self.consents_to(user, "phone")
        (revoked,) = self.record(user, revokePurposes=["linking"])
        self.assertIn("revokedAt", revoked)
        person = ApplePerson()
        self.require_demand(person.sign_in(self.web, idToken=user["idToken"]))
        self.assertEqual(self.ways(user), ["phone"])
        self.consents_to(user, "phone")
        self.assertEqual(person.sign_in(self.web, idToken=user["idToken"])["localId"], user["localId"])
        self.assertEqual(self.ways(user), ["apple.com", "phone"])

    def test_apple_then_a_second_factor(self):
        person = ApplePerson(email=f"{secrets.token_hex(8)}@privaterelay.appleid.com")
        user, number = person.sign_in(self.web), new_number()
        self.consents_to(user, "phone")
        self.refused("CONSENT_REQUIRED", self.factors.start_totp, user["idToken"])
        self.refused("CONSENT_REQUIRED", self.factors.start_phone, user["idToken"], number)
        self.assertEqual(simulator.messages(number), [])
        self.consents_to(user, "secondFactor")
        session = self.factors.start_phone(user["idToken"], number)
        code = received_code(number)
        self.record(user, revokePurposes=["linking"])
        self.refused("CONSENT_REQUIRED", self.factors.finish_phone, user["idToken"], session, code)
        self.assertNotIn("mfaInfo", self.user(user))
        self.consents_to(user, "secondFactor")
        # The code is not used up.
        self.factors.finish_phone(user["idToken"], session, code)
        self.assertIn("mfaPendingCredential", person.sign_in(self.web))

    def test_a_second_factor_then_apple(self):
        email = new_email()
        Administrator().change(self.web.sign_up(email)["localId"], emailVerified=True)
        user, _ = self.factors.enroll_totp(self.web.sign_in_with_password(email)["idToken"])
        person = ApplePerson()
        # Each of what the account has, the factor too.
        for data in [["email"], ["secondFactor"]]:
            self.consents_to(user, *data)
            self.require_demand(person.sign_in(self.web, idToken=user["idToken"]))
        self.assertEqual(self.ways(user), ["password"])
        self.consents_to(user, "email", "secondFactor")
        self.assertIn("idToken", person.sign_in(self.web, idToken=user["idToken"]))
        self.assertEqual(self.ways(user), ["apple.com", "password"])
        answer = person.sign_in(self.web)
        self.assertNotIn("idToken", answer)
        self.assertEqual(len(answer["mfaInfo"]), 1)
