"""Workers of two hosts, each with a ledger of its own: the connection of one is cut while its calls are under way."""

import collections
import json
import os
import threading
import time
import unittest
import urllib.parse
import uuid

import pika

import broker
import stack
from local_server import Handler, Server
from process import Process
from samples import in_seconds
from waiting import eventually

JOBS = 40
# How long the provider takes to accept a message from then on that a connection is cut: long enough for its jobs to come to the other worker.
CALL_SECONDS = 4
# How long it waits for that, and the lane for an answer: on a busy machine it takes a while until all jobs are being called.
HOLD_SECONDS = 40
LANE_SECONDS = 60
# Without a result and without a job that waits or is delayed: longer than a call.
QUIET_SECONDS = CALL_SECONDS + 6
PATIENCE_SECONDS = 170


class SlowProvider(Handler):
    def do_POST(self):
        form = urllib.parse.parse_qs(self.body().decode())
        self.server.called(form["Body"][0])
        self.server.goes_on.wait(HOLD_SECONDS)
        time.sleep(CALL_SECONDS)
        self.answer(201, json.dumps({"sid": f"SM{uuid.uuid4().hex}", "status": "queued"}).encode())


class SlowServer(Server):
    def __init__(self):
        super().__init__(SlowProvider)
        self.sent, self.lock = collections.Counter(), threading.Lock()
        # Until then every call is under way.
        self.goes_on = threading.Event()

    def called(self, text):
        with self.lock:
            self.sent[text] += 1

    def has_all(self, texts):
        with self.lock:
            return all(self.sent[text] for text in texts)


class SeveralHostsTest(unittest.TestCase):
    def setUp(self):
        stack.stop_for(self, "sms-worker-1", "sms-worker-2")
        broker.empty_job_queues()
        self.provider = SlowServer().start(self.addCleanup)
        # As on two hosts: each has a data directory, and so a ledger, of its own.
        self.workers = [self.worker(), self.worker()]
        self.connection = pika.BlockingConnection(pika.URLParameters(os.environ["COUNTERSIGN_OPERATOR_AMQP_URL"]))
        self.addCleanup(self.connection.close)
        self.channel = self.connection.channel()
        queue = self.channel.queue_declare(f"countersign.reply.operator.{uuid.uuid4()}", exclusive=True).method.queue
        self.channel.queue_bind(queue, "countersign.results", "sms.dispatch.*")
        self.told = collections.defaultdict(list)
        self.channel.basic_consume(queue, self.on_result, auto_ack=True)

    def worker(self):
        worker = self.enterContext(Process("sms-worker"))
        worker.lead_twilio_to(self.provider.server_port, f",\n      timeoutSeconds: {LANE_SECONDS}")
        worker.replace(r"(?<=\n)  ledger:", '  queue: { consumers: "severalHosts" },\n  ledger:')
        worker.start().ready()
        return worker

    def on_result(self, _channel, _method, properties, body):
        # A delay is told under the same keys.
        if properties.type == "sms.dispatch.delayed.v1":
            return
        result = json.loads(body)
        self.told[result["jobID"]].append(result["outcome"])

    def cut(self):
        """Cuts the first worker's connection that consumes, and lets the calls go on."""
        broker.close_connection(f"/{self.workers[0].running.pid} consumer")
        self.provider.goes_on.set()

    def lose_a_connection(self, on_unknown):
        """Cuts the connection of one worker while all jobs are being called: their texts by their IDs."""
        texts = {str(uuid.uuid4()): f"{uuid.uuid4()}" for _ in range(JOBS)}
        for number, (identifier, text) in enumerate(texts.items()):
            body = {"to": f"+1415{2_100_000 + number}", "text": text, "lane": "twilio", "deadline": in_seconds(600),
                    "onUnknown": on_unknown}
            self.channel.basic_publish("", "sms.dispatch", json.dumps(body), pika.BasicProperties(
                type="sms.dispatch.v1", content_type="application/json", delivery_mode=2, message_id=identifier,
                user_id="operator"))
        eventually("all calls are under way", lambda: self.provider.has_all(texts.values()), timeout=HOLD_SECONDS)
        self.cut()
        return texts

    def wait(self, texts):
        """Until every job is told of, and nothing comes any more: neither a result nor a job out of a delay step."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        quiet_since, seen = time.monotonic(), -1
        with broker.JobQueues() as queues:
            while time.monotonic() < deadline:
                self.connection.process_data_events(time_limit=0.2)
                count = sum(map(len, self.told.values()))
                if count != seen or queues.waiting():
                    quiet_since, seen = time.monotonic(), count
                if set(texts) <= set(self.told) and time.monotonic() - quiet_since > QUIET_SECONDS:
                    return
        self.fail(f"{len(set(texts) - set(self.told))} jobs are not told of")

    def test_nothing_is_sent_twice_that_must_not_be(self):
        texts = self.lose_a_connection("report")
        self.wait(texts)
        times = collections.Counter(self.provider.sent[text] for text in texts.values())
        told = collections.Counter("+".join(sorted(set(self.told[one]))) for one in texts)
        print(f"\nonUnknown report: {JOBS} jobs by times sent {dict(times)}, told as {dict(told)}", flush=True)
        self.assertEqual(times, {1: JOBS})
        self.assertLessEqual(set(told), {"accepted", "unknown", "accepted+unknown"})
        # Those of the worker that kept its connection at least.
        self.assertGreater(told["accepted"], 0)

    def test_how_many_are_sent_twice_that_may_be(self):
        texts = self.lose_a_connection("resend")
        self.wait(texts)
        times = collections.Counter(self.provider.sent[text] for text in texts.values())
        print(f"\nonUnknown resend: {JOBS} jobs by times sent {dict(times)}, "
              f"{sum(count for sent, count in times.items() if sent > 1)} of them more than once", flush=True)
        self.assertNotIn(0, times)
        # The first call, and as many resends as the configuration allows.
        self.assertLessEqual(max(times), 3)
        for identifier in texts:
            self.assertIn("accepted", self.told[identifier])
