"""Messages that can wait hold up no code: a queue of their own, and a share of the lanes."""

import json
import os
import time
import uuid

import broker
import simulator
import stack
from countersign_client import Client, ClientTest
from process import Process
from samples import in_seconds, new_number
from waiting import eventually

# Calls under way at once on the lane; the bulk has one of them.
CONCURRENCY = 4
# How long the provider takes for one message.
CALL_SECONDS = 0.4
BACKLOG = 150
CODES = 12


class BulkTest(ClientTest):
    # They would take the codes, by lanes of their own.
    without = ("sms-worker-1", "sms-worker-2")

    def setUp(self):
        super().setUp()
        self.worker = self.enterContext(Process("sms-worker"))
        self.worker.replace(r'(?<=type: "twilio",\n      concurrency: )64', str(CONCURRENCY))
        self.worker.replace(r"\n  lanes: \[", f"\n  bulk: {{ share: {1 / CONCURRENCY} }},\n  lanes: [")
        self.worker.start().ready()

    def send(self, key, number=None):
        body = {"to": number or new_number("+49172"), "text": f"{key} {uuid.uuid4()}", "lane": "twilio", "deadline": in_seconds(300)}
        return self.client.send("countersign.jobs", key, body, type="sms.dispatch.v1")

    def listen(self):
        operator = Client.of(self, os.environ["COUNTERSIGN_OPERATOR_AMQP_URL"])
        queue = operator.channel.queue_declare(f"countersign.reply.operator.{uuid.uuid4()}", exclusive=True).method.queue
        operator.channel.queue_bind(queue, "countersign.results", "#")
        heard = {}

        def on_result(_channel, method, properties, body):
            heard[json.loads(body).get("jobID")] = (method.routing_key, properties.type)

        operator.channel.basic_consume(queue, on_result, auto_ack=True)

        def result_of(job, timeout=90):
            deadline = time.monotonic() + timeout
            while job not in heard:
                self.assertLess(time.monotonic(), deadline, "no result of it was published")
                operator.connection.process_data_events(time_limit=0.2)
            return heard[job]

        return result_of

    def waiting_results(self):
        """Routing keys of the results that wait for the coordinator, by their message IDs. They stay where they are."""
        found = broker.management("/api/queues/%2F/coordinator.results/get", "POST", {
            "count": 1000, "ackmode": "ack_requeue_true", "encoding": "auto"})
        return {one["properties"].get("message_id"): one["routing_key"] for one in found}

    def count(self, queue, outcome):
        return int(self.worker.metric("countersign_jobs_total", type=queue, lane="twilio", outcome=outcome) or 0)

    def assert_counts(self, bulk, codes, timeout=90):
        """A job is counted when its result is out and it is acknowledged, so after its sender has heard of it."""
        eventually("all are counted", lambda: (
            self.count("sms.bulk", "accepted"), self.count("sms.dispatch", "accepted")) == (bulk, codes), timeout)

    def test_codes_pass_a_long_backlog(self):
        simulator.inject(fault="latency", delaySeconds=CALL_SECONDS, provider="twilio", count=10_000)
        # It would take the bulk's one slot a minute.
        waiting = [self.send("sms.bulk") for _ in range(BACKLOG)]
        codes = [self.send("sms.dispatch") for _ in range(CODES)]
        results = [self.client.wait(code, timeout=120)[1] for code in codes]
        left = BACKLOG - self.count("sms.bulk", "accepted")
        self.assertEqual({result["outcome"] for result in results}, {"accepted"})
        # What stands before a code in one queue has to be sent before it; here nearly all of it still waits.
        self.assertGreater(left, BACKLOG // 2)
        # The bulk has a share, and is not starved either.
        simulator.clear_faults()
        results = [self.client.wait(one, timeout=120)[1] for one in waiting]
        self.assertEqual({result["outcome"] for result in results}, {"accepted"})
        self.assert_counts(BACKLOG, CODES)

    def test_results_say_by_their_key_that_the_job_could_wait(self):
        result_of = self.listen()
        for queue in ["sms.bulk", "sms.dispatch"]:
            result = self.client.wait(self.send(queue), timeout=180)[1]
            self.assertEqual(result["outcome"], "accepted")
            self.assertEqual(result_of(result["jobID"]), (f"{queue}.accepted", "sms.dispatch.result.v1"))

    def test_results_of_the_bulk_do_not_pass_through_the_coordinators_queue(self):
        stack.stop_for(self, "coordinator")
        bulk = [self.client.wait(self.send("sms.bulk"), timeout=180)[1]["jobID"] for _ in range(3)]
        code = self.client.wait(self.send("sms.dispatch"), timeout=180)[1]["jobID"]
        # They were published before the one that is there.
        waiting = eventually(
            "the result of a code waits for the coordinator",
            lambda: f"{code}.result" in (found := self.waiting_results()) and found)
        self.assertEqual(waiting[f"{code}.result"], "sms.dispatch.accepted")
        self.assertFalse({f"{job}.result" for job in bulk} & set(waiting))
        self.assertFalse([key for key in waiting.values() if key.startswith("sms.bulk.")])

    def test_one_that_is_tried_again_comes_back_to_its_queue(self):
        number = new_number("+49172")
        simulator.inject(fault="429", provider="twilio", count=1, to=number)
        result_of = self.listen()
        result = self.client.wait(self.send("sms.bulk", number), timeout=180)[1]
        self.assertEqual((result["outcome"], result["attempts"]), ("accepted", 2))
        self.assertEqual(result_of(result["jobID"])[0], "sms.bulk.accepted")
        self.assert_counts(1, 0)
        self.assertEqual(len(simulator.messages(number)), 1)

    def test_a_broken_one_dies_in_its_own_dead_queue(self):
        self.client.send("countersign.jobs", "sms.bulk", b"{", type="sms.dispatch.v1", message_id="bulk-broken")
        operator = Client.of(self, os.environ["COUNTERSIGN_OPERATOR_AMQP_URL"])
        _, properties, _ = eventually(
            "a dead letter", lambda: (got := operator.channel.basic_get("sms.bulk.dead", auto_ack=True))[0] and got)
        self.assertEqual(properties.message_id, "bulk-broken")
        self.assertEqual(properties.headers["x-dead-queue"], "sms.bulk")
