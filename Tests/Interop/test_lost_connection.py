"""Jobs that are being retried when their connection to the broker is lost: as many as before."""

import json
import threading
import time
import unittest
import uuid

import broker
import stack
from countersign_client import Client
from local_server import Handler, Server
from process import Process
from samples import in_seconds
from waiting import eventually

JOBS = 20
LOSSES = 3
# How long the provider takes to say that it is busy.
CALL_SECONDS = 3
# Longer than the test and every delay in it, so that none expires.
DEADLINE_SECONDS = 3600


class BusyProvider(Handler):
    def do_POST(self):
        self.body()
        self.server.called()
        time.sleep(CALL_SECONDS)
        self.answer(429, json.dumps({"code": 20429, "message": "Too Many Requests", "status": 429}).encode())


class BusyServer(Server):
    def __init__(self):
        super().__init__(BusyProvider)
        self.calls, self.lock = 0, threading.Lock()

    def called(self):
        with self.lock:
            self.calls += 1


class LostConnectionTest(unittest.TestCase):
    def setUp(self):
        stack.stop_for(self, "sms-worker-1", "sms-worker-2")
        # What other tests have left in delay steps would leave them in the middle of this one; and nobody needs what this one leaves.
        broker.empty_job_queues()
        self.addCleanup(broker.empty_job_queues)
        self.client = Client.of(self)
        self.provider = BusyServer().start(self.addCleanup)
        self.worker = self.enterContext(Process("sms-worker"))
        self.worker.lead_twilio_to(self.provider.server_port)
        # That the provider is busy is no reason to leave the lane.
        self.worker.replace(r'(?<=type: "twilio",\n)', "      breakerThreshold: 0,\n")
        self.worker.start().ready()

    def test_as_many_as_before(self):
        for number in range(JOBS):
            body = {"to": f"+1415{2_000_000 + number}", "text": f"{uuid.uuid4()}", "lane": "twilio", "deadline": in_seconds(DEADLINE_SECONDS)}
            self.client.send("countersign.jobs", "sms.dispatch", body, type="sms.dispatch.v1")
        consumer, closed = f"/{self.worker.running.pid} consumer", set()
        for loss in range(LOSSES):
            calls = self.provider.calls
            eventually("calls are under way", lambda: self.provider.calls >= (JOBS if loss == 0 else calls + 1))
            closed.add(broker.close_connection(consumer, closed))
            eventually("it has a new connection", lambda: broker.connections(consumer) - closed)
        # What is called ends, and is delayed or handed back: no job is in hand any more.
        self.assertEqual(self.worker.stop(), 0, self.worker.output())
        count = broker.settled_jobs(at_least=JOBS)
        # A connection that is lost between the copy for the delay and the acknowledgement leaves two of one job.
        self.assertLess(count, 2 * JOBS)
