"""Attacks by who may send commands for clients, on what costs money or opens accounts: each ends at a budget, with its code and its time.

A coordinator of its own stands in the place of the stack's, whose budgets are made for load tests.
"""

import os
import pathlib
import sqlite3
import subprocess
import time
import unittest
import uuid

import simulator
import stack
from countersign_client import Client, Refused
from gateway_client import APIError, Apple
from process import Process
from samples import new_number, wrong
from waiting import eventually

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
RECEIPTS = 80
# The default.
FICTIONAL_CODES = 30
FICTIONAL_OF_PUSH = "+16505550142"
# 2,000 as in production in the long form; each fifth costs a message.
CODES_OF_APP = 2_000 if os.environ.get("COUNTERSIGN_TEST_ALL") == "1" else 20
LIMITS = f"""
    wrongCodesPerAddressPerHour: {WRONG_CODES}, wrongCodesPerFictionalNumberPerHour: {WRONG_CODES},
    receiptsPerAppPerDay: {PUSHES}, assessmentsPerAppPerDay: {ASSESSMENTS}, sendsPerDevicePerDay: {DEVICE_SENDS},
    noticesPerAddressPerDay: {NOTICES}, revocationsPerAppPerDay: {REVOCATIONS},
    sendsPerPrefixPer10Minutes: 1000000, sendsPerAddressPerHour: 1000000,"""


class Attack(unittest.TestCase):
    LIMITS = LIMITS
    # Between two messages to a number; as they are in production, a test would wait for half a minute.
    RESEND_SECONDS = 1

    def setUp(self):
        stack.stop_for(self, "coordinator")
        self.running = self.enterContext(Process("coordinator"))
        self.running.replace_limits(self.LIMITS)
        self.running.replace(
            r"\n  regions: ",
            # In its long form the tests' wrong codes would have the country closed, as those of pumped traffic are.
            "\n  conversion: { enabled: false },"
            f"\n  verification: {{ resendGapsSeconds: [{self.RESEND_SECONDS}] }},\n  regions: ")
        self.running.start().ready()
        self.client = Client.of(self)

    def command(self, name, body):
        return self.client.command(name, body, timeout=180)

    def refused(self, name, body):
        return self.client.refused(name, body, timeout=180)

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


class RepeatTest(Attack):
    # However long the test takes, none of its starts sends again.
    RESEND_SECONDS = 600

    def rows(self, table):
        if stack.IS_POSTGRESQL:
            return int(stack.sql(f"SELECT count(*) FROM countersign.{table}", self.running.database()))
        path = pathlib.Path(self.running.directory.name) / "data" / "coordinator.sqlite"
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30) as database:
            return database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]

    def test_commands_that_change_nothing_fill_no_table(self):
        number = new_number("+49160")
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


class BudgetTest(Attack):
    def test_codes_of_many_numbers_are_tried_out_from_one_address(self):
        begun = []
        for _ in range(5):
            number = new_number("+49160")
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
        # Over HTTP, too.
        with self.assertRaises(APIError) as caught:
            Apple(PUSH_APP).call("accounts:verifyIosClient", {"appToken": uuid.uuid4().hex * 2})
        self.assertEqual((caught.exception.status, caught.exception.code), (400, "QUOTA_EXCEEDED"))
        self.assertGreater(int(caught.exception.retry_after), 0)

    def test_receipt_that_is_used_again_and_again(self):
        token = uuid.uuid4().hex * 2
        simulator.device(token, PUSH_APP)
        receipt = self.command(
            "app.verify", {"app": PUSH_APP, "deviceToken": token, "environment": "production"})["receipt"]
        value = simulator.push(token)["payload"]["com.google.firebase.auth"]
        proof = {"receipt": receipt, "secret": value["secret"]}

        def start(_):
            self.command("verification.start", {"phoneNumber": new_number("+49160"), "app": PUSH_APP, "proof": proof})

        error = self.until_refused(start, DEVICE_SENDS, 20)
        self.assertEqual((error.code, error.field), ("TOO_MANY_ATTEMPTS_TRY_LATER", "proof.receipt"))

    def test_assessments_without_an_address(self):
        def start(count):
            token = f"low.sendVerificationCode.{uuid.uuid4().hex}@{CAPTCHA_APP}"
            self.command(
                "verification.start",
                {"phoneNumber": new_number("+49160"), "app": CAPTCHA_APP, "proof": {"recaptchaToken": token}})

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

    def test_number_is_forgotten_by_operators_only(self):
        number = new_number("+49160")
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


class NetworkTest(Attack):
    LIMITS = f"""
    proofsPerAddressPerHour: 6, receiptsPerAppPerDay: {RECEIPTS}, refusedStartsPerAddressPerHour: 10,
    sendsPerPrefixPer10Minutes: 1000000,"""

    def verify(self, ip):
        self.command(
            "app.verify", {"app": PUSH_APP, "deviceToken": uuid.uuid4().hex * 2, "environment": "production", "client": {"ip": ip}})

    def wait_for_refused_pushes(self, count):
        eventually("pushes to made-up devices are refused", lambda: (
            self.running.metric("countersign_app_proofs_total", method="push", outcome="push_refused") or 0) >= count, 60)

    def test_addresses_of_one_network_do_not_use_up_the_receipts_of_a_day(self):
        taken, refused = 0, []
        for index in range(300):
            try:
                self.verify(f"2001:db8:1:{index:x}::1")
                taken += 1
            except Refused as error:
                refused.append(error)
        # Ten times what one address may.
        self.assertEqual(taken, 60)
        self.assertEqual({(error.code, error.field) for error in refused}, {("TOO_MANY_ATTEMPTS_TRY_LATER", "client.ip")})
        # What Apple refuses costs nothing of the day, so a second network does not use it up either.
        self.wait_for_refused_pushes(60)
        for index in range(60):
            self.verify(f"2001:db8:2:{index:x}::1")
        self.wait_for_refused_pushes(120)
        self.verify("192.0.2.1")

    def guess(self, code, ip):
        client = {"client": {"ip": ip}}
        identifier = self.command("verification.start", {"phoneNumber": FICTIONAL, "app": APP} | client)["verificationID"]
        return self.command("verification.check", {"verificationID": identifier, "code": code} | client)

    def wrong_guess(self, code, ip):
        with self.assertRaises(Refused) as caught:
            self.guess(code, ip)
        self.assertEqual(caught.exception.code, "INVALID_CODE")

    def test_strangers_do_not_lock_a_fictional_number_for_a_tester(self):
        self.guess(FIXED_CODE, "192.0.2.7")
        for count in range(FICTIONAL_CODES):
            # Three from each network.
            self.wrong_guess(f"{count:06d}", f"198.51.{count // 3}.1")
        # All that strangers have is used up: for them the right one is refused as well.
        with self.assertRaises(Refused) as caught:
            self.guess(FIXED_CODE, "203.0.113.1")
        self.assertGreater(caught.exception.retry_after, 0)
        # From another address of the tester's network, after typing errors too.
        for code in ("000001", "000002"):
            self.wrong_guess(code, "192.0.2.8")
        self.assertEqual(self.guess(FIXED_CODE, "192.0.2.8")["testNumber"], True)

    def test_fictional_numbers_are_not_found_by_trying(self):
        def start(number, ip="198.51.100.66"):
            return self.command("verification.start", {"phoneNumber": number, "app": PUSH_APP, "client": {"ip": ip}})

        def code(number):
            with self.assertRaises(Refused) as caught:
                start(number)
            return caught.exception.code

        codes = [code(f"+1650555{9000 + index}") for index in range(20)]
        self.assertEqual(codes, ["MISSING_CLIENT_IDENTIFIER"] * 10 + ["TOO_MANY_ATTEMPTS_TRY_LATER"] * 10)
        self.assertEqual(code(FICTIONAL_OF_PUSH), "TOO_MANY_ATTEMPTS_TRY_LATER")
        self.assertEqual(start(FICTIONAL_OF_PUSH, "192.0.2.7")["testNumber"], True)


class UsedUpTest(Attack):
    """All wrong codes of an app are used up by somebody who guesses at codes of many numbers."""

    LIMITS = f"""
    wrongCodesPerAppPerDay: {CODES_OF_APP}, wrongCodesPerDay: 1000000, sendsPerPrefixPer10Minutes: 1000000,
    sendsPerCountryPerDay: 1000000,"""

    def start(self, number, count=1):
        identifier = self.command("verification.start", {"phoneNumber": number, "app": APP})["verificationID"]
        return identifier, simulator.code(simulator.message(number, count=count)["body"])

    def check(self, identifier, code):
        return self.command("verification.check", {"verificationID": identifier, "code": code})

    def test_right_code_after_a_typing_error_is_approved_by_starting_again(self):
        guesses = 0
        while guesses < CODES_OF_APP:
            identifier, code = self.start(new_number("+49160"))
            for _ in range(min(5, CODES_OF_APP - guesses)):
                self.assertRaises(Refused, self.check, identifier, wrong(code))
                guesses += 1
        number = new_number("+49160")
        identifier, code = self.start(number)
        self.assertEqual(self.refused("verification.check", {"verificationID": identifier, "code": wrong(code)}).code, "INVALID_CODE")
        error = self.refused("verification.check", {"verificationID": identifier, "code": code})
        self.assertEqual(error.reason, "WRONG_CODES_USED_UP")
        # Not for a day: until the code may be sent again.
        self.assertLessEqual(error.retry_after, 1)
        time.sleep(error.retry_after)
        again, code = self.start(number, count=2)
        self.assertNotEqual(again, identifier)
        self.assertEqual(self.check(again, code)["phoneNumber"], number)
