"""The wall clock of a worker's host is set while calls are under way: none ends otherwise for it, and no lane stays down."""

import unittest
import urllib.request
import uuid

import broker
import simulator
import stack
from countersign_client import Client
from preload import Clock, library
from process import Process
from samples import in_seconds, new_number
from waiting import eventually

JOBS = 25
# How long the provider takes for one message: long enough for all to be under way, and for the clock to be set meanwhile. The lane waits for
# longer.
CALL_SECONDS = 5
LANE_SECONDS = 60
# Longer than a lane that is down may take to be tried again.
PATIENCE_SECONDS = 150


class ClockTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.library = library(cls.addClassCleanup, "clock_step")
        stack.stop_for_class(cls, "sms-worker-1", "sms-worker-2")

    def setUp(self):
        # What other tests have left in delay steps would be counted with these jobs.
        broker.empty_job_queues()
        self.client = Client.of(self)
        self.addCleanup(simulator.clear_faults)
        self.worker = self.enterContext(Process("sms-worker"))
        self.worker.replace(r'(?<=type: "twilio",\n)', f"      timeoutSeconds: {LANE_SECONDS},\n")
        self.clock = Clock(self, self.library)
        self.worker.variables |= self.clock.variables
        self.worker.start().ready()

    def send(self):
        body = {"to": new_number("+49172"), "text": f"Hello {uuid.uuid4()}", "lane": "twilio", "deadline": in_seconds(7200)}
        self.client.send("countersign.jobs", "sms.dispatch", body, type="sms.dispatch.v1")

    def metric(self, name, **labels):
        """The sum of a metric's series that have those labels."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.worker.port}/metrics", timeout=60) as response:
            lines = response.read().decode().splitlines()
        wanted = [f'{key}="{value}"' for key, value in labels.items()]
        return sum(
            float(line.rsplit(" ", 1)[1]) for line in lines
            if line.split("{")[0].split(" ")[0] == name and all(text in line for text in wanted))

    def ended(self, outcome):
        return self.metric("countersign_jobs_total", type="sms.dispatch", outcome=outcome)

    def calls(self):
        return self.metric("countersign_lane_calls_in_flight", type="sms.dispatch", lane="twilio")

    def is_up(self):
        return self.metric("countersign_lane_up", type="sms.dispatch", lane="twilio") == 1

    def test_calls_under_way_end_as_they_would_have(self):
        for step in [60, 0, 3600, 0, -3600]:
            with self.subTest(step=step):
                simulator.inject(provider="twilio", fault="latency", delaySeconds=CALL_SECONDS, count=10 * JOBS)
                expected = self.ended("accepted") + JOBS
                for _ in range(JOBS):
                    self.send()
                eventually("all calls are under way", lambda: self.calls() >= JOBS, PATIENCE_SECONDS)
                self.clock.set(step)
                eventually("all are accepted", lambda: self.ended("accepted") >= expected, PATIENCE_SECONDS)
                self.assertEqual(sum(self.ended(outcome) for outcome in ["unknown", "refused", "expired"]), 0)
                self.assertTrue(self.is_up())
                self.assertEqual(self.metric("countersign_worker_paused"), 0)
                simulator.clear_faults()
        self.assertNotIn("lane is down", self.worker.output())

    def test_a_lane_that_is_down_comes_up_though_the_clock_was_set_back(self):
        simulator.inject(provider="twilio", fault="401", count=1000)
        self.send()
        eventually("the lane is down", lambda: not self.is_up(), PATIENCE_SECONDS)
        self.clock.set(-3600)
        simulator.clear_faults()
        self.send()
        eventually("the lane is up", self.is_up, PATIENCE_SECONDS)
        eventually("a job is accepted", lambda: self.ended("accepted") >= 1, PATIENCE_SECONDS)
