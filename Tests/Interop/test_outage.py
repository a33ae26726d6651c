"""A provider that goes away under load and comes back: nothing is lost, nothing is doubled, nothing is sent too late.

COUNTERSIGN_OUTAGE_SECONDS says how long it is away (10), COUNTERSIGN_OUTAGE_RATE how many messages a second there are (500).
"""

import collections
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest
import uuid

import pika

import simulator
import stack
from countersign_client import REPLY_TO
from process import Process, free_port
from samples import in_seconds

OUTAGE_SECONDS = float(os.environ.get("COUNTERSIGN_OUTAGE_SECONDS", "10"))
RATE = int(os.environ.get("COUNTERSIGN_OUTAGE_RATE", "500"))
# Before the outage, and after the lane has come back.
CALM_SECONDS = 3
# Until a busy machine has told of the first result.
SLOW_SECONDS = 60
# The lane is asked again after a minute at the latest.
RECOVERY_SECONDS = 90
CONCURRENCY = 64
# Every so many messages one may go by the failing lane only; every second of those has little time.
PINNED_EVERY = 40
SHORT_SECONDS = 8
LONG_SECONDS = 600

NGINX = """
daemon off; master_process off; pid {root}/pid; error_log stderr crit;
events {{ worker_connections 1024; }}
http {{
  access_log off; client_body_temp_path {root}/body; proxy_temp_path {root}/proxy; fastcgi_temp_path {root}/f;
  uwsgi_temp_path {root}/u; scgi_temp_path {root}/s;
  upstream provider {{ server {upstream}; keepalive 128; }}
  server {{
    listen 127.0.0.1:{port} backlog=512; keepalive_requests 1000000;
    location / {{
      proxy_pass http://provider; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_next_upstream off;
    }}
  }}
}}
"""


class Road:
    """The only way to a provider, which can be taken away: connections break, and new ones are refused."""

    def __init__(self):
        self.directory = tempfile.TemporaryDirectory(prefix="countersign-")
        self.port = free_port()
        root = pathlib.Path(self.directory.name)
        upstream = os.environ["COUNTERSIGN_SIMULATOR_URL"].removeprefix("http://")
        (root / "nginx.conf").write_text(NGINX.format(root=root, upstream=upstream, port=self.port))
        self.command = [shutil.which("nginx") or "/usr/sbin/nginx", "-e", "stderr", "-p", str(root), "-c", "nginx.conf"]
        self.running = None

    def open(self):
        self.running = subprocess.Popen(self.command, stdin=subprocess.DEVNULL)

    def close(self):
        if self.running:
            self.running.kill()
            self.running.wait()
            self.running = None

    def end(self):
        self.close()
        self.directory.cleanup()


class Traffic:
    def __init__(self):
        self.run = uuid.uuid4().hex[:12]
        self.connection = pika.BlockingConnection(pika.URLParameters(os.environ["COUNTERSIGN_AMQP_URL"]))
        self.channel = self.connection.channel()
        self.channel.basic_consume(REPLY_TO, self.on_result, auto_ack=True)
        self.sent = {}
        self.results = collections.defaultdict(list)
        self.lanes = []

    def on_result(self, _channel, _method, properties, body):
        result = json.loads(body)
        self.results[properties.correlation_id].append(result)
        self.lanes.append((time.monotonic(), result.get("lane")))

    def flow(self, until):
        """Sends at the rate until `until()` is true; a machine that was busy catches up."""
        begun, first = time.monotonic(), len(self.sent)
        while not until(time.monotonic() - begun):
            due = int((time.monotonic() - begun) * RATE) - (len(self.sent) - first)
            for _ in range(min(due, RATE)):
                self.send()
            self.connection.process_data_events(time_limit=0.02)
        return (len(self.sent) - first) / (time.monotonic() - begun)

    def send(self):
        index = len(self.sent)
        job = {"to": f"+49163{index:07d}", "text": f"{self.run} {index}", "onUnknown": "report"}
        seconds = LONG_SECONDS
        if index % PINNED_EVERY == 0:
            job["lane"] = "twilio"
            seconds = SHORT_SECONDS if index % (2 * PINNED_EVERY) == 0 else LONG_SECONDS
        job["deadline"] = in_seconds(seconds)
        identifier = f"{self.run}.{index}"
        self.sent[identifier] = job
        self.channel.basic_publish("countersign.jobs", "sms.dispatch", json.dumps(job), pika.BasicProperties(
            type="sms.dispatch.v1", content_type="application/json", delivery_mode=2, message_id=identifier,
            correlation_id=identifier, reply_to=REPLY_TO, timestamp=int(time.time()), app_id="interop"))

    def has_result(self, lane, since=0.0):
        return any(by == lane and at > since for at, by in reversed(self.lanes))

    def finish(self, timeout):
        deadline = time.monotonic() + timeout
        while len(self.results) < len(self.sent) and time.monotonic() < deadline:
            self.connection.process_data_events(time_limit=0.2)
        # One that is there twice would come about now.
        self.connection.process_data_events(time_limit=1)
        self.connection.close()


class OutageTest(unittest.TestCase):
    def setUp(self):
        # They would take a part of the messages, by a lane that does not fail.
        stack.stop_for(self, "sms-worker-1", "sms-worker-2")
        self.road = Road()
        self.addCleanup(self.road.end)
        self.road.open()
        self.worker = self.enterContext(Process("sms-worker"))
        self.worker.lead_twilio_to(self.road.port)
        # A provider that refuses connections has not been asked: nobody need be told of reports.
        self.worker.replace(r"\n  receipts: .*", "")
        self.worker.start().ready()

    def is_up(self):
        return self.worker.metric("countersign_lane_up", type="sms.dispatch", lane="twilio") == 1

    def test_the_fallback_takes_over_and_the_first_lane_comes_back_by_itself(self):
        traffic = Traffic()
        rates = [traffic.flow(lambda seconds: seconds > CALM_SECONDS and traffic.has_result(lane="twilio") or seconds > SLOW_SECONDS)]
        self.road.close()
        down = time.monotonic()
        rates.append(traffic.flow(
            lambda seconds: seconds > OUTAGE_SECONDS and traffic.has_result(lane="webhook", since=down + 1) or seconds > SLOW_SECONDS))
        self.assertFalse(self.is_up(), "the lane counts as up although nobody answers")
        self.road.open()
        up = time.monotonic()
        checked = [0.0]

        def is_back(seconds):
            if seconds - checked[0] < 0.5:
                return False
            checked[0] = seconds
            return self.is_up() or seconds > RECOVERY_SECONDS

        rates.append(traffic.flow(is_back))
        back = time.monotonic()
        self.assertTrue(self.is_up(), "the lane has not come back")
        rates.append(traffic.flow(
            lambda seconds: seconds > CALM_SECONDS and traffic.has_result(lane="twilio", since=back) or seconds > SLOW_SECONDS))
        traffic.finish(timeout=500)
        self.check(traffic, down, up, back)
        outcomes = collections.Counter(result["outcome"] for [result] in traffic.results.values())
        print(
            f"\n    {len(traffic.sent)} messages at {rates[1]:.0f}/s, the provider away for {up - down:.1f} s, back in use "
            f"after {back - up:.1f} s: {dict(outcomes)}, by lane "
            f"{dict(collections.Counter(lane for _, lane in traffic.lanes))}", end=" ")

    def check(self, traffic, down, up, back):
        # Nothing is lost, and nobody is told twice.
        self.assertEqual(set(traffic.results), set(traffic.sent))
        self.assertEqual({len(results) for results in traffic.results.values()}, {1})
        received = collections.Counter(
            message["body"] for message in simulator.newest(1_000_000) if message["body"].startswith(traffic.run))
        unknown = 0
        for identifier, [result] in traffic.results.items():
            job, count, outcome = traffic.sent[identifier], received[traffic.sent[identifier]["text"]], result["outcome"]
            if outcome == "accepted":
                self.assertEqual(count, 1, (job, result))
            elif outcome == "expired":
                # Only what had little time and no other way may be late, and then it is not sent.
                self.assertEqual((count, job.get("lane")), (0, "twilio"), (job, result))
            else:
                # Bytes had left when the connection broke: sent or not, and never again.
                self.assertEqual(outcome, "unknown", (job, result))
                self.assertLessEqual(count, 1, (job, result))
                unknown += 1
        self.assertLessEqual(unknown, CONCURRENCY)
        late = [one for one, [result] in traffic.results.items() if result["outcome"] == "expired"]
        self.assertTrue(late, "nothing was late: the test has not seen what it is for")
        # The second lane has carried the outage, the first one what was before and is after.
        for lane, since, until in [("webhook", down + 1, up), ("twilio", 0, down), ("twilio", back, float("inf"))]:
            self.assertTrue([1 for at, by in traffic.lanes if by == lane and since < at < until], (lane, since, until))
