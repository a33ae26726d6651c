"""2,000 verifications while every process is killed once and the broker is restarted.

Every verification ends approved, none is lost, no number gets two different codes, and an SMS is sent twice only where the
first attempt's end was truly unknown.
"""

import functools
import os
import time
import unittest

import simulator
import stack
from load import Load

VERIFICATIONS = int(os.environ.get("COUNTERSIGN_CHAOS_VERIFICATIONS", "2000"))
RATE = int(os.environ.get("COUNTERSIGN_LOAD_RATE", "40"))
PROCESSES = ["sms-worker-1", "sms-worker-2", "coordinator"]
DOWN_SECONDS = 1.5
# The provider takes so long to answer that whoever is killed has calls under way.
PROVIDER_LATENCY_SECONDS = 0.3


class ChaosTest(unittest.TestCase):
    @staticmethod
    def kill(name):
        stack.kill(name)
        time.sleep(DOWN_SECONDS)
        stack.start(name)

    def test_nothing_is_lost(self):
        stack.require_all_ready()
        simulator.inject(provider="any", fault="latency", count=10 * VERIFICATIONS, delaySeconds=PROVIDER_LATENCY_SECONDS)
        self.addCleanup(simulator.clear_faults)
        for name in PROCESSES:
            self.addCleanup(stack.start, name)
        accidents = [(f"kill {name}", functools.partial(self.kill, name)) for name in PROCESSES]
        accidents.append(("restart the broker", stack.restart_broker))
        before = stack.ledger_unknown_calls()
        load = Load(VERIFICATIONS, RATE, limit_seconds=VERIFICATIONS / RATE + 600).start()
        load.suffer(self, accidents)
        load.wait()
        load.verify(self, stack.ledger_unknown_calls() - before)
