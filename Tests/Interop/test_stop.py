"""Stopping under load: SIGTERM ends a process in seconds and loses nothing."""

import time
import unittest
import uuid

import simulator
import stack
from countersign_client import Client
from samples import in_seconds

WORKERS = ["sms-worker-1", "sms-worker-2"]
JOBS = 600
STOP_LIMIT_SECONDS = 15


class StopTest(unittest.TestCase):
    def test_workers_stop_in_seconds_and_lose_nothing(self):
        stack.require_all_ready()
        client = Client.of(self)
        for name in WORKERS:
            self.addCleanup(stack.start, name)
        simulator.inject(provider="twilio", fault="latency", count=JOBS, delaySeconds=1)
        self.addCleanup(simulator.clear_faults)
        numbers = [f"+49172{index:07d}" for index in range(JOBS)]
        text = f"Load {uuid.uuid4().hex}."
        waiting = {
            client.send(
                "countersign.jobs", "sms.dispatch",
                {"to": number, "text": text, "deadline": in_seconds(600)}, message_id=str(uuid.uuid4()))
            for number in numbers
        }
        for name in WORKERS:
            begun = time.monotonic()
            stack.stop(name)
            took = time.monotonic() - begun
            print(f"  {name} stopped under load in {took:.1f} s", flush=True)
            self.assertLess(took, STOP_LIMIT_SECONDS)
            stack.start(name)
        results = [client.wait(correlation_id, timeout=300)[1] for correlation_id in waiting]
        self.assertEqual({result["outcome"] for result in results}, {"accepted"})
        received = [message["to"] for message in simulator.messages() if message["body"] == text]
        self.assertEqual(sorted(received), numbers, "each exactly once")
