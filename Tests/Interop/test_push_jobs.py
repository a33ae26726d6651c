"""Pushes as another service enqueues them: provider tokens checked with PyJWT, payloads read as the app's SDK reads them."""

import datetime
import json
import threading
import uuid

import jwt
from cryptography.hazmat.primitives import serialization

import stack
from countersign_client import ClientTest
from local_server import Handler, Server
from process import Process
from samples import in_seconds

APP = "com.example.app"
WORKER = "push-worker"
TEAM, KEY = "EXAMPLE001", "APNSKEY001"
PUSHES = 100
TOGETHER_SECONDS = 20


def public_key():
    private = serialization.load_pem_private_key(
        (stack.DIRECTORY / "secrets" / "apns-key.p8").read_bytes(), password=None)
    return private.public_key()


class PushTest(ClientTest):
    """A push-worker of its own, and an Apple in Python that checks every provider token."""

    without = (WORKER,)

    def setUp(self):
        super().setUp()
        self.apple = Apple(public_key()).start(self.addCleanup)
        self.worker = self.enterContext(Process(WORKER))
        # Python speaks HTTP/1.1 only, so that a push waits for the ones before it on its connection.
        self.worker.variables |= {
            "COUNTERSIGN_LANES_0_BASE_URL": f"http://127.0.0.1:{self.apple.server_port}",
            "COUNTERSIGN_LANES_0_ANSWER_TIMEOUT_SECONDS": "30", "COUNTERSIGN_LANES_0_TIMEOUT_SECONDS": "40"}

    def push(self, device, **fields):
        job_id = str(uuid.uuid4())
        body = {
            "app": APP, "deviceToken": device, "environment": "production", "receipt": f"r-{job_id}",
            "secret": f"s-{job_id}", "deadline": in_seconds(120), **fields}
        return self.client.enqueue("push.verify", body, job_id)

    def result(self, job_id):
        properties, result = self.client.wait(job_id, 90)
        self.assertEqual(properties.type, "push.verify.result.v1")
        self.assertEqual(result["jobID"], job_id)
        return result

    def test_one_token_for_all_connections(self):
        self.apple.together = 2
        self.worker.start()
        jobs = {self.push(f"{number:064x}"): f"{number:064X}" for number in range(PUSHES)}
        ids = {}
        for job_id in jobs:
            result = self.result(job_id)
            self.assertEqual(
                (result["outcome"], result.get("environment")), ("accepted", "production"), (result, self.apple.refused))
            ids[job_id] = result["apnsID"]
            # Made of sender and ID of the job, so that no other sender's job has it.
            self.assertEqual(uuid.UUID(ids[job_id]).version, 8)
        self.assertEqual(len(set(ids.values())), PUSHES)
        self.assertEqual(self.apple.refused, [])
        self.assertEqual(len(self.apple.pushes), PUSHES)
        self.assertGreater(len(self.apple.connections), 1, "two pushes at a time went over one connection")
        self.assertEqual(len(self.apple.tokens), 1)
        header, claims = next(iter(self.apple.tokens.values()))
        self.assertEqual(header, {"alg": "ES256", "kid": KEY})
        self.assertEqual(set(claims), {"iss", "iat"})
        for job_id, device in jobs.items():
            headers, payload = self.apple.pushes[device.lower()]
            self.assertEqual(
                [headers[name] for name in ["apns-topic", "apns-push-type", "apns-priority", "apns-id"]],
                [APP, "background", "5", ids[job_id]])
            self.assertEqual(payload["aps"], {"content-available": 1})
            self.assertEqual(
                payload["com.google.firebase.auth"], {"receipt": f"r-{job_id}", "secret": f"s-{job_id}"})
            self.assertNotIn(f"s-{job_id}", self.worker.output())
            self.assertNotIn(device.lower(), self.worker.output())

    def test_payload_as_text(self):
        self.worker.replace(r'keyFile: "\.\./secrets/apns-key\.p8"',
                            'keyFile: "../secrets/apns-key.p8", payloadKey: "own.key", payloadForm: "string"')
        self.worker.start()
        job_id = self.push("ab" * 32)
        self.assertEqual(self.result(job_id)["outcome"], "accepted")
        payload = self.apple.pushes["ab" * 32][1]
        self.assertEqual(json.loads(payload["own.key"]), {"receipt": f"r-{job_id}", "secret": f"s-{job_id}"})

    def test_unregistered_since(self):
        self.worker.start()
        self.apple.unregistered["cd" * 32] = 1_782_900_000_123
        result = self.result(self.push("cd" * 32))
        self.assertEqual((result["outcome"], result["reason"]["code"], result["reason"]["providerCode"]),
                         ("refused", "UNREGISTERED", "Unregistered"))
        self.assertEqual(result["unregisteredAt"], "2026-07-01T10:00:00.123Z")


class Apple(Server):
    LONGEST_LIFE = datetime.timedelta(hours=1)

    def __init__(self, key):
        super().__init__(AppleHandler)
        self.key = key
        self.lock = threading.Condition()
        # Pushes that have to be in hand before the first one is answered: a fast server is asked over one connection.
        self.together = 1
        self.tokens = {}
        self.pushes = {}
        self.connections = set()
        self.refused = []
        self.unregistered = {}

    def check(self, token):
        header = jwt.get_unverified_header(token)
        claims = jwt.decode(token, self.key, algorithms=["ES256"], issuer=TEAM, options={"require": ["iss", "iat"]})
        age = datetime.datetime.now(datetime.timezone.utc) - datetime.datetime.fromtimestamp(
            claims["iat"], datetime.timezone.utc)
        if header["kid"] != KEY or age > self.LONGEST_LIFE:
            raise ValueError("wrong key, or too old")
        with self.lock:
            self.tokens[token] = (header, claims)


class AppleHandler(Handler):
    def do_POST(self):
        body = self.body()
        device = self.path.removeprefix("/3/device/")
        status, answer = 200, {}
        try:
            kind, token = self.headers["authorization"].split(" ")
            if kind != "bearer":
                raise ValueError("no bearer")
            self.server.check(token)
            if device in self.server.unregistered:
                status, answer = 410, {"reason": "Unregistered", "timestamp": self.server.unregistered[device]}
            else:
                with self.server.lock:
                    self.server.pushes[device] = ({k.lower(): v for k, v in self.headers.items()}, json.loads(body))
                    self.server.connections.add(self.client_address)
                    self.server.lock.notify_all()
                    self.server.lock.wait_for(lambda: len(self.server.pushes) >= self.server.together, TOGETHER_SECONDS)
        except (jwt.PyJWTError, KeyError, ValueError) as error:
            self.server.refused.append(repr(error))
            status, answer = 403, {"reason": "InvalidProviderToken"}
        self.answer(status, json.dumps(answer).encode() if answer else b"", apns_id=self.headers["apns-id"])
