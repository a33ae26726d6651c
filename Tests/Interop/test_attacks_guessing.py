"""Attacks on somebody else's code by who may ask for the same number: each is carried out, and fails.

The attacker is a client of the same app with a requester of its own; it speaks through a service, as all clients do.
"""

import unittest

import simulator
import stack
from countersign_client import Client, Refused
from process import Process
from samples import new_number
from test_verification import APP

CHECKS = 6
GUESSES_OF_OTHERS = 2
ROUNDS_LIMITS = f" checksPerNumberPerHour: {CHECKS}, sendsPerNumberPer10Minutes: 100, sendsPerNumberPerDay: 100,"


class GuessingTest(unittest.TestCase):
    """The victim asks first, the attacker for the same number a moment later."""

    def setUp(self):
        self.client = Client.of(self)
        self.number = new_number("+49160")
        self.mine = self.start("victim")
        self.code = simulator.code(simulator.message(self.number)["body"])
        self.theirs = self.start("attacker")

    def start(self, requester, **fields):
        return self.client.command(
            "verification.start", {"phoneNumber": self.number, "app": APP, "requester": requester, **fields}
        )["verificationID"]

    def check(self, identifier, code, **fields):
        return self.client.command("verification.check", {"verificationID": identifier, "code": code, **fields})

    def refused(self, identifier, code, **fields):
        return self.client.refused("verification.check", {"verificationID": identifier, "code": code, **fields})

    def status(self, identifier):
        return self.client.command("verification.status", {"verificationID": identifier})

    def wrong(self, step=1):
        return f"{(int(self.code) + step) % 1_000_000:06d}"

    def test_the_attacker_gets_an_id_of_its_own_and_no_second_message_goes_out(self):
        self.assertNotEqual(self.theirs, self.mine)
        self.assertEqual(self.start("victim"), self.mine)
        self.assertEqual(len(simulator.messages(self.number)), 1)

    def test_wrong_codes_do_not_use_up_the_victims(self):
        for step in range(1, 12):
            self.refused(self.theirs, self.wrong(step))
        for step in range(1, 5):
            self.assertEqual(self.refused(self.mine, self.wrong(step)).attempts_left, 5 - step)
        self.assertEqual(self.check(self.mine, self.code)["verificationID"], self.mine)

    def test_many_requesters_have_two_guesses_together(self):
        answers = []
        for index in range(20):
            try:
                handle = self.start(f"attacker {index}")
            except Refused as error:
                answers.append(error.reason)
                continue
            answers.append(self.refused(handle, self.wrong(index + 1)).code)
        # The first takes the last try of both, as the one after it is told.
        self.assertEqual(answers.count("INVALID_CODE"), 1)
        self.assertIn("TOO_MANY_REQUESTERS", answers)
        self.assertEqual(self.check(self.mine, self.code)["verificationID"], self.mine)

    def test_canceling_does_not_end_the_victims(self):
        for _ in range(3):
            self.client.command("verification.cancel", {"verificationID": self.theirs})
            self.theirs = self.start("attacker")
        self.assertEqual(self.check(self.mine, self.code)["verificationID"], self.mine)

    def test_the_status_tells_nothing_of_the_victim(self):
        self.refused(self.mine, self.wrong())
        self.check(self.mine, self.code)
        status = self.status(self.theirs)
        self.assertEqual(status["state"], "expired")
        self.assertEqual([entry["event"] for entry in status["timeline"]], ["started", "expired"])
        self.assertNotIn(self.mine, str(status))

    def test_after_the_approval_a_wrong_code_is_not_answered_as_the_right_one(self):
        self.check(self.mine, self.code)
        for identifier in (self.theirs, self.mine):
            guess = self.refused(identifier, self.wrong())
            self.assertEqual((guess.code, guess.reason), ("SESSION_EXPIRED", None))
        used = self.refused(self.mine, self.code)
        self.assertEqual((used.code, used.reason), ("SESSION_EXPIRED", "CODE_USED"))

    def test_a_code_is_not_taken_for_another_app_purpose_or_subject(self):
        for fields, field in [
            ({"app": "com.example.push"}, "app"),
            ({"purpose": "secondFactorSignIn"}, "purpose"),
            ({"subject": "account 1"}, "subject"),
        ]:
            for code in (self.code, self.wrong()):
                error = self.refused(self.mine, code, **fields)
                self.assertEqual((error.code, error.field), ("INVALID_SESSION_INFO", field))
        # Nothing was counted.
        self.assertEqual(self.refused(self.mine, self.wrong()).attempts_left, 4)
        self.assertEqual(self.check(self.mine, self.code, app=APP, purpose="signIn")["app"], APP)

    def test_a_code_of_one_account_is_not_one_of_another(self):
        first = {"purpose": "secondFactorSignIn", "subject": "victim's account"}
        second = {"purpose": "secondFactorSignIn", "subject": "attacker's account"}
        self.number = new_number("+49160")
        victims = self.start("gateway", **first)
        code = simulator.code(simulator.message(self.number)["body"])
        attackers = self.start("gateway", **second)
        self.assertNotEqual(attackers, victims)
        self.assertEqual(self.refused(victims, code, **second).field, "subject")
        self.assertEqual(self.check(victims, code, **first)["subject"], "victim's account")


class RoundsTest(unittest.TestCase):
    """One number is verified again and again within an hour, each time with a new code at which the attacker guesses.

    A coordinator of its own stands in the place of the stack's: it sends one number more messages, so that the limit of checks is met first.
    """

    def setUp(self):
        stack.stop_for(self, "coordinator")
        self.running = self.enterContext(Process("coordinator"))
        self.running.replace_limits(ROUNDS_LIMITS)
        self.running.start().ready()
        self.client = Client.of(self)
        self.number = new_number("+49160")
        self.codes = []

    def begin(self, requester):
        identifier = self.start(requester)
        self.codes.append(simulator.code(simulator.message(self.number, count=len(self.codes) + 1)["body"]))
        return identifier, self.codes[-1]

    def start(self, requester):
        return self.client.command(
            "verification.start", {"phoneNumber": self.number, "app": APP, "requester": requester}, timeout=180
        )["verificationID"]

    def check(self, identifier, code):
        return self.client.command("verification.check", {"verificationID": identifier, "code": code})

    def guess(self, identifier, code, step):
        guess = f"{(int(code) + step) % 1_000_000:06d}"
        return self.client.refused("verification.check", {"verificationID": identifier, "code": guess})

    def counts(self):
        return (
            self.running.metric("countersign_wrong_codes_total", number="real"),
            self.running.metric("countersign_limited_total", limit="number_checks"),
        )

    def test_guesses_at_verification_after_verification_end_at_the_numbers_budget(self):
        self.assertEqual(self.counts(), (0, 0))
        identifiers = set()
        for number in range(CHECKS - 1):
            mine, code = self.begin("victim")
            theirs = self.start("attacker")
            self.assertTrue(identifiers.isdisjoint({mine, theirs}), "not a new verification")
            identifiers |= {mine, theirs}
            # More than the verification has for all who did not ask first.
            guesses = [self.guess(theirs, code, step) for step in range(1, GUESSES_OF_OTHERS + 2)]
            compared = min(CHECKS, (number + 1) * GUESSES_OF_OTHERS)
            refused = max(0, number + 1 - CHECKS // GUESSES_OF_OTHERS) * (GUESSES_OF_OTHERS + 1)
            self.assertEqual(self.counts(), (compared, refused))
            self.assertEqual({guess.code for guess in guesses[1:]}, {"TOO_MANY_ATTEMPTS_TRY_LATER"})
            if number < CHECKS // GUESSES_OF_OTHERS:
                self.assertEqual(guesses[0].code, "INVALID_CODE")
            else:
                self.assertEqual(guesses[0].code, "TOO_MANY_ATTEMPTS_TRY_LATER")
                # Longer than a verification lives.
                self.assertIn(guesses[0].retry_after, range(301, 3601))
            # The budget of those who asked first is another one.
            self.assertEqual(self.check(mine, code)["verificationID"], mine)

    def test_an_attacker_who_asks_alone_has_no_more(self):
        for compared, limited in [(5, 0), (CHECKS, 5 + 5 - CHECKS)]:
            identifier, code = self.begin("attacker")
            guesses = [self.guess(identifier, code, step) for step in range(1, 6)]
            self.assertEqual(guesses[0].code, "INVALID_CODE")
            self.assertEqual(guesses[-1].code, "TOO_MANY_ATTEMPTS_TRY_LATER")
            self.assertEqual(self.counts(), (compared, limited))
        # Not even the right code is compared now.
        error = self.client.refused("verification.check", {"verificationID": identifier, "code": code})
        self.assertEqual(error.code, "TOO_MANY_ATTEMPTS_TRY_LATER")
        self.assertIn(error.retry_after, range(301, 3601))
