"""Attacks by users of the broker who pass for somebody else, each with the rights that the user has: none of them works."""

import json
import time
import unittest
import uuid

import pika

import broker
import records
import simulator
from countersign_client import REPLY_TO, Refused
from samples import in_seconds, new_number
from waiting import eventually

APP = "com.example.app"
# Tag of `resendAfter` in the record of a verification.
RESEND_AFTER = 15


class AttackTest(unittest.TestCase):
    def setUp(self):
        self.victim = broker.client(self, "service")
        self.addCleanup(simulator.clear_faults)

    def publish(self, channel, exchange, key, body, kind, message_id, **fields):
        properties = {"type": kind, "message_id": message_id, "content_type": "application/json", "delivery_mode": 2}
        properties.update(fields)
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        channel.basic_publish(exchange, key, data, pika.BasicProperties(**properties))

    def start(self, client=None):
        number = new_number("+49170")
        started = (client or self.victim).command("verification.start", {"phoneNumber": number, "app": APP})
        return number, started["verificationID"]

    def state(self, verification):
        return self.victim.command("verification.status", {"verificationID": verification})["state"]

    def dead_reason(self, queue, message_id, timeout=30):
        found = broker.dead_letter(queue, message_id, timeout)
        return found and found[0].headers["x-dead-reason"]

    def refusal(self, job):
        now = in_seconds(0)
        return {"jobID": job, "outcome": "refused", "attempts": 1, "startedAt": now, "finishedAt": now,
                "reason": {"code": "INVALID_NUMBER"}}

    # Results of somebody else's jobs

    def test_a_worker_cannot_report_for_another(self):
        """By its own key, by the default exchange, with and without its name, in the other's name."""
        _, verification = self.start()
        channel = broker.channel(self, "mail-worker")
        ways = [
            ("countersign.results", "mail.relay.refused", {"user_id": "mail-worker"}),
            ("countersign.results", "mail.relay.refused", {}),
            ("", "coordinator.results", {"user_id": "mail-worker"}),
            ("", "coordinator.results", {"headers": {"x-sender": "coordinator"}}),
        ]
        for number, (exchange, key, fields) in enumerate(ways):
            with self.subTest(exchange=exchange, key=key, fields=fields):
                job = f"{verification}.sms.{number + 1}"
                self.publish(
                    channel, exchange, key, self.refusal(job), "sms.dispatch.result.v1", f"{job}.result", **fields)
                self.assertEqual(self.dead_reason("coordinator.results", f"{job}.result"), "FORGED_RESULT")
        self.assertIn(self.state(verification), ["sending", "sent"])

    def test_a_copy_under_another_key_is_no_delivery_report(self):
        """Older brokers do not compare the keys in CC with the rights of the user."""
        _, verification = self.start()
        message_id = f"{verification}.sms.1.undelivered"
        body = {"jobID": f"{verification}.sms.1", "state": "undelivered", "lane": "twilio", "at": in_seconds(0)}
        channel = broker.channel(self, "mail-worker")
        try:
            self.publish(
                channel, "countersign.results", "mail.relay.accepted", body, "sms.delivery.result.v1", message_id,
                user_id="mail-worker", headers={"CC": ["sms.delivery.undelivered"]})
        except pika.exceptions.ChannelClosedByBroker:
            # The broker compares them.
            return
        self.assertEqual(self.dead_reason("coordinator.results", message_id), "FORGED_RESULT")
        self.assertIn(self.state(verification), ["sending", "sent"])

    def test_a_worker_cannot_use_up_the_job_of_another(self):
        """A job by the default exchange, which every worker may write to, under the ID of the message that comes next."""
        self.resend_arrives(broker.channel(self, "mail-worker"), "", {"user_id": "mail-worker"})

    # Replies

    def test_a_reply_address_is_no_way_into_a_queue(self):
        """A malformed job, whose worker would tell the queue that reply_to names that the job was refused."""
        sender = broker.channel(self, "sender")
        for queue in ["coordinator.results", "sms.dispatch", "countersign.reply.billing.1"]:
            for body in [b"{}", {"to": new_number("+49170"), "text": "Hello", "deadline": in_seconds(60)}]:
                with self.subTest(queue=queue, body=body):
                    _, verification = self.start()
                    job = f"{verification}.sms.1"
                    self.publish(
                        sender, "countersign.jobs", "sms.dispatch", body, "sms.dispatch.v1", job, reply_to=queue,
                        user_id="sender")
                    self.assertEqual(self.dead_reason("sms.dispatch", job), "INVALID_REPLY_TO")
                    if body != b"{}":
                        self.assertEqual(simulator.messages(body["to"]), [])
                    self.assertIn(self.state(verification), ["sending", "sent"])
                    self.assertIsNone(self.dead_reason("coordinator.results", f"{job}.result", timeout=0.3))

    def test_a_command_is_not_carried_out_for_another_queue(self):
        service = broker.channel(self, "service")
        for queue, user in [("coordinator.results", "service"), ("countersign.reply.sender.1", "service"),
                            ("countersign.reply.service.1", None)]:
            number, message_id = new_number("+49170"), str(uuid.uuid4())
            fields = {"user_id": user} if user else {}
            self.publish(
                service, "countersign.commands", "verification.start", {"phoneNumber": number, "app": APP},
                "verification.start.v1", message_id, reply_to=queue, **fields)
            self.assertEqual(self.dead_reason("coordinator.commands", message_id), "INVALID_REPLY_TO")
            self.assertEqual(simulator.messages(number), [])

    # The same ID

    def test_a_foreign_job_does_not_take_the_place_of_the_next_message(self):
        self.resend_arrives(broker.channel(self, "sender"), "countersign.jobs", {"user_id": "sender"})

    def resend_arrives(self, attacker, exchange, fields):
        number, verification = self.start()
        simulator.message(number)
        for other in [fields, {}, {"headers": {"x-sender": "coordinator"}, **fields}]:
            self.publish(
                attacker, exchange, "sms.dispatch", {"to": number, "text": "Forged", "deadline": in_seconds(-1)},
                "sms.dispatch.v1", f"{verification}.sms.2", **other)
        time.sleep(1)
        self.allow_resend(verification)
        again = self.victim.command("verification.start", {"phoneNumber": number, "app": APP})
        self.assertEqual((again["verificationID"], again["resent"]), (verification, True))
        self.assertNotIn("Forged", simulator.message(number, count=2)["body"])
        eventually("the second message is known to be sent", lambda: self.accepted(verification) >= 2)

    def accepted(self, verification):
        timeline = self.victim.command("verification.status", {"verificationID": verification})["timeline"]
        self.assertNotIn("sms.expired", [entry["event"] for entry in timeline])
        return sum(entry["event"] == "sms.accepted" for entry in timeline)

    def allow_resend(self, verification):
        """As if the gap between two messages were over."""
        records.set_time("verification", verification, RESEND_AFTER, 1000)

    def test_a_recorded_answer_is_for_the_same_code_and_the_same_sender(self):
        number, verification = self.start()
        code = simulator.code(simulator.message(number)["body"])
        wrong = "000000" if code != "000000" else "000001"
        message_id = str(uuid.uuid4())

        def check(client, text):
            try:
                body = {"verificationID": verification, "code": text}
                client.command("verification.check", body, message_id=message_id)
                return "approved"
            except Refused as error:
                return error.reason or error.code

        self.assertEqual(check(self.victim, code), "approved")
        self.assertEqual(check(self.victim, code), "approved", "the same again")
        self.assertEqual(check(self.victim, wrong), "MESSAGE_ID_REUSED")
        # Who has seen ID and verification in the events has no answer of somebody else by them.
        self.assertNotEqual(check(broker.client(self, "sender"), wrong), "approved")

    # A sender that is not the sender

    def test_a_service_cannot_name_another_sender(self):
        liar = broker.client(self, "service")
        error = liar.refused("conversion.list", {}, headers={"x-sender": "operator"})
        self.assertEqual(error.code, "OPERATION_NOT_ALLOWED")
        with self.assertRaises(pika.exceptions.ChannelClosedByBroker):
            broker.client(self, "service").command("conversion.list", {}, user_id="operator")

    def test_a_job_in_the_name_of_the_coordinator_is_the_senders_own(self):
        sender = broker.client(self, "sender")
        _, verification = self.start()
        job = f"{verification}.sms.2"
        correlation = sender.send(
            "countersign.jobs", "sms.dispatch", {"to": "hello", "text": "x", "deadline": in_seconds(60)}, message_id=job,
            headers={"x-sender": "coordinator"}, reply_to=REPLY_TO)
        properties, result = sender.wait(correlation)
        self.assertEqual((result["jobID"], result["outcome"]), (job, "refused"))
        self.assertEqual((properties.user_id, properties.headers["x-sender"]), ("sms-worker", "sender"))
        self.assertIn(self.state(verification), ["sending", "sent"])
