"""2,000 verifications while every process is killed once and the broker is restarted.

Every verification ends approved, none is lost, no number gets two different codes, and an SMS is sent twice only where the
first attempt's end was truly unknown.
"""

import os
import threading
import time
import unittest
import uuid

import pika

import simulator
import stack
from countersign_client import Client
from load import Codes

VERIFICATIONS = int(os.environ.get("COUNTERSIGN_CHAOS_VERIFICATIONS", "2000"))
UNDER_WAY = 300
LIMIT_SECONDS = 1200
ASK_AGAIN_SECONDS = 8
POLL_SECONDS = 0.5
DOWN_SECONDS = 1.5
# The provider takes so long to answer that whoever is killed has calls under way.
PROVIDER_LATENCY_SECONDS = 0.3


class Verification:
    """One number on its way, with what has to be sent again when an answer is lost."""

    def __init__(self, number):
        self.number = number
        self.id = None
        self.approved = False
        self.command = "verification.start"
        self.body = {"phoneNumber": number, "app": "com.example.app", "languageCode": "en"}
        self.message_id = str(uuid.uuid4())
        self.asked_at = None

    def check(self, code):
        """The code has come: from now on the check is what is asked."""
        self.command = "verification.check"
        self.body = {"verificationID": self.id, "code": code}
        self.message_id = str(uuid.uuid4())
        self.asked_at = None


class Chaos:
    def __init__(self):
        # Distinct mobile numbers that the plan of Germany allows, far apart in prefix.
        self.waiting = [Verification(f"+49151{index * 4801 % 90_000_000 + 10_000_013}") for index in range(VERIFICATIONS)]
        self.under_way = {}
        self.approved = []
        self.errors = []
        self.client = None
        self.codes, self.received = Codes(), {}
        self.accident = None
        # Accidents that did not come to their end.
        self.failures = []
        self.accidents = [
            (0.1, "kill sms-worker-1", lambda: self.kill("sms-worker-1")),
            (0.3, "kill sms-worker-2", lambda: self.kill("sms-worker-2")),
            (0.5, "kill coordinator", lambda: self.kill("coordinator")),
            (0.7, "restart the broker", stack.restart_broker),
        ]

    def kill(self, name):
        stack.kill(name)
        time.sleep(DOWN_SECONDS)
        stack.start(name)

    def connect(self):
        """Patiently, as the broker may be away; what was asked is asked again on the new connection."""
        deadline = time.monotonic() + 90
        while True:
            try:
                self.client = Client(os.environ["COUNTERSIGN_AMQP_URL"])
                break
            except (pika.exceptions.AMQPError, OSError):
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.3)
        for verification in self.under_way.values():
            verification.asked_at = None

    def ask(self):
        """Sends what has not been asked yet, or was asked too long ago, with the same message ID."""
        now = time.monotonic()
        for verification in self.under_way.values():
            if verification.command is None:
                continue
            if verification.asked_at is None or now - verification.asked_at > ASK_AGAIN_SECONDS:
                # Without a time it is of no age, however long an accident takes.
                self.client.send(
                    "countersign.commands", verification.command, verification.body,
                    message_id=verification.message_id, correlation_id=verification.number, timestamp=None)
                verification.asked_at = now

    def take_replies(self):
        self.client.connection.process_data_events(time_limit=0.02)
        replies, self.client.replies = self.client.replies, {}
        for number, (properties, reply) in replies.items():
            verification = self.under_way.get(number)
            if verification is None:
                continue
            if properties.type == "error.v1":
                self.errors.append((number, reply["error"]["code"], reply["error"]["message"]))
                del self.under_way[number]
            elif properties.type == "verification.started.v1" and verification.command == "verification.start":
                verification.id = reply["verificationID"]
                verification.command = None
            elif properties.type == "verification.approved.v1":
                self.approved.append(verification)
                del self.under_way[number]

    def take_codes(self):
        for message in self.codes.read():
            self.received.setdefault(message["to"], message)
        for verification in self.under_way.values():
            if verification.command is None and verification.number in self.received:
                verification.check(simulator.code(self.received[verification.number]["body"]))

    def run(self):
        self.connect()
        end = time.monotonic() + LIMIT_SECONDS
        polled = 0
        while (self.waiting or self.under_way) and time.monotonic() < end:
            while self.waiting and len(self.under_way) < UNDER_WAY:
                verification = self.waiting.pop()
                self.under_way[verification.number] = verification
            try:
                self.ask()
                self.take_replies()
            except (pika.exceptions.AMQPError, OSError):
                self.connect()
            if time.monotonic() - polled > POLL_SECONDS:
                polled = time.monotonic()
                self.take_codes()
            if self.accidents and not self.accident_is_under_way() and self.accident_is_due():
                _, what, act = self.accidents.pop(0)
                print(f"  {len(self.approved)} approved, {len(self.under_way)} under way: {what}", flush=True)
                # Beside the load, which goes on.
                self.accident = threading.Thread(target=self.happen, args=(what, act))
                self.accident.start()
        self.client.close()
        if self.accident:
            self.accident.join()
        self.errors += self.failures

    def happen(self, what, act):
        try:
            act()
        except Exception as error:  # It is told by the test.
            self.failures.append((what, repr(error)))

    def accident_is_due(self):
        return len(self.approved) >= self.accidents[0][0] * VERIFICATIONS

    def accident_is_under_way(self):
        return self.accident is not None and self.accident.is_alive()


class ChaosTest(unittest.TestCase):
    def test_nothing_is_lost(self):
        stack.require_all_ready()
        simulator.inject(provider="any", fault="latency", count=10 * VERIFICATIONS, delaySeconds=PROVIDER_LATENCY_SECONDS)
        self.addCleanup(simulator.clear_faults)
        for name in ["coordinator", "sms-worker-1", "sms-worker-2"]:
            self.addCleanup(stack.start, name)
        before = stack.ledger_unknown_calls()
        begun = time.monotonic()
        chaos = Chaos()
        numbers = {verification.number for verification in chaos.waiting}
        chaos.run()
        sent = {}
        for message in simulator.messages():
            if message["to"] in numbers:
                sent.setdefault(message["to"], []).append(simulator.code(message["body"]))
        twice = {number: codes for number, codes in sent.items() if len(codes) > 1}
        unknown = stack.ledger_unknown_calls() - before
        print(
            f"  {len(chaos.approved)} of {VERIFICATIONS} approved in {time.monotonic() - begun:.0f} s, "
            f"{len(twice)} numbers got their SMS twice, {unknown} attempts ended unknown", flush=True)
        self.assertEqual(chaos.errors, [])
        self.assertEqual([v.number for v in chaos.under_way.values()], [], "verifications that did not end")
        self.assertEqual(chaos.accidents, [], "not every accident happened")
        self.assertEqual(len(chaos.approved), VERIFICATIONS)
        self.assertEqual({n for n, codes in twice.items() if len(set(codes)) > 1}, set(), "two different codes")
        self.assertLessEqual(sum(len(codes) - 1 for codes in twice.values()), unknown)
