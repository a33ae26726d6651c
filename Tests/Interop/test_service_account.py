"""reCAPTCHA Enterprise with a service account: assertions checked with PyJWT, access tokens renewed, revoked, refused, and what the operator sees."""

import json
import secrets
import threading
import time
import unittest
import urllib.parse

import jwt
from cryptography.hazmat.primitives import serialization

import simulator
import stack
from countersign_client import ClientTest
from local_server import Handler, Server
from process import Process, countersign
from samples import in_seconds

APP = "com.example.recaptcha"
LANE = "recaptcha-account"
WORKER = "push-worker"
ACTION = "verify_phone"
SCOPE = "https://www.googleapis.com/auth/cloud-platform"
GRANT_TYPE = "urn:ietf:params:oauth:grant-type:jwt-bearer"
ACCOUNT = stack.DIRECTORY / "secrets" / "google-service-account.json"
JOBS = 40


def doctor():
    findings = json.loads(countersign("--json", "doctor").stdout)["findings"]
    return [finding for finding in findings if finding["check"] == f"service account of lane {LANE}"]


class JobTest(ClientTest):
    def assess(self):
        return self.client.enqueue("recaptcha.assess", {
            "app": APP, "token": f"high.{ACTION}.{secrets.token_hex(8)}@{APP}", "expectedAction": ACTION,
            "deadline": in_seconds(120)})

    def accepted(self, job_id, timeout=90):
        _, result = self.client.wait(job_id, timeout)
        self.assertEqual((result["outcome"], result["lane"]), ("accepted", LANE), result)
        return result


class SimulatorTest(JobTest):
    """The stack's own push-worker and the simulator, which checks assertions as Google does."""

    def test_one_token_for_many_assessments(self):
        before = simulator.access_tokens()
        for job_id in [self.assess() for _ in range(JOBS)]:
            self.accepted(job_id)
        # None, if one was at hand.
        self.assertLessEqual(simulator.access_tokens() - before, 1)

    def test_revoked_token_is_renewed_once(self):
        self.accepted(self.assess())
        before = simulator.access_tokens()
        simulator.revoke_access_tokens()
        for job_id in [self.assess() for _ in range(JOBS)]:
            self.assertEqual(self.accepted(job_id)["attempts"], 1)
        self.assertEqual(simulator.access_tokens() - before, 1)

    def test_token_endpoint_that_fails_delays_and_loses_nothing(self):
        self.accepted(self.assess())
        simulator.revoke_access_tokens()
        simulator.inject(provider="google-token", fault="503", count=2, retryAfterSeconds=1)
        for job_id in [self.assess() for _ in range(3)]:
            self.accepted(job_id)
        self.assertEqual([fault for fault in simulator.faults() if fault["provider"] == "google-token"], [])

    def test_doctor_asks_for_a_token(self):
        found = doctor()
        self.assertEqual([finding["status"] for finding in found], ["ok"], found)
        simulator.inject(provider="google-token", fault="reset", count=1)
        found = doctor()
        self.assertEqual([finding["status"] for finding in found], ["failed"], found)
        self.assertIn("TOKEN_UNAVAILABLE", found[0]["detail"])


class GoogleTest(JobTest):
    """A push-worker of its own, and a Google in Python that checks every assertion with PyJWT."""

    without = (WORKER,)

    def setUp(self):
        super().setUp()
        self.account = json.loads(ACCOUNT.read_text())
        self.google = Google(self.account).start(self.addCleanup)
        self.worker = self.enterContext(Process(WORKER))
        url = f"http://127.0.0.1:{self.google.server_port}"
        # The fourth lane is that of the service account.
        self.worker.variables |= {"COUNTERSIGN_LANES_3_BASE_URL": url, "COUNTERSIGN_LANES_3_TOKEN_URL": url + "/token"}

    def tearDown(self):
        output = self.worker.output()
        for hidden in [self.account["private_key"].splitlines()[1], *self.google.tokens]:
            self.assertNotIn(hidden, output)

    def test_assertion_verifies_with_another_library(self):
        self.worker.start()
        for job_id in [self.assess() for _ in range(JOBS)]:
            self.accepted(job_id)
        self.assertEqual(self.google.refused, [])
        self.assertEqual(len(self.google.assertions), 1)
        header, claims = self.google.assertions[0]
        self.assertEqual(header, {"alg": "RS256", "typ": "JWT", "kid": self.account["private_key_id"]})
        self.assertEqual(set(claims), {"iss", "scope", "aud", "iat", "exp"})
        self.assertEqual(claims["exp"] - claims["iat"], 3600)
        self.assertEqual(claims["scope"], SCOPE)

    def test_short_lives_are_renewed_and_none_is_shown_too_late(self):
        # The worker does not show a token in its last ten seconds.
        self.google.life = 12
        self.worker.start()
        end = time.monotonic() + 90
        while len(self.google.tokens) < 4 and time.monotonic() < end:
            self.accepted(self.assess())
        self.assertEqual(self.google.refused, [])
        self.assertGreaterEqual(len(self.google.tokens), 4)
        # Each is shown for two seconds from when it was asked for, which on a busy machine is a while before it is given.
        given = sorted(ends - self.google.life for ends in self.google.tokens.values())
        self.assertGreater(given[3] - given[0], 1.5)

    def test_key_that_google_does_not_know_is_told_and_mended(self):
        self.google.knows_key = False
        self.worker.start()
        job_id = self.assess()
        line = self.worker.line("invalid_grant.signature", timeout=180)
        self.assertIn("PROVIDER_CREDENTIALS", line)
        self.assertIn("make another one", line)
        self.google.knows_key = True
        # The lane asks for a token by itself, and the job goes on.
        self.accepted(job_id)

    def test_token_that_google_never_takes_costs_one_renewal_a_try(self):
        self.google.takes_tokens = False
        self.worker.start()
        job_id = self.assess()
        self.worker.line("UNAUTHENTICATED", timeout=180)
        self.assertLessEqual(len(self.google.tokens), 2)
        self.google.takes_tokens = True
        self.accepted(job_id)

    def test_silent_token_endpoint_does_not_hold_the_assessment_for_ever(self):
        self.google.silent = 1
        self.worker.start()
        started = time.monotonic()
        self.accepted(self.assess())
        self.assertGreater(time.monotonic() - started, 4, "the first request was to hang")


class ConfigurationTest(unittest.TestCase):
    def check(self, pattern, text):
        worker = self.enterContext(Process(WORKER))
        worker.replace(pattern, text)
        worker.arguments.append("--check")
        return worker.start().end()

    def test_mistakes(self):
        file = r'serviceAccountFile: "[^"]*"'
        for text, message in [
                ('serviceAccountFile: "../secrets/recaptcha-api-key"', "is not the JSON of a service account's key"),
                ('serviceAccountFile: "../secrets/nowhere.json"', "does not exist"),
                ('serviceAccountFile: "../secrets/google-service-account.json", apiKeyFile: "../secrets/recaptcha-api-key"',
                 "is given with apiKeyFile: give one of them"),
        ]:
            code, lines = self.check(file, text)
            self.assertEqual(code, 78, lines)
            self.assertIn(message, "\n".join(lines))


class Google(Server):
    """Gives access tokens for assertions that verify with PyJWT, and takes no other ones."""

    def __init__(self, account):
        super().__init__(GoogleHandler)
        private = serialization.load_pem_private_key(account["private_key"].encode(), password=None)
        self.key = private.public_key()
        self.account = account
        self.lock = threading.Lock()
        self.life = 3599
        self.knows_key = True
        self.takes_tokens = True
        self.silent = 0
        self.tokens = {}
        self.assertions = []
        self.refused = []

    def token(self, form):
        if form.get("grant_type") != [GRANT_TYPE]:
            return 400, {"error": "unsupported_grant_type", "error_description": "Invalid grant_type"}
        try:
            if not self.knows_key:
                raise jwt.InvalidSignatureError("unknown key")
            assertion = form["assertion"][0]
            claims = jwt.decode(
                assertion, self.key, algorithms=["RS256"], issuer=self.account["client_email"],
                audience=self.account["token_uri"], options={"require": ["iss", "scope", "aud", "iat", "exp"]})
        except (jwt.PyJWTError, KeyError) as error:
            self.refused.append(repr(error))
            return 400, {"error": "invalid_grant", "error_description": "Invalid JWT Signature."}
        with self.lock:
            self.assertions.append((jwt.get_unverified_header(assertion), claims))
            token = f"ya29.c.{secrets.token_urlsafe(24)}"
            self.tokens[token] = time.monotonic() + self.life
        return 200, {"access_token": token, "expires_in": self.life, "token_type": "Bearer"}

    def assessment(self, authorization, event):
        kind, _, token = (authorization or "").partition(" ")
        if kind != "Bearer" or not self.takes_tokens or self.tokens.get(token, 0) < time.monotonic():
            self.refused.append(kind)
            return 401, {"error": {"code": 401, "message": "Request had invalid authentication credentials.",
                                   "status": "UNAUTHENTICATED"}}
        return 200, {
            "name": "projects/example-project/assessments/1", "riskAnalysis": {"score": 0.9},
            "tokenProperties": {"valid": True, "action": event["expectedAction"], "iosBundleId": APP}}


class GoogleHandler(Handler):
    def do_POST(self):
        body = self.body().decode()
        if self.path == "/token":
            if self.server.silent:
                self.server.silent -= 1
                time.sleep(8)
            status, answer = self.server.token(urllib.parse.parse_qs(body))
        else:
            status, answer = self.server.assessment(self.headers["Authorization"], json.loads(body)["event"])
        self.answer(status, json.dumps(answer).encode())
