"""Verifications for servers over HTTP, with an access token of a service account: flow, refusals, repeated requests, limits, what
nginx does with them, and the document, held to by schemathesis and by a client that is driven by it.
"""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest
import uuid

import aiopenapi3
import httpx2
import jsonschema

import simulator
import stack
from gateway_client import PROJECT, Assertions, Web, new_number, received_code, send
from gateway_front import Front, read, request
from process import BINARIES, Process, countersign, free_port
from service_accounts import ServiceAccount
from waiting import eventually

APP = "com.example.app"
OTHER_APP = "com.example.push"
PATH = f"/v1/projects/{PROJECT}/verifications"
UNKNOWN = f"{PATH}/lw9qXzVnXPeue0EYb3iazQ"
FILE, PAGE = stack.ROOT / "Config" / "openapi.json", stack.ROOT / "docs" / "http-api.md"
DOCUMENT = json.loads(FILE.read_text())
# The limits of deploy/nginx/gateway.conf.
BURST = 200
MAX_BODY = 64 * 1024
FLOODS = 16
# Above the SMS worker's minimumValiditySeconds (5), below which no SMS is sent.
LIFETIME_SECONDS = 12
# SMS to one number within an hour, at most.
MOST_SENDS = 20
# Budget of schemathesis, which repeats its requests until it is spent, and what it may take in all.
SCHEMATHESIS_BUDGET_SECONDS = 40
SCHEMATHESIS_SECONDS = 60
EXAMPLES = 25


def problem_schema():
    """The document's schema of problems, as one of JSON Schema."""
    return {**DOCUMENT["components"]["schemas"]["Problem"], "$schema": "https://json-schema.org/draft/2020-12/schema"}


class Problem(Exception):
    def __init__(self, answer):
        if answer.headers["Content-Type"] != "application/problem+json":
            raise AssertionError(f"{answer.status} without a problem: {answer.headers['Content-Type']} {answer.body}")
        self.problem = json.loads(answer.body)
        jsonschema.validate(self.problem, problem_schema())
        self.status, self.code, self.field = answer.status, self.problem["code"], self.problem.get("field")
        super().__init__(f"{self.status} {self.problem}")
        if self.problem["status"] != self.status:
            raise AssertionError(f"two statuses: {self}")
        retry_after = answer.headers.get("Retry-After")
        if (retry_after and int(retry_after)) != self.problem.get("retryAfter"):
            raise AssertionError(f"Retry-After: {retry_after}, {self}")


class Server:
    """A server of somebody's, with the access token of a service account."""

    def __init__(self, token, url=None):
        self.url = url or stack.gateway_urls()[0]
        self.token = token

    def at(self, url):
        return Server(self.token, url)

    def send(self, method, path=PATH, body=None, key=None):
        headers = {"Content-Type": "application/json"} if body is not None else {}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        if key is not None:
            headers["Idempotency-Key"] = key
        return send(self.url, method, path, body and json.dumps(body), headers)

    def call(self, *arguments, **options):
        answer = self.send(*arguments, **options)
        if answer.status != 200:
            raise Problem(answer)
        return answer.json()

    def start(self, number, key=None, **fields):
        return self.call("POST", body={"phoneNumber": number, "app": APP, **fields}, key=key)

    def check(self, verification, code, key=None, **fields):
        return self.call("POST", f"{PATH}/{verification}/check", body={"code": code, **fields}, key=key)

    def get(self, verification):
        return self.call("GET", f"{PATH}/{verification}")

    def cancel(self, verification, key=None):
        return self.call("DELETE", f"{PATH}/{verification}", key=key)


class VerificationTest(Assertions, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.account = ServiceAccount(cls.addClassCleanup, "verifications")
        cls.server = Server(cls.account.access_token(stack.gateway_urls()[0]))

    def refused_as(self, status, code, call, *arguments, **fields):
        with self.assertRaises(Problem) as caught:
            call(*arguments, **fields)
        self.assertEqual((caught.exception.status, caught.exception.code), (status, code), caught.exception)
        return caught.exception

    def other(self, roles="verifications"):
        return Server(ServiceAccount(self.addCleanup, roles).access_token(self.server.url))

    @staticmethod
    def wrong(code):
        return f"{(int(code) + 1) % 1_000_000:06d}"


class FlowTest(VerificationTest):
    def test_a_verification_from_the_start_to_the_approval(self):
        number = new_number()
        started = self.server.start(number, languageCode="de", client={"ip": "192.0.2.1", "userAgent": "Test/1"})
        verification = started["verificationID"]
        self.assertEqual((started["phoneNumber"], started["app"], started["purpose"]), (number, APP, "verification"))
        code = received_code(number)
        eventually("it is sent", lambda: self.server.get(verification)["state"] == "sent")
        wrong = self.refused_as(422, "INVALID_CODE", self.server.check, verification, self.wrong(code))
        self.assertEqual(wrong.problem["attemptsLeft"], 4)
        approved = self.server.check(verification, code, app=APP, client={"ip": "192.0.2.1"})
        self.assertEqual((approved["verificationID"], approved["phoneNumber"]), (verification, number))
        self.assertNotIn("subject", approved)
        self.assertEqual(self.server.get(verification)["state"], "approved")
        self.refused_as(409, "SESSION_EXPIRED", self.server.check, verification, code)
        self.assertEqual(len(simulator.messages(number)), 1)

    def test_the_first_code_of_the_page(self):
        """The lines of docs/http-api.md as they stand, but for the host and the number."""
        account = f"page-{uuid.uuid4().hex[:8]}"
        self.addCleanup(countersign, "service-account", "delete", account, "--project", PROJECT)
        number = new_number()
        lines = PAGE.read_text().split("```sh\n")[1].split("```")[0].replace("https://auth.example.com", self.server.url)
        lines = lines.replace(" backend ", f" {account} ").replace("-backend.json", f"-{account}.json").replace("+14155550123", number)
        lines = lines.replace("python3 ", f"{sys.executable} ").replace("curl ", "curl --silent --show-error --noproxy '*' ")
        with tempfile.TemporaryDirectory(prefix="countersign-") as directory:
            done = subprocess.run(
                ["bash", "-euc", lines], cwd=directory, env={**os.environ, "PATH": f"{BINARIES}:{os.environ['PATH']}", "NO_PROXY": "*"},
                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        started = json.loads(done.stdout.splitlines()[-1])
        self.assertEqual((started["phoneNumber"], started["codeLength"]), (number, len(received_code(number))))

    def test_a_national_number_by_the_short_path(self):
        started = self.server.call("POST", "/v1/verifications", {"phoneNumber": "0162 " + new_number()[6:], "region": "DE", "app": APP})
        self.assertTrue(started["phoneNumber"].startswith("+49162"))

    def test_a_canceled_one(self):
        number = new_number()
        verification = self.server.start(number)["verificationID"]
        code = received_code(number)
        self.assertEqual(self.server.cancel(verification)["verificationID"], verification)
        self.refused_as(409, "SESSION_EXPIRED", self.server.check, verification, code)
        self.assertEqual(self.server.get(verification)["state"], "canceled")

    def test_an_expired_one(self):
        stack.stop_for(self, "coordinator")
        coordinator = Process("coordinator")
        self.addCleanup(coordinator.__exit__)
        coordinator.variables["COUNTERSIGN_VERIFICATION_LIFETIME_SECONDS"] = str(LIFETIME_SECONDS)
        coordinator.start().ready()
        number = new_number()
        verification = self.server.start(number)["verificationID"]
        code = received_code(number)
        eventually("it is over", lambda: self.server.get(verification)["state"] == "expired", pause=0.5)
        self.refused_as(409, "SESSION_EXPIRED", self.server.check, verification, code)

    def test_its_code_signs_nobody_in(self):
        number = new_number()
        verification = self.server.start(number)["verificationID"]
        self.refused("INVALID_SESSION_INFO", Web().sign_in, verification, received_code(number))
        session = Web().send_code(number)
        for call in [self.server.get, self.server.cancel]:
            self.refused_as(404, "INVALID_SESSION_INFO", call, session)
        self.refused_as(404, "INVALID_SESSION_INFO", self.server.check, session, received_code(number, count=2))


class RefusalTest(VerificationTest):
    def test_bearers(self):
        for bearer in [None, "wrong", f"{self.server.token}x", "owner.x"]:
            with self.subTest(bearer=bearer and "…"):
                server = Server(bearer)
                self.refused_as(401, "INVALID_ACCESS_TOKEN", server.start, new_number())
                self.assertEqual(server.send("GET", UNKNOWN).headers["WWW-Authenticate"], "Bearer")
        account = ServiceAccount(self.addCleanup, "verifications")
        server = Server(account.access_token(self.server.url))
        self.refused_as(404, "INVALID_SESSION_INFO", server.call, "GET", UNKNOWN)
        account.run("disable", account.name)
        self.refused_as(401, "INVALID_ACCESS_TOKEN", server.call, "GET", UNKNOWN)

    def test_another_role(self):
        server = self.other("users.read,users.write,tokens,config")
        self.refused_as(403, "INSUFFICIENT_PERMISSION", server.start, new_number())
        for method, path, body in [("GET", UNKNOWN, None), ("DELETE", UNKNOWN, None), ("POST", f"{UNKNOWN}/check", {"code": "1"})]:
            self.refused_as(403, "INSUFFICIENT_PERMISSION", server.call, method, path, body)

    def test_anothers_verification(self):
        number = new_number()
        verification = self.server.start(number)["verificationID"]
        code = received_code(number)
        stranger = self.other()
        self.refused_as(404, "INVALID_SESSION_INFO", stranger.get, verification)
        self.refused_as(404, "INVALID_SESSION_INFO", stranger.cancel, verification)
        self.refused_as(404, "INVALID_SESSION_INFO", stranger.check, verification, code)
        self.refused_as(404, "INVALID_SESSION_INFO", self.server.check, verification, code, app=OTHER_APP)
        # None of it counted.
        self.server.check(verification, code)

    def test_fields(self):
        number = new_number()
        good = {"phoneNumber": number, "app": APP}
        for field, code, fields in [
            ("shade", "INVALID_ARGUMENT", {"shade": "red"}), ("phone_number", "INVALID_ARGUMENT", {"phone_number": number}),
            ("app", "INVALID_ARGUMENT", {"app": "com.example.none"}), ("region", "INVALID_ARGUMENT", {"region": None}),
            ("client.ip", "INVALID_ARGUMENT", {"client": {"ip": "localhost"}}),
            ("client.port", "INVALID_ARGUMENT", {"client": {"port": 1}}), ("phoneNumber", "INVALID_PHONE_NUMBER", {"phoneNumber": "+1"}),
            ("languageCode", "INVALID_ARGUMENT", {"languageCode": "\n"}),
        ]:
            with self.subTest(field):
                problem = self.refused_as(400, code, self.server.call, "POST", body={**good, **fields})
                self.assertEqual(problem.field, field)
        self.refused_as(400, "PROJECT_NOT_FOUND", self.server.call, "POST", PATH.replace(PROJECT, "nowhere"), good)
        self.assertEqual(simulator.messages(number), [])

    def test_many_to_one_number(self):
        number = new_number()
        with self.assertRaises(Problem) as caught:
            for _ in range(MOST_SENDS):
                self.server.cancel(self.server.start(number)["verificationID"])
        problem = caught.exception
        self.assertEqual((problem.status, problem.code), (429, "TOO_MANY_ATTEMPTS_TRY_LATER"), problem)
        self.assertGreater(problem.problem["retryAfter"], 0)
        # Others' numbers are not concerned.
        self.server.start(new_number())

    def test_without_the_broker(self):
        with Process("gateway") as gateway:
            gateway.replace(r'url: "amqp://gateway@[^"]*"', f'url: "amqp://gateway@127.0.0.1:{free_port()}/"')
            gateway.start().line("answering clients")
            server = self.server.at(f"http://127.0.0.1:{gateway.listen_port}")
            problem = self.refused_as(503, "INTERNAL_ERROR", server.start, new_number())
            self.assertEqual(problem.problem["retryAfter"], 1)


class RepetitionTest(VerificationTest):
    """Requests that are sent again, because their answer was lost, to whichever gateway."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        urls = stack.gateway_urls()
        if len(urls) == 1:
            gateway = Process("gateway")
            cls.addClassCleanup(gateway.__exit__)
            gateway.start().ready()
            urls.append(f"http://127.0.0.1:{gateway.listen_port}")
        cls.servers = [cls.server.at(url) for url in urls]

    def test_one_sms_and_the_same_answer(self):
        number, key = new_number(), str(uuid.uuid4())
        with concurrent.futures.ThreadPoolExecutor() as threads:
            calls = [threads.submit(server.start, number, key) for server in self.servers * 3]
            answers = [call.result() for call in calls]
        answers += [server.start(number, f'"{key}"') for server in self.servers]
        self.assertEqual([answer for answer in answers if answer != answers[0]], [])
        verification = answers[0]["verificationID"]
        code = received_code(number)
        self.assertEqual(len(simulator.messages(number)), 1)
        # A wrong code, sent again, is counted once; the right one is approved twice.
        for _ in range(2):
            for server in self.servers:
                wrong = self.refused_as(422, "INVALID_CODE", server.check, verification, self.wrong(code), "wrong-" + key)
                self.assertEqual(wrong.problem["attemptsLeft"], 4)
        approvals = [server.check(verification, code, "right-" + key) for server in self.servers]
        self.assertEqual(approvals[0], approvals[1])

    def test_a_key_of_another_request(self):
        number, key = new_number(), str(uuid.uuid4())
        started = self.server.start(number, key)
        for server in self.servers:
            problem = self.refused_as(422, "INVALID_ARGUMENT", server.start, new_number(), key)
            self.assertEqual(problem.problem["reason"], "IDEMPOTENCY_KEY_REUSED")
        # Keys of other calls and of other service accounts are others.
        self.assertEqual(self.server.cancel(started["verificationID"], key), self.servers[1].cancel(started["verificationID"], key))
        self.other().start(new_number(), key)

    def test_coordinator_and_accounts_are_killed(self):
        for process in ["coordinator", "accounts"]:
            with self.subTest(process):
                number, key = new_number(), str(uuid.uuid4())
                with concurrent.futures.ThreadPoolExecutor() as threads:
                    call = threads.submit(self.patient, number, key)
                    stack.kill(process)
                    stack.start(process)
                    answer = call.result()
                self.assertEqual(self.server.start(number, key), answer)
                received_code(number)
                self.assertEqual(len(simulator.messages(number)), 1)

    def patient(self, number, key):
        """The answer to a start that is sent again until there is one."""
        deadline = time.monotonic() + 120
        while True:
            try:
                return self.server.start(number, key)
            except Problem as problem:
                if problem.status != 503 or time.monotonic() > deadline:
                    raise
                time.sleep(problem.problem["retryAfter"])


class FrontTest(VerificationTest):
    def test_the_limits_for_one_client_do_not_apply(self):
        # Without a gateway nginx answers by itself, faster than the limit however slow the machine is.
        with Front(free_port()) as front, concurrent.futures.ThreadPoolExecutor(FLOODS) as threads:
            def flood(client, path):
                with front.connect(client) as connection:
                    statuses = set()
                    for _ in range(2 * BURST // FLOODS):
                        connection.sendall(request("POST", path, b"{}"))
                        statuses.add(read(connection).status)
                    return statuses

            def statuses(client, path):
                return set().union(*threads.map(flood, [client] * FLOODS, [path] * FLOODS))

            for path in [PATH, "/v1/verifications", f"{UNKNOWN}/check"]:
                self.assertEqual(statuses("127.0.9.1", path), {503}, path)
            self.assertIn(429, statuses("127.0.9.2", "/v1/verificationsx"))
            self.assertIn(429, statuses("127.0.9.3", "/v1/accounts?x=/v1/verifications"))
            # Where the path leads counts, not how it begins.
            self.assertIn(429, statuses("127.0.9.5", "/v1/verifications/../../__/auth/action"))

    def test_what_nginx_refuses_is_a_problem(self):
        with Front(free_port()) as front:
            away = Problem(front.call("127.0.9.4", "POST", PATH, b"{}"))
            self.assertEqual((away.status, away.code, away.problem["retryAfter"]), (503, "INTERNAL_ERROR", 1))
            long = Problem(front.call("127.0.9.4", "POST", PATH, b" " * (MAX_BODY + 1)))
            self.assertEqual((long.status, long.code), (413, "INVALID_ARGUMENT"))

    def test_more_than_its_limit_for_servers_is_a_problem(self):
        front = Front(free_port())
        file = pathlib.Path(front.directory.name) / "gateway.conf"
        text = file.read_text()
        for limit, low in [("rate=1000r/s;", "rate=1r/m;"), ("burst=2000 nodelay;", "burst=1 nodelay;")]:
            self.assertEqual(text.count(limit), 1, limit)
            text = text.replace(limit, low)
        file.write_text(text)
        with front:
            answers = [front.call("127.0.9.6", "POST", PATH, b"{}") for _ in range(3)]
        self.assertEqual([answer.status for answer in answers], [503, 503, 429])
        problem = Problem(answers[2])
        self.assertEqual((problem.code, problem.problem["retryAfter"]), ("TOO_MANY_ATTEMPTS_TRY_LATER", 4))

    def test_through_it(self):
        started = self.server.at(os.environ["COUNTERSIGN_GATEWAY_TLS_URL"]).start(new_number())
        self.server.cancel(started["verificationID"])


class DocumentTest(VerificationTest):
    def test_a_client_that_the_document_drives(self):
        def session(*arguments, **options) -> httpx2.Client:
            return httpx2.Client(*arguments, **options)

        url = f"{self.server.url}/v1/projects/{PROJECT}"
        text = json.dumps({**DOCUMENT, "servers": [{"url": url}]})
        client = aiopenapi3.OpenAPI.loads(url, text, session_factory=session)
        client.authenticate(accessToken=self.server.token)
        number = new_number()
        started = client._.startVerification(
            data={"phoneNumber": number, "app": APP}, parameters={"Idempotency-Key": str(uuid.uuid4())})
        one = {"verificationID": started.verificationID}
        code = received_code(number)
        with self.assertRaises(aiopenapi3.errors.HTTPClientError) as caught:
            client._.checkVerification(data={"code": self.wrong(code)}, parameters=one)
        # It leaves a problem's JSON to its caller.
        self.assertEqual((caught.exception.status_code, json.loads(caught.exception.data)["code"]), (422, "INVALID_CODE"))
        approved = client._.checkVerification(data={"code": code}, parameters=one)
        self.assertEqual((approved.phoneNumber, approved.verificationID), (number, started.verificationID))
        self.assertEqual(client._.getVerification(parameters=one).state, "approved")
        other = client._.startVerification(data={"phoneNumber": new_number(), "app": APP})
        canceled = client._.cancelVerification(parameters={"verificationID": other.verificationID})
        self.assertEqual(canceled.verificationID, other.verificationID)

    def test_schemathesis(self):
        """Requests made of the document, right and wrong ones: no answer is undocumented, none is a failure of ours."""
        checks = ",".join([
            "not_a_server_error", "status_code_conformance", "content_type_conformance", "response_headers_conformance",
            "response_schema_conformance", "negative_data_rejection", "unsupported_method", "allow_header_conformance", "ignored_auth"])
        with tempfile.TemporaryDirectory(prefix="countersign-") as directory:
            done = subprocess.run(
                [sys.executable, "-m", "schemathesis.cli", "run", str(FILE), "--url", f"{self.server.url}/v1/projects/{PROJECT}",
                 "--header", f"Authorization: Bearer {self.server.token}", "--checks", checks, "--phases", "examples,coverage,fuzzing",
                 "--max-examples", str(EXAMPLES), "--seed", "1", "--generation-deterministic",
                 "--max-time", str(SCHEMATHESIS_BUDGET_SECONDS), "--suppress-health-check", "all", "--continue-on-failure", "--no-color"],
                cwd=directory, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SCHEMATHESIS_SECONDS, check=False)
        self.assertEqual(done.returncode, 0, done.stdout.replace(self.server.token, "…") + done.stderr)
