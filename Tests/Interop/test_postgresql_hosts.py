"""Workers of two hosts with one ledger in PostgreSQL: a cut connection, a killed worker, an absent ledger, a receipt, a list."""

import collections
import itertools
import json
import os
import pathlib
import time
import unittest
import uuid

import pika

import postgresql
import stack
import test_several_hosts
import test_smpp
from countersign_client import Client
from samples import in_seconds
from waiting import eventually

# Of each kind.
JOBS = 40
CALL_SECONDS = test_several_hosts.CALL_SECONDS
# Until all calls are under way; and how long the lane waits for an answer, and so how long a lease runs.
HOLD_SECONDS = 20
CALL_LIMIT_SECONDS = HOLD_SECONDS + CALL_SECONDS + 4
ROUNDS = postgresql.size(1, 3)
AWAY_SECONDS = 2
KINDS = ["report", "resend"]


class HostsTest(unittest.TestCase):
    """Half of the jobs may be sent again when nobody knows of a call, half may not. All calls are under way when it happens."""

    on_result = test_several_hosts.SeveralHostsTest.on_result
    cut = test_several_hosts.SeveralHostsTest.cut
    wait = test_several_hosts.SeveralHostsTest.wait

    def setUp(self):
        self.cluster = postgresql.Cluster().create()
        self.addCleanup(self.cluster.remove)
        self.numbers = itertools.count()
        test_several_hosts.SeveralHostsTest.setUp(self)

    def worker(self):
        def change(process):
            # Short calls make short leases. A batch then has 2 s.
            process.variables["COUNTERSIGN_LEDGER_LEASE_MARGIN_SECONDS"] = "20"
            process.lead_twilio_to(self.provider.server_port, f",\n      timeoutSeconds: {CALL_LIMIT_SECONDS}")

        return postgresql.worker(self, self.cluster, change=change)

    def begin(self):
        self.provider.goes_on.clear()
        texts = {kind: {} for kind in KINDS}
        for number in range(2 * JOBS):
            identifier, text, kind = str(uuid.uuid4()), str(uuid.uuid4()), KINDS[number // 2 % 2]
            texts[kind][identifier] = text
            body = {"to": f"+1415{2_200_000 + next(self.numbers)}", "text": text, "lane": "twilio", "deadline": in_seconds(600),
                    "onUnknown": kind}
            self.channel.basic_publish("", "sms.dispatch", json.dumps(body), pika.BasicProperties(
                type="sms.dispatch.v1", content_type="application/json", delivery_mode=2, message_id=identifier,
                user_id="operator"))
        everything = [text for kind in KINDS for text in texts[kind].values()]
        eventually("all calls are under way", lambda: self.provider.has_all(everything), timeout=HOLD_SECONDS)
        return texts

    def end(self, what, texts):
        """Waits for the results: how often the jobs of each kind were sent, and what was told of each."""
        self.wait({identifier: text for kind in KINDS for identifier, text in texts[kind].items()})
        found = []
        for kind in KINDS:
            times = collections.Counter(self.provider.sent[text] for text in texts[kind].values())
            told = collections.Counter("+".join(sorted(set(self.told[one]))) for one in texts[kind])
            print(f"\n  {what}, {kind}: {JOBS} jobs by times sent {dict(times)}, told as {dict(told)}", flush=True)
            found.append((times, told))
        return found

    def assert_nothing_happened(self, what, texts):
        self.assertEqual(self.end(what, texts), [({1: JOBS}, {"accepted": JOBS})] * 2)

    def test_a_connection_is_cut(self):
        for _ in range(ROUNDS):
            texts = self.begin()
            self.cut()
            self.assert_nothing_happened("connection cut", texts)

    def test_a_worker_is_killed_and_then_the_ledger_is_away(self):
        texts = self.begin()
        self.workers[0].kill()
        self.provider.goes_on.set()
        self.workers[0].start().ready()
        # While the leases of the killed one run, and when the calls of the other one have ended.
        time.sleep(CALL_SECONDS)
        others = self.begin()
        self.assertGreaterEqual(self.cluster.end_connections(), 2)
        self.cluster.stop()
        time.sleep(AWAY_SECONDS)
        self.cluster.start()
        self.provider.goes_on.set()
        (reported, reports), (resent, resents) = self.end("worker killed", texts)
        self.assertEqual((reported, set(reports)), ({1: JOBS}, {"accepted", "unknown"}))
        self.assertEqual(resents, {"accepted": JOBS})
        # The calls of the other one are made once.
        self.assertEqual(set(resent), {1, 2})
        self.assert_nothing_happened("ledger away", others)


class SuppressionListTest(unittest.TestCase):
    """The mail-worker of one host hears that an address is gone, and that of the other one has to forget it."""

    def setUp(self):
        stack.stop_for(self, "mail-worker")
        self.cluster = postgresql.Cluster().create()
        self.addCleanup(self.cluster.remove)
        self.client = Client.of(self)

    def relay(self, to):
        mail = {"to": to, "subject": "Hello", "text": "Hi", "deadline": in_seconds(120)}
        return self.client.job("mail.relay", mail, timeout=180)["reason"]["code"]

    def test_an_address_is_forgotten_by_all_hosts(self):
        to = f"gone+{uuid.uuid4().hex[:12]}@privaterelay.appleid.com"
        first = postgresql.worker(self, self.cluster, "mail-worker")
        self.assertEqual([self.relay(to), self.relay(to)], ["RECIPIENT_GONE", "RECIPIENT_SUPPRESSED"])
        self.assertEqual(first.stop(), 0)
        second = postgresql.worker(self, self.cluster, "mail-worker")
        self.assertEqual(self.relay(to), "RECIPIENT_SUPPRESSED")
        forget = {"addresses": [to], "knownBefore": in_seconds(60), "deadline": in_seconds(120)}
        operator = Client.of(self, os.environ["COUNTERSIGN_OPERATOR_AMQP_URL"])
        self.assertEqual(operator.job("mail.forget", forget)["outcome"], "accepted")
        self.assertEqual(second.stop(), 0)
        first.start().ready()
        self.assertEqual(self.relay(to), "RECIPIENT_GONE")


@unittest.skipUnless(test_smpp.smpp34, "the Python package smpp34 is not installed")
class ReceiptsTest(unittest.TestCase):
    """A receipt of an SMPP server comes to any of its sessions, and finds the job that another host sent."""

    server = test_smpp.SMPPTest.server
    job = test_smpp.SMPPTest.job
    send = test_smpp.SMPPTest.send
    results = test_smpp.SMPPTest.results
    reports = test_smpp.SMPPTest.reports

    def setUp(self):
        stack.stop_for(self, *test_smpp.WORKERS)
        self.cluster = postgresql.Cluster().create()
        self.addCleanup(self.cluster.remove)
        self.smsc = self.server()
        self.client = Client.of(self)

    def worker(self):
        def change(process):
            password = pathlib.Path(process.directory.name) / "password"
            password.write_text("sesame\n")
            password.chmod(0o600)
            lane = test_smpp.LANE.format(
                port=self.smsc.port, password=password, window=test_smpp.WINDOW, timeout=5, tls="false", more="")
            process.replace_lanes(lane)

        worker = postgresql.worker(self, self.cluster, change=change)
        worker.line("bound to the SMPP server")
        return worker

    def test_a_receipt_at_the_other_host_finds_its_job(self):
        reports = self.reports()
        self.worker()
        self.worker()
        sent = self.send(20)
        results = self.results(sent)
        self.assertEqual({one["outcome"] for one in results}, {"accepted"})
        for message in self.smsc.messages:
            other, = [session for number, session in self.smsc.sessions.items() if number != message.event.session_id]
            # A server asks again when it is told to.
            eventually("it is taken", lambda message=message, other=other: self.smsc.call(message.report(session=other)) == 0)
        found = reports(len(sent))
        self.assertEqual({key for key, _, _ in found}, {"sms.delivery.delivered"})
        self.assertEqual(sorted(correlated for _, correlated, _ in found), sorted(sent))
        self.assertEqual(
            {(body["jobID"], body["reference"]) for _, _, body in found},
            {(result["jobID"], result["reference"]) for result in results})
