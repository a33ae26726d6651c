"""Jobs that are being retried when their connection to the broker is lost: as many as before."""

import http.server
import json
import os
import threading
import time
import unittest
import urllib.parse
import uuid

import broker
import stack
from countersign_client import Client
from process import Process

JOBS = 20
LOSSES = 3
# How long the provider takes to say that it is busy.
CALL_SECONDS = 3


class BusyProvider(http.server.BaseHTTPRequestHandler):
    """Takes its time, and then takes nothing."""

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


def eventually(what, condition, timeout=60):
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
        for name in ["sms-worker-1", "sms-worker-2"]:
            stack.stop(name)
            self.addCleanup(stack.start, name)
        # What other tests have left in delay steps would leave them in the middle of this one.
        broker.empty_job_queues()
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

    def consumer(self):
        """The name of the worker's connection that consumes."""
        suffix = f"/{self.worker.running.pid} consumer"
        return next((one["name"] for one in broker.management("/api/connections")
                     if one.get("client_properties", {}).get("connection_name", "").endswith(suffix)), None)

    def messages(self):
        """How many jobs there are, in the queue, in hand and in delay steps."""
        return sum(broker.job_queues().values())

    def test_as_many_as_before(self):
        eventually("nothing of other tests is left", lambda: self.messages() == 0)
        deadline = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 180))
        for number in range(JOBS):
            body = {"to": f"+1415{2_000_000 + number}", "text": f"{uuid.uuid4()}", "lane": "twilio", "deadline": deadline}
            self.client.send("countersign.jobs", "sms.dispatch", body, type="sms.dispatch.v1")
        for loss in range(LOSSES):
            calls = self.provider.calls
            eventually("calls are under way", lambda: self.provider.calls >= (JOBS if loss == 0 else calls + 1))
            name = eventually("the consumer is there", self.consumer)
            broker.management(f"/api/connections/{urllib.parse.quote(name, safe='')}", "DELETE")
            eventually("it has a new connection", lambda: self.consumer() not in (None, name))
        # What is called ends, and the figures of the management API are up to date.
        time.sleep(CALL_SECONDS + 4)
        counts = set()
        for _ in range(5):
            counts.add(self.messages())
            time.sleep(1)
        # A job is in two places for as long as its copy is in the delay step and it is not acknowledged.
        self.assertEqual(min(counts), JOBS, counts)
        self.assertLess(max(counts), 2 * JOBS, counts)


if __name__ == "__main__":
    unittest.main()
