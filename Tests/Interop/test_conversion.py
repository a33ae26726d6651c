"""The conversion of a prefix collapses: it is blocked, told of, refused, listed, lifted, and all of that survives a restart."""

import json
import os
import random
import time
import unittest

import pika

import process
import simulator
import stack
from countersign_client import Client, Refused
from process import Process
from samples import wrong

APP = "com.example.app"
MINIMUM = 3
PREFIX = f"+49160{random.randrange(1_000):03d}"
NEIGHBOR = f"+49170{random.randrange(1_000):03d}"
REFUSED = 1


def countersign(*arguments):
    """The command line as an operator has it on another host: the broker's address and nothing else."""
    environment = {
        "COUNTERSIGN_OPERATOR_AMQP_URL": os.environ["COUNTERSIGN_OPERATOR_AMQP_URL"],
        "COUNTERSIGN_AMQP_URL": "amqp://nobody:nothing@127.0.0.1:1/",
    }
    done = process.countersign("--json", "--timeout", "60s", "conversion", *arguments, env=environment)
    return done.returncode, json.loads(done.stdout)


class ConversionTest(unittest.TestCase):
    """With a coordinator of its own in the place of the stack's, to which three verifications are enough."""

    def setUp(self):
        stack.stop_for(self, "coordinator")
        self.client = Client.of(self)
        self.events = []
        queue = self.client.channel.queue_declare("", exclusive=True).method.queue
        self.client.channel.queue_bind(queue, "countersign.events", "conversion.*")
        self.client.channel.basic_consume(queue, self.on_event, auto_ack=True)
        self.numbers = iter(random.sample(range(10_000), 1_000))

    def on_event(self, _channel, method, properties, body):
        self.events.append((method.routing_key, properties, json.loads(body)))

    def coordinator(self):
        running = Process("coordinator")
        running.replace(
            r"apps: \{",
            f"verification: {{ checksPerCode: 1 }},\n  conversion: {{ minimumPerPrefix: {MINIMUM} }},\n  apps: {{")
        return running

    def ready(self, running):
        running.start().ready()

    def start(self, prefix=PREFIX):
        number = f"{prefix}{next(self.numbers):04d}"
        return self.client.command("verification.start", {"phoneNumber": number, "app": APP}, timeout=180)

    def sent(self, prefix=PREFIX):
        """A verification of which the coordinator knows that a provider took its message, and its code."""
        started = self.start(prefix)
        code = simulator.code(simulator.message(started["phoneNumber"], timeout=120)["body"])
        self.client.until_sent(started["verificationID"])
        return started["verificationID"], code

    def fail(self, prefix=PREFIX):
        identifier, code = self.sent(prefix)
        self.client.refused("verification.check", {"verificationID": identifier, "code": wrong(code)}, timeout=180)

    def event(self, name, timeout=180):
        deadline = time.monotonic() + timeout
        while not self.events:
            self.assertLess(time.monotonic(), deadline, f"no {name}")
            self.client.connection.process_data_events(time_limit=0.2)
        key, properties, body = self.events.pop(0)
        self.assertEqual(key, name)
        self.assertEqual(properties.type, f"{name}.v1")
        return body

    def refused(self, prefix=PREFIX):
        with self.assertRaises(Refused) as caught:
            self.start(prefix)
        return caught.exception

    def test_collapse_and_lift(self):
        with self.coordinator() as running:
            self.ready(running)
            identifier, code = self.sent(NEIGHBOR)
            self.client.command("verification.check", {"verificationID": identifier, "code": code}, timeout=180)
            for _ in range(MINIMUM):
                self.fail()
            event = self.event("conversion.blocked")
            self.assertEqual(
                {name: event[name] for name in ["scope", "key", "region", "sent", "verified"]},
                {"scope": "prefix", "key": PREFIX, "region": "DE", "sent": MINIMUM, "verified": 0})
            error = self.refused()
            self.assertEqual((error.code, error.reason), ("TOO_MANY_ATTEMPTS_TRY_LATER", "PREFIX_BLOCKED"))
            self.assertGreater(error.retry_after, 12 * 3600 - 600)
            self.start(NEIGHBOR)
            self.lists_it()
            self.shows_it(running)
            self.doctor_notes_it()

            self.assertEqual(running.stop(), 0, running.output())
            self.ready(running)
            self.assertEqual(self.refused().reason, "PREFIX_BLOCKED", "a restart has forgotten it")
            self.lists_it()
            # The same after a crash.
            running.running.kill()
            running.running.wait()
            self.ready(running)
            self.assertEqual(self.refused().reason, "PREFIX_BLOCKED", "a crash has forgotten it")

            self.only_operators_may()
            code, lifted = countersign("lift", PREFIX)
            self.assertEqual((code, lifted["key"]), (0, PREFIX))
            self.assertEqual(self.event("conversion.lifted"), lifted)
            self.start()
            code, answer = countersign("lift", PREFIX)
            self.assertEqual((code, answer["error"]["reason"]), (REFUSED, "NOT_BLOCKED"))
            self.assertEqual(running.stop(), 0, running.output())
            self.ready(running)
            # What had ended before the lift is not counted again.
            for _ in range(MINIMUM - 1):
                self.fail()
            self.start()
            self.assertEqual(countersign("list")[1]["blocks"], [])
            self.assertEqual(running.stop(), 0, running.output())
            self.assertEqual(self.events, [])

    def lists_it(self):
        code, answer = countersign("list")
        self.assertEqual(code, 0)
        self.assertEqual([block["key"] for block in answer["blocks"]], [PREFIX])
        self.assertIn({"key": NEIGHBOR, "region": "DE", "sent": 1, "verified": 1}, answer["prefixes"])
        self.assertEqual(answer["regions"], [{"key": "DE", "region": "DE", "sent": MINIMUM + 1, "verified": 1}])

    def shows_it(self, running):
        metrics = running.get("/metrics")[1]
        self.assertIn(f'countersign_conversion_sent_total{{region="DE"}} {MINIMUM + 1}', metrics)
        self.assertIn('countersign_conversion_verified_total{region="DE"} 1', metrics)
        self.assertIn('countersign_limited_total{limit="conversion_prefix"} 1', metrics)
        log = running.line("nothing is sent to these numbers for now")
        self.assertIn(PREFIX, log)
        self.assertNotRegex(running.output(), r"\+49160\d{7}", "a full number in the log")

    def doctor_notes_it(self):
        # The stack's own coordinator is stopped, which is a failure; the block is none.
        done = process.countersign("--json", "doctor")
        found = [finding for finding in json.loads(done.stdout)["findings"] if finding["check"] == "conversion"]
        self.assertEqual([finding["status"] for finding in found], ["note"])
        self.assertIn(f"prefix {PREFIX} (DE) until ", found[0]["detail"])
        self.assertIn(f": 0 of {MINIMUM} codes came back", found[0]["detail"])
        self.assertIn(f"countersign conversion lift {PREFIX}", found[0]["hint"])

    def only_operators_may(self):
        error = self.client.refused("conversion.lift", {"key": PREFIX}, timeout=180)
        self.assertEqual((error.code, error.field), ("OPERATION_NOT_ALLOWED", "user_id"))
        # Who says that he is somebody else is thrown out by the broker.
        liar = Client.of(self)
        with self.assertRaises(pika.exceptions.ChannelClosedByBroker):
            liar.command("conversion.lift", {"key": PREFIX}, user_id="operator")
        self.assertEqual(self.refused().reason, "PREFIX_BLOCKED")
