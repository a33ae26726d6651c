"""Two coordinators on one PostgreSQL database, one of them ill: the other one has all commands within seconds."""

import os
import pathlib
import secrets
import tempfile
import time

import stack
from countersign_client import Client
from load import APP, Load
from postgresql import COORDINATOR, SECRETS, Cluster, CoordinatorsTest, Restarting, coordinator, size
from waiting import eventually

RATE = int(os.environ.get("COUNTERSIGN_LOAD_RATE", size(30, 60)))
STARTS = 60
# A member without a session steps aside after 2 s.
MAX_START_SECONDS = 3
STOPPED_SECONDS = size(9, 20)
# The broker misses two heartbeats of 2 s, and looks for that at their interval.
MAX_STOPPED_SECONDS = 8
# Longer than anything here: nothing is asked again.
NEVER_SECONDS = 600
# A role of its own for one of the two, which can be shut out alone.
SHUT = "countersign_shut"


class MembersTest(CoordinatorsTest):
    def setUp(self):
        self.cluster = Cluster("members").create()
        self.addCleanup(self.cluster.remove)

    def aside(self, process, reason):
        return process.metric("countersign_stepped_aside", reason=reason) == 1

    def starts(self, client, first):
        """The longest time until an answer, of as many starts at once."""
        numbers = [f"+49152{30_000_000 + first + 137 * index}" for index in range(STARTS)]
        begun, answered, left = time.monotonic(), [], {}
        for number in numbers:
            body = {"phoneNumber": number, "app": APP, "languageCode": "en"}
            left[client.send("countersign.commands", "verification.start", body)] = number
        while left and time.monotonic() - begun < 40:
            client.connection.process_data_events(time_limit=0.05)
            for correlation_id in [one for one in left if one in client.replies]:
                properties, _ = client.replies.pop(correlation_id)
                self.assertEqual(properties.type, "verification.started.v1")
                answered.append(time.monotonic() - begun)
                del left[correlation_id]
        self.assertEqual(len(left), 0, "starts without an answer")
        return max(answered)

    def test_one_has_no_database(self):
        password = (SECRETS / "postgresql-coordinator").read_text().strip()
        self.cluster.sql(f"CREATE ROLE {SHUT} LOGIN PASSWORD '{password}' IN ROLE countersign_coordinator")
        shut = coordinator(self, self.cluster, user=SHUT)
        other = coordinator(self, self.cluster)
        client = Client(os.environ["COUNTERSIGN_AMQP_URL"])
        self.addCleanup(client.connection.close)
        calm = self.starts(client, 0)
        self.cluster.sql(f"ALTER ROLE {SHUT} CONNECTION LIMIT 0")
        self.cluster.sql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{SHUT}'")
        at_once = self.starts(client, 10_000)
        self.assertTrue(self.aside(shut, "session"))
        later = self.starts(client, 20_000)
        print(f"\n  longest answer: {calm:.2f} s before, {at_once:.2f} s when it loses the database, {later:.2f} s after that",
              flush=True)
        self.assertLess(at_once, MAX_START_SECONDS + 2 * calm)
        self.assertLess(later, 1 + 2 * calm)
        status, body = shut.get("/readyz")
        self.assertEqual(status, 503)
        self.assertIn("there is no session with the database", body)
        self.assertEqual(other.get("/readyz")[0], 200)
        self.cluster.sql(f"ALTER ROLE {SHUT} CONNECTION LIMIT -1")
        shut.ready()
        self.assertFalse(self.aside(shut, "session"))
        before = shut.metric("countersign_commands_total", command="verification.start", code="OK")
        self.starts(client, 30_000)
        self.assertGreater(shut.metric("countersign_commands_total", command="verification.start", code="OK"), before)

    def pepper(self):
        path = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="countersign-pepper-"))) / "pepper"
        path.touch(mode=0o600)
        path.write_text(secrets.token_hex(32))
        return str(path)

    @staticmethod
    def use(process, pepper, previous=None):
        also = f' previousPepperFile: "{previous}",' if previous else ""
        process.replace(r'\bpepperFile: "[^"]*",(?: previousPepperFile: "[^"]*",)?', f'pepperFile: "{pepper}",{also}')

    def load(self, seconds):
        self.unknown_before = stack.ledger_unknown_calls()
        return Load(RATE * seconds, RATE, limit_seconds=600).start()

    def end(self, load):
        load.end_soon()
        load.wait()
        self.require_settled(self.cluster, load, stack.ledger_unknown_calls() - self.unknown_before)

    def test_one_has_another_pepper(self):
        first, wrong = self.pepper(), self.pepper()
        one = coordinator(self, self.cluster, change=lambda process: self.use(process, first))
        other = self.enterContext(Restarting("coordinator"))
        other.replace(r"(?<=\n)  database: \{[^}]*\}", f"  database: {self.cluster.section(COORDINATOR)}")
        self.use(other, wrong)
        other.start()
        load = self.load(60)
        eventually("it says why it is not ready", lambda: "pepperFile differs" in other.line("leaves its queues to others"))
        time.sleep(3)
        status, body = other.get("/readyz")
        self.assertEqual(status, 503)
        self.assertIn("previousPepperFile", body)
        self.assertTrue(self.aside(other, "secrets"))
        self.assertEqual(one.get("/readyz")[0], 200)
        self.assertEqual(one.metric("countersign_codes_lost_total", number="real"), 0)
        # With the right one it works at once.
        other.stop()
        self.use(other, first)
        other.start().ready()
        time.sleep(2)
        self.end(load)

    def test_the_pepper_is_changed(self):
        old, new = self.pepper(), self.pepper()
        both = [coordinator(self, self.cluster, change=lambda process: self.use(process, old)) for _ in range(2)]
        load = self.load(300)
        steps = [("each knows both", old, new), ("each makes codes with the new one", new, old)]
        for what, pepper, previous in steps:
            for process in both:
                time.sleep(2)
                load.mark(f"{what}: a coordinator is restarted")
                self.assertEqual(process.stop(), 0)
                self.use(process, pepper, previous)
                process.start().ready()
            for process in both:
                self.assertFalse(self.aside(process, "secrets"))
        # In one step: the second one steps aside until it has the new one too.
        newest = self.pepper()
        for process, rest in [(both[0], both[1]), (both[1], both[0])]:
            time.sleep(2)
            load.mark("in one step: a coordinator is restarted")
            self.assertEqual(process.stop(), 0)
            self.use(process, newest, new)
            process.start().ready()
            if process is both[0]:
                eventually("the other one steps aside", lambda rest=rest: self.aside(rest, "secrets"))
        time.sleep(2)
        self.end(load)
        for process in both:
            process.ready()
            self.assertEqual(process.metric("countersign_codes_lost_total", number="real"), 0)

    def test_one_is_frozen(self):
        coordinators = [coordinator(self, self.cluster) for _ in range(2)]
        self.unknown_before = stack.ledger_unknown_calls()
        load = Load(RATE * (STOPPED_SECONDS + 60), RATE, limit_seconds=600, ask_again=NEVER_SECONDS).start()
        time.sleep(3)
        coordinators[0].pause()
        load.mark("a coordinator is frozen")
        time.sleep(STOPPED_SECONDS)
        load.mark("it goes on")
        coordinators[0].resume()
        time.sleep(3)
        self.end(load)
        longest = load.latencies()[-1]
        print(f"  longest answer {longest:.2f} s", flush=True)
        self.assertEqual([one.name for one in load.commands.values() if one.asked > 1], [])
        self.assertLess(longest, MAX_STOPPED_SECONDS + 2 * load.longest_calm_gap())
        for process in coordinators:
            process.ready()
