"""A message that ends the process that reads it, among a hundred that do not: it is found and buried, and costs no other message.

The crash is planted: debug builds abort at the message that COUNTERSIGN_CRASH_AT_MESSAGE names, when they read its envelope.
"""

import collections
import os
import sqlite3
import threading
import time
import unittest
import uuid

import pika

import simulator
import stack
from countersign_client import Client
from process import Process
from samples import in_seconds

INNOCENTS = 100
# The first delivery, the group, and three times alone.
CRASHES = 5
LIMIT_SECONDS = 400
REASON = "CRASHED"


class Supervised(Process):
    """A process that is started again whenever it ends, as systemd does."""

    def __init__(self, name, culprit):
        super().__init__(name)
        # What a crash writes to the log takes seconds in a debug build.
        self.variables = {"COUNTERSIGN_CRASH_AT_MESSAGE": culprit, "SWIFT_BACKTRACE": "enable=no"}
        self.crashes = 0
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.supervise)

    def __enter__(self):
        self.start()
        self.thread.start()
        return self

    def __exit__(self, *arguments):
        self.is_over.set()
        self.thread.join()
        self.stop()
        super().__exit__(*arguments)

    def supervise(self):
        while not self.is_over.wait(0.05):
            if self.running.poll() is not None:
                self.crashes += 1
                self.start()


def take_dead(queue):
    connection = pika.BlockingConnection(pika.URLParameters(os.environ["COUNTERSIGN_OPERATOR_AMQP_URL"]))
    try:
        found = {}
        channel = connection.channel()
        while True:
            method, properties, _ = channel.basic_get(queue, auto_ack=True)
            if method is None:
                return found
            found[properties.message_id] = properties.headers.get("x-dead-reason")
    finally:
        connection.close()


class CrashTest(unittest.TestCase):
    def setUp(self):
        stack.require_all_ready()
        self.client = Client.of(self)
        self.culprit = f"culprit-{uuid.uuid4()}"

    def replace(self, *names):
        stack.stop_for(self, *names)

    def send(self, exchange, key, bodies, culprit):
        """The innocent ones and the culprit in their middle: their correlation IDs."""
        sent = []
        for index, body in enumerate(bodies):
            if index == len(bodies) // 2:
                self.client.send(exchange, key, culprit, message_id=self.culprit, correlation_id=self.culprit, timestamp=None)
            # Without a time they are of no age, however long the crashes take.
            sent.append(self.client.send(exchange, key, body, timestamp=None))
        return sent

    def answers(self, sent):
        deadline = time.monotonic() + LIMIT_SECONDS
        answers = [self.client.wait(one, max(1, deadline - time.monotonic()))[1] for one in sent]
        return answers, self.client.wait(self.culprit, max(1, deadline - time.monotonic()))[1]

    def assert_buried(self, queue, process):
        self.assertEqual(take_dead(queue), {self.culprit: REASON})
        self.assertEqual(process.crashes, CRASHES)
        print(f"  {queue}: {process.crashes} crashes, {INNOCENTS} of {INNOCENTS} answered", flush=True)

    def test_coordinator(self):
        self.replace("coordinator")
        take_dead("coordinator.commands.dead")
        numbers = [f"+49176{uuid.uuid4().int % 100_000:05d}{index:02d}" for index in range(INNOCENTS)]
        bodies = [{"phoneNumber": number, "app": "com.example.app"} for number in numbers]
        sent = self.send("countersign.commands", "verification.start", bodies, bodies[0])
        with Supervised("coordinator", self.culprit) as process:
            answers, buried = self.answers(sent)
            for number in numbers:
                simulator.message(number)
            self.assert_buried("coordinator.commands.dead", process)
        self.assertEqual([answer for answer in answers if "verificationID" not in answer], [])
        self.assertEqual(buried["error"]["code"], "INTERNAL_ERROR")
        self.assertEqual(buried["error"]["reason"], REASON)
        received = collections.Counter(message["to"] for message in simulator.messages())
        self.assertEqual({received[number] for number in numbers}, {1}, "each exactly once")

    def work(self, on_unknown, has_ledger=True):
        """What a worker makes of it: the outcomes, how many were sent twice, and how many calls had begun when it ended."""
        self.replace("sms-worker-1", "sms-worker-2")
        take_dead("sms.dispatch.dead")
        numbers = [f"+49177{uuid.uuid4().int % 100_000:05d}{index:02d}" for index in range(INNOCENTS)]
        bodies = [
            {"to": number, "text": "Hello.", "deadline": in_seconds(600), "onUnknown": on_unknown} for number in numbers]
        sent = self.send("countersign.jobs", "sms.dispatch", bodies, bodies[0])
        process = Supervised("sms-worker", self.culprit)
        process.variables["COUNTERSIGN_LEDGER_LEASE_MARGIN_SECONDS"] = "20"
        if not has_ledger:
            process.replace(r"ledger: \{[^}]*\}", 'ledger: { type: "none" }')
        with process:
            answers, buried = self.answers(sent)
            self.assert_buried("sms.dispatch.dead", process)
            unknown = self.unknown_calls(process)
        self.assertEqual((buried["outcome"], buried["reason"]["code"]), ("unknown", REASON))
        received = collections.Counter(message["to"] for message in simulator.messages())
        outcomes = collections.Counter(answer["outcome"] for answer in answers)
        doubled = sum(max(0, received[number] - 1) for number in numbers)
        print(f"  {dict(outcomes)}, {doubled} sent twice, {unknown} calls had begun", flush=True)
        return outcomes, doubled, unknown

    @staticmethod
    def unknown_calls(process):
        if process.database():
            return int(stack.sql("SELECT COALESCE(SUM(unknown_calls), 0) FROM countersign.ledger_job", process.database()))
        path = process.file.parent.parent / "data" / "sms-ledger.sqlite"
        if not path.exists():
            return None
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30) as database:
            return database.execute("SELECT COALESCE(SUM(unknown_calls), 0) FROM job").fetchone()[0]

    def test_worker_with_a_ledger(self):
        outcomes, doubled, unknown = self.work("resend")
        self.assertEqual(outcomes, {"accepted": INNOCENTS})
        self.assertLessEqual(doubled, unknown)

    def test_worker_whose_jobs_may_not_be_repeated(self):
        outcomes, doubled, unknown = self.work("report")
        self.assertEqual(doubled, 0)
        self.assertEqual(outcomes["accepted"] + outcomes["unknown"], INNOCENTS)
        self.assertLessEqual(outcomes["unknown"], unknown)

    def test_worker_without_a_ledger(self):
        outcomes, doubled, _ = self.work("resend", has_ledger=False)
        self.assertEqual(outcomes, {"accepted": INNOCENTS})
        # A job that comes again counts as begun: at its first delivery, and once more when the culprit was in its group.
        self.assertLessEqual(doubled, 2 * INNOCENTS)
