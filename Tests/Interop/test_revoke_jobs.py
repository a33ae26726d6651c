"""Revocations as another service enqueues them, and a worker that is killed at every step: nothing is lost without being said."""

import json
import pathlib
import sqlite3
import subprocess
import urllib.parse
import uuid

import jwt

import simulator
import stack
from countersign_client import ClientTest
from local_server import Handler, Server
from process import Process
from samples import in_seconds
from waiting import eventually

APP = "com.example.app"
WORKER = "revocation-worker"
# Until the lease of what had begun is over, and the delay steps until it is looked at again.
PATIENCE_SECONDS = 120


def alarm(on):
    """A memory alarm: the broker takes no messages while it is on, and still delivers."""
    subprocess.run(
        [stack.ROOT / "deploy/lib/broker-ctl", stack.DIRECTORY / "broker", stack.DIRECTORY / "secrets",
         "set_vm_memory_high_watermark", "0.0001" if on else "0.4"],
        stdin=subprocess.DEVNULL, capture_output=True, timeout=180, check=True)


class WorkerTest(ClientTest):
    without = (WORKER,)

    def setUp(self):
        super().setUp()
        self.worker = self.enterContext(Process(WORKER))
        # Short calls make short leases; a busy machine takes a while for one.
        self.worker.variables |= {
            "COUNTERSIGN_LANES_0_TIMEOUT_SECONDS": "6", "COUNTERSIGN_LEDGER_LEASE_MARGIN_SECONDS": "15"}

    def send(self, job_id=None, **fields):
        return self.client.enqueue("apple.revoke", {"app": APP, "deadline": in_seconds(300), **fields}, job_id)

    def result(self, job_id, timeout=PATIENCE_SECONDS):
        properties, result = self.client.wait(job_id, timeout)
        self.assertEqual(result["jobID"], job_id)
        self.assertEqual(properties.message_id, f"{job_id}.result")
        self.assertEqual(properties.type, "apple.revoke.result.v1")
        return result

    def begun(self):
        eventually("a request", lambda: any(entry["hits"] for entry in simulator.faults()))

    def kill(self):
        self.worker.running.kill()
        self.worker.running.wait()

    def settled(self, job_id):
        if stack.IS_POSTGRESQL:
            return stack.sql(
                f"SELECT count(*) FROM countersign.ledger_job WHERE state = 2 AND position('{job_id}'::bytea IN key) > 0",
                self.worker.database()) != "0"
        for path in pathlib.Path(self.worker.directory.name).glob("data/*.sqlite"):
            try:
                with sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30) as database:
                    found = database.execute("SELECT 1 FROM job WHERE instr(key, ?) > 0 AND state = 2", [job_id]).fetchone()
                    return found is not None
            except sqlite3.OperationalError:
                # The worker is about to make it.
                return False
        return False

    def ledger_text(self):
        if stack.IS_POSTGRESQL:
            found = [content for _, content in stack.database_files(self.worker.database())]
            return b"".join([*found, stack.database_changes()])
        files = pathlib.Path(self.worker.directory.name).glob("data/*")
        return b"".join(file.read_bytes() for file in files)


class JobTest(WorkerTest):
    def setUp(self):
        super().setUp()
        self.worker.start()

    def test_code(self):
        code = simulator.authorization_code(APP)
        result = self.result(self.send(authorizationCode=code))
        self.assertEqual((result["outcome"], result["stage"], result["tokenKind"]),
                         ("accepted", "revoked", "authorizationCode"))
        revoked = simulator.revocations(code=code)
        self.assertEqual([entry["tokenTypeHint"] for entry in revoked], ["refresh_token"])
        # Neither the code nor the token was written down in the clear.
        for secret in [code, revoked[0]["token"]]:
            self.assertNotIn(secret.encode(), self.ledger_text())
            self.assertNotIn(secret, self.worker.output())

    def test_subject_is_told_and_another_one_refused(self):
        code = simulator.authorization_code(APP, subject="001.mine")
        result = self.result(self.send(authorizationCode=code, subject="001.mine"))
        self.assertEqual((result["outcome"], result["subject"]), ("accepted", "001.mine"))
        code = simulator.authorization_code(APP, subject="001.other")
        result = self.result(self.send(authorizationCode=code, subject="001.mine"))
        self.assertEqual((result["outcome"], result["reason"]["code"]), ("refused", "SUBJECT_MISMATCH"))
        self.assertNotIn("001.other", json.dumps(result))
        self.assertEqual(simulator.revocations(code=code), [])

    def test_token(self):
        token = f"r{uuid.uuid4().hex}.0.x"
        result = self.result(self.send(refreshToken=token))
        self.assertEqual((result["outcome"], result["tokenKind"]), ("accepted", "refreshToken"))
        self.assertEqual(len(simulator.revocations(token=token)), 1)

    def test_same_message_twice_is_revoked_once(self):
        token = f"r{uuid.uuid4().hex}.0.x"
        job_id = self.send(refreshToken=token)
        first = self.result(job_id)
        self.send(job_id, refreshToken=token)
        self.assertEqual(self.result(job_id), first)
        self.assertEqual(len(simulator.revocations(token=token)), 1)

    def test_refused(self):
        result = self.result(self.send(authorizationCode="c0.0.never.issued"))
        self.assertEqual((result["outcome"], result["stage"]), ("refused", "exchange"))
        self.assertEqual((result["reason"]["code"], result["reason"]["providerCode"]), ("INVALID_GRANT", "invalid_grant"))
        result = self.result(self.send(refreshToken="r", clientID="com.example.unknown"))
        self.assertEqual(result["reason"]["code"], "UNKNOWN_CLIENT")

    def test_two_tokens_are_a_dead_letter(self):
        result = self.result(self.send(refreshToken="r", accessToken="a"))
        self.assertEqual(result["reason"]["code"], "INVALID_MESSAGE")


class WrongClientTest(WorkerTest):
    def test_lane_is_down_and_says_why(self):
        self.worker.variables["COUNTERSIGN_LANES_0_KEY_ID"] = "WRONGKEY01"
        self.worker.start()
        token = f"r{uuid.uuid4().hex}.0.x"
        job_id = self.send(refreshToken=token)
        line = self.worker.line("lane is down")
        for cause in ["keyID", "teamID", "clientID", "clock", "redirectURI"]:
            self.assertIn(cause, line)
        self.worker.stop()
        # Mended, it is carried out: nothing was lost meanwhile.
        del self.worker.variables["COUNTERSIGN_LANES_0_KEY_ID"]
        self.worker.start()
        self.assertEqual(self.result(job_id)["outcome"], "accepted")
        self.assertEqual(len(simulator.revocations(token=token)), 1)


class KillTest(WorkerTest):
    """The worker dies as a crash does, and another one starts with its ledger."""

    def setUp(self):
        super().setUp()
        self.addCleanup(alarm, False)
        self.worker.start()

    def start_again(self):
        simulator.clear_faults()
        self.worker.start()

    def settled_and_killed(self, **fields):
        """A job whose worker dies when the answer is in the ledger, and the broker has not taken what follows."""
        self.kill()
        job_id = self.send(**fields)
        alarm(True)
        self.worker.start()
        eventually("the answer in the ledger", lambda: self.settled(job_id))
        self.kill()
        return job_id

    def killed_in(self, provider, processed):
        """The code and the result of a job whose worker dies while it waits for that answer."""
        simulator.inject(provider=provider, fault="hang", processed=processed, count=100)
        code = simulator.authorization_code(APP)
        job_id = self.send(authorizationCode=code)
        self.begun()
        self.kill()
        self.start_again()
        return code, self.result(job_id)

    def test_before_the_call(self):
        self.kill()
        code = simulator.authorization_code(APP)
        job_id = self.send(authorizationCode=code)
        self.start_again()
        self.assertEqual(self.result(job_id)["outcome"], "accepted")
        self.assertEqual(len(simulator.revocations(code=code)), 1)

    def test_in_the_call_before_apple_has_exchanged_the_code(self):
        code, result = self.killed_in("apple-token", processed=False)
        self.assertEqual(result["outcome"], "accepted", result)
        self.assertEqual(len(simulator.revocations(code=code)), 1)

    def test_in_the_call_after_apple_has_exchanged_the_code(self):
        code, result = self.killed_in("apple-token", processed=True)
        self.assertEqual((result["outcome"], result["reason"]["code"]), ("unknown", "LOST"))
        self.assertIn("sign in with Apple again", result["reason"]["detail"])
        self.assertEqual(simulator.revocations(code=code), [])

    def test_after_the_call_before_the_next_stage_is_confirmed(self):
        code = simulator.authorization_code(APP)
        job_id = self.settled_and_killed(authorizationCode=code)
        self.assertEqual(simulator.revocations(code=code), [])
        self.start_again()
        alarm(False)
        result = self.result(job_id)
        self.assertEqual((result["outcome"], result["tokenKind"]), ("accepted", "authorizationCode"))
        self.assertEqual(len(simulator.revocations(code=code)), 1)

    def test_after_the_next_stage_is_confirmed(self):
        code, result = self.killed_in("apple-revoke", processed=False)
        self.assertEqual((result["outcome"], result["tokenKind"]), ("accepted", "authorizationCode"))
        self.assertEqual(len(simulator.revocations(code=code)), 1)

    def test_after_apple_has_revoked_the_token(self):
        code, result = self.killed_in("apple-revoke", processed=True)
        self.assertEqual(result["outcome"], "accepted")
        # Harmless twice, and so done again.
        self.assertEqual(len(simulator.revocations(code=code)), 2)

    def test_between_the_revocation_and_its_result(self):
        token = f"r{uuid.uuid4().hex}.0.x"
        job_id = self.settled_and_killed(refreshToken=token)
        self.start_again()
        alarm(False)
        self.assertEqual(self.result(job_id)["outcome"], "accepted")
        self.assertEqual(len(simulator.revocations(token=token)), 1)

    def test_no_answer(self):
        for processed, expected in [(False, "accepted"), (True, "unknown")]:
            simulator.inject(provider="apple-token", fault="reset", processed=processed, count=1)
            code = simulator.authorization_code(APP)
            result = self.result(self.send(authorizationCode=code))
            self.assertEqual(result["outcome"], expected)
            self.assertEqual(len(simulator.revocations(code=code)), 1 if expected == "accepted" else 0)


class Apple(Server):
    """Checks client secrets with PyJWT, as Apple's documentation says they have to be."""

    AUDIENCE = "https://appleid.apple.com"
    LONGEST_LIFE_SECONDS = 15_777_000

    def __init__(self, key):
        super().__init__(AppleHandler)
        self.key = key
        self.verified = []
        self.refused = []

    def check(self, form):
        secret = form["client_secret"]
        header = jwt.get_unverified_header(secret)
        claims = jwt.decode(
            secret, self.key, algorithms=["ES256"], audience=self.AUDIENCE, issuer="EXAMPLE001",
            options={"require": ["iss", "iat", "exp", "aud", "sub"]})
        if claims["sub"] != form["client_id"]:
            raise ValueError("sub is not client_id")
        if claims["exp"] - claims["iat"] > self.LONGEST_LIFE_SECONDS:
            raise ValueError("lives too long")
        self.verified.append((header, claims))


class AppleHandler(Handler):
    def do_POST(self):
        form = {name: values[0] for name, values in urllib.parse.parse_qs(self.body().decode(), strict_parsing=True).items()}
        status, answer = 200, b""
        try:
            self.server.check(form)
            if self.path == "/auth/token":
                answer = json.dumps({"access_token": "a", "refresh_token": f"r-{form['code']}"}).encode()
        except (jwt.PyJWTError, KeyError, ValueError) as error:
            self.server.refused.append(repr(error))
            status, answer = 400, b'{"error":"invalid_client"}'
        self.answer(status, answer)


class ClientSecretTest(WorkerTest):
    def test_it_verifies_with_pyjwt(self):
        key = subprocess.run(
            ["openssl", "pkey", "-in", stack.DIRECTORY / "secrets" / "apple-key.p8", "-pubout"],
            capture_output=True, check=True).stdout
        apple = Apple(key).start(self.addCleanup)
        for lane in range(2):
            self.worker.variables[f"COUNTERSIGN_LANES_{lane}_BASE_URL"] = f"http://127.0.0.1:{apple.server_port}"
        self.worker.start()
        for fields in [{"authorizationCode": "c"}, {"refreshToken": "r"},
                       {"accessToken": "a", "clientID": "com.example.web"}]:
            self.assertEqual(self.result(self.send(**fields))["outcome"], "accepted")
        self.assertEqual(apple.refused, [])
        self.assertEqual(len(apple.verified), 4)
        self.assertEqual({claims["sub"] for _, claims in apple.verified}, {APP, "com.example.web"})
        self.assertTrue(all(header["kid"] == "SIWAKEY001" for header, _ in apple.verified))
