"""Two coordinators on one PostgreSQL database: either is stopped, and killed again and again under load, and one hangs.

Every command is answered, all its answers are alike, it has one effect, and the pauses are short.
"""

import os
import time

import postgresql
import stack
from load import Load
from postgresql import Cluster, coordinator, size

VERIFICATIONS = int(os.environ.get("COUNTERSIGN_KILL_VERIFICATIONS", size(640, 10_000)))
# Debug builds on two cores take little more. The figure of a release build is measured with COUNTERSIGN_LOAD_RATE=300.
RATE = int(os.environ.get("COUNTERSIGN_LOAD_RATE", size(40, 60)))
KILL_SECONDS = 3
# What a busy machine has not answered by then is lost.
PATIENCE_SECONDS = 10
# At least.
KILLS = 2
SPARE_SECONDS = 120
# 2 s is the target; a shared machine stops for a moment now and then, and a busy one takes longer even when nothing happens.
MAX_GAP_SECONDS = float(os.environ.get("COUNTERSIGN_MAX_GAP_SECONDS", "3"))
# Longer than the server bears a silent transaction.
HANG_SECONDS = size(7, 15)
# Who hangs inside of a transaction holds up the others until the server ends its session (idle_in_transaction_session_timeout).
MAX_HANG_SECONDS = 12
MAX_PAUSES = 300


class CoordinatorsTest(postgresql.CoordinatorsTest):
    def setUp(self):
        self.cluster = Cluster().create()
        self.addCleanup(self.cluster.remove)
        self.coordinators = [coordinator(self, self.cluster) for _ in range(2)]
        self.unknown_before = stack.ledger_unknown_calls()

    def load(self, count):
        return Load(count, RATE, limit_seconds=count / RATE + 600, ask_again=PATIENCE_SECONDS).start()

    def end(self, load):
        load.wait()
        self.require_settled(self.cluster, load, stack.ledger_unknown_calls() - self.unknown_before)

    def stop_and_start_each(self, load):
        """In order: from when on that is over."""
        for process in self.coordinators:
            time.sleep(2)
            load.mark("a coordinator is restarted")
            self.assertEqual(process.stop(), 0)
            process.start().ready()
        time.sleep(1)
        return time.monotonic()

    def test_stopped_and_then_killed_every_three_seconds(self):
        # Where the starts take long, there is load left for the kills.
        load = self.load(VERIFICATIONS + SPARE_SECONDS * RATE)
        begun = self.stop_and_start_each(load)
        killed = 0
        while not load.is_over() and (load.approved < VERIFICATIONS or killed < KILLS):
            time.sleep(KILL_SECONDS)
            process = self.coordinators[killed % 2]
            process.kill()
            process.start()
            killed += 1
        load.end_soon()
        print(f"\n  {killed} coordinators killed", flush=True)
        self.assertGreaterEqual(killed, KILLS)
        self.end(load)
        self.assertLess(load.gaps()[0][0], MAX_GAP_SECONDS + 2 * load.longest_calm_gap())
        # What one had begun it ended before it stopped, and what it had not, the other one got at once.
        again = [one.name for one in load.commands.values() if one.first_asked < begun - 0.5 and one.asked > 1]
        self.assertEqual(again, [])
        for process in self.coordinators:
            process.ready()

    def hang_inside_a_transaction(self, process):
        """Stops a coordinator where it holds locks that the other one needs."""
        name = f"%/{process.running.pid}"
        for _ in range(MAX_PAUSES):
            process.pause()
            inside = self.cluster.sql(
                f"SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE '{name}' AND state LIKE 'idle in%'")
            if inside != "0":
                return
            process.resume()
            time.sleep(0.01)
        self.fail("it is never inside of a transaction")

    def test_one_hangs(self):
        load = self.load(RATE * (HANG_SECONDS + size(6, 10)))
        time.sleep(3)
        self.hang_inside_a_transaction(self.coordinators[0])
        load.mark("a coordinator hangs")
        time.sleep(HANG_SECONDS)
        load.mark("it goes on")
        self.coordinators[0].resume()
        self.end(load)
        print("  pauses: " + ", ".join(f"{text} {pause:.2f} s" for text, pause in load.pauses()), flush=True)
        self.assertLess(load.gaps()[0][0], MAX_HANG_SECONDS + 2 * load.longest_calm_gap())
        for process in self.coordinators:
            process.ready()
