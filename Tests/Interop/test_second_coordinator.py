"""A second coordinator waits, says so, and takes over when the first has ended, however that ended."""

import time
import unittest

import broker
import simulator
import stack
from countersign_client import Client
from process import Process
from samples import new_number
from test_verification import APP
from waiting import eventually

# The lock is free as soon as the broker sees the connection end; who waits asks every second and a half.
TAKEOVER_SECONDS = 30
# How long the broker's figures may be older than what they are about.
FIGURES_SECONDS = 60


class SecondCoordinatorTest(unittest.TestCase):
    def setUp(self):
        self.client = Client.of(self)
        self.second = Process("coordinator")
        self.addCleanup(self.restore)

    def restore(self):
        # The first waits for as long as the second is there.
        self.second.__exit__()
        stack.start("coordinator")

    def start(self):
        number = new_number("+49160")
        started = self.client.command("verification.start", {"phoneNumber": number, "app": APP})
        return started["verificationID"], simulator.code(simulator.message(number)["body"])

    def check(self, begun):
        approved = self.client.command("verification.check", {"verificationID": begun[0], "code": begun[1]})
        self.assertEqual(approved["app"], APP)

    def readiness(self):
        return self.second.get("/readyz")

    def assert_takes_over(self):
        begun = time.monotonic()
        self.second.ready(timeout=TAKEOVER_SECONDS)
        self.assertLess(time.monotonic() - begun, TAKEOVER_SECONDS)

    def test_with_a_database_of_its_own(self):
        self.second.start()
        line = self.second.line("another process consumes the queue exclusively")
        self.assertIn("coordinator.commands", line)
        self.assertIn("only one may run at a time", line)
        # A quarter of them came to the wrong one when both consumed.
        for _ in range(8):
            self.check(self.start())
        status, body = self.readiness()
        self.assertEqual(status, 503)
        self.assertIn("another process consumes", body)
        stack.kill("coordinator")
        self.assert_takes_over()
        self.check(self.start())

    def test_a_cut_connection_gives_the_lock_up_soon(self):
        # The broker misses two heartbeats of the connection before it gives it up.
        found = eventually("the broker tells of it", lambda: [
            one["timeout"] for one in broker.management("/api/connections")
            if one["user"] == "coordinator" and "timeout" in one
            and one["client_properties"].get("connection_name", "").endswith(" commands")], FIGURES_SECONDS)
        self.assertEqual(found, [5])

    def test_on_the_same_database(self):
        self.second.variables["COUNTERSIGN_DATABASE_PATH"] = str(stack.DIRECTORY / "data" / "coordinator.sqlite")
        begun = [self.start(), self.start()]
        self.second.start()
        line = self.second.line("another process has the database")
        self.assertIn("end the other", line)
        self.assertEqual(self.readiness()[0], 503)
        self.check(begun[0])
        # A restart that rolls: the new one waits, the old one ends, and what it began goes on.
        stack.stop("coordinator")
        self.assert_takes_over()
        self.check(begun[1])
