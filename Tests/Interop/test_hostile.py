"""Hostile messages on every queue: no process dies or grows, and each message is answered or buried with its own reason.

COUNTERSIGN_HOSTILE_MESSAGES says how many there are (5,000), COUNTERSIGN_HOSTILE_SEED from which seed they are made (11).
"""

import collections
import json
import os
import re
import time
import unittest
import uuid

import pika
import pika.data

import hostile
import simulator
import stack
from countersign_client import Client
from process import countersign

MESSAGES = int(os.environ.get("COUNTERSIGN_HOSTILE_MESSAGES", "5000"))
SEED = int(os.environ.get("COUNTERSIGN_HOSTILE_SEED", "11"))
# Memory is compared from here on: until then caches fill.
WARM_UP = 20_000
MAX_GROWTH_MB = 10
# Its transactions hold each event once for each webhook, of which there are more and more: up to 64.
FANS_OUT = "webhook-worker"
QUEUES = ["coordinator.commands", "coordinator.results", "sms.dispatch", "sms.bulk", "push.verify", "recaptcha.assess",
          "apple.revoke", "mail.relay", "mail.forget", "accounts.commands", "accounts.replies", "webhook.commands", "webhook.events"]
PROCESSES = ["coordinator", "sms-worker-1", "sms-worker-2", "push-worker", "revocation-worker", "mail-worker", "accounts",
             "webhook-worker", "gateway"]
# Messages that may be under way at once.
WINDOW = 1_000
PATIENCE_SECONDS = 600
# Reasons that say no more than that it was refused: those of the broker, and that of a failure here.
EMPTY_REASONS = {None, "", "rejected", "delivery_limit", "expired", "maxlen", "INTERNAL_ERROR", "CRASHED"}


class AnyTime(pika.data.datetime):
    """Lets pika read dead letters with times that Python has no form for."""

    @classmethod
    def utcfromtimestamp(cls, timestamp):
        try:
            return super().utcfromtimestamp(timestamp)
        except (OverflowError, ValueError, OSError):
            return cls.max


pika.data.datetime = AnyTime


def memory_mb(name):
    with open(f"/proc/{stack.process_id(name)}/status", encoding="ascii") as status:
        return int(re.search(r"VmRSS:\s+(\d+) kB", status.read())[1]) / 1_024


def webhooks():
    return {one["id"] for one in json.loads(countersign("--json", "webhook", "list").stdout)["webhooks"]}


def remove_webhooks(but):
    for webhook in webhooks() - but:
        countersign("webhook", "remove", webhook)


def started_at(name):
    """Tells a process from another one with the same ID."""
    pid = stack.process_id(name)
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        return pid, file.read().rsplit(")", 1)[1].split()[19]


class Siege:
    def __init__(self):
        self.run = f"hostile-{uuid.uuid4().hex[:8]}"
        self.connection = pika.BlockingConnection(pika.URLParameters(os.environ["COUNTERSIGN_OPERATOR_AMQP_URL"]))
        self.channel = self.connection.channel()
        replies = [f"countersign.reply.{user}.{self.run}" for user in ("operator", "gateway")]
        self.queues = [queue for queue in QUEUES if self.consumers(queue)]
        self.generator = hostile.Generator(SEED, self.queues, replies, self.run)
        self.open = {}
        # Command's answers that name neither message nor correlation, because both were spoilt.
        self.nameless = []
        self.nameless_answers = 0
        self.answers, self.reasons = collections.Counter(), collections.Counter()
        self.wrong_reasons = []
        for queue in replies:
            self.channel.queue_declare(queue, exclusive=True)
            self.channel.basic_consume(queue, self.on_answer, auto_ack=True)
        results = self.channel.queue_declare(f"{replies[0]}.results", exclusive=True).method.queue
        self.channel.queue_bind(results, "countersign.results", "#")
        self.channel.basic_consume(results, self.on_answer, auto_ack=True)
        for queue in self.queues:
            self.channel.basic_consume(f"{queue}.dead", self.on_dead_letter)

    def consumers(self, queue):
        return self.channel.queue_declare(queue, passive=True).method.consumer_count

    def waiting(self):
        return sum(self.channel.queue_declare(queue, passive=True).method.message_count for queue in self.queues)

    # What comes back

    def number(self, text):
        """The number of a message that an ID belongs to."""
        found = re.match(re.escape(self.run) + r"\.(\d+)", text or "")
        return int(found[1]) if found else None

    def on_answer(self, _channel, method, properties, body):
        headers = properties.headers or {}
        if hostile.MARK in headers:
            # A result that was sent from here.
            return
        for text in [properties.correlation_id, properties.message_id, headers.get("x-causation-id")]:
            number = self.number(text if isinstance(text, str) else "")
            if number is not None:
                break
        else:
            number = self.number(str(json.loads(body).get("jobID", "")))
        error = json.loads(body).get("error") if properties.type == "error.v1" else {"code": properties.type}
        self.answers[error.get("reason", error["code"])] += 1
        if number is None:
            # Of a job there is a dead letter besides, which has its number.
            self.nameless_answers += not method.exchange and not str(properties.type).endswith(".result.v1")
        else:
            self.open.pop(number, None)

    def on_dead_letter(self, channel, method, properties, _body):
        headers = properties.headers or {}
        number = headers.get(hostile.MARK)
        if number is None:
            number = self.number(properties.message_id)
        if number is None:
            number = self.number(properties.correlation_id)
        # Those of modules before this one would fill the window of unacknowledged ones.
        channel.basic_ack(method.delivery_tag)
        if number is None:
            return
        reason = headers.get("x-dead-reason")
        self.reasons[method.routing_key, reason] += 1
        if reason in EMPTY_REASONS or not headers.get("x-last-error"):
            self.wrong_reasons.append((number, reason, headers.get("x-last-error"), headers.get("x-first-death-reason")))
        self.open.pop(number, None)

    # What is sent

    def send(self, count):
        for _ in range(count):
            message = self.generator.next()
            self.channel.basic_publish(
                message.exchange, message.key, message.body, hostile.Properties(message.fields))
            self.expect(message)
            while len(self.open) + len(self.nameless) - self.nameless_answers > WINDOW:
                self.connection.process_data_events(time_limit=0.05)
            if message.number % 100 == 0:
                self.connection.process_data_events(time_limit=0)
            if message.number % 1_000 == 0:
                while self.waiting() > WINDOW:
                    self.connection.process_data_events(time_limit=0.05)

    def expect(self, message):
        """Wrong ones are told or buried, whatever they are; good commands and jobs are answered where they say."""
        # Replies to no command of accounts are not looked into.
        if not (message.is_answerable or message.is_wrong) or message.queue == "accounts.replies":
            return
        named = any(self.number(str(message.fields.get(name))) is not None for name in ["message_id", "correlation_id"])
        if message.queue.endswith(".commands") and message.is_answerable and not named:
            self.nameless.append(message)
        else:
            self.open[message.number] = message

    def settle(self):
        """Waits until all is accounted for and nothing is left on the queues."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            self.connection.process_data_events(time_limit=0.2)
            if not self.open and self.nameless_answers >= len(self.nameless) and self.waiting() == 0:
                return

    def close(self):
        if self.connection.is_open:
            self.connection.close()


class HostileTest(unittest.TestCase):
    def test_no_message_stops_anything(self):
        stack.require_all_ready()
        before = {name: started_at(name) for name in PROCESSES}
        self.addCleanup(remove_webhooks, webhooks())
        siege = Siege()
        self.addCleanup(siege.close)
        siege.send(min(MESSAGES, WARM_UP))
        memory = {name: memory_mb(name) for name in PROCESSES}
        siege.send(MESSAGES - min(MESSAGES, WARM_UP))
        siege.settle()
        growth = {name: round(memory_mb(name) - memory[name], 1) for name in PROCESSES}
        print(f"\nof {MESSAGES} messages on {siege.queues} from seed {SEED}: answers {dict(siege.answers)}; dead letters "
              f"{sorted((queue, reason, count) for (queue, reason), count in siege.reasons.items())}; MB more {growth}, of "
              f"{ {name: round(value, 1) for name, value in memory.items()} }", flush=True)
        self.assertEqual({name: started_at(name) for name in PROCESSES}, before, "a process died")
        self.assertEqual(siege.wrong_reasons[:10], [], "dead letters without a reason of their own")
        self.assertEqual(
            [message.describe() for message in list(siege.open.values())[:10]], [], f"{len(siege.open)} are lost")
        self.assertEqual(siege.nameless_answers, len(siege.nameless), "answers to commands whose IDs were spoilt")
        self.assertEqual(siege.waiting(), 0)
        if MESSAGES > WARM_UP:
            self.assertLessEqual(max(growth[name] for name in PROCESSES if name != FANS_OUT), MAX_GROWTH_MB, growth)
        self.verify_a_number()

    def verify_a_number(self):
        client = Client.of(self)
        number = f"+49176{uuid.uuid4().int % 10_000_000:07d}"
        started = client.command("verification.start", {"phoneNumber": number, "app": "com.example.app"})
        code = simulator.code(simulator.message(number)["body"])
        approved = client.command("verification.check", {"verificationID": started["verificationID"], "code": code})
        self.assertEqual(approved["phoneNumber"], number)
