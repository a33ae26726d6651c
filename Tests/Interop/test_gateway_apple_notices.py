"""Apple's notifications over HTTP: each type, forged ones, repetitions, late ones, and the simulator that sends them.

What an app is promised, and the test that shows it over HTTP:
a revoked consent and a deleted Apple Account end the sessions of Apple, and no others, and services are told: EndTest
a switched-off relay gets no mail, until it is on again: RelayTest
a revocation of ours that Apple confirms says so in its timeline: ConfirmedTest
what Apple did not sign, for this project, in time, is refused: ForgedTest
"""

import json
import secrets
import time
import unittest

import broker
import mailbox_of_relay
import records
import simulator
from countersign_client import Client
from gateway_client import PROJECT, Apple, Assertions, Web, new_number
from identities import APP, ApplePerson
from local_server import Handler, Server
from waiting import eventually

PATH = f"/v1/projects/{PROJECT}/apple/notifications"
# Apple's times are in milliseconds, those of ID tokens in seconds.
SECOND = 1000


def now():
    return int(time.time() * SECOND)


class NoticeTest(Assertions, unittest.TestCase):
    def setUp(self):
        self.web = Web()

    def post(self, body, path=PATH):
        return self.web.send("POST", path, json.dumps(body).encode(), Content_Type="application/json")

    def payload(self, kind, person, **order):
        return simulator.apple_notice(order.pop("client_id", APP), kind, person.subject, **order)

    def notify(self, kind, person, **order):
        """Has one taken, and returns it."""
        payload = self.payload(kind, person, **order)
        self.take(payload)
        return payload

    def take(self, payload):
        answer = self.post({"payload": payload})
        self.assertEqual((answer.status, answer.json()), (200, {}))

    def is_signed_in(self, answer):
        try:
            self.web.refresh(answer["refreshToken"])
        except Exception as error:
            self.assertIn("TOKEN_EXPIRED", str(error))
            return False
        return True

    def providers(self, id_token):
        return [entry["providerId"] for entry in self.web.lookup(id_token).get("providerUserInfo", [])]


class EndTest(NoticeTest):
    def test_end_of_a_consent_and_of_an_account(self):
        for kind, order in [("consent-revoked", {}), ("account-deleted", {}), ("account-delete", {"list": True})]:
            with self.subTest(kind=kind):
                person = ApplePerson()
                answer = person.sign_in(self.web)
                self.assertTrue(self.is_signed_in(answer))
                self.notify(kind, person, **order)
                self.assertFalse(self.is_signed_in(answer))
                self.refused("TOKEN_EXPIRED", self.web.lookup, answer["idToken"])
                again = person.sign_in(self.web)
                self.assertTrue(again["isNewUser"])
                self.assertNotEqual(again["localId"], answer["localId"])

    def test_other_ways_stay(self):
        person = ApplePerson()
        user = self.web.sign_in_as(new_number())
        person.sign_in(self.web, idToken=user["idToken"])
        other = person.sign_in(self.web)
        self.assertEqual(other["localId"], user["localId"])
        self.notify("consent-revoked", person)
        self.assertEqual((self.is_signed_in(user), self.is_signed_in(other)), (True, False))
        self.assertEqual(self.providers(user["idToken"]), ["phone"])

    def test_one_from_before_the_last_sign_in_ends_nothing(self):
        person = ApplePerson()
        answer = person.sign_in(self.web)
        self.notify("consent-revoked", person, happenedAt=now() - 60 * SECOND)
        self.assertTrue(self.is_signed_in(answer))
        self.notify("consent-revoked", person)
        self.assertFalse(self.is_signed_in(answer))

    def test_the_same_one_twice(self):
        person = ApplePerson()
        person.sign_in(self.web)
        # From a clock that is ahead: its time alone would let it end what began since.
        ahead = now() + 60 * SECOND
        payload = self.notify("consent-revoked", person, happenedAt=ahead)
        again = person.sign_in(self.web)
        self.take(payload)
        self.assertTrue(self.is_signed_in(again))
        self.notify("consent-revoked", person, happenedAt=ahead)
        self.assertFalse(self.is_signed_in(again))

    def test_a_user_who_is_not_known(self):
        self.notify("account-deleted", ApplePerson())

    def test_the_simulator_sends_them(self):
        test, sent = self, []

        class Relay(Handler):
            def do_POST(self):
                body, came = json.loads(self.body()), time.monotonic()
                status = test.post(body).status
                sent.append((body["payload"], status, came))
                self.answer(status, b"{}")

        url = f"http://127.0.0.1:{Server(Relay).start(self.addCleanup).server_port}/"
        for order, statuses in [({}, [200]), ({"duplicate": True}, [200, 200]), ({"delaySeconds": 1}, [200]), ({"forged": True}, [400] * 5)]:
            with self.subTest(order=order):
                person = ApplePerson()
                answer, begun = person.sign_in(self.web), time.monotonic()
                payload = self.payload("consent-revoked", person, url=url, **order)

                def copies():
                    return [(status, came) for text, status, came in sent if text == payload]

                eventually("the copies", lambda: len(copies()) >= len(statuses))
                self.assertEqual([status for status, _ in copies()], statuses)
                self.assertGreaterEqual(copies()[0][1] - begun, order.get("delaySeconds", 0))
                self.assertEqual(self.is_signed_in(answer), "forged" in order)

    def test_services_are_told(self):
        events = broker.Events(self, "account.appleNotified", "account.unlinked")
        person = ApplePerson(email=f"{secrets.token_hex(8)}@privaterelay.appleid.com")
        answer = person.sign_in(self.web)
        self.notify("consent-revoked", person, happenedAt=now() - 60 * SECOND)
        self.notify("email-disabled", person)
        self.take(self.notify("consent-revoked", person))
        # No event tells of the repetition before, and no account has the subject by now.
        self.notify("account-deleted", person)
        eventually("the events", lambda: len(events.of(subject=person.subject)) == 4)
        told = [(body["kind"], body["effect"], body.get("localID")) for _, body in events.of(subject=person.subject)]
        user = answer["localId"]
        self.assertCountEqual(told, [
            ("consent-revoked", "none", user), ("email-disabled", "mailOff", user), ("consent-revoked", "unlinked", user),
            ("account-deleted", "none", None)])
        self.assertEqual([body["provider"] for name, body in events.of(localID=user) if name == "account.unlinked"], ["apple.com"])


class ConfirmedTest(NoticeTest):
    def test_a_revocation_that_apple_confirms(self):
        client, app = Client.of(self), Apple()
        for deletes in [False, True]:
            with self.subTest(deletes=deletes):
                person, known = ApplePerson(), records.identifiers("revocation")
                answer = person.sign_in(app)
                app.revoke_token(answer["idToken"], simulator.authorization_code(APP, subject=person.subject))
                (operation,) = records.identifiers("revocation") - known
                if deletes:
                    app.delete(answer["idToken"])

                def events():
                    status = client.command("operation.status", {"operationID": operation})
                    self.assertEqual(status["ending"], "REVOKED")
                    return [entry["event"] for entry in status["timeline"]]

                self.assertNotIn("revoke.confirmed", events())
                self.notify("consent-revoked", ApplePerson())
                payload = self.notify("consent-revoked", person)
                eventually("Apple's confirmation", lambda: "revoke.confirmed" in events())
                self.take(payload)
                self.notify("account-deleted", person)
                self.assertEqual(events()[-2:], ["completed", "revoke.confirmed"])
                refused = client.refused(
                    "revocation.confirm", {"operationID": operation, "confirmedAt": "2026-07-01T12:00:00Z"})
                self.assertEqual((refused.code, refused.field), ("OPERATION_NOT_ALLOWED", "user_id"))


class RelayTest(NoticeTest):
    def test_mail_to_a_relay_that_is_off(self):
        person = ApplePerson(email=f"{secrets.token_hex(8)}@privaterelay.appleid.com")
        answer = person.sign_in(self.web)
        email = answer["email"]

        def send():
            self.assertEqual(self.web.send_link("VERIFY_EMAIL", idToken=answer["idToken"]), email)

        send()
        mailbox_of_relay.link(email)
        off = now()
        self.notify("email-disabled", person, email=email, isPrivateEmail=True, happenedAt=off)
        send()
        self.notify("email-enabled", person, email=email, isPrivateEmail=True, happenedAt=off + 1)
        # It was on its way for longer than the one that came after it.
        self.notify("email-disabled", person, email=email, isPrivateEmail=True, happenedAt=off - 1)
        send()
        # The first and the third: the second would have come before the third.
        mailbox_of_relay.link(email, count=2)
        self.assertEqual(len(mailbox_of_relay.messages(email)), 2)


class ForgedTest(NoticeTest):
    def test_what_apple_did_not_sign_for_us(self):
        person = ApplePerson()
        answer = person.sign_in(self.web)
        orders = [
            {"forged": True}, {"signature": "none"}, {"signature": "HS256"}, {"keyID": "stranger"},
            {"client_id": "com.example.foreign"}, {"issuer": "https://accounts.google.com"},
            {"issuedAt": int(time.time()) - 4000, "expiresIn": 60},
        ]
        payloads = [self.payload("consent-revoked", person, **order) for order in orders]
        # An ID token has the same key, issuer and audience.
        payloads += [person.form()["id_token"], "x", "..", "x" * 16_384, '{"sub":"x"}']
        for payload in payloads:
            with self.subTest(payload=payload[:40]):
                found = self.post({"payload": payload})
                self.assertEqual((found.status, found.error().code), (400, "INVALID_IDP_RESPONSE"))
        self.assertTrue(self.is_signed_in(answer))

    def test_bodies_that_are_none(self):
        for body in [{}, {"payload": None}, {"payload": 5}, {"payload": "x" * 16_385}, []]:
            with self.subTest(body=str(body)[:40]):
                self.assertEqual(self.post(body).status, 400)
        unknown = self.post({"payload": "x"}, PATH.replace(PROJECT, "nowhere"))
        self.assertEqual(unknown.status, 404)
        self.assertEqual(self.web.send("GET", PATH).status, 405)
