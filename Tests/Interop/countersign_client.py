"""A client of Countersign as a back end in Python would write it: pika alone, one channel, direct reply-to."""

import json
import os
import time
import unittest
import uuid

import pika

import simulator
import stack
from waiting import eventually

REPLY_TO = "amq.rabbitmq.reply-to"


class Refused(Exception):
    """A command was answered with error.v1."""

    def __init__(self, error):
        super().__init__(f"{error['code']}: {error['message']}")
        self.code = error["code"]
        self.message = error["message"]
        self.field = error.get("field")
        self.retry_after = error.get("retryAfter")
        self.reason = error.get("reason")
        self.attempts_left = error.get("attemptsLeft")


class Client:
    """Sends commands and jobs, and collects what comes back. Not thread-safe, as pika is not."""

    def __init__(self, url):
        parameters = pika.URLParameters(url)
        # The broker checks it; messages without it share their IDs with those of every sender that says nothing.
        self.user = parameters.credentials.username
        self.connection = pika.BlockingConnection(parameters)
        self.channel = self.connection.channel()
        self.channel.confirm_delivery()
        self.replies = {}
        self.channel.basic_consume(REPLY_TO, self._on_reply, auto_ack=True)

    @classmethod
    def of(cls, test, url=None):
        """A client that is closed with a test, of a service unless told otherwise."""
        client = cls(url or os.environ["COUNTERSIGN_AMQP_URL"])
        test.addCleanup(client.close)
        return client

    def _on_reply(self, _channel, _method, properties, body):
        self.replies[properties.correlation_id] = (properties, json.loads(body))

    def send(self, exchange, routing_key, body, *, message_id=None, correlation_id=None, **overrides):
        """Publishes; returns the correlation ID under which the answer will be found."""
        message_id = message_id or str(uuid.uuid4())
        correlation_id = correlation_id or str(uuid.uuid4())
        properties = {
            "type": f"{routing_key}.v1",
            "content_type": "application/json",
            "delivery_mode": 2,
            "message_id": message_id,
            "correlation_id": correlation_id,
            "reply_to": REPLY_TO,
            "timestamp": int(time.time()),
            "app_id": "interop",
            "user_id": self.user,
        }
        properties.update(overrides)
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.channel.basic_publish(
            exchange, routing_key, data, pika.BasicProperties(**properties), mandatory=True
        )
        return correlation_id

    def wait(self, correlation_id, timeout=90):
        deadline = time.monotonic() + timeout
        while correlation_id not in self.replies:
            if time.monotonic() > deadline:
                raise TimeoutError(f"no answer within {timeout} s")
            self.connection.process_data_events(time_limit=0.2)
        return self.replies.pop(correlation_id)

    def command(self, name, body, timeout=90, **overrides):
        """Sends a command and returns the body of its reply; raises Refused for error.v1."""
        correlation_id = self.send("countersign.commands", name, body, **overrides)
        properties, reply = self.wait(correlation_id, timeout)
        if properties.type == "error.v1":
            raise Refused(reply["error"])
        return reply

    def refused(self, name, body, **options):
        """Sends a command that has to be refused: how."""
        try:
            reply = self.command(name, body, **options)
        except Refused as error:
            return error
        raise AssertionError(f"{name} was not refused: {reply}")

    def enqueue(self, job_type, body, job_id=None):
        """Sends a job under an ID of its own, or under one that it had: the ID, under which its result will be found."""
        job_id = job_id or str(uuid.uuid4())
        return self.send("countersign.jobs", job_type, body, message_id=job_id, correlation_id=job_id)

    def job(self, job_type, body, timeout=90, **overrides):
        correlation_id = self.send("countersign.jobs", job_type, body, **overrides)
        return self.wait(correlation_id, timeout)[1]

    def ended_operation(self, operation_id, timeout=180):
        """The status of an operation that is over."""
        def over():
            status = self.command("operation.status", {"operationID": operation_id})
            return status["state"] != "running" and status

        return eventually("the operation is over", over, timeout)

    def until_sent(self, verification_id):
        """Until the coordinator knows that a provider took the message."""
        eventually("the result has come", lambda: self.command(
            "verification.status", {"verificationID": verification_id}, timeout=180)["state"] == "sent", 180)

    def close(self):
        if self.connection.is_open:
            self.connection.close()


class Burst:
    """Jobs for SMS without a confirm each, and their results, of a connection that is closed with a test."""

    def __init__(self, test):
        self.connection = pika.BlockingConnection(pika.URLParameters(os.environ["COUNTERSIGN_AMQP_URL"]))
        test.addCleanup(self.connection.close)
        self.channel = self.connection.channel()
        self.results = []
        self.channel.basic_consume(REPLY_TO, lambda *message: self.results.append(json.loads(message[3])), auto_ack=True)

    def send(self, job):
        self.channel.basic_publish("countersign.jobs", "sms.dispatch", json.dumps(job), pika.BasicProperties(
            type="sms.dispatch.v1", content_type="application/json", delivery_mode=2, message_id=str(uuid.uuid4()),
            correlation_id="burst", reply_to=REPLY_TO, timestamp=int(time.time()), app_id="interop"))

    def wait(self, condition, seconds):
        """Takes results until a condition holds, or the time is over."""
        begun = time.monotonic()
        while not condition() and time.monotonic() < begun + seconds:
            self.connection.process_data_events(time_limit=0.2)


class ClientTest(unittest.TestCase):
    """Tests with a client. The faults that they inject end with each."""

    # Processes of the stack that are stopped meanwhile.
    without = ()

    @classmethod
    def setUpClass(cls):
        stack.stop_for_class(cls, *cls.without)

    def setUp(self):
        self.client = Client.of(self)
        self.addCleanup(simulator.clear_faults)
