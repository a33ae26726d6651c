"""Attacks that a user of the broker could carry out with the rights it has, and what they come to."""

import os
import re
import shlex
import subprocess
import time
import unittest
import urllib.parse
import uuid

import pika
import pika.exceptions

import broker
import simulator
import stack
from countersign_client import Client
from process import Process, countersign
from samples import in_seconds, new_number
from waiting import eventually

# More than the bound of the policy for queues that services own, in messages and in bytes.
EVENTS = 20_000
EVENT_BYTES = 3_000
MAX_MESSAGES = 10_000
MAX_BYTES = 16 << 20
# How long the broker's figures may be older than what they are about.
FIGURES_SECONDS = 60


class AttackTest(unittest.TestCase):
    def assert_refused(self, attempt):
        with self.assertRaises(pika.exceptions.ChannelClosedByBroker) as caught:
            attempt()
        self.assertEqual(caught.exception.reply_code, 403, caught.exception.reply_text)


class RightsTest(AttackTest):
    def test_a_service_cannot_send_jobs(self):
        client = broker.client(self, "service")
        body = {"to": new_number("+49176", 8), "text": "Hello", "deadline": in_seconds(60)}
        self.assert_refused(lambda: client.send("countersign.jobs", "sms.dispatch", body))
        self.assertEqual(simulator.messages(body["to"]), [])

    def test_nobody_outside_writes_to_a_queue_by_its_name(self):
        for user in ["service", "sender", "gateway"]:
            for exchange, key in [("", "sms.dispatch"), ("", "coordinator.results"), ("countersign.dead", "sms.dispatch"),
                                  ("countersign.retry.sms.dispatch", "5s"), ("countersign.delayed", "sms.dispatch"),
                                  ("countersign.events", "verification.approved"),
                                  ("countersign.results", "sms.dispatch.accepted")]:
                with self.subTest(user=user, exchange=exchange, key=key):
                    channel = broker.channel(self, user)
                    self.assert_refused(lambda: channel.basic_publish(exchange, key, b"{}", mandatory=True))

    def test_a_command_that_there_is_not_comes_back_to_who_sent_it(self):
        channel = broker.channel(self, "service")
        with self.assertRaises(pika.exceptions.UnroutableError):
            channel.basic_publish("countersign.commands", "account.invent", b"{}", mandatory=True)

    def test_nobody_reads_anothers_replies(self):
        name = f"countersign.reply.sender.{uuid.uuid4().hex}"
        mine = broker.channel(self, "sender")
        mine.queue_declare(name)
        self.addCleanup(lambda: mine.is_open and mine.queue_delete(name))
        for user in ["service", "gateway", "accounts", "sms-worker", "coordinator"]:
            with self.subTest(user=user):
                channel = broker.channel(self, user)
                self.assert_refused(lambda: channel.basic_get(name))
                channel = broker.channel(self, user)
                self.assert_refused(lambda: channel.queue_declare(f"{name}.other"))
        # The broker's own names are hidden and exclusive: another connection may not even look.
        private = mine.queue_declare("", exclusive=True).method.queue
        with self.assertRaises(pika.exceptions.ChannelClosedByBroker) as caught:
            broker.channel(self, "service").basic_get(private)
        self.assertEqual(caught.exception.reply_code, 405)
        self.assert_refused(lambda: broker.channel(self, "service").queue_declare("amq.gen-guessed"))

    def test_a_queue_of_ones_own_has_ones_own_name(self):
        for name in ["orders", "sms.replies", "countersign.orders", "countersign.reply.orders", "countersign.reply.sender2.orders"]:
            with self.subTest(name):
                channel = broker.channel(self, "sender")
                self.assert_refused(lambda: channel.queue_declare(name))
        channel = broker.channel(self, "sender")
        channel.queue_declare("countersign.reply.sender.orders", exclusive=True)
        channel.queue_bind("countersign.reply.sender.orders", "countersign.events", "verification.approved")

    def test_a_worker_reports_on_its_own_jobs_only(self):
        for user, key in [("sms-worker", "push.verify.accepted"), ("push-worker", "sms.dispatch.accepted"), ("push-worker", "sms.bulk.accepted"),
                          ("mail-worker", "sms.delivery.delivered"), ("revocation-worker", "recaptcha.assess.accepted")]:
            with self.subTest(user=user, key=key):
                channel = broker.channel(self, user)
                self.assert_refused(lambda: channel.basic_publish("countersign.results", key, b"{}", mandatory=True))

    def test_who_publishes_events_publishes_its_own(self):
        for user, key in [("coordinator", "keys.published"), ("accounts", "verification.approved"),
                          ("accounts", "operation.completed")]:
            with self.subTest(user=user, key=key):
                channel = broker.channel(self, user)
                self.assert_refused(lambda: channel.basic_publish("countersign.events", key, b"{}"))

    def test_a_gateway_hears_of_keys_alone(self):
        for key in ["#", "verification.*", "keys.*"]:
            with self.subTest(key=key):
                channel = broker.channel(self, "gateway")
                queue = channel.queue_declare("", exclusive=True).method.queue
                self.assert_refused(lambda: channel.queue_bind(queue, "countersign.events", key))

    def test_a_service_cannot_have_reports_of_providers_refused(self):
        channel = broker.channel(self, "service")
        queue = channel.queue_declare("", exclusive=True, arguments={
            "x-max-length": 1, "x-overflow": "reject-publish"}).method.queue
        self.assert_refused(lambda: channel.queue_bind(queue, "countersign.results", "sms.delivery.delivered"))


class CheckTest(AttackTest):
    def topology(self, *arguments, administrator=True):
        return broker.run("topology", *arguments, administrator=administrator)

    def test_who_may_not_see_users_says_so(self):
        code, text = self.topology("check", administrator=False)
        self.assertEqual(code, 77, text)
        self.assertIn("an administrator runs", text)
        code, text = self.topology("check", "--without-users", administrator=False)
        self.assertEqual(code, 0, text)

    def test_a_binding_that_is_not_ours_is_named_and_lost_ones_come_back(self):
        path = "/api/bindings/%2F/e/countersign.results/q/coordinator.results"

        def keys():
            return sorted(one["routing_key"] for one in broker.management(path))

        def unbind(key):
            broker.management(f"{path}/{urllib.parse.quote(urllib.parse.quote(key, safe=''), safe='')}", "DELETE")

        before = keys()
        self.assertNotIn("#", before)
        broker.management(path, "POST", {"routing_key": "#"})
        self.addCleanup(lambda: "#" in keys() and unbind("#"))
        code, text = self.topology("check", "--without-users", administrator=False)
        self.assertEqual(code, 1, text)
        self.assertIn('queue coordinator.results is also bound to countersign.results under "#"', text)
        for key in before:
            unbind(key)
        self.assertEqual(keys(), ["#"])
        code, text = self.topology("apply", "--without-users", administrator=False)
        self.assertEqual(code, 1, text)
        self.assertIn('is also bound to countersign.results under "#"; by hand', text)
        self.assertEqual(keys(), ["#", *before])
        unbind("#")
        self.assertEqual(self.topology("check", "--without-users", administrator=False)[0], 0)

    def test_a_user_that_may_speak_for_others_is_found(self):
        self.assertEqual(self.topology("check")[0], 0)
        broker.management("/api/users/mallory", "PUT", {"password": uuid.uuid4().hex, "tags": "impersonator"})
        self.addCleanup(broker.management, "/api/users/mallory", "DELETE")
        code, text = self.topology("check")
        self.assertEqual(code, 1, text)
        self.assertIn("user mallory has the tag impersonator", text)

    def test_rights_that_were_widened_are_found_and_set_right(self):
        path = "/api/permissions/%2F/service"
        rights = broker.management(path)
        limits = broker.management("/api/user-limits/service")
        broker.management("/api/user-limits/service/max-channels", "DELETE")
        broker.management(path, "PUT", {**rights, "write": ".*"})
        self.addCleanup(broker.management, path, "PUT", rights)
        code, text = self.topology("check")
        self.assertEqual(code, 1, text)
        self.assertIn("rights of user service: write is .* instead of", text)
        self.assertIn("user service has no limit max-channels", text)
        code, text = self.topology("apply")
        self.assertEqual(code, 0, text)
        self.assertEqual(broker.management(path), rights)
        self.assertEqual(broker.management("/api/user-limits/service"), limits)

    def test_a_service_gets_a_user_of_its_own(self):
        code, text = self.topology("user", "billing", "--like", "service")
        self.assertEqual(code, 0, text)
        self.addCleanup(broker.management, "/api/users/billing", "DELETE")
        for line in text.splitlines():
            program, *arguments = shlex.split(line)
            subprocess.run([os.environ["COUNTERSIGN_TEST_BROKER_CTL"], program, "--quiet", *arguments],
                           stdin=subprocess.DEVNULL, capture_output=True, timeout=180, check=True)
        code, text = self.topology("check")
        self.assertEqual(code, 0, text)
        self.assertIn("user billing has the rights of service", text)
        known = urllib.parse.urlsplit(os.environ["COUNTERSIGN_AMQP_URL"])
        client = Client.of(self, f"amqp://billing:PASSWORD@{known.hostname}:{known.port}")
        body = {"phoneNumber": new_number("+49176", 8), "app": "com.example.app"}
        self.assertTrue(client.command("verification.start", body)["verificationID"])
        self.assert_refused(lambda: client.channel.queue_declare("countersign.reply.service.mine"))


class ForgottenQueueTest(AttackTest):
    """A queue that a service binds to all events and never reads."""

    def assert_bounded(self, name):
        deadline = time.monotonic() + FIGURES_SECONDS
        while True:
            state = broker.figures(name)
            count, size = state.get("messages"), state.get("message_bytes")
            # The bound, and not a gap on the way to it.
            if count and (state["type"] == "stream" or (size or 0) > MAX_BYTES - 2 * EVENT_BYTES):
                break
            self.assertLess(time.monotonic(), deadline, state)
            time.sleep(0.5)
        self.assertLessEqual(count, MAX_MESSAGES, name)
        if state["type"] != "stream":
            self.assertLessEqual(size, MAX_BYTES, name)

    def test_it_stays_at_its_bound_and_the_broker_goes_on(self):
        channel = broker.channel(self, "service")
        names = []
        for kind in ["classic", "quorum", "stream"]:
            names.append(f"countersign.reply.service.{kind}-{uuid.uuid4().hex[:8]}")
            # What the owner asks for does not count where it is more.
            arguments = {"x-queue-type": kind}
            if kind == "classic":
                arguments |= {"x-max-length": 10_000_000, "x-expires": 86_400_000}
            channel.queue_declare(names[-1], durable=True, arguments=arguments)
            self.addCleanup(lambda name=names[-1]: broker.channel(self, "service").queue_delete(name))
        names.append(channel.queue_declare("", exclusive=True).method.queue)
        for name in names:
            channel.queue_bind(name, "countersign.events", "#")
        # The coordinator's user, with events that say nothing: as dead letters of webhook.events they would be in the way.
        stack.stop_for(self, "webhook-worker")
        self.addCleanup(broker.management, "/api/queues/%2F/webhook.events/contents", "DELETE")
        publisher = pika.BlockingConnection(pika.URLParameters(broker.url("coordinator")))
        self.addCleanup(publisher.close)
        events = publisher.channel()
        for _ in range(EVENTS):
            events.basic_publish("countersign.events", "verification.sent", b" " * EVENT_BYTES)
        events.confirm_delivery()
        events.basic_publish("countersign.events", "verification.sent", b" " * EVENT_BYTES)
        for name in names:
            with self.subTest(name):
                self.assert_bounded(name)
        number = new_number("+49176", 8)
        started = broker.client(self, "service").command("verification.start", {"phoneNumber": number, "app": "com.example.app"})
        self.assertTrue(started["verificationID"])

    def test_queues_of_services_expire(self):
        name = f"countersign.reply.service.{uuid.uuid4().hex}"
        channel = broker.channel(self, "service")
        channel.queue_declare(name, durable=True)
        self.addCleanup(lambda: channel.is_open and channel.queue_delete(name))
        found = eventually(
            "it has its policy", lambda: broker.figures(name).get("effective_policy_definition"), FIGURES_SECONDS)
        self.assertEqual(found["expires"], 600_000)

    def test_a_message_above_the_bound_ends_its_own_channel(self):
        text = (stack.DIRECTORY / "broker/conf.d/countersign.conf").read_text()
        bound = int(re.search(r"^max_message_size = (\d+)$", text, re.MULTILINE)[1])
        channel = broker.channel(self, "service")
        with self.assertRaises(pika.exceptions.ChannelClosedByBroker) as caught:
            channel.basic_publish("countersign.commands", "verification.start", b" " * (bound + 1), mandatory=True)
        self.assertEqual(caught.exception.reply_code, 406)

    def test_connections_of_services_are_limited(self):
        limits = {one["user"]: one["value"] for one in broker.management("/api/user-limits")}
        for user in ["service", "sender", "gateway"]:
            self.assertEqual(limits[user], {"max-connections": 1_000, "max-channels": 2_000})
        self.assertEqual(broker.management("/api/vhost-limits/%2F")[0]["value"], {"max-queues": 1_000})

    def doctor(self):
        return countersign("doctor").stdout

    def test_a_virtual_host_full_of_queues_keeps_no_coordinator_from_its_commands(self):
        client = broker.client(self, "service")
        channel = broker.channel(self, "service")
        with self.assertRaises(pika.exceptions.ChannelClosedByBroker) as caught:
            for _ in range(1_001):
                channel.queue_declare("", exclusive=True)
        self.assertIn("limit", caught.exception.reply_text)
        eventually("the doctor tells", lambda: "most of them of user service" in self.doctor(), FIGURES_SECONDS)
        stack.kill("coordinator")
        stack.start("coordinator")
        body = {"phoneNumber": new_number("+49176", 8), "app": "com.example.app"}
        self.assertTrue(client.command("verification.start", body)["verificationID"])


class PastTheCoordinatorTest(AttackTest):
    """Jobs of a user that may send them, which no limit of the coordinator has seen: the sms-worker has rules of its own."""

    def dispatch(self, number, **fields):
        return broker.client(self, "sender").job(
            "sms.dispatch", {"to": number, "text": "Hello", "deadline": in_seconds(60), **fields})

    def assert_refused_job(self, result, code, number):
        self.assertEqual((result["outcome"], result["reason"]["code"]), ("refused", code), result)
        self.assertEqual(simulator.messages(number), [])

    def test_a_premium_number_gets_nothing(self):
        for number in ["+19002345678", "+18002345678", "+498001234567"]:
            with self.subTest(number):
                self.assert_refused_job(self.dispatch(number), "NUMBER_TYPE_REFUSED", number)

    def test_a_pinned_lane_takes_its_own_numbers_only(self):
        number = new_number("+49176", 8)
        for lane in ["vonage", "messagebird", "aws", "smpp"]:
            with self.subTest(lane):
                self.assert_refused_job(self.dispatch(number, lane=lane), "LANE_NOT_ALLOWED", number)
        self.assertEqual(self.dispatch(number, lane="twilio")["outcome"], "accepted")

    def test_a_region_outside_the_list_gets_nothing(self):
        stack.stop_for(self, "sms-worker-1", "sms-worker-2")
        with Process("sms-worker") as worker:
            worker.replace(r'regions: \{ allowed: \["\*"\] \}', 'regions: { allowed: ["DE"] }')
            worker.start().ready()
            for number, fields in [("+2348031234567", {}), ("+2348031234567", {"lane": "twilio"})]:
                self.assert_refused_job(self.dispatch(number, **fields), "REGION_NOT_ALLOWED", number)
            self.assertEqual(self.dispatch(new_number("+49176", 8))["outcome"], "accepted")
            worker.stop()
