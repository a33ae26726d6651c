"""300 receipts while the coordinator is killed again and again.

Every command is answered, with one receipt however often it is asked; every receipt gets one push, which does not overtake its
reply.
"""

import datetime
import secrets
import threading
import time
import unittest
import uuid

import app_sdk
import simulator
import stack
from countersign_client import Client

COMMANDS = 300
KILLS = 3
LIMIT_SECONDS = 600
# A reply that is lost, and overtaken by its push, comes so much later.
ASK_AGAIN_SECONDS = 10
# Reply and push come by different ways, and this process may be the slower reader.
SLACK_SECONDS = 5


class Command:
    """One app.verify, asked under one message ID until it is answered."""

    def __init__(self):
        self.device = secrets.token_hex(32)
        simulator.device(self.device, "com.example.push")
        self.message_id = str(uuid.uuid4())
        self.receipts = []
        self.answered_at = None
        self.asked_at = 0.0


class ReceiptChaosTest(unittest.TestCase):
    def setUp(self):
        self.client = Client.of(self)
        self.addCleanup(stack.start, "coordinator")
        self.failure = None
        self.commands = [Command() for _ in range(COMMANDS)]
        self.by_correlation = {}

    def ask(self, command):
        correlation_id = self.client.send(
            "countersign.commands", "app.verify", {"app": "com.example.push", "deviceToken": command.device},
            message_id=command.message_id, timestamp=None)
        self.by_correlation[correlation_id] = command
        command.asked_at = time.monotonic()

    def collect(self):
        self.client.connection.process_data_events(time_limit=0.01)
        for correlation_id in list(self.client.replies):
            properties, body = self.client.replies.pop(correlation_id)
            command = self.by_correlation[correlation_id]
            self.assertEqual(properties.type, "app.verifying.v1", body)
            command.answered_at = command.answered_at or time.time()
            command.receipts.append(body["receipt"])

    def kill_again_and_again(self):
        try:
            for _ in range(KILLS):
                time.sleep(0.7)
                stack.kill("coordinator")
                stack.start("coordinator")
        except Exception as error:  # It is told by the test.
            self.failure = error

    def test_kills(self):
        killer = threading.Thread(target=self.kill_again_and_again)
        killer.start()
        for command in self.commands:
            self.ask(command)
            self.collect()
        deadline = time.monotonic() + LIMIT_SECONDS
        while killer.is_alive() or any(command.answered_at is None for command in self.commands):
            self.assertLess(time.monotonic(), deadline, "not all are answered")
            for command in self.commands:
                if command.answered_at is None and time.monotonic() > command.asked_at + ASK_AGAIN_SECONDS:
                    self.ask(command)
                    self.collect()
            self.collect()
        killer.join()
        self.assertIsNone(self.failure)
        for command in self.commands:
            self.check(command)

    def check(self, command):
        self.assertEqual(len(set(command.receipts)), 1, "a command has one receipt")
        push = simulator.push(command.device)
        self.assertEqual(push["payload"][app_sdk.KEY]["receipt"], command.receipts[0])
        self.assertEqual(len(simulator.pushes(command.device)), 1, "a receipt has one push")
        received_at = datetime.datetime.fromisoformat(push["receivedAt"].replace("Z", "+00:00"))
        self.assertGreater(received_at.timestamp() + SLACK_SECONDS, command.answered_at, "a push overtook its reply")
