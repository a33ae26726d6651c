"""Jobs that are being retried when their connection to the broker is lost: as many as before."""

import http.server
import json
import os
import threading
import time
import unittest
import uuid

import broker
import stack
from countersign_client import Client
from process import Process

JOBS = 20
LOSSES = 3
# How long the provider takes to say that it is busy.
CALL_SECONDS = 3
# Longer than the test and every delay in it, so that none expires.
DEADLINE_SECONDS = 3600


class BusyProvider(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.called()
        time.sleep(CALL_SECONDS)
        body = json.dumps({"code": 20429, "message": "Too Many Requests", "status": 429}).encode()
        self.send_response(429)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class BusyServer(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self):
        super().__init__(("127.0.0.1", 0), BusyProvider)
        self.calls, self.lock = 0, threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def called(self):
        with self.lock:
            self.calls += 1

    def handle_error(self, *_):
        """A worker that stops resets its connections."""


def eventually(what, condition, timeout=120):
    """Waits until a condition holds; the value that it had."""
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} within {timeout} s")
        time.sleep(0.1)


class LostConnectionTest(unittest.TestCase):
    def setUp(self):
        stack.stop_for(self, "sms-worker-1", "sms-worker-2")
        # What other tests have left in delay steps would leave them in the middle of this one; and nobody needs what this one leaves.
        broker.empty_job_queues()
        self.addCleanup(broker.empty_job_queues)
        self.client = Client(os.environ["COUNTERSIGN_AMQP_URL"])
        self.addCleanup(self.client.close)
        self.provider = BusyServer()
        self.addCleanup(self.provider.server_close)
        self.addCleanup(self.provider.shutdown)
        self.worker = Process("sms-worker")
        self.addCleanup(self.end)
        self.worker.replace(
            r'(?<=type: "twilio",\n      concurrency: 64,\n      baseURL: )"[^"]*"',
            f'"http://127.0.0.1:{self.provider.server_address[1]}"')
        # That the provider is busy is no reason to leave the lane.
        self.worker.replace(r'(?<=type: "twilio",\n)', "      breakerThreshold: 0,\n")
        self.worker.start()
        self.worker.ready()

    def end(self):
        with self.worker:
            if self.worker.running and self.worker.running.poll() is None:
                self.worker.stop()

    def test_as_many_as_before(self):
        deadline = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + DEADLINE_SECONDS))
        for number in range(JOBS):
            body = {"to": f"+1415{2_000_000 + number}", "text": f"{uuid.uuid4()}", "lane": "twilio", "deadline": deadline}
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
