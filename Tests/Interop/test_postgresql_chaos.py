"""Verifications with everything on PostgreSQL, while processes and PostgreSQL are killed, and the broker restarts."""

import functools
import os
import time

import postgresql
import simulator
import stack
from load import Load

VERIFICATIONS = int(os.environ.get("COUNTERSIGN_CHAOS_VERIFICATIONS", postgresql.size(400, 4000)))
RATE = int(os.environ.get("COUNTERSIGN_LOAD_RATE", postgresql.size(25, 40)))
DOWN_SECONDS = 1.5
# The provider takes so long to answer that whoever is killed has calls under way.
PROVIDER_LATENCY_SECONDS = 0.3


class ChaosTest(postgresql.CoordinatorsTest):
    def setUp(self):
        stack.stop_for(self, "sms-worker-1", "sms-worker-2")
        self.cluster = postgresql.Cluster().create()
        self.addCleanup(self.cluster.remove)
        self.coordinators = [postgresql.coordinator(self, self.cluster) for _ in range(2)]
        self.workers = [postgresql.worker(self, self.cluster) for _ in range(2)]

    @staticmethod
    def kill(process):
        process.kill()
        time.sleep(DOWN_SECONDS)
        process.start()

    def restart_database(self):
        self.cluster.stop()
        time.sleep(DOWN_SECONDS)
        self.cluster.start()

    def crash_database(self):
        self.cluster.kill()
        time.sleep(DOWN_SECONDS)
        self.cluster.start()

    def test_nothing_is_lost(self):
        simulator.inject(provider="any", fault="latency", count=10 * VERIFICATIONS, delaySeconds=PROVIDER_LATENCY_SECONDS)
        self.addCleanup(simulator.clear_faults)
        accidents = [
            ("kill a coordinator", lambda: self.kill(self.coordinators[0])),
            ("restart PostgreSQL", self.restart_database),
            ("kill the other coordinator", lambda: self.kill(self.coordinators[1])),
            ("kill PostgreSQL", self.crash_database),
        ]
        if postgresql.IS_LONG:
            # The calls of a worker that dies are waited for as long as their leases run. In the short run,
            # test_postgresql_hosts kills one, and test_chaos restarts the broker.
            accidents = [(f"kill worker {number}", functools.partial(self.kill, worker))
                         for number, worker in enumerate(self.workers)] + accidents
            accidents.append(("restart the broker", stack.restart_broker))
        load = Load(VERIFICATIONS, RATE, limit_seconds=VERIFICATIONS / RATE + 600).start()
        load.suffer(self, accidents)
        load.wait()
        print("\n  pauses: " + ", ".join(f"{text} {pause:.2f} s" for text, pause in load.pauses()), flush=True)
        for process in self.coordinators + self.workers:
            self.assertEqual(process.restarts, 1 if postgresql.IS_LONG or process in self.coordinators else 0)
            process.ready()
        self.require_settled(self.cluster, load, self.cluster.unknown_calls())
