"""A phone number is verified by a stock client: what works, and what every mistake is answered with."""

import json
import os
import uuid

import process
import simulator
from countersign_client import Client, ClientTest
from gateway_client import Web
from samples import new_number, wrong
from waiting import eventually

APP = "com.example.app"
FICTIONAL = {"+16505553434": "654321", "+16505554567": "123456"}
MAX_CHECKS = 5


class VerificationTest(ClientTest):
    def start(self, number, **fields):
        return self.client.command("verification.start", {"phoneNumber": number, "app": APP, **fields})

    def check(self, verification_id, code):
        return self.client.command("verification.check", {"verificationID": verification_id, "code": code})

    def refused_check(self, verification_id, code):
        return self.client.refused("verification.check", {"verificationID": verification_id, "code": code})

    def test_start_sms_check(self):
        number = new_number("+49160")
        started = self.start(number, languageCode="pt-BR")
        self.assertEqual(started["phoneNumber"], number)
        self.assertEqual(started["codeLength"], 6)
        self.assertIs(started["testNumber"], False)
        self.assertIs(started["resent"], False)
        self.assertIn("expiresAt", started)
        self.assertIn("resendAfter", started)
        message = simulator.message(number)
        self.assertIn("código", message["body"])
        code = simulator.code(message["body"])
        self.assertTrue(message["body"].endswith(f" #{code}"), "the last line is not bound to the domain")
        approved = self.check(started["verificationID"], code)
        self.assertEqual(approved["phoneNumber"], number)
        self.assertEqual(approved["app"], APP)
        self.assertIn("approvedAt", approved)
        self.assertEqual(len(simulator.messages(number)), 1)

    def test_every_failed_check_has_its_own_code(self):
        started = self.start(new_number("+49160"))
        identifier = started["verificationID"]
        code = simulator.code(simulator.message(started["phoneNumber"])["body"])
        missed = self.refused_check(identifier, wrong(code)).code
        self.check(identifier, code)
        used = self.refused_check(identifier, code)
        unknown = self.refused_check("no-such-verification", code).code
        self.assertEqual(missed, "INVALID_CODE")
        self.assertEqual(unknown, "INVALID_SESSION_INFO")
        self.assertEqual((used.code, used.reason), ("SESSION_EXPIRED", "CODE_USED"))

    def test_five_wrong_codes_end_it(self):
        started = self.start(new_number("+49160"))
        identifier = started["verificationID"]
        code = simulator.code(simulator.message(started["phoneNumber"])["body"])
        codes = [self.refused_check(identifier, wrong(code)).code for _ in range(MAX_CHECKS)]
        self.assertEqual(codes[:-1], ["INVALID_CODE"] * (MAX_CHECKS - 1))
        self.assertEqual(
            self.refused_check(identifier, code).code, "TOO_MANY_ATTEMPTS_TRY_LATER", "the right code, too late")

    def test_starting_again_sends_nothing(self):
        number = new_number("+49160")
        first = self.start(number)
        simulator.message(number)
        second = self.start(number)
        self.assertEqual(first["verificationID"], second["verificationID"])
        self.assertIs(second["resent"], False)
        self.assertEqual(len(simulator.messages(number)), 1)

    def test_the_same_message_id_has_one_effect_and_one_answer(self):
        number = new_number("+49160")
        message_id = str(uuid.uuid4())
        body = {"phoneNumber": number, "app": APP}
        first = self.client.command("verification.start", body, message_id=message_id)
        second = self.client.command("verification.start", body, message_id=message_id)
        self.assertEqual(first, second)
        simulator.message(number)
        self.assertEqual(len(simulator.messages(number)), 1)

    def test_fictional_numbers_get_no_sms(self):
        for number, code in FICTIONAL.items():
            # In an app that does not name it, it is a number like others.
            before = simulator.messages(number)
            started = self.start(number)
            self.assertIs(started["testNumber"], True)
            self.assertEqual(self.refused_check(started["verificationID"], wrong(code)).code, "INVALID_CODE")
            self.check(started["verificationID"], code)
            self.assertEqual(simulator.messages(number), before)

    def test_national_numbers_need_a_region(self):
        started = self.start("0160 " + new_number("+49160")[6:], region="DE")
        self.assertTrue(started["phoneNumber"].startswith("+49160"))
        self.assertEqual(self.client.refused(
            "verification.start", {"phoneNumber": "0160 1234567", "app": APP}).code, "INVALID_PHONE_NUMBER")

    def test_numbers_that_are_refused(self):
        for number in ["hello", "+1", "+1415555012345678901", "+19005550123"]:
            with self.subTest(number=number):
                error = self.client.refused("verification.start", {"phoneNumber": number, "app": APP})
                self.assertIn(error.code, {"INVALID_PHONE_NUMBER", "OPERATION_NOT_ALLOWED"})
                self.assertEqual(error.field, "phoneNumber")
        error = self.client.refused("verification.start", {"app": APP})
        self.assertEqual(error.code, "MISSING_PHONE_NUMBER")

    def test_commands_that_break_the_contract_are_answered(self):
        cases = {
            "no JSON": (b"{nonsense", {}),
            "wrong content type": ({"phoneNumber": new_number("+49160"), "app": APP}, {"content_type": "text/plain"}),
            "unknown type": ({}, {"type": "verification.begin.v1"}),
            "unknown version": ({}, {"type": "verification.start.v9"}),
            "too large": (b'{"phoneNumber": "' + b"1" * 1_000_000 + b'"}', {}),
            "wrong type of field": ({"phoneNumber": 14155550123, "app": APP}, {}),
            "unknown app": ({"phoneNumber": new_number("+49160"), "app": "com.example.unknown"}, {}),
        }
        for name, (body, properties) in cases.items():
            with self.subTest(name):
                self.assertTrue(self.client.refused("verification.start", body, **properties).message)
        # Nothing else was touched.
        self.start(new_number("+49160"))

    def test_status_tells_the_whole_story(self):
        started = self.start(new_number("+49160"))
        identifier = started["verificationID"]
        code = simulator.code(simulator.message(started["phoneNumber"])["body"])
        self.check(identifier, code)
        asked = self.client.send("countersign.commands", "verification.status", {"verificationID": identifier})
        properties, status = self.client.wait(asked)
        self.assertEqual(properties.type, "verification.state.v1")
        self.assertEqual(status["state"], "approved")
        events = [entry["event"] for entry in status["timeline"]]
        self.assertEqual(events[0], "started")
        # The worker's report on the message may come before the approval or behind it.
        self.assertEqual([event for event in events if not event.startswith("sms.")][-1], "approved")
        self.assertGreaterEqual(len(events), 3)
        self.assertNotIn(code, str(status))

    def test_cancel(self):
        started = self.start(new_number("+49160"))
        identifier = started["verificationID"]
        code = simulator.code(simulator.message(started["phoneNumber"])["body"])
        self.client.command("verification.cancel", {"verificationID": identifier})
        self.refused_check(identifier, code)
        status = self.client.command("verification.status", {"verificationID": identifier})
        self.assertEqual(status["state"], "canceled")


class FindTest(ClientTest):
    """Support looks up a number: what an operator learns of it, and that nobody else does."""

    def setUp(self):
        super().setUp()
        self.operator = Client.of(self, os.environ["COUNTERSIGN_OPERATOR_AMQP_URL"])
        self.number = new_number("+49160")

    def find(self, **fields):
        return self.operator.command("verification.find", {"phoneNumber": self.number, **fields})["verifications"]

    def delivered(self, identifier):
        return next(row for row in self.find() if row["verificationID"] == identifier).get("sms", {}).get(
            "event") == "sms.delivered"

    def start(self):
        return self.client.command("verification.start", {"phoneNumber": self.number, "app": APP})["verificationID"]

    def test_one_over_http_and_one_by_a_service(self):
        self.assertEqual(self.find(), [])
        session = Web().send_code(self.number)
        code = simulator.code(simulator.message(self.number)["body"])
        Web().sign_in(session, code)
        eventually("the delivery report has come", lambda: self.delivered(session), 90)
        live = self.start()
        self.client.until_sent(live)
        canceled = self.client.command("verification.start", {
            "phoneNumber": self.number, "app": APP, "requester": "another"})["verificationID"]
        self.client.command("verification.cancel", {"verificationID": canceled})
        rows = {row["verificationID"]: row for row in self.find()}
        self.assertEqual(set(rows), {session, live, canceled})
        self.assertEqual(
            [rows[each]["state"] for each in [session, live, canceled]], ["approved", "sent", "canceled"])
        self.assertTrue(all(row["testNumber"] is False for row in rows.values()))
        for identifier in [session, live]:
            self.assertTrue(rows[identifier]["sms"]["lane"] and rows[identifier]["sms"]["reference"])
        self.assertNotIn("sms", rows[canceled])
        starts = [row["startedAt"] for row in self.find()]
        self.assertEqual(starts, sorted(starts, reverse=True))
        self.assertNotIn(session, str(self.find(since=rows[live]["startedAt"])))
        for secret in [code, self.number[1:], self.number[3:]]:
            self.assertNotIn(secret, json.dumps([rows[session], rows[canceled]]))
        # One timeline tells the rest: the SMS, its delivery report, the check, and that it was a sign-in.
        timeline = self.client.command("verification.status", {"verificationID": session})["timeline"]
        events = [entry["event"] for entry in timeline]
        for event in ["started", "sms.queued", "sms.accepted", "sms.delivered", "approved"]:
            self.assertIn(event, events)
        self.assertEqual(timeline[events.index("approved")]["by"], "accounts")

    def test_a_check_that_comes_too_late_is_told(self):
        identifier = self.start()
        code = simulator.code(simulator.message(self.number)["body"])
        self.client.command("verification.cancel", {"verificationID": identifier})
        for _ in range(2):
            self.client.refused("verification.check", {"verificationID": identifier, "code": code})
        timeline = self.client.command("verification.status", {"verificationID": identifier})["timeline"]
        refused = [entry for entry in timeline if entry["event"] == "check.refused"]
        self.assertEqual([(entry["reason"], entry["by"]) for entry in refused], [("SESSION_EXPIRED", self.client.user)])

    def test_a_fictional_number_has_all_of_its_verifications_on_pages(self):
        number = "+16505553434"
        mine = {self.client.command("verification.start", {
            "phoneNumber": number, "app": APP, "requester": str(uuid.uuid4())})["verificationID"] for _ in range(300)}
        found, pages, fields = [], 0, {}
        while pages == 0 or fields:
            page = self.operator.command("verification.find", {"phoneNumber": number, **fields})
            fields = {"after": page["next"]} if "next" in page else {}
            found += page["verifications"]
            pages += 1
        self.assertGreater(pages, 1)
        identifiers = [row["verificationID"] for row in found]
        self.assertEqual(len(identifiers), len(set(identifiers)))
        self.assertLessEqual(mine, set(identifiers))
        self.assertTrue(all(row["testNumber"] and "sms" not in row for row in found))

    def test_only_operators_find(self):
        self.start()
        error = self.client.refused("verification.find", {"phoneNumber": self.number})
        self.assertEqual(error.code, "OPERATION_NOT_ALLOWED")
        self.assertEqual(
            self.operator.refused("verification.find", {"phoneNumber": "hello"}).code, "INVALID_PHONE_NUMBER")

    def test_the_command_line(self):
        identifier = self.start()
        table = process.countersign("verify", "find", self.number, "--since", "1h")
        self.assertEqual(table.returncode, 0, table.stderr)
        self.assertIn(identifier, table.stdout)
        self.assertNotIn(self.number, table.stdout)
        found = json.loads(process.countersign("verify", "find", self.number, "--json").stdout)
        self.assertEqual([row["verificationID"] for row in found["verifications"]], [identifier])
        empty = process.countersign("verify", "find", new_number("+49160"))
        self.assertEqual(empty.returncode, 0)
        self.assertIn("ended ones are kept for", empty.stdout)
        mistaken = process.countersign("verify", "status", self.number)
        self.assertEqual(mistaken.returncode, 64)
        self.assertIn("verify find", mistaken.stderr)
