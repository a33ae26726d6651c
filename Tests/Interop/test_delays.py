"""Delayed jobs: those of one queue stop no others, what cannot return is a dead letter, and whoever waits is told why.

The shortest delay, 5 s, stands for all.
"""

import json
import pathlib
import tempfile
import time
import uuid

import pika
import pika.exceptions

import broker
import simulator
import stack
from countersign_client import ClientTest
from process import Process, countersign
from samples import in_seconds, new_number
from waiting import eventually

# The shortest delay, and what one way through broker, worker and simulator may take on a busy machine.
DELAY_SECONDS = 5
BACK_SECONDS = 7
# More than the broker keeps unconfirmed for one queue (32).
BULK_JOBS = 40
BULK_BOUND = 10
# More than the broker keeps unconfirmed for one queue, too.
LOOKED_AT = 40
# More than nine, whose numbers as texts are not in order.
FEW_LOOKED_AT = 25
# Jobs that are looked at, so that one in a wrong place is late.
APART_SECONDS = 0.03
# Two looks on a busy machine, which end before the first job goes on.
LOOK_SECONDS = 2
# Between the broker's clock and this one.
CLOCK_SECONDS = 0.1


def run(*arguments):
    done = countersign(*arguments)
    return done.returncode, done.stdout + done.stderr


def held(queue):
    """Delayed jobs whose delay is over and that no queue takes, as the alert CountersignDelayedJobsHeld counts them."""
    found = broker.figures(queue)
    return found.get("messages", 0) - found.get("messages_ready", 0) - found.get("messages_unacknowledged", 0)


class DelayTest(ClientTest):
    def send_delayed(self, number):
        simulator.inject(fault="429", provider="twilio", count=1, to=number)
        body = {"to": number, "text": "Hello", "lane": "twilio", "deadline": in_seconds(300)}
        return self.client.send("countersign.jobs", "sms.dispatch", body)

    def start_again(self, queue):
        """An empty queue in the place of one that still holds messages."""
        broker.management(f"/api/queues/%2F/{queue}", "DELETE")
        # The broker tells of a policy that is gone for some time.
        eventually("the topology is complete", lambda: run("topology", "apply", "--without-users")[0] == 0)


class ApartTest(DelayTest):
    def setUp(self):
        super().setUp()
        # They take what can wait, too.
        stack.stop_for(self, "sms-worker-1", "sms-worker-2")
        broker.management("/api/queues/%2F/sms.bulk/contents", "DELETE")

    def test_a_full_queue_stops_the_delayed_jobs_of_no_other(self):
        delays = "countersign.retry.sms.bulk.5s"
        broker.management("/api/policies/%2F/test-full", "PUT", {
            "pattern": r"^sms\.bulk$", "apply-to": "queues", "priority": 99,
            "definition": {"max-length": BULK_BOUND, "overflow": "reject-publish"}})
        self.addCleanup(lambda: broker.management("/api/queues/%2F/sms.bulk/contents", "DELETE"))
        self.addCleanup(self.start_again, delays)
        self.addCleanup(broker.management, "/api/policies/%2F/test-full", "DELETE")
        eventually("the bound is in force", lambda: broker.figures("sms.bulk").get("policy") == "test-full")
        sender = broker.channel(self, "sender")
        properties = pika.BasicProperties(delivery_mode=2, content_type="application/json", type="sms.dispatch.v1")
        with self.assertRaises(pika.exceptions.NackError):
            for _ in range(10 * BULK_BOUND):
                sender.basic_publish("countersign.jobs", "sms.bulk", b"{}", properties, mandatory=True)
        # As a worker delays them, while its queue is full.
        worker = broker.channel(self, "sms-worker")
        for _ in range(BULK_JOBS):
            worker.basic_publish("countersign.retry.sms.bulk", "5s", b"{}", properties, mandatory=True)
        eventually("the alert counts them", lambda: held(delays) == BULK_JOBS)
        eventually("the doctor tells", lambda: f"queue {delays}: {BULK_JOBS} delayed jobs cannot return" in run("doctor")[1])
        number = new_number("+49176", 8)
        with Process("sms-worker") as takes_codes:
            takes_codes.start().ready()
            began = time.monotonic()
            result = self.client.wait(self.send_delayed(number))[1]
            took = time.monotonic() - began
            takes_codes.stop()
        self.assertEqual((result["outcome"], result["attempts"]), ("accepted", 2), result)
        self.assertGreater(took, DELAY_SECONDS)
        self.assertLess(took, BACK_SECONDS)
        self.assertEqual(len(simulator.messages(number)), 1)
        self.assertEqual(held(delays), BULK_JOBS)

    def test_a_delayed_job_goes_nowhere_else_whatever_its_author_writes(self):
        worker = broker.channel(self, "sms-worker")
        name = f"hostile-{uuid.uuid4()}"
        for exchange, key in [("countersign.retry.sms.bulk", "accounts.commands"), ("countersign.retry.sms.bulk", "sms.dispatch")]:
            with self.assertRaises(pika.exceptions.UnroutableError):
                worker.basic_publish(exchange, key, b"{}", mandatory=True)
        for user, queue in [("mail-worker", "sms.dispatch"), ("sms-worker", "push.verify"), ("coordinator", "sms.dispatch"),
                            ("accounts", "mail.relay"), ("sender", "sms.bulk")]:
            with self.subTest(user=user), self.assertRaises(pika.exceptions.ChannelClosedByBroker) as caught:
                broker.channel(self, user).basic_publish(f"countersign.retry.{queue}", "5s", b"{}", mandatory=True)
            self.assertEqual(caught.exception.reply_code, 403)
        # Further addresses, which the broker would otherwise follow at the end of the delay.
        worker.basic_publish(
            "countersign.retry.sms.bulk", "5s", b"{}",
            pika.BasicProperties(delivery_mode=2, message_id=name, headers={"CC": ["sms.dispatch", "mail.relay"]}), mandatory=True)
        self.addCleanup(lambda: broker.management("/api/queues/%2F/sms.bulk/contents", "DELETE"))

        def came(queue):
            found = broker.management(f"/api/queues/%2F/{queue}/get", "POST", {
                "count": 100, "ackmode": "ack_requeue_true", "encoding": "auto"})
            return [one for one in found if one["properties"].get("message_id") == name]

        eventually("it comes back", lambda: came("sms.bulk"))
        self.assertEqual([queue for queue in ["sms.dispatch.dead", "mail.relay.dead"] if came(queue)], [])


class UnboundTest(DelayTest):
    def test_a_job_that_no_queue_takes_back_is_a_dead_letter(self):
        path = "/api/bindings/%2F/e/countersign.delayed/q/sms.dispatch"
        broker.management(f"{path}/sms.dispatch", "DELETE")
        self.addCleanup(countersign, "topology", "apply", "--without-users")
        number, name = new_number("+49176", 8), f"unbound-{uuid.uuid4()}"
        # The figures are seconds old: one of letters that another test has left would not move.
        broker.management("/api/queues/%2F/sms.dispatch.dead/contents", "DELETE")
        eventually("no letter is left", lambda: broker.figures("sms.dispatch.dead").get("messages_ready", 0) == 0)
        simulator.inject(fault="429", provider="twilio", count=1, to=number)
        waited = self.client.send("countersign.jobs", "sms.dispatch", {
            "to": number, "text": "Hello", "lane": "twilio", "deadline": in_seconds(300)}, message_id=name)

        def letter():
            code, text = run("dead", "list", "--queue", "sms.dispatch", "--id", name, "--json")
            self.assertEqual(code, 0, text)
            return json.loads(text)["letters"]

        found = eventually("it is a dead letter", letter)[0]
        self.assertEqual(found["reason"], "NO_QUEUE")
        self.assertIn("429", found["error"])
        # The alert CountersignDeadLetters.
        eventually("the alert's figure moves", lambda: broker.figures("sms.dispatch.dead").get("messages_ready", 0) > 0)
        code, text = run("topology", "check", "--without-users")
        self.assertEqual(code, 1, text)
        self.assertIn('queue sms.dispatch is not bound to countersign.delayed under "sms.dispatch"', text)
        code, text = run("topology", "apply", "--without-users")
        self.assertEqual(code, 0, text)
        code, text = run("dead", "redrive", "--queue", "sms.dispatch", "--id", name)
        self.assertEqual(code, 0, text)
        # The reply's way, direct reply-to, was lost with the first publication.
        self.assertEqual(len(eventually("it is sent", lambda: simulator.messages(number))), 1)
        self.client.replies.pop(waited, None)


class JobsTest(DelayTest):
    def listed(self, name, *options):
        code, text = run("jobs", "list", *options, "--json")
        self.assertEqual(code, 0, text)
        found = json.loads(text)
        return found, [one for one in found["jobs"] if one["id"] == name]

    def test_a_delayed_job_is_listed_and_goes_on_as_if_nothing_had_looked(self):
        number, name = new_number("+49176", 8), f"listed-{uuid.uuid4()}"
        simulator.inject(fault="429", provider="twilio", count=1, to=number)
        sent = self.client.send("countersign.jobs", "sms.dispatch", {
            "to": number, "text": "Hello 654321", "lane": "twilio", "deadline": in_seconds(300)}, message_id=name)
        found, jobs = eventually("it is listed", lambda: (lambda found: found[1] and found)(self.listed(name)))
        self.assertEqual((jobs[0]["queue"], jobs[0]["attempts"]), ("sms.dispatch", 1))
        self.assertIn("429", jobs[0]["error"])
        self.assertGreater(jobs[0]["nextAttemptAt"], jobs[0]["since"])
        self.assertEqual([(one["queue"], one["delay"]) for one in found["queues"]], [("sms.dispatch", "5s")])
        code, text = run("jobs", "show", name)
        self.assertEqual(code, 0, text)
        self.assertNotIn("654321", text)
        self.assertNotIn(number, text)
        result = self.client.wait(sent)[1]
        self.assertEqual((result["outcome"], result["attempts"]), ("accepted", 2), result)
        self.assertEqual(len(simulator.messages(number)), 1)
        self.assertEqual(self.listed(name)[1], [])
        code, text = run("jobs", "show", name)
        self.assertEqual(code, 1, text)

    def test_a_look_keeps_order_and_delay_and_leaves_no_mark(self):
        stack.stop_for(self, "sms-worker-1", "sms-worker-2")
        broker.management("/api/queues/%2F/sms.bulk/contents", "DELETE")
        self.addCleanup(broker.management, "/api/queues/%2F/sms.bulk/contents", "DELETE")
        worker = broker.channel(self, "sms-worker")
        # Names whose order as texts is not that of the queue.
        names = [f"looked-{number}" for number in range(LOOKED_AT)]
        began = time.monotonic()
        sent = {}
        for name in names:
            sent[name] = time.monotonic()
            worker.basic_publish("countersign.retry.sms.bulk", "5s", b"{}", pika.BasicProperties(
                delivery_mode=2, message_id=name, type="sms.dispatch.v1"), mandatory=True)
            time.sleep(APART_SECONDS)
        looks = 0
        # More often than RabbitMQ 4 would allow without a limit of its own.
        while time.monotonic() < began + DELAY_SECONDS - LOOK_SECONDS:
            # One that shows all of them, and one that shows some.
            for limit in [LOOKED_AT, FEW_LOOKED_AT]:
                found, _ = self.listed("", "--queue", "sms.bulk", "--limit", str(limit))
                self.assertEqual([one["id"] for one in found["jobs"]], names[:limit])
                self.assertEqual([one["count"] for one in found["queues"]], [LOOKED_AT])
                looks += 1
        self.assertGreater(looks, 1)
        reader = broker.channel(self, "sms-worker")
        came, late = [], {}

        def take():
            while True:
                method, properties, _ = reader.basic_get("sms.bulk")
                if not method:
                    return len(came) == LOOKED_AT
                name = properties.message_id
                came.append((name, method.redelivered, properties.headers.get("x-delivery-count", 0)))
                late[name] = time.monotonic() - sent[name] - DELAY_SECONDS

        eventually("all come back", take)
        # basic.get adds the count, 0 too.
        self.assertEqual(came, [(name, False, 0) for name in names])
        self.assertLess(max(late.values()), BACK_SECONDS - DELAY_SECONDS)
        self.assertGreater(min(late.values()), -CLOCK_SECONDS)


class TimelineTest(DelayTest):
    def status(self, verification):
        return self.client.command("verification.status", {"verificationID": verification})

    def entry(self, verification, event):
        return [one for one in self.status(verification)["timeline"] if one["event"] == event]

    def test_a_delayed_sms_shows_in_its_verification(self):
        number = new_number("+49176", 8)
        simulator.inject(fault="429", count=20, to=number)
        started = self.client.command("verification.start", {"phoneNumber": number, "app": "com.example.app"})
        found = eventually("it shows", lambda: self.entry(started["verificationID"], "sms.delayed"))
        self.assertEqual(len(found), 1)
        self.assertEqual((found[0]["job"], found[0]["attempts"]), (1, 1))
        self.assertIn("429", found[0]["detail"])
        self.assertTrue(found[0]["nextAttemptAt"])
        code, text = run("verify", "status", started["verificationID"])
        self.assertEqual(code, 0, text)
        self.assertIn("tried again at", text)
        simulator.clear_faults()
        eventually("it is sent", lambda: self.entry(started["verificationID"], "sms.accepted"))
        self.assertEqual(self.status(started["verificationID"])["state"], "sent")

    def test_an_sms_that_became_a_dead_letter_ends_its_verification_with_the_reason(self):
        stack.stop_for(self, "sms-worker-1", "sms-worker-2")
        with tempfile.TemporaryDirectory(prefix="countersign-") as directory, Process("sms-worker") as worker:
            keys = pathlib.Path(directory) / "keys.json"
            code, text = run("keys", "generate", "--id", "other")
            self.assertEqual(code, 0, text)
            keys.write_text(text)
            keys.chmod(0o600)
            worker.variables["COUNTERSIGN_KEYS_FILE"] = str(keys)
            worker.start().ready()
            number = new_number("+49176", 8)
            started = self.client.command("verification.start", {"phoneNumber": number, "app": "com.example.app"})
            eventually("it has ended", lambda: self.status(started["verificationID"])["state"] == "failed")
            status = self.status(started["verificationID"])
            self.assertEqual(status["failure"]["code"], "INVALID_MESSAGE")
            self.assertIn("UNKNOWN_KEY", status["failure"]["detail"])
            self.assertIn("UNKNOWN_KEY", self.entry(started["verificationID"], "sms.refused")[0]["detail"])
            self.assertEqual(simulator.messages(number), [])
            worker.stop()
        code, text = run("dead", "drop", "--queue", "sms.dispatch", "--reason", "UNKNOWN_KEY", "--yes")
        self.assertEqual(code, 0, text)


class EventQueueTest(DelayTest):
    def test_a_queue_of_events_outlives_its_reader(self):
        name = "countersign.events.sender"
        code, text = run("topology", "user", "sender", "--events")
        self.assertEqual(code, 0, text)
        self.addCleanup(broker.management, f"/api/queues/%2F/{name}", "DELETE")
        policy = eventually("it has its policy", lambda: broker.figures(name).get("effective_policy_definition"))
        self.assertEqual(broker.figures(name)["policy"], "countersign.events")
        self.assertNotIn("expires", policy)
        self.assertEqual(
            (policy["overflow"], policy["message-ttl"], policy["max-length"], policy["max-length-bytes"]),
            ("drop-head", 3 * 86_400_000, 500_000, 256 << 20))
        reader = broker.channel(self, "sender")
        reader.queue_bind(name, "countersign.events", "verification.started")
        reader.connection.close()
        started = self.client.command("verification.start", {"phoneNumber": new_number("+49176", 8), "app": "com.example.app"})
        reader = broker.channel(self, "sender")

        def event():
            method, _, body = reader.basic_get(name, auto_ack=True)
            return method and json.loads(body)["verificationID"] == started["verificationID"]

        eventually("it kept the event", event)
        for user, attempt in [("service", lambda channel: channel.basic_get(name)),
                              ("sender", lambda channel: channel.queue_delete(name)),
                              ("sender", lambda channel: channel.queue_declare("countersign.events.mine", durable=True))]:
            with self.assertRaises(pika.exceptions.ChannelClosedByBroker) as caught:
                attempt(broker.channel(self, user))
            self.assertEqual(caught.exception.reply_code, 403)
