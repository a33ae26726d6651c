"""A worker that has no connection yet, and a queue full of jobs, over TLS: the burst of handshakes does not take its lane down."""

import collections
import datetime
import json
import os
import pathlib
import time
import unittest
import uuid

import pika

import stack
from countersign_client import REPLY_TO
from process import Process

WORKERS = ["sms-worker-1", "sms-worker-2"]
CONCURRENCY = 256
SYSTEM_AUTHORITIES = pathlib.Path("/etc/ssl/certs/ca-certificates.crt")
LANE = """
lanes: [{{
  name: "twilio", type: "twilio", baseURL: "{url}", caFile: "{ca}", concurrency: {concurrency},
  accountSID: "AC00000000000000000000000000000001", passwordFile: "../secrets/twilio-auth-token", from: "+15005550006",
}}],
}}
"""


class ProviderTLSTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        stack.stop_for_class(cls, *WORKERS)

    def worker(self):
        """A worker whose only lane leads over TLS to the simulator, with all authorities of the system beside the stack's."""
        worker = self.enterContext(Process("sms-worker"))
        authorities = pathlib.Path(worker.directory.name) / "authorities.pem"
        authorities.write_text(
            SYSTEM_AUTHORITIES.read_text() + pathlib.Path(os.environ["COUNTERSIGN_CA_FILE"]).read_text())
        lane = LANE.format(url=os.environ["COUNTERSIGN_FRONT_URL"], ca=authorities, concurrency=CONCURRENCY)
        worker.replace_lanes(lane)
        return worker

    def test_an_authority_that_is_added_counts_without_a_restart(self):
        connection = pika.BlockingConnection(pika.URLParameters(os.environ["COUNTERSIGN_AMQP_URL"]))
        self.addCleanup(connection.close)
        channel = connection.channel()
        results = []
        channel.basic_consume(REPLY_TO, lambda *message: results.append(json.loads(message[3])), auto_ack=True)
        worker = self.worker()
        authorities = pathlib.Path(worker.directory.name) / "authorities.pem"
        needed = authorities.read_text()
        authorities.write_text(SYSTEM_AUTHORITIES.read_text())
        worker.start().ready()
        deadline = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=300)).strftime(
            "%Y-%m-%dT%H:%M:%SZ")
        job = {"to": f"+49170{uuid.uuid4().int % 10_000_000:07d}", "text": "123456 is your code", "deadline": deadline,
               "onUnknown": "report"}
        channel.basic_publish("countersign.jobs", "sms.dispatch", json.dumps(job), pika.BasicProperties(
            type="sms.dispatch.v1", content_type="application/json", delivery_mode=2, message_id=str(uuid.uuid4()),
            correlation_id="authority", reply_to=REPLY_TO, timestamp=int(time.time()), app_id="interop"))
        # One refused certificate is enough to take the lane down: it is the same for every job.
        begun = time.monotonic()
        while "CERTIFICATE_REFUSED" not in worker.output() and time.monotonic() < begun + 60:
            connection.process_data_events(time_limit=0.2)
        self.assertIn("lane is down", worker.output())
        authorities.write_text(needed)
        begun = time.monotonic()
        while not results and time.monotonic() < begun + 120:
            connection.process_data_events(time_limit=0.2)
        worker.stop()
        self.assertEqual([one["outcome"] for one in results], ["accepted"])

    def test_a_cold_burst_is_sent(self):
        connection = pika.BlockingConnection(pika.URLParameters(os.environ["COUNTERSIGN_AMQP_URL"]))
        self.addCleanup(connection.close)
        channel = connection.channel()
        results = []
        channel.basic_consume(REPLY_TO, lambda *message: results.append(json.loads(message[3])), auto_ack=True)
        deadline = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=600)).strftime(
            "%Y-%m-%dT%H:%M:%SZ")
        for number in range(2 * CONCURRENCY):
            job = {"to": f"+49170{uuid.uuid4().int % 10_000_000:07d}", "text": f"{number:06d} is your code",
                   "deadline": deadline, "onUnknown": "report"}
            channel.basic_publish("countersign.jobs", "sms.dispatch", json.dumps(job), pika.BasicProperties(
                type="sms.dispatch.v1", content_type="application/json", delivery_mode=2, message_id=str(uuid.uuid4()),
                correlation_id="burst", reply_to=REPLY_TO, timestamp=int(time.time()), app_id="interop"))
        worker = self.worker().start()
        begun = time.monotonic()
        while len(results) < 2 * CONCURRENCY and time.monotonic() < begun + 400:
            connection.process_data_events(time_limit=0.2)
        output = worker.output()
        worker.stop()
        self.assertEqual(collections.Counter(one["outcome"] for one in results), {"accepted": 2 * CONCURRENCY})
        self.assertNotIn("lane is down", output)
