"""Webhooks: every event reaches a receiver, signed, in order for its subject, whoever is killed meanwhile."""

import contextlib
import json
import os
import secrets
import tempfile
import threading
import time
import unittest
import urllib.error

import pika

import broker
import process
import stack
from waiting import eventually
from webhook_receiver import Receiver

EVENTS = "countersign.events"
WORKER = "webhook-worker"
# A claim of 30 s, and what comes after it.
RECOVERY_SECONDS = 120
REFUSED = 1


def countersign(*arguments):
    done = process.countersign("webhook", *arguments, "--json", env=os.environ)
    return done.returncode, json.loads(done.stdout)


class Publisher:
    """Events as the coordinator publishes them, under its user."""

    def __init__(self):
        # A test may be silent for minutes.
        self.connection = pika.BlockingConnection(pika.URLParameters(broker.url("coordinator") + "/%2F?heartbeat=0"))
        self.channel = self.connection.channel()
        self.channel.confirm_delivery()

    def publish(self, subject, number, kind="verification.sent"):
        properties = pika.BasicProperties(
            type=f"{kind}.v1", message_id=f"{subject}.{number}", timestamp=int(time.time()), user_id="coordinator",
            content_type="application/json", delivery_mode=2)
        body = {"verificationID": subject, "app": "com.example.app", "phoneNumber": "+14155550123",
                "sentAt": "2026-07-01T12:00:00Z", "job": number}
        self.channel.basic_publish(EVENTS, kind, json.dumps(body), properties)

    def close(self):
        self.connection.close()


class WebhookTest(unittest.TestCase):
    def setUp(self):
        self.receiver = Receiver(self.addCleanup)
        self.publisher = Publisher()
        self.addCleanup(self.publisher.close)
        self.webhook = self.add(self.receiver)

    def add(self, receiver, events="verification.*", is_removed=True):
        code, said = countersign("add", receiver.url, "--events", events)
        self.assertEqual(code, 0, said)
        if is_removed:
            self.addCleanup(countersign, "remove", said["id"])
        receiver.secret = said["secret"]
        return said["id"]

    def show(self, webhook=None):
        code, said = countersign("show", webhook or self.webhook)
        self.assertEqual(code, 0, said)
        return said["webhooks"][0]

    def subjects(self, count):
        return [secrets.token_hex(8) for _ in range(count)]

    def publish(self, subjects, numbers):
        for number in numbers:
            for subject in subjects:
                self.publisher.publish(subject, number)

    def await_all(self, receiver, subjects, count, timeout=RECOVERY_SECONDS):
        def state():
            return {subject: len(receiver.of(subject)) for subject in subjects if len(receiver.of(subject)) < count}
        eventually(lambda: f"missing: {state()} {self.show()}", lambda: not state(), timeout)
        for subject in subjects:
            self.assertEqual([event["data"]["job"] for event in receiver.of(subject)], list(range(count)), subject)
        self.assertEqual(receiver.forged, 0)


class DeliveryTest(WebhookTest):
    def test_an_event_comes_signed_with_its_type_and_time(self):
        subject = self.subjects(1)[0]
        self.publisher.publish(subject, 0, "operation.sent")
        self.publisher.publish(subject, 0)
        self.await_all(self.receiver, [subject], 1)
        identity, event = self.receiver.events()[0]
        self.assertRegex(identity, r"^msg_[0-9a-f]{32}$")
        self.assertEqual(event["type"], "verification.sent")
        self.assertEqual(set(event), {"type", "timestamp", "data"})
        self.assertLess(abs(time.time() - time.mktime(time.strptime(event["timestamp"], "%Y-%m-%dT%H:%M:%SZ")) + time.timezone), 60)
        # An event of another family is not wanted.
        self.assertEqual(len(self.receiver.events()), 1)

    def test_a_receiver_that_is_down_and_comes_back_misses_nothing(self):
        subjects = self.subjects(5)
        self.receiver.down()
        self.publish(subjects, range(4))
        eventually("no failure", lambda: self.show().get("failingSince"))
        self.receiver.up()
        self.await_all(self.receiver, subjects, 4)
        eventually("still failing", lambda: not self.show().get("failingSince"))

    def test_410_switches_it_off_and_enable_on_again(self):
        subject = self.subjects(1)[0]
        self.receiver.status = 410
        self.publish([subject], range(1))
        eventually("not off", lambda: self.show()["state"] == "gone")
        self.receiver.status = 204
        self.assertEqual(countersign("enable", self.webhook)[1]["webhooks"][0]["state"], "enabled")
        self.await_all(self.receiver, [subject], 1)

    def test_a_replay_repeats_what_was_delivered(self):
        subject = self.subjects(1)[0]
        since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.publish([subject], range(3))
        self.await_all(self.receiver, [subject], 3)
        eventually("not settled", lambda: self.show()["waiting"] == 0)
        code, said = countersign("replay", self.webhook, "--since", since)
        self.assertEqual(code, 0, said)
        eventually("no repetition", lambda: len(self.receiver.events()) == 6)
        numbers = [event["data"]["job"] for _, event in self.receiver.events()]
        self.assertEqual(numbers, [0, 1, 2, 0, 1, 2])
        identities = [identity for identity, _ in self.receiver.events()]
        self.assertEqual(identities[:3], identities[3:])

    def test_a_redirect_is_a_failure(self):
        subject = self.subjects(1)[0]
        self.receiver.status = 307
        self.publish([subject], range(1))
        eventually("no failure", lambda: self.show().get("failingSince"))
        self.receiver.status = 200
        self.await_all(self.receiver, [subject], 1)

    def test_what_operators_did_is_on_record(self):
        said = json.loads(process.countersign("audit", "--json", env=os.environ).stdout)
        acts = [(act["act"], act.get("subject")) for act in said["acts"]]
        self.assertIn(("webhook.add", "localhost"), acts)


class NetworkTest(WebhookTest):
    def test_addresses_that_are_refused_at_once(self):
        for url in ["http://example.com/", "https://user@example.com/", "ftp://example.com/"]:
            code, said = countersign("add", url, "--events", "*")
            self.assertEqual((code, said["error"]["code"]), (REFUSED, "INVALID_ARGUMENT"), said)

    def test_a_private_address_is_refused_on_connecting(self):
        stack.stop_for(self, WORKER)
        with process.Process(WORKER) as worker:
            worker.replace(r'allowedNetworks: \[[^]]*\]', "allowedNetworks: []")
            worker.start().ready()
            self.webhook = self.add(self.receiver, is_removed=False)
            subject = self.subjects(1)[0]
            self.publish([subject], range(1))
            eventually("no failure", lambda: self.show().get("failingSince"))
            self.assertEqual(self.receiver.asked, 0)


    def test_without_its_keys_it_is_not_ready_and_blames_no_receiver(self):
        stack.stop_for(self, WORKER)
        with process.Process(WORKER) as worker, tempfile.NamedTemporaryFile("w") as keys:
            worker.start().ready()
            self.webhook = self.add(self.receiver, is_removed=False)
            worker.stop()
            keys.write(process.countersign("keys", "generate", "--id", "other").stdout)
            keys.flush()
            worker.replace(r'webhookKeysFile: "[^"]*"', f'webhookKeysFile: "{keys.name}"')
            worker.start().line("started")
            self.publish(self.subjects(1), range(1))
            eventually("it is ready", lambda: "the secrets of 1 webhooks cannot be opened" in worker.get("/readyz")[1])
            self.assertIsNone(self.show().get("failingSince"))
            self.assertEqual(self.receiver.asked, 0)


class KillTest(WebhookTest):
    def test_kills_lose_nothing_and_change_no_order(self):
        subjects, stop = self.subjects(20), threading.Event()
        rounds = 30

        def kill():
            while not stop.wait(3):
                stack.kill(WORKER)
                stack.start(WORKER)

        killer = threading.Thread(target=kill)
        killer.start()
        try:
            for number in range(rounds):
                self.publish(subjects, [number])
                time.sleep(0.5)
        finally:
            stop.set()
            killer.join()
        self.await_all(self.receiver, subjects, rounds, timeout=300)
        eventually("not settled", lambda: self.show()["waiting"] == 0)


class FullQueueTest(WebhookTest):
    def test_a_full_queue_refuses_no_publisher(self):
        """A bound of ten in the place of two million."""
        stack.stop_for(self, WORKER)
        self.limit(10)
        self.addCleanup(self.limit, None)
        subject = self.subjects(1)[0]
        # A publish that the broker refuses raises.
        self.publish([subject], range(100))
        self.limit(None)
        stack.start(WORKER)
        eventually("nothing came", lambda: len(self.receiver.of(subject)) >= 10)
        self.assertEqual(self.receiver.of(subject)[-1]["data"]["job"], 99)

    def limit(self, length):
        path = "/api/policies/%2F/test.webhook.events"
        if length:
            policy = {"pattern": r"^webhook\.events$", "apply-to": "queues", "priority": 99,
                      "definition": {"max-length": length, "overflow": "drop-head"}}
            broker.management(path, "PUT", policy)
            # A queue takes a policy up a little later.
            eventually("no policy", lambda: broker.figures("webhook.events").get("policy") == "test.webhook.events")
            time.sleep(broker.MOVE_SECONDS)
        else:
            with contextlib.suppress(urllib.error.HTTPError):
                broker.management(path, "DELETE")


class RateTest(WebhookTest):
    SUBJECTS, ROUNDS = 300, 10

    def test_many_events_at_once(self):
        subjects = self.subjects(self.SUBJECTS)
        begun = time.monotonic()
        self.publish(subjects, range(self.ROUNDS))
        published = time.monotonic() - begun
        self.await_all(self.receiver, subjects, self.ROUNDS)
        count, delivered = self.SUBJECTS * self.ROUNDS, time.monotonic() - begun
        print(f"{count / published:.0f} events a second published, {count / delivered:.0f} delivered")
