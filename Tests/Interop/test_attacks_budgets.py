"""Attacks by who may send commands for clients, on what costs money or opens accounts: each ends at a budget, with its code and its time.

A coordinator of its own stands in the place of the stack's, whose budgets are made for load tests.
"""

import os
import pathlib
import random
import sqlite3
import subprocess
import time
import unittest
import uuid

import simulator
import stack
from countersign_client import Client, Refused
from process import Process
from test_verification import new_number

APP = "com.example.app"
PUSH_APP = "com.example.push"
CAPTCHA_APP = "com.example.recaptcha"
FICTIONAL = "+16505553434"
FIXED_CODE = "654321"
ATTACKER = {"ip": "198.51.100.66"}

WRONG_CODES = 12
PUSHES = 6
ASSESSMENTS = 4
DEVICE_SENDS = 3
NOTICES = 2
REVOCATIONS = 5
LIMITS = f"""
    wrongCodesPerAddressPerHour: {WRONG_CODES}, wrongCodesPerFictionalNumberPerHour: {WRONG_CODES},
    receiptsPerAppPerDay: {PUSHES}, assessmentsPerAppPerDay: {ASSESSMENTS}, sendsPerDevicePerDay: {DEVICE_SENDS},
    noticesPerAddressPerDay: {NOTICES}, revocationsPerAppPerDay: {REVOCATIONS},
    sendsPerPrefixPer10Minutes: 1000000, sendsPerAddressPerHour: 1000000,"""


def wrong(code):
    return f"{(int(code) + 1) % 1_000_000:06d}"


class BudgetTest(unittest.TestCase):
    """Each test meets budgets that no other has used."""

    def setUp(self):
        stack.stop_for(self, "coordinator")
        self.running = Process("coordinator")
        self.running.replace_limits(LIMITS)
        self.running.start()
        self.addCleanup(self.running.__exit__)
        self.running.ready()
        self.client = Client(os.environ["COUNTERSIGN_AMQP_URL"])
        self.addCleanup(self.client.close)

    def command(self, name, body):
        return self.client.command(name, body, timeout=180)

    def refused(self, name, body):
        with self.assertRaises(Refused) as caught:
            self.command(name, body)
        return caught.exception

    def until_refused(self, attempt, limit, most):
        """Goes on until a refusal that says when it ends: how often it went well, and that refusal."""
        for count in range(most):
            try:
                attempt(count)
            except Refused as error:
                if error.retry_after is None:
                    continue
                self.assertLessEqual(count, limit)
                self.assertGreater(error.retry_after, 0)
                return error
        self.fail(f"{most} times were not refused")

    def test_codes_of_many_numbers_are_tried_out_from_one_address(self):
        begun = []
        for _ in range(5):
            number = new_number()
            started = self.command("verification.start", {"phoneNumber": number, "app": APP, "client": ATTACKER})
            begun.append((started["verificationID"], simulator.code(simulator.message(number)["body"])))

        def guess(count):
            identifier, code = begun[count // 5]
            self.command(
                "verification.check", {"verificationID": identifier, "code": wrong(code), "client": ATTACKER})

        error = self.until_refused(guess, WRONG_CODES, 25)
        self.assertEqual((error.code, error.field), ("TOO_MANY_ATTEMPTS_TRY_LATER", "client.ip"))
        identifier, code = begun[-1]
        # Nor is the right one compared for the attacker; somebody else is not kept from his.
        self.refused("verification.check", {"verificationID": identifier, "code": code, "client": ATTACKER})
        approved = self.command(
            "verification.check", {"verificationID": identifier, "code": code, "client": {"ip": "192.0.2.9"}})
        self.assertEqual(approved["app"], APP)
        self.assertEqual(self.running.metric("countersign_wrong_codes_total", number="real"), WRONG_CODES)

    def test_fixed_code_of_a_fictional_number_is_tried_out(self):
        start = {"phoneNumber": FICTIONAL, "app": APP}
        # Tests run it often, with the right code.
        for _ in range(20):
            identifier = self.command("verification.start", start)["verificationID"]
            self.command("verification.check", {"verificationID": identifier, "code": FIXED_CODE})

        def guess(count):
            identifier = self.command("verification.start", start)["verificationID"]
            self.command("verification.check", {"verificationID": identifier, "code": f"{count:06d}"})

        error = self.until_refused(guess, WRONG_CODES, 100)
        self.assertEqual(error.code, "TOO_MANY_ATTEMPTS_TRY_LATER")
        identifier = self.command("verification.start", start)["verificationID"]
        self.assertIsNotNone(
            self.refused("verification.check", {"verificationID": identifier, "code": FIXED_CODE}).retry_after)

    def test_pushes_to_made_up_devices(self):
        def push(_):
            self.command("app.verify", {"app": PUSH_APP, "deviceToken": uuid.uuid4().hex * 2})

        error = self.until_refused(push, PUSHES, 50)
        self.assertEqual(error.code, "QUOTA_EXCEEDED")

    def test_receipt_that_is_used_again_and_again(self):
        token = uuid.uuid4().hex * 2
        simulator.device(token, PUSH_APP)
        receipt = self.command(
            "app.verify", {"app": PUSH_APP, "deviceToken": token, "environment": "production"})["receipt"]
        value = simulator.push(token)["payload"]["com.google.firebase.auth"]
        proof = {"receipt": receipt, "secret": value["secret"]}

        def start(_):
            self.command("verification.start", {"phoneNumber": new_number(), "app": PUSH_APP, "proof": proof})

        error = self.until_refused(start, DEVICE_SENDS, 20)
        self.assertEqual((error.code, error.field), ("TOO_MANY_ATTEMPTS_TRY_LATER", "proof.receipt"))

    def test_assessments_without_an_address(self):
        def start(count):
            token = f"low.sendVerificationCode.{uuid.uuid4().hex}@{CAPTCHA_APP}"
            self.command(
                "verification.start",
                {"phoneNumber": new_number(), "app": CAPTCHA_APP, "proof": {"recaptchaToken": token}})

        error = self.until_refused(start, ASSESSMENTS, 20)
        self.assertEqual(error.code, "QUOTA_EXCEEDED")

    def revoke(self, notify):
        body = {"app": APP, "refreshToken": f"junk.{uuid.uuid4().hex}"}
        if notify:
            body["notify"] = {"email": "victim@example.com", "languageCode": "en"}
        return self.command("revocation.start", body)

    def test_mails_to_a_stranger_by_made_up_tokens(self):
        error = self.until_refused(lambda _: self.revoke(notify=True), NOTICES, 20)
        self.assertEqual((error.code, error.field), ("TOO_MANY_ATTEMPTS_TRY_LATER", "notify.email"))
        error = self.until_refused(lambda _: self.revoke(notify=False), REVOCATIONS, 20)
        self.assertEqual(error.code, "QUOTA_EXCEEDED")

    def rows(self, table):
        if stack.IS_POSTGRESQL:
            return int(stack.sql(f"SELECT count(*) FROM countersign.{table}", self.running.database()))
        path = pathlib.Path(self.running.directory.name) / "data" / "coordinator.sqlite"
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30) as database:
            return database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]

    def test_commands_that_change_nothing_fill_no_table(self):
        number = new_number()
        self.command("verification.start", {"phoneNumber": number, "app": APP})
        before = self.rows("store_inbox")
        for _ in range(30):
            self.command("verification.start", {"phoneNumber": number, "app": APP})
            self.refused("verification.check", {"verificationID": uuid.uuid4().hex, "code": "123456"})
            self.refused("verification.cancel", {"verificationID": uuid.uuid4().hex})
            self.refused(
                "verification.start",
                {"phoneNumber": number, "app": PUSH_APP, "proof": {"receipt": "none", "secret": "none"}})
        self.assertEqual(self.rows("store_inbox"), before)

    def test_number_is_forgotten_by_operators_only(self):
        number = new_number()
        begun = self.command("verification.start", {"phoneNumber": number, "app": APP})["verificationID"]
        self.assertEqual(self.refused("number.forget", {"phoneNumber": number}).code, "OPERATION_NOT_ALLOWED")
        program = os.path.join(os.environ["COUNTERSIGN_BIN"], "countersign")
        done = subprocess.run(
            [program, "--timeout", "60s", "forget", number], cwd="/", env=dict(os.environ), stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1, of which 1 were in progress and are canceled", done.stdout)
        self.assertNotIn(number, done.stdout)
        error = self.refused("verification.check", {"verificationID": begun, "code": "123456"})
        self.assertEqual(error.code, "INVALID_SESSION_INFO")


if __name__ == "__main__":
    unittest.main()
