"""Config/asyncapi.json is a valid AsyncAPI document, and every message of a whole run is as it says."""

import copy
import json
import os
import secrets
import time
import unittest

import jsonschema
import pika

import app_sdk
import asyncapi_rules
import contract
import simulator
from countersign_client import Client, Refused
from samples import new_number, wrong
from test_app import new_device
from test_verification import APP
from waiting import eventually

PUSH_APP = "com.example.push"
PATIENCE_SECONDS = 60
# Between the workers of one type only, and so in no contract: the job that a further stage belongs to.
WORKERS_OWN = {"x-job-id"}


def schemas():
    yield from contract.DOCUMENT["components"]["schemas"].values()
    for message in contract.DOCUMENT["components"]["messages"].values():
        yield from [message["payload"], *contract.headers(message)]


def with_examples(schema):
    if isinstance(schema, list):
        for part in schema:
            yield from with_examples(part)
    elif isinstance(schema, dict):
        if isinstance(schema.get("examples"), list):
            yield schema
        for part in schema.values():
            yield from with_examples(part)


class DocumentTest(unittest.TestCase):
    def test_it_keeps_the_rules_of_asyncapi(self):
        self.assertEqual(asyncapi_rules.Rules(contract.DOCUMENT).check(), [])

    def test_every_schema_is_one_of_draft_07(self):
        count = 0
        for schema in schemas():
            jsonschema.Draft7Validator.check_schema(schema)
            count += 1
        self.assertGreater(count, 100)

    def test_examples_of_schemas_fit_them(self):
        count = 0
        for schema in with_examples(contract.DOCUMENT["components"]["schemas"]):
            for example in schema["examples"]:
                self.assertEqual(contract.problems(example, schema), [], example)
                count += 1
        self.assertGreater(count, 50)

    def test_examples_of_messages_fit_their_schemas(self):
        count = 0
        for name, message in contract.DOCUMENT["components"]["messages"].items():
            for example in message.get("examples", []):
                self.assertEqual(contract.problems(example["payload"], message["payload"]), [], name)
                for schema in contract.headers(message):
                    self.assertEqual(contract.problems(example.get("headers", {}), schema), [], name)
                count += 1
        self.assertGreater(count, 5)

    def test_the_rules_find_what_is_wrong(self):
        start = "command.verification.start"
        mistakes = {
            "info: no title": lambda document: document["info"].pop("title"),
            "servers.broker: no host": lambda document: document["servers"]["broker"].pop("host"),
            "operations.send sms.bulk: no action": lambda document: document["operations"]["send sms.bulk"].pop("action"),
            "operations.send sms.bulk: action is neither send nor receive":
                lambda document: document["operations"]["send sms.bulk"].update(action="publish"),
            "operations.send sms.bulk: its channel is no reference to a channel":
                lambda document: document["operations"]["send sms.bulk"].update(
                    channel={"$ref": "#/components/messages/SMSDispatchJob"}),
            "operations.send verification.start.reply: a message of it is no reference to one of its channel":
                lambda document: document["operations"]["send verification.start"]["reply"].update(
                    messages=[{"$ref": "#/components/messages/VerificationStarted"}]),
            "operations.send verification.start: its reply has an address, and so has the reply's channel":
                lambda document: document["channels"]["replies"].update(address="replies"),
            "operations.send verification.start: the location of its reply is no runtime expression":
                lambda document: document["operations"]["send verification.start"]["reply"]["address"].update(
                    location="reply_to"),
            f"channels.{start}: payload is no field of a channel":
                lambda document: document["channels"][start].update(payload={}),
            f"channels.{start}: its exchange has no type":
                lambda document: document["channels"][start]["bindings"]["amqp"]["exchange"].pop("type"),
            "components.messages.ErrorReply: schema is no field of a message":
                lambda document: document["components"]["messages"]["ErrorReply"].update(schema={}),
            "components.messages.ErrorReply: an example of it is empty":
                lambda document: document["components"]["messages"]["ErrorReply"].update(examples=[{"name": "none"}]),
            "#/components/schemas/None: leads nowhere":
                lambda document: document["components"]["messages"]["ErrorReply"].update(
                    payload={"$ref": "#/components/schemas/None"}),
            "#/components/schemas/Error: has fields beside $ref":
                lambda document: document["components"]["messages"]["ErrorReply"].update(
                    payload={"$ref": "#/components/schemas/Error", "description": "x"}),
            "components.schemas.a b: has another sign in its name":
                lambda document: document["components"]["schemas"].update({"a b": {}}),
        }
        for problem, mistake in mistakes.items():
            document = copy.deepcopy(contract.DOCUMENT)
            mistake(document)
            self.assertIn(problem, asyncapi_rules.Rules(document).check())
        document = copy.deepcopy(contract.DOCUMENT)
        document["info"]["x-audience"] = "public"
        self.assertEqual(asyncapi_rules.Rules(document).check(), [])


class Listening(Client):
    def __init__(self, url):
        self.answers = []
        super().__init__(url)

    def _on_reply(self, channel, method, properties, body):
        self.answers.append(("", method.routing_key, properties, body))
        super()._on_reply(channel, method, properties, body)


class TrafficTest(unittest.TestCase):
    """Verifications, a proof of an app and a revocation, heard at every exchange."""

    def setUp(self):
        self.client = Listening(os.environ["COUNTERSIGN_AMQP_URL"])
        self.addCleanup(self.client.close)
        self.listener = pika.BlockingConnection(pika.URLParameters(os.environ["COUNTERSIGN_TEST_AMQP_URL"]))
        self.addCleanup(self.listener.close)
        self.channel = self.listener.channel()
        self.queue = self.channel.queue_declare("", exclusive=True).method.queue
        for channel in contract.DOCUMENT["channels"].values():
            if channel["address"] is not None:
                exchange = channel["bindings"]["amqp"]["exchange"]["name"]
                self.channel.queue_bind(self.queue, exchange, channel["address"])
        for exchange in ["countersign.results", "countersign.events"]:
            # Also what the document does not describe.
            self.channel.queue_bind(self.queue, exchange, "#")

    def command(self, name, **body):
        return self.client.command(name, body)

    def verify(self):
        number = new_number("+49160")
        identifier = self.command(
            "verification.start", phoneNumber=number, app=APP, languageCode="de", requester="contract",
            client={"ip": "203.0.113.9"})["verificationID"]
        code = simulator.code(simulator.message(number)["body"])
        with self.assertRaises(Refused):
            self.command("verification.check", verificationID=identifier, code=wrong(code))
        self.command("verification.check", verificationID=identifier, code=code, app=APP)
        self.command("verification.status", verificationID=identifier)

    def cancel(self):
        identifier = self.command("verification.start", phoneNumber=new_number("+49160"), app=APP)["verificationID"]
        self.command("verification.cancel", verificationID=identifier)

    def prove(self):
        """A push, and a verification that it pays for."""
        sdk, device, number = app_sdk.App(), new_device(PUSH_APP), new_number("+49160")
        sdk.wait_for(self.command("app.verify", app=PUSH_APP, deviceToken=device)["receipt"])
        self.assertTrue(sdk.receive(simulator.push(device)["payload"]))
        self.command("verification.start", phoneNumber=number, app=PUSH_APP, proof=sdk.credential)
        simulator.message(number)

    def revoke(self):
        operation = self.command(
            "revocation.start", app=APP, authorizationCode=simulator.authorization_code(APP),
            notify={"email": f"{secrets.token_hex(8)}@privaterelay.appleid.com"})["operationID"]
        eventually(
            "it has ended", lambda: self.command("operation.status", operationID=operation)["state"] != "running",
            PATIENCE_SECONDS)

    def heard(self, wanted):
        """What passed the exchanges, as soon as each of the types is among it."""
        messages, deadline = [], time.monotonic() + PATIENCE_SECONDS
        while True:
            method, properties, body = self.channel.basic_get(self.queue, auto_ack=True)
            if method is not None:
                messages.append((method.exchange, method.routing_key, properties, body))
                continue
            missing = wanted - {properties.type for _, _, properties, _ in messages}
            if not missing:
                return messages
            self.assertLess(time.monotonic(), deadline, missing)
            time.sleep(0.1)

    def test_every_message_of_a_run_is_as_the_document_says(self):
        self.verify()
        self.cancel()
        self.prove()
        self.revoke()
        messages = self.heard({
            "verification.start.v1", "verification.check.v1", "verification.status.v1", "verification.cancel.v1",
            "app.verify.v1", "revocation.start.v1", "operation.status.v1",
            "sms.dispatch.v1", "sms.dispatch.result.v1", "push.verify.v1", "push.verify.result.v1",
            "apple.revoke.v1", "apple.revoke.result.v1", "mail.relay.v1", "mail.relay.result.v1",
            "verification.started.v1", "verification.sent.v1", "verification.approved.v1",
            "verification.canceled.v1", "app.verified.v1", "operation.started.v1", "operation.completed.v1",
        })
        answers = {properties.type for _, _, properties, _ in self.client.answers}
        self.assertLessEqual({
            "verification.started.v1", "verification.approved.v1", "verification.state.v1",
            "verification.canceled.v1", "app.verifying.v1", "operation.started.v1", "operation.state.v1", "error.v1",
        }, answers)
        for exchange, routing_key, properties, body in messages + self.client.answers:
            self.is_as_described(exchange, routing_key, properties, json.loads(body))

    def is_as_described(self, exchange, routing_key, properties, body):
        place = f"{properties.type} at {exchange} {routing_key}"
        message = contract.message_of(exchange, routing_key, properties.type)
        self.assertIsNotNone(message, place)
        self.assertEqual(contract.problems(body, message["payload"]), [], place)
        self.assertEqual(properties.content_type, "application/json", place)
        headers = {name: value for name, value in (properties.headers or {}).items() if name not in WORKERS_OWN}
        for schema in contract.headers(message):
            self.assertEqual(contract.problems(headers, schema), [], place)
