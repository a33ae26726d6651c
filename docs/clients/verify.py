"""Verifies a phone number: python3 verify.py start NUMBER APP, then python3 verify.py check ID CODE APP.

COUNTERSIGN_AMQP_URL names the broker. Library: pika.
"""

import json
import os
import sys
import time
import uuid

import pika

DEADLINE_SECONDS = 30
TRIES = 3


class Refused(Exception):
    """Error reply to a command. `retry_after` are seconds, or None where waiting does not help."""

    def __init__(self, error):
        super().__init__(f"{error['code']}: {error['message']}")
        self.code, self.reason, self.retry_after = error["code"], error.get("reason"), error.get("retryAfter")


class Returned(Exception):
    """No queue takes the command: it is misspelled, or the topology is missing."""


class Unanswered(Exception):
    """No reply within the deadline. The command may have been carried out: it is repeated under its ID."""


class Client:
    def __init__(self, url):
        self.connection = pika.BlockingConnection(pika.URLParameters(url))
        self.channel = self.connection.channel()
        self.replies, self.returned = {}, set()
        self.channel.add_on_return_callback(lambda channel, method, properties, body: self.returned.add(properties.message_id))
        # Direct reply-to: consumed on the channel that publishes, without acknowledgements.
        self.channel.basic_consume("amq.rabbitmq.reply-to", self.receive, auto_ack=True)

    def receive(self, channel, method, properties, body):
        self.replies[properties.correlation_id] = (properties.type, json.loads(body))

    def ask(self, command, body, message_id):
        self.channel.basic_publish("countersign.commands", command, json.dumps(body), mandatory=True, properties=pika.BasicProperties(
            type=f"{command}.v1", message_id=message_id, correlation_id=message_id, reply_to="amq.rabbitmq.reply-to",
            content_type="application/json", delivery_mode=2, timestamp=int(time.time())))
        deadline = time.monotonic() + DEADLINE_SECONDS
        while message_id not in self.replies:
            if message_id in self.returned:
                raise Returned(f"no queue takes {command}")
            if time.monotonic() > deadline:
                raise Unanswered(f"no reply to {command} within {DEADLINE_SECONDS} s")
            self.connection.process_data_events(time_limit=0.2)
        kind, reply = self.replies.pop(message_id)
        if kind == "error.v1":
            raise Refused(reply["error"])
        return reply


def ask(command, body):
    """The reply, also over a lost connection: under the same ID a command has one effect and the same answer."""
    message_id = str(uuid.uuid4())
    for attempt in range(TRIES):
        try:
            client = Client(os.environ["COUNTERSIGN_AMQP_URL"])
            try:
                return client.ask(command, body, message_id)
            finally:
                if client.connection.is_open:
                    client.connection.close()
        except (pika.exceptions.AMQPError, Unanswered):
            if attempt == TRIES - 1:
                raise
            time.sleep(2 ** attempt)


if __name__ == "__main__":
    try:
        if sys.argv[1:2] == ["start"] and len(sys.argv) == 4:
            print(ask("verification.start", {"phoneNumber": sys.argv[2], "app": sys.argv[3]})["verificationID"])
        elif sys.argv[1:2] == ["check"] and len(sys.argv) == 5:
            print(ask("verification.check", {"verificationID": sys.argv[2], "code": sys.argv[3], "app": sys.argv[4]})["phoneNumber"])
        else:
            sys.exit(__doc__)
    except Refused as error:
        sys.exit(f"{error}" + (f"; again in {error.retry_after} s" if error.retry_after is not None else ""))
    except (Returned, Unanswered, pika.exceptions.AMQPError) as error:
        sys.exit(f"{type(error).__name__}: {error}")
