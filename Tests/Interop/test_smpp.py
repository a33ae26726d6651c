"""The SMPP lane of the sms-worker against a server that somebody else wrote."""

import asyncio
import collections
import json
import os
import pathlib
import ssl
import time
import unittest
import uuid

import pika

from countersign_client import Burst, ClientTest
from process import CONFIGURATIONS, Process
from samples import in_seconds
from waiting import eventually

try:
    import smpp34
    import smsc
except ImportError:
    smpp34 = None

WORKERS = ["sms-worker-1", "sms-worker-2"]
WINDOW = 50
LANE = """
lanes: [{{
  name: "smpp", type: "smpp", host: "127.0.0.1", port: {port}, systemID: "interop", passwordFile: "{password}",
  from: "Example", window: {window}, concurrency: 200, timeoutSeconds: {timeout}, tls: {tls}, {more}
}}],
}}
"""


@unittest.skipUnless(smpp34, "the Python package smpp34 is not installed")
class SMPPTest(ClientTest):
    without = WORKERS

    def setUp(self):
        super().setUp()
        self.smsc = self.server()

    def server(self, **options):
        server = smsc.SMSC(**options)
        server.__enter__()
        self.addCleanup(server.__exit__)
        return server

    def worker(self, timeout=5, more="", tls="false", window=WINDOW, says="bound to the SMPP server"):
        """Starts a worker whose only lane leads to the server, and waits until it says that it is bound."""
        worker = self.enterContext(Process("sms-worker"))
        password = pathlib.Path(worker.directory.name) / "password"
        password.write_text("sesame\n")
        password.chmod(0o600)
        lane = LANE.format(port=self.smsc.port, password=password, window=window, timeout=timeout, tls=tls, more=more)
        worker.replace_lanes(lane)
        worker.start()
        worker.line(says)
        return worker

    def job(self, text="482913 is your code", number=None, **fields):
        number = number or f"+49170{uuid.uuid4().int % 10_000_000:07d}"
        return {"to": number, "text": text, "deadline": in_seconds(300), "onUnknown": "report", **fields}

    def send(self, count=1, **fields):
        return [self.client.send("countersign.jobs", "sms.dispatch", self.job(**fields)) for _ in range(count)]

    def in_bulk(self, jobs):
        """Enqueues jobs without waiting for a confirm each, which would not fill a window: the results and the seconds."""
        burst = Burst(self)
        begun = time.monotonic()
        for job in jobs:
            burst.send(job)
        burst.wait(lambda: len(burst.results) >= len(jobs), 280)
        return burst.results, time.monotonic() - begun

    def results(self, ids, timeout=120):
        return [self.client.wait(one, timeout)[1] for one in ids]

    def test_a_message_is_taken_and_the_server_reads_what_was_meant(self):
        self.worker()
        result = self.results(self.send(text="Größe: 5 €"))[0]
        self.assertEqual(result["outcome"], "accepted")
        message, = self.smsc.messages
        self.assertEqual(result["reference"], message.id)
        self.assertEqual((message.data_coding, message.has_header), (0, False))
        self.assertEqual(message.octets, b"Gr\x7c\x1ee: 5 \x1b\x65")
        self.assertTrue(message.to.startswith("49170"))

    def test_segments_are_in_order_and_cut_between_characters(self):
        self.worker()
        result = self.results(self.send(text="👍🏽" * 40))[0]
        self.assertEqual(result["outcome"], "accepted")
        headers = [message.octets[:6] for message in self.smsc.messages]
        self.assertEqual([header[:3] for header in headers], [b"\x05\x00\x03"] * result["segments"])
        self.assertEqual([header[4:] for header in headers],
                         [bytes([result["segments"], n + 1]) for n in range(result["segments"])])
        self.assertEqual(len({header[3] for header in headers}), 1)
        texts = [message.octets[6:].decode("utf-16-be") for message in self.smsc.messages]
        self.assertEqual("".join(texts), "👍🏽" * 40)
        self.assertTrue(all(text.startswith("👍🏽") for text in texts))
        self.assertEqual(result["reference"], self.smsc.messages[-1].id)

    def test_national_tables_are_named_in_the_header(self):
        self.worker(more="nationalShiftTables: true")
        # 100 characters: two segments of UCS-2, one with the table of Turkish.
        result = self.results(self.send(text="ş" * 10 + "a" * 90))[0]
        self.assertEqual((result["outcome"], result["segments"], result["nationalLanguage"]), ("accepted", 1, "turkish"))
        message, = self.smsc.messages
        self.assertEqual((message.data_coding, message.has_header), (0, True))
        self.assertIn(message.octets[:4], [b"\x03\x24\x01\x01", b"\x03\x25\x01\x01"])
        escaped = message.octets[1] == 0x24
        self.assertEqual(message.octets[4:], (b"\x1b\x73" if escaped else b"\x1d") * 10 + b"a" * 90)

    def test_a_long_text_as_a_payload(self):
        self.worker(more='encodingOfLongMessages: "payload"')
        result = self.results(self.send(text="a" * 1530))[0]
        self.assertEqual(result["outcome"], "accepted")
        message, = self.smsc.messages
        self.assertEqual(message.parameters[smpp34.TLV_MESSAGE_PAYLOAD], b"a" * 1530)
        self.assertEqual(message.octets, b"")

    def test_thousands_in_a_window_each_once(self):
        self.worker()
        count = 3000

        async def after_a_while(message):
            await asyncio.sleep(0.01)
            message.accept()

        self.smsc.decide = after_a_while
        results, took = self.in_bulk([self.job() for _ in range(count)])
        print(f"{count} messages in {took:.1f} s: {count / took:.0f}/s, at most {self.smsc.most_open} under way")
        self.assertEqual(collections.Counter(one["outcome"] for one in results), {"accepted": count})
        self.assertEqual(len(self.smsc.messages), count)
        self.assertEqual(len({one["reference"] for one in results}), count)
        self.assertLessEqual(self.smsc.most_open, WINDOW)
        self.assertGreater(self.smsc.most_open, 1)

    def test_throttling_slows_the_lane_and_loses_nothing(self):
        self.worker(timeout=30)
        taken = []
        refused = []

        def at_most_twenty_a_quarter_second(message):
            now = time.monotonic()
            # A worker that is slow of itself is throttled, too.
            if sum(at > now - 0.25 for at in taken) >= 20 or 20 <= len(taken) + len(refused) < 30:
                refused.append(now)
                message.reject(smpp34.ESME_RTHROTTLED)
            else:
                taken.append(now)
                message.accept()

        self.smsc.decide = at_most_twenty_a_quarter_second
        results, _ = self.in_bulk([self.job() for _ in range(200)])
        self.assertEqual(collections.Counter(one["outcome"] for one in results), {"accepted": 200})
        self.assertEqual(len(taken), 200)
        self.assertTrue(refused)
        # Whoever goes on at full speed is refused thousands of times.
        self.assertLess(len(refused), 200)

    def test_a_connection_cut_in_mid_window_leaves_unknown_what_was_under_way_and_doubles_nothing(self):
        # Nothing is unknown because it took too long.
        self.worker(timeout=60)
        answered = []

        def answer_every_other(message):
            if len(self.smsc.messages) % 2:
                answered.append(message)
                message.accept()

        self.smsc.decide = answer_every_other
        ids = self.send(40)
        eventually("all are there", lambda: len(self.smsc.messages) == 40)

        def has_heard_of_the_answers():
            self.client.connection.process_data_events(time_limit=0.1)
            return len(self.client.replies) == len(answered)

        # What is in flight is lost with the connection.
        eventually("it has heard of the answers", has_heard_of_the_answers)
        self.smsc.decide = smsc.Message.accept
        self.smsc.cut()
        results = self.results(ids)
        self.assertEqual(
            collections.Counter(one["outcome"] for one in results), {"accepted": 20, "unknown": 20})
        self.assertEqual({one["reference"] for one in results if one["outcome"] == "accepted"},
                         {one.id for one in answered})
        # The session comes back by itself, and what was unknown was not sent again.
        self.assertEqual(self.results(self.send())[0]["outcome"], "accepted")
        numbers = collections.Counter(one.to for one in self.smsc.messages)
        self.assertEqual((len(numbers), max(numbers.values())), (41, 1))
        self.assertEqual(self.smsc.binds, 2)

    def test_a_server_that_does_not_answer_leaves_unknown(self):
        self.worker(timeout=1)
        self.smsc.decide = lambda message: None
        result = self.results(self.send())[0]
        self.assertEqual(result["outcome"], "unknown")
        self.assertEqual(len(self.smsc.messages), 1)

    def test_a_refusal_of_a_later_segment_does_not_send_the_first_again(self):
        self.worker()

        def refuse_the_second(message):
            message.accept() if message.octets[5] == 1 else message.reject(smpp34.ESME_RINVDSTADR)

        self.smsc.decide = refuse_the_second
        result = self.results(self.send(text="a" * 400))[0]
        self.assertEqual((result["outcome"], result["reason"]["code"]), ("refused", "PARTLY_TAKEN"))
        self.assertEqual(len(self.smsc.messages), 2)

    def test_a_number_that_the_server_refuses(self):
        self.worker()
        self.smsc.decide = lambda message: message.reject(smpp34.ESME_RINVDSTADR)
        result = self.results(self.send())[0]
        self.assertEqual((result["outcome"], result["reason"]["code"]), ("refused", "INVALID_NUMBER"))
        self.assertEqual(result["reason"]["providerCode"], "0x0000000B")

    def reports(self):
        """What is published of providers' reports from now on, as a list that grows."""
        connection = pika.BlockingConnection(pika.URLParameters(os.environ["COUNTERSIGN_AMQP_URL"]))
        self.addCleanup(connection.close)
        channel = connection.channel()
        queue = channel.queue_declare("", exclusive=True).method.queue
        channel.queue_bind(queue, "countersign.results", "sms.delivery.*")
        found = []

        def wait(count):
            deadline = time.monotonic() + 120
            while len(found) < count and time.monotonic() < deadline:
                method, properties, body = channel.basic_get(queue, auto_ack=True)
                if method:
                    found.append((method.routing_key, properties.correlation_id, json.loads(body)))
                else:
                    time.sleep(0.05)
            return found

        return wait

    def test_a_receipt_before_the_response_is_matched_and_published(self):
        reports = self.reports()
        self.worker()
        answers = []

        async def report_first(message):
            receipt = asyncio.ensure_future(message.report())
            await asyncio.sleep(0.2)
            message.accept()
            answers.append(await receipt)

        self.smsc.decide = report_first
        correlation_id = self.send()[0]
        result = self.results([correlation_id])[0]
        self.assertEqual(result["outcome"], "accepted")
        (key, correlated, body), = reports(1)
        self.assertEqual((key, correlated), ("sms.delivery.delivered", correlation_id))
        self.assertEqual((body["jobID"], body["reference"], body["lane"]), (result["jobID"], result["reference"], "smpp"))
        eventually("an answer", lambda: answers)
        self.assertEqual(answers, [0])

    def test_a_receipt_that_comes_after_a_crash_is_matched_by_the_ledger(self):
        reports = self.reports()
        worker = self.worker()
        ids = self.send(3)
        results = self.results(ids)
        worker.running.kill()
        worker.running.wait()
        bound = self.smsc.binds
        worker.start()
        eventually("it binds again", lambda: self.smsc.binds > bound)
        worker.line("bound to the SMPP server")
        # A worker that is bound and has no broker yet asks for a receipt again, as servers then do.
        for message in self.smsc.messages:
            eventually("it is taken", lambda message=message: self.smsc.call(message.report(newest=True)) == 0)
        found = reports(3)
        self.assertEqual({key for key, _, _ in found}, {"sms.delivery.delivered"})
        self.assertEqual({correlated for _, correlated, _ in found}, set(ids))
        self.assertEqual(
            {(body["jobID"], body["reference"]) for _, _, body in found},
            {(result["jobID"], result["reference"]) for result in results})

    def test_a_message_that_does_not_arrive_is_reported_with_its_reason(self):
        reports = self.reports()
        self.worker()

        async def undeliverable(message):
            message.accept()
            await message.report("ENROUTE")
            await message.report("UNDELIV", "011")

        self.smsc.decide = undeliverable
        correlation_id = self.send()[0]
        self.results([correlation_id])
        (key, correlated, body), = reports(1)
        self.assertEqual((key, correlated), ("sms.delivery.undelivered", correlation_id))
        self.assertEqual((body["reason"]["code"], body["reason"]["providerCode"]), ("UNDELIVERABLE", "011"))

    def test_an_encrypted_session_with_a_server_to_trust(self):
        secrets = CONFIGURATIONS.parent / "secrets"
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(secrets / "front-cert.pem", secrets / "front-key.pem")
        self.smsc = self.server(tls=context)
        self.worker(tls="true", more=f'caFile: "{secrets / "ca.pem"}"')
        self.assertEqual(self.results(self.send(text="a" * 1000))[0]["outcome"], "accepted")
        # The system's authorities do not know this one.
        worker = self.worker(tls="true", says="no session with the SMPP server")
        self.assertIn("the certificate is not trusted", worker.output())

    def test_a_stop_unbinds_and_loses_nothing(self):
        worker = self.worker()

        async def slowly(message):
            await asyncio.sleep(0.5)
            message.accept()

        self.smsc.decide = slowly
        ids = self.send(5)
        eventually("all are there", lambda: len(self.smsc.messages) == 5)
        self.assertEqual(worker.stop(), 0)
        self.assertEqual({one["outcome"] for one in self.results(ids)}, {"accepted"})
        self.assertIn("session with the SMPP server closed", worker.output())
