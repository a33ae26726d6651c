"""Two coordinators on one PostgreSQL database whose clocks differ: no number gets two SMS, and every code is good at both.

Counts what reaches the phones. The long form (COUNTERSIGN_TEST_ALL=1) has 1,000 pairs and 300 verifications.
"""

import collections
import time

import simulator
from countersign_client import Client
from load import APP, Load
from postgresql import Cluster, CoordinatorsTest, coordinator, size
from preload import Clock, library
from waiting import eventually

PAIRS = size(100, 1000)
VERIFICATIONS = size(30, 300)
# As many as wait for an answer at a time.
AT_ONCE = 20
SET = "or this host stood still"
DIFFERENCE = "countersign_database_clock_difference_seconds"
PATIENCE_SECONDS = 60


class ClocksTest(CoordinatorsTest):
    @classmethod
    def setUpClass(cls):
        cls.library = library(cls.addClassCleanup, "clock_step")
        super().setUpClass()

    def setUp(self):
        self.server = Clock(self, self.library)
        self.cluster = Cluster("clocks")
        self.cluster.variables = {
            "POSTGRESQL_PRELOAD": self.server.variables["LD_PRELOAD"], "CLOCK_STEP_FILE": self.server.variables["CLOCK_STEP_FILE"]}
        self.addCleanup(self.cluster.remove)
        self.cluster.create()
        self.client = Client.of(self)

    def begin(self, *seconds):
        """Two coordinators whose hosts' clocks are so far off."""
        self.clocks = [Clock(self, self.library, one) for one in seconds]
        self.coordinators = [
            coordinator(self, self.cluster, change=lambda process, clock=clock: process.variables.update(clock.variables))
            for clock in self.clocks]

    def send(self, name, body):
        return self.client.send("countersign.commands", name, body)

    def reply(self, correlation, type):
        properties, body = self.client.wait(correlation)
        self.assertEqual(properties.type, type, body)
        return body

    def numbers(self, count):
        first = Load.used_numbers
        Load.used_numbers += count
        return [f"+49152{index * 4801 % 90_000_000 + 10_000_013}" for index in range(first, first + count)]

    def chunks(self, count):
        numbers = self.numbers(count)
        return [numbers[at:at + AT_ONCE] for at in range(0, count, AT_ONCE)]

    # Pairs

    def start_pairs(self):
        """Two starts of each number at once: the broker gives the coordinators one each. How many got how many SMS."""
        sent, numbers = collections.Counter(), set()
        for chunk in self.chunks(PAIRS):
            numbers.update(chunk)
            asked = []
            for number in chunk:
                body = {"phoneNumber": number, "app": APP, "languageCode": "en"}
                asked += [(number, self.send("verification.start", body)) for _ in range(2)]
            started = collections.defaultdict(set)
            for number, correlation in asked:
                started[number].add(self.reply(correlation, "verification.started.v1")["verificationID"])
            self.assertEqual({len(ids) for ids in started.values()}, {1}, "a number has two verifications")
            for number in chunk:
                simulator.message(number)
        time.sleep(1)
        sent.update(one["to"] for one in simulator.newest(4 * PAIRS) if one["to"] in numbers)
        return sent

    def assert_one_each(self, sent):
        print(f"\n  {PAIRS} pairs, SMS per number: {dict(collections.Counter(sent.values()))}", flush=True)
        self.assertEqual({number: count for number, count in sent.items() if count > 1}, {})
        worked = [self.commands(one, "verification.start") for one in self.coordinators]
        self.assertGreater(min(worked), PAIRS / 4, f"one of them did nothing: {worked}")

    def commands(self, process, name):
        return process.metric("countersign_commands_total", command=name, code="OK") or 0

    def test_pairs_of_starts_with_equal_clocks(self):
        self.begin(0, 0)
        self.assert_one_each(self.start_pairs())

    def test_pairs_of_starts_with_clocks_five_seconds_apart(self):
        self.begin(0, 5)
        self.assert_one_each(self.start_pairs())

    # A clock that is wrong

    def verify(self, count):
        """Verifications from start to approval, whoever carries out which step: how many were approved."""
        approved = 0
        for chunk in self.chunks(count):
            asked = [
                self.send("verification.start", {"phoneNumber": number, "app": APP, "languageCode": "en"}) for number in chunk]
            started = [self.reply(one, "verification.started.v1") for one in asked]
            checks = []
            for number, one in zip(chunk, started):
                code = simulator.code(simulator.message(number)["body"])
                checks.append(self.send("verification.check", {"verificationID": one["verificationID"], "code": code}))
            for one in checks:
                self.reply(one, "verification.approved.v1")
                approved += 1
        return approved

    def test_one_coordinator_ten_minutes_ahead(self):
        self.begin(0, 600)
        right, wrong = self.coordinators
        self.assertEqual(self.verify(VERIFICATIONS), VERIFICATIONS)
        for name in ["verification.start", "verification.check"]:
            self.assertGreater(self.commands(wrong, name), VERIFICATIONS / 4)
        self.assertAlmostEqual(wrong.metric(DIFFERENCE), -600, delta=1)
        self.assertLess(abs(right.metric(DIFFERENCE)), 1)
        self.assertEqual(wrong.output().count("this host's clock differs from the database's"), 1)
        self.assertNotIn("differs from the database's", right.output())
        self.assertEqual(wrong.get("/readyz")[0], 200)
        # NTP sets it right, and the other one's goes wrong: nothing happens but that it is said.
        self.clocks[1].set(0)
        self.clocks[0].set(-600)
        wrong.line("agrees with the database's again")
        right.line("differs from the database's")
        self.assertEqual(self.verify(AT_ONCE), AT_ONCE)
        for process in self.coordinators:
            self.assertNotIn(SET, process.output())

    # The server's clock is set

    def test_the_clock_of_the_server_is_set(self):
        self.begin(0, 0)
        for times, step in enumerate([600, 0], 1):
            self.server.set(step)
            for process in self.coordinators:
                eventually(
                    "it has taken the server's time over", lambda process=process: process.output().count(SET) == times,
                    PATIENCE_SECONDS)
                eventually("it is ready", lambda process=process: process.get("/readyz")[0] == 200, PATIENCE_SECONDS)
            if step == 0:
                self.assertEqual(self.verify(AT_ONCE), AT_ONCE)
            else:
                # Their sender's clock is behind now.
                asked = self.send("verification.start", {"phoneNumber": self.numbers(1)[0], "app": APP})
                self.assertEqual(self.reply(asked, "error.v1")["error"]["reason"], "COMMAND_TOO_OLD")
