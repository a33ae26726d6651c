"""A worker that has no connection yet, and a queue full of jobs, over TLS: the burst of handshakes does not take its lane down."""

import collections
import os
import pathlib

import simulator
from countersign_client import Burst, ClientTest
from process import Process
from samples import in_seconds, new_number

WORKERS = ["sms-worker-1", "sms-worker-2"]
CONCURRENCY = 256
SYSTEM_AUTHORITIES = pathlib.Path("/etc/ssl/certs/ca-certificates.crt")
LANE = """
lanes: [{{
  name: "twilio", type: "twilio", baseURL: "{url}", caFile: "{ca}", concurrency: {concurrency},
  accountSID: "AC00000000000000000000000000000001", passwordFile: "../secrets/twilio-auth-token", from: "+15005550006",
}}],
}}
"""


class ProviderTLSTest(ClientTest):
    without = WORKERS

    def setUp(self):
        # No client: the broker would close the connection of one that waits for minutes.
        self.addCleanup(simulator.clear_faults)

    def worker(self):
        """A worker whose only lane leads over TLS to the simulator, with all authorities of the system beside the stack's."""
        worker = self.enterContext(Process("sms-worker"))
        authorities = pathlib.Path(worker.directory.name) / "authorities.pem"
        authorities.write_text(
            SYSTEM_AUTHORITIES.read_text() + pathlib.Path(os.environ["COUNTERSIGN_CA_FILE"]).read_text())
        lane = LANE.format(url=os.environ["COUNTERSIGN_FRONT_URL"], ca=authorities, concurrency=CONCURRENCY)
        worker.replace_lanes(lane)
        return worker

    def test_an_authority_that_is_added_counts_without_a_restart(self):
        burst = Burst(self)
        worker = self.worker()
        authorities = pathlib.Path(worker.directory.name) / "authorities.pem"
        needed = authorities.read_text()
        authorities.write_text(SYSTEM_AUTHORITIES.read_text())
        worker.start().ready()
        burst.send({"to": new_number("+49170"), "text": "123456 is your code", "deadline": in_seconds(300), "onUnknown": "report"})
        # One refused certificate is enough to take the lane down: it is the same for every job.
        burst.wait(lambda: "CERTIFICATE_REFUSED" in worker.output(), 60)
        self.assertIn("lane is down", worker.output())
        authorities.write_text(needed)
        burst.wait(lambda: burst.results, 120)
        worker.stop()
        self.assertEqual([one["outcome"] for one in burst.results], ["accepted"])

    def test_a_cold_burst_is_sent(self):
        burst = Burst(self)
        for number in range(2 * CONCURRENCY):
            burst.send({"to": new_number("+49170"), "text": f"{number:06d} is your code", "deadline": in_seconds(600),
                        "onUnknown": "report"})
        worker = self.worker().start()
        burst.wait(lambda: len(burst.results) >= 2 * CONCURRENCY, 400)
        output = worker.output()
        worker.stop()
        self.assertEqual(collections.Counter(one["outcome"] for one in burst.results), {"accepted": 2 * CONCURRENCY})
        self.assertNotIn("lane is down", output)
