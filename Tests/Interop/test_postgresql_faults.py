"""What can happen to PostgreSQL while two coordinators work: nothing is lost, and how long it pauses is told."""

import os
import time

import stack
from load import Load
from postgresql import CoordinatorsTest, Pair, Readiness, SmallDisk, coordinator, size
from waiting import eventually

TIMES = size(1, 3)
RATE = int(os.environ.get("COUNTERSIGN_LOAD_RATE", size(40, 60)))
BETWEEN_SECONDS = size(3, 8)
FAULT_SECONDS = size(2, 5)
# The server's stop and start, and the coordinators' way back, take no longer.
RECOVERY_SECONDS = 90


class FaultsTest(CoordinatorsTest):
    def run_faults(self, cluster, faults, after=None):
        """Does something to the server again and again under load; says what became of it.

        A fault is its name, what brings it about and mends it, how often, and what /readyz says meanwhile. Afterwards
        another server may have the data.
        """
        self.addCleanup(cluster.remove)
        cluster.create()
        self.coordinators = [coordinator(self, cluster) for _ in range(2)]
        before = stack.ledger_unknown_calls()
        # More than enough; it ends with the last fault.
        seconds = sum(times for _, _, times, _ in faults) * (BETWEEN_SECONDS + FAULT_SECONDS + RECOVERY_SECONDS)
        load = Load(RATE * seconds, RATE, limit_seconds=seconds + 600).start()
        for fault in faults:
            self.run_fault(load, *fault)
        time.sleep(BETWEEN_SECONDS / 2)
        load.end_soon()
        load.wait()
        print("\n  pauses: " + ", ".join(f"{text} {pause:.2f} s" for text, pause in load.pauses()), flush=True)
        self.require_settled(after or cluster, load, stack.ledger_unknown_calls() - before)
        for process in self.coordinators:
            self.assertIsNone(process.running.poll())
            self.assertEqual(process.restarts, 0)

    def run_fault(self, load, what, act, times, reason):
        """One of them, so many times: both coordinators tell of it, and are ready again by themselves."""
        with Readiness(*self.coordinators) as readiness:
            for _ in range(times):
                time.sleep(BETWEEN_SECONDS)
                self.assertFalse(load.is_over(), f"no load is left for: {what}")
                load.mark(what)
                act()
                load.mark("it is over")
                for process in self.coordinators:
                    process.ready()
        said = sorted({one for found in readiness.reasons.values() for one in found})
        print(f"  /readyz when {what}: " + " | ".join(said[:3]), flush=True)
        for process in self.coordinators if reason else []:
            self.assertRegex("\n".join(readiness.reasons[process]), reason, what)

    def test_it_goes_away(self):
        cluster = Pair()

        def restart():
            cluster.stop()
            time.sleep(FAULT_SECONDS)
            cluster.start()

        def crash():
            cluster.kill()
            time.sleep(FAULT_SECONDS)
            cluster.start()

        def read_only():
            cluster.set_read_only(True)
            time.sleep(FAULT_SECONDS)
            cluster.set_read_only(False)

        def end_connections():
            self.assertGreaterEqual(cluster.end_connections(), 2)
            eventually("they are connected again", lambda: cluster.connections() >= 2)

        def fail_over():
            cluster.add_standby()
            cluster.fail_over()

        self.run_faults(cluster, [
            ("PostgreSQL is restarted", restart, TIMES, "(?i)database|PostgreSQL"),
            ("PostgreSQL is killed", crash, TIMES, "(?i)database|PostgreSQL"),
            ("it is read-only", read_only, TIMES, "(?i)read-only|read only"),
            ("its connections are killed", end_connections, TIMES, None),
            ("it fails over to its standby", fail_over, 1, "(?i)database|PostgreSQL"),
        ], after=cluster.standby)

    def test_its_disk_is_full(self):
        cluster = SmallDisk()

        def fill():
            cluster.fill()
            # Pages that have room are written for a while.
            eventually("a coordinator is not ready", lambda: any(one.get("/readyz")[0] != 200 for one in self.coordinators))
            time.sleep(FAULT_SECONDS)
            print(f"  the server {'runs' if cluster.runs() else 'has ended'}", flush=True)
            cluster.free()

        self.run_faults(cluster, [("its disk is full", fill, TIMES, "(?i)disk|space")])
