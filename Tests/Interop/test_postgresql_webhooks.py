"""Two webhook-workers on one PostgreSQL database, one of them ill: no event is lost, and those of a subject come in order."""

import contextlib
import json
import tempfile
import time

import stack
import test_webhooks
from postgresql import SECRETS, Cluster, size, started
from preload import Clock, library
from process import countersign
from waiting import eventually

DATABASE = "countersign_webhooks"
WORKER = "webhook-worker"
SUBJECTS = size(20, 200)
# A claim ends after 30 s, the claim of what it had taken from the broker later.
RECOVERY_SECONDS = 240
# Longer than workers take to seal the stored secrets anew.
SEALED_SECONDS = 15
# Longer than a receiver takes a request for genuine, and than a claim.
WRONG_SECONDS = 600


class WorkersTest(test_webhooks.WebhookTest):
    @classmethod
    def setUpClass(cls):
        cls.library = library(cls.addClassCleanup, "clock_step")
        stack.stop_for_class(cls, WORKER)

    def setUp(self):
        self.cluster = Cluster("webhooks")
        self.addCleanup(self.cluster.remove)
        self.cluster.start()
        self.cluster.create_accounts(DATABASE, "webhooks")

    def begin(self, *seconds):
        """Two workers whose hosts' clocks are so far off."""
        self.workers = []
        for second in seconds:
            clock = Clock(self, self.library, second)
            url = f"postgresql://countersign_webhooks@127.0.0.1:{self.cluster.port}/{DATABASE}"
            self.workers.append(started(
                self, WORKER, "database",
                f'{{ type: "postgresql", url: "{url}", passwordFile: "{SECRETS}/postgresql-webhooks" }}',
                lambda process, clock=clock: process.variables.update(clock.variables)))
        super().setUp()
        self.all = self.subjects(SUBJECTS)

    @contextlib.contextmanager
    def frozen(self, worker):
        worker.pause()
        try:
            yield
        finally:
            worker.resume()

    def end(self, count):
        self.await_all(self.receiver, self.all, count, RECOVERY_SECONDS)
        eventually("not settled", lambda: self.show()["waiting"] == 0)

    def test_each_freezes_in_turn_and_the_other_one_goes_on(self):
        self.begin(0, 0)
        self.publish(self.all, range(5))
        for worker, numbers in zip(self.workers, [range(5, 8), range(8, 11)]):
            with self.frozen(worker):
                self.publish(self.all, numbers)
                self.await_all(self.receiver, self.all, numbers.stop, RECOVERY_SECONDS)
        self.end(11)

    def test_one_is_killed_again_and_again(self):
        self.begin(0, 0)
        for number in range(10):
            self.publish(self.all, [number])
            worker = self.workers[number % 2]
            worker.kill()
            worker.start()
        self.end(10)

    def test_one_has_another_clock(self):
        for seconds in [WRONG_SECONDS, -WRONG_SECONDS]:
            with self.subTest(seconds=seconds):
                self.begin(0, seconds)
                for number in range(10):
                    self.publish(self.all, [number])
                self.end(10)
                for worker in self.workers:
                    worker.stop()

    def test_their_keys_are_changed(self):
        """As docs/operations.md says: keys that take steps, 5."""
        made = countersign("keys", "generate", "--id", "next").stdout
        old, new = (json.loads(text)["keys"] for text in [(SECRETS / "webhook-keys.json").read_text(), made])
        self.begin(0, 0)
        for step, keys in enumerate([old + new, new + old, new]):
            file = self.enterContext(tempfile.NamedTemporaryFile("w"))
            json.dump({"keys": keys}, file)
            file.flush()
            for index, worker in enumerate(self.workers):
                self.assertEqual(worker.stop(), 0)
                self.publish(self.all, [2 * step + index])
                worker.replace(r'webhookKeysFile: "[^"]*"', f'webhookKeysFile: "{file.name}"')
                worker.start().ready()
            time.sleep(SEALED_SECONDS)
        self.end(6)
