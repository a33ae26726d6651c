"""Attacks on somebody else's code by who may ask for the same number: each is carried out, and fails.

The attacker is a client of the same app with a requester of its own; it speaks through a service, as all clients do.
"""

import os
import unittest

import simulator
from countersign_client import Client, Refused
from test_verification import APP, new_number


class GuessingTest(unittest.TestCase):
    """The victim asks first, the attacker for the same number a moment later."""

    def setUp(self):
        self.client = Client(os.environ["COUNTERSIGN_AMQP_URL"])
        self.addCleanup(self.client.close)
        self.number = new_number()
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
        with self.assertRaises(Refused) as caught:
            self.check(identifier, code, **fields)
        return caught.exception

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

    def test_guesses_of_hours_do_not_use_up_the_numbers_checks(self):
        # As many codes as a number may have checked in an hour, each on a verification of its own.
        for _ in range(6):
            for step in (1, 2):
                self.refused(self.theirs, self.wrong(step))
            self.client.command("verification.cancel", {"verificationID": self.theirs})
            self.theirs = self.start("attacker")
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
        self.number = new_number()
        victims = self.start("gateway", **first)
        code = simulator.code(simulator.message(self.number)["body"])
        attackers = self.start("gateway", **second)
        self.assertNotEqual(attackers, victims)
        self.assertEqual(self.refused(victims, code, **second).field, "subject")
        self.assertEqual(self.check(victims, code, **first)["subject"], "victim's account")


if __name__ == "__main__":
    unittest.main()
