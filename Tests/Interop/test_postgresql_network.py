"""The network between a coordinator and PostgreSQL dies: no packet arrives, and nobody is told.

What it had in hand is free within 10 s, by the server's own clock for connections. It publishes nothing of it.
"""

import time

from load import Load
from network import Network, is_allowed
from postgresql import COORDINATOR, DATABASE, Cluster, CoordinatorsTest, size, started

RATE = size(30, 60)
DEAD_SECONDS = size(9, 25)
FREE_SECONDS = 10
MAX_GAP_SECONDS = 3


class RemoteCluster(Cluster):
    def __init__(self, network):
        super().__init__("network")
        self.network = network
        self.wrapper = network.wrapper
        self.variables = {"POSTGRESQL_LISTEN": "*"}

    def create(self):
        self.start()
        with open(self.directory / "data" / "pg_hba.conf", "a", encoding="utf-8") as rules:
            rules.write("host all all samenet scram-sha-256\n")
        self.sql("SELECT pg_reload_conf()", "postgres")
        return super().create()

    def section_at(self, address):
        return self.section(COORDINATOR).replace("127.0.0.1", address).replace(" }", ", allowPlaintext: true }")

    def backends(self, process):
        """The connections of a process that the server believes in, and the number of its session."""
        return self.sql(f"""
            SELECT count(*), max(w.number)
            FROM pg_stat_activity a LEFT JOIN {DATABASE}.store_owner w ON w.process = a.pid
            WHERE a.application_name LIKE '%/{process.running.pid}'""").split("|")


class NetworkTest(CoordinatorsTest):
    def setUp(self):
        if not is_allowed():
            return
        self.network = Network()
        self.addCleanup(self.network.close)
        self.cluster = RemoteCluster(self.network)
        self.addCleanup(self.cluster.remove)
        self.cluster.create()
        self.coordinators = [self.coordinator(address) for address in self.network.addresses]

    def coordinator(self, address):
        return started(self, "coordinator", "database", self.cluster.section_at(address))

    def test_it_vanishes_and_comes_back(self):
        if not is_allowed():
            print("\n  needs root, for a network of its own: not done", flush=True)
            return
        dead, alive = self.coordinators
        load = Load(RATE * 60, RATE, limit_seconds=600).start()
        time.sleep(2)
        backends, owner = self.cluster.backends(dead)
        self.assertNotEqual((backends, owner), ("0", ""))
        load.mark(f"the network of a coordinator dies, which has {backends} connections")
        self.network.cut(self.network.addresses[0])
        begun = time.monotonic()
        while True:
            # On a busy machine the question itself takes a while.
            asked = time.monotonic() - begun
            held = self.cluster.backends(dead)
            if held[0] == "0":
                break
            self.assertLess(asked, FREE_SECONDS, held)
            time.sleep(0.1)
        free = time.monotonic() - begun
        load.mark("its locks are free")
        print(f"  free after {free:.1f} s", flush=True)
        time.sleep(max(0, DEAD_SECONDS - free))
        self.assertEqual(dead.get("/readyz")[0], 503)
        self.assertEqual(alive.get("/readyz")[0], 200)
        load.mark("it is back")
        self.network.mend(self.network.addresses[0])
        dead.ready(timeout=180)
        load.mark("the coordinator is ready again")
        time.sleep(2)
        load.end_soon()
        load.wait()
        print("\n  pauses: " + ", ".join(f"{text} {pause:.2f} s" for text, pause in load.pauses()), flush=True)
        self.require_settled(self.cluster, load)
        self.assertNotEqual(self.cluster.backends(dead)[1], owner)
        self.assertEqual([one.restarts for one in self.coordinators], [0, 0])
        self.assertLess(load.gaps()[0][0], MAX_GAP_SECONDS + 2 * load.longest_calm_gap())
