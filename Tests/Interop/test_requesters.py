"""Who asks, for whom and what for: the fields of starts and checks, as a stock client sends them."""

import os
import pathlib
import time

import simulator
from countersign_client import ClientTest, Refused
from samples import new_number
from test_verification import APP

FICTIONAL = "+16505553434"


class RequesterTest(ClientTest):
    def start(self, number, **fields):
        return self.client.command("verification.start", {"phoneNumber": number, "app": APP, **fields})

    def check(self, started, code, **fields):
        return self.client.command(
            "verification.check", {"verificationID": started["verificationID"], "code": code, **fields})

    def code(self, number):
        return simulator.code(simulator.message(number)["body"])

    def test_the_same_requester_gets_the_same_verification_however_often_it_asks(self):
        number = new_number("+49160")
        fields = {"client": {"ip": "192.0.2.7", "userAgent": "a", "instance": "com.example.app a"}}
        first = self.start(number, **fields)
        for _ in range(30):
            again = self.start(number, **fields)
            self.assertEqual(again["verificationID"], first["verificationID"])
            self.assertIs(again["resent"], False)
        self.assertEqual(self.check(first, self.code(number))["phoneNumber"], number)
        self.assertEqual(len(simulator.messages(number)), 1)

    def test_who_a_requester_is(self):
        number = new_number("+49160")
        ids = [
            self.start(number, **fields)["verificationID"]
            for fields in [
                {},
                {"requester": "session 1"},
                {"requester": "session 2", "client": {"ip": "192.0.2.7"}},
                {"client": {"ip": "192.0.2.7"}},
                {"client": {"ip": "192.0.2.7", "instance": "i"}},
                {"client": {"ip": "192.0.2.8", "instance": "i"}},
            ]
        ]
        self.assertEqual(len(set(ids)), len(ids))
        self.assertEqual(self.start(number, requester="session 2")["verificationID"], ids[2])
        self.assertEqual(len(simulator.messages(number)), 1)

    def test_a_code_is_for_its_purpose_and_subject(self):
        number = new_number("+49160")
        factor = {"purpose": "secondFactorSignIn", "subject": "account 1"}
        started = self.start(number, **factor)
        self.assertEqual(started["purpose"], "secondFactorSignIn")
        code = self.code(number)
        status = self.client.command("verification.status", {"verificationID": started["verificationID"]})
        self.assertEqual(status["purpose"], "secondFactorSignIn")
        approved = self.check(started, code, app=APP, **factor)
        self.assertEqual((approved["app"], approved["purpose"], approved["subject"], approved["testNumber"]),
                         (APP, "secondFactorSignIn", "account 1", False))

    def test_a_fictional_number_says_so_and_serves_as_a_second_factor(self):
        factor = {"purpose": "secondFactorEnrollment", "subject": f"account {time.monotonic_ns()}"}
        started = self.start(FICTIONAL, **factor)
        self.assertIs(started["testNumber"], True)
        self.assertIs(self.check(started, "654321", **factor)["testNumber"], True)

    def test_fields_that_cannot_be_are_named(self):
        start = {"phoneNumber": new_number("+49160"), "app": APP}
        for fields, field in [
            ({"purpose": "somethingElse"}, "purpose"),
            ({"purpose": "secondFactorSignIn"}, "subject"),
            ({"subject": "account 1"}, "subject"),
            ({"purpose": "secondFactorSignIn", "subject": "x" * 129}, "subject"),
            ({"requester": "x" * 129}, "requester"),
            ({"client": {"ip": "192.0.2.7", "instance": "x" * 513}}, "client.instance"),
            ({"proof": {"recaptchaToken": "t", "recaptchaAction": "sign up"}}, "proof.recaptchaAction"),
        ]:
            with self.subTest(fields):
                error = self.client.refused("verification.start", {**start, **fields})
                self.assertEqual((error.code, error.field), ("INVALID_ARGUMENT", field))

    def test_fictional_numbers_change_without_a_restart(self):
        path = pathlib.Path(os.environ["COUNTERSIGN_STACK"]) / "config" / "coordinator.json5"
        before = path.read_text()
        self.addCleanup(path.write_text, before)
        number = "+16505550142"
        self.assertIn(f'"{FICTIONAL}": "654321"', before)
        path.write_text(before.replace(f'"{FICTIONAL}": "654321"', f'"{number}": "271828", "{FICTIONAL}": "654321"'))
        started = self.start_fictional(number)
        self.assertIs(self.check(started, "271828")["testNumber"], True)
        # What cannot be is not taken: the numbers stay as they are.
        path.write_text(before.replace(f'"{FICTIONAL}": "654321"', f'"{number}": "27"'))
        time.sleep(7)
        self.assertIs(self.start(FICTIONAL)["testNumber"], True)
        self.assertIs(self.start(number)["testNumber"], True)

    def start_fictional(self, number):
        """Starts until the coordinator has read the file again; until then it is a number like any other."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                started = self.start(number, requester=str(time.monotonic_ns()))
                if started["testNumber"]:
                    return started
                self.client.command("verification.cancel", {"verificationID": started["verificationID"]})
            except Refused:
                pass
            time.sleep(1)
        self.fail(f"{number} is not fictional within 60 s")
