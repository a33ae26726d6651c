"""What became of a message after its provider took it: reports over HTTP, events, the timeline."""

import json
import os
import time
import unittest
import urllib.error
import urllib.request

import pika

import simulator
from countersign_client import Client
from samples import in_seconds, new_number
from waiting import eventually

APP = "com.example.app"
# A provider's report that overtakes the worker's own proves by itself that the message was accepted. Where a test looks at both, it comes when
# the worker has told.
LATER = {"delaySeconds": 4}


def british():
    return new_number("+447400", 6)


def french():
    return new_number("+33612", 6)


def spanish():
    return new_number("+34612", 6)


def italian():
    return new_number("+39347", 7)


class ReceiptTest(unittest.TestCase):
    def setUp(self):
        url = os.environ["COUNTERSIGN_AMQP_URL"]
        self.client = Client.of(self, url)
        self.listener = pika.BlockingConnection(pika.URLParameters(url))
        self.addCleanup(self.listener.close)
        self.channel = self.listener.channel()
        self.queue = self.channel.queue_declare("", exclusive=True).method.queue
        self.addCleanup(simulator.clear_receipts)

    def listen(self, exchange, key):
        self.channel.queue_bind(self.queue, exchange, key)

    def events_about(self, correlation_id, count, timeout=120):
        found = []
        deadline = time.monotonic() + timeout
        while len(found) < count and time.monotonic() < deadline:
            method, properties, body = self.channel.basic_get(self.queue, auto_ack=True)
            if method is None:
                time.sleep(0.05)
            elif properties.correlation_id == correlation_id:
                found.append((method.routing_key, json.loads(body)))
        return found

    def timeline(self, verification_id, event, timeout=120):
        """The timeline as soon as it has an event of that name."""
        def status():
            status = self.client.command("verification.status", {"verificationID": verification_id})
            return any(entry["event"] == event for entry in status["timeline"]) and status

        return eventually(event, status, timeout)

    def start(self, number):
        return self.client.command("verification.start", {"phoneNumber": number, "app": APP})["verificationID"]

    def test_a_delivered_message_stands_in_the_timeline_and_is_told_of(self):
        self.listen("countersign.events", "verification.delivered")
        number = new_number()
        simulator.report(number, "delivered", **LATER)
        verification_id = self.start(number)
        status = self.timeline(verification_id, "sms.delivered")
        self.assertEqual(
            [entry["event"] for entry in status["timeline"]],
            ["started", "sms.queued", "sms.accepted", "sms.delivered"],
        )
        accepted, delivered = status["timeline"][-2:]
        self.assertEqual(accepted["reference"], delivered["reference"])
        [(key, event)] = self.events_about(verification_id, 1)
        self.assertEqual((key, event["verificationID"]), ("verification.delivered", verification_id))

    def test_one_that_was_not_delivered_has_its_reason_however_often_it_is_reported(self):
        self.listen("countersign.events", "verification.undelivered")
        number = new_number()
        simulator.report(number, "undelivered", errorCode=30005, times=3)
        verification_id = self.start(number)
        status = self.timeline(verification_id, "sms.undelivered")
        [entry] = [entry for entry in status["timeline"] if entry["event"] == "sms.undelivered"]
        self.assertEqual(entry["reason"], "UNKNOWN_NUMBER")
        self.assertEqual(status["state"], "sent")
        self.assertEqual(len(self.events_about(verification_id, 1)), 1)
        self.assertEqual(self.events_about(verification_id, 1, timeout=3), [])

    def test_what_vonage_reports_stands_in_the_timeline_in_whatever_form_it_comes(self):
        for form in ["query", "form", "json", "token"]:
            with self.subTest(form=form):
                number = british()
                simulator.report(number, "delivered", form=form, times=2, **LATER)
                verification_id = self.start(number)
                self.assert_ended(self.timeline(verification_id, "sms.delivered"), number, "vonage", "sms.delivered")

    def test_what_messagebird_reports_stands_in_the_timeline(self):
        number = french()
        simulator.report(number, "delivered", **LATER)
        verification_id = self.start(number)
        self.assert_ended(
            self.timeline(verification_id, "sms.delivered"), number, "messagebird", "sms.delivered")

    def test_what_the_smpp_server_reports_stands_in_the_timeline(self):
        number = italian()
        simulator.report(number, "delivered", times=2, **LATER)
        self.assert_ended(
            self.timeline(self.start(number), "sms.delivered"), number, "smpp", "sms.delivered")

    def test_a_number_is_verified_by_aws_and_by_smpp(self):
        for number, lane in [(spanish(), "aws"), (italian(), "smpp")]:
            with self.subTest(lane=lane):
                verification_id = self.start(number)
                message = simulator.message(number)
                self.assertEqual(message["provider"], lane)
                approved = self.client.command(
                    "verification.check", {"verificationID": verification_id, "code": simulator.code(message["body"])})
                self.assertEqual(approved["phoneNumber"], number)

    def test_what_aws_and_smpp_throttle_is_sent_once_all_the_same(self):
        self.addCleanup(simulator.clear_faults)
        for number, lane in [(spanish(), "aws"), (italian(), "smpp")]:
            with self.subTest(lane=lane):
                simulator.inject(provider=lane, fault="429", to=number, count=1)
                self.start(number)
                self.assertIn(simulator.message(number)["provider"], [lane, "twilio"])
                self.assertEqual(len(simulator.messages(number)), 1)

    def test_their_reasons_are_told_in_the_same_words(self):
        for number, lane, code in [(british(), "vonage", 3), (french(), "messagebird", 1)]:
            with self.subTest(lane=lane):
                simulator.report(number, "undelivered", errorCode=code, **LATER)
                status = self.timeline(self.start(number), "sms.undelivered")
                self.assert_ended(status, number, lane, "sms.undelivered")
                self.assertEqual(status["timeline"][-1]["reason"], "UNKNOWN_NUMBER")

    def assert_ended(self, status, number, lane, event):
        """One message, by that lane, and one end of it, which names the provider's own ID."""
        [message] = simulator.messages(number)
        self.assertEqual(message["provider"], lane)
        self.assertEqual(
            [entry["event"] for entry in status["timeline"]], ["started", "sms.queued", "sms.accepted", event])
        accepted, end = status["timeline"][-2:]
        self.assertEqual((accepted["lane"], end["reference"]), (lane, message["id"]))

    def test_a_service_that_enqueues_a_job_itself_hears_of_it(self):
        self.listen("countersign.results", "sms.delivery.*")
        number = new_number()
        correlation_id = self.client.send(
            "countersign.jobs", "sms.dispatch",
            {"to": number, "text": "Your table is ready.", "lane": "twilio", "deadline": in_seconds(120)},
        )
        _, result = self.client.wait(correlation_id)
        [(key, report)] = self.events_about(correlation_id, 1)
        self.assertEqual(key, "sms.delivery.delivered")
        self.assertEqual((report["jobID"], report["reference"]), (result["jobID"], result["reference"]))

    def test_a_report_that_nobody_signed_is_refused_and_counted(self):
        worker = os.environ["COUNTERSIGN_SMS_WORKER_URLS"].split(",")[0]
        receipts = os.environ["COUNTERSIGN_STACK_RECEIPTS_URLS"].split(",")[0]
        request = urllib.request.Request(
            receipts + "/receipts/twilio?job=a.sms.1&t=1&mac=AAAA",
            data=b"MessageSid=SM1&MessageStatus=delivered",
            headers={"X-Twilio-Signature": "AAAA"},
        )
        self.assert_refused(request, worker, "twilio")
        query = "/1/AAAA/a.sms.1?status=delivered&messageId=1&timestamp=1&sig=00"
        for lane in ["vonage", "messagebird"]:
            self.assert_refused(urllib.request.Request(f"{receipts}/receipts/{lane}{query}"), worker, lane)

    def assert_refused(self, request, worker, lane):
        with self.assertRaises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=60)
        self.assertEqual(refused.exception.code, 403)
        refused.exception.close()
        with urllib.request.urlopen(worker + "/metrics", timeout=60) as response:
            self.assertRegex(
                response.read().decode(), rf'countersign_sms_receipts_total\{{lane="{lane}",kind="forged"\}} [1-9]')
