"""What the documents promise, tried by those who would rather have it otherwise: each attack is carried out, and fails."""

import base64
import contextlib
import http.client
import json
import os
import secrets
import socket
import subprocess
import time
import unittest
import uuid

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

import simulator
import stack
from countersign_client import ClientTest
from process import BINARIES, CONFIGURATIONS, Process, countersign
from samples import in_seconds, new_number
from waiting import eventually

CONFIGURATION_EXIT = 78
WORKERS = ["sms-worker-1", "sms-worker-2"]
# As many as the port for reports has in all.
HALF_REQUESTS = 1024


def base64url(data):
    """Without padding (RFC 7515, section 2)."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def seal(secret, **header):
    """A secret sealed with the stack's key, as another service would seal it (RFC 7516, dir and A256GCM)."""
    key = json.loads((CONFIGURATIONS.parent / "secrets" / "sealing-keys.json").read_text())["keys"][0]
    protected = base64url(json.dumps({"alg": "dir", "enc": "A256GCM", "kid": key["kid"]} | header).encode())
    raw = base64.urlsafe_b64decode(key["k"] + "=" * (-len(key["k"]) % 4))
    iv = secrets.token_bytes(12)
    sealed = AESGCM(raw).encrypt(iv, secret.encode(), protected.encode())
    return ".".join([protected, "", base64url(iv), base64url(sealed[:-16]), base64url(sealed[-16:])])


class PlaintextTest(unittest.TestCase):
    """A configuration that would send secrets or numbers over a network without TLS is none."""

    def check(self, name, pattern, text, key):
        with Process(name) as spoilt:
            spoilt.replace(pattern, text)
            command = [BINARIES / name, "--check", "--config", str(spoilt.file)]
            environment = {name: value for name, value in os.environ.items() if not name.startswith("COUNTERSIGN_")}

            def run(**variables):
                return subprocess.run(
                    command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=180, check=False,
                    env=environment | variables)

            refused = run()
            self.assertEqual(refused.returncode, CONFIGURATION_EXIT, refused.stdout + refused.stderr)
            self.assertIn(f"set {key} to true", refused.stderr)
            variable = "COUNTERSIGN_" + "".join(
                "_" + letter if letter.isupper() else "_" if letter == "." else letter for letter in key).upper()
            allowed = run(**{variable: "true"})
            self.assertEqual(allowed.returncode, 0, allowed.stdout + allowed.stderr)
            self.assertIn("cross the network unencrypted", allowed.stderr)

    def test_broker(self):
        for name in ["coordinator", "sms-worker", "push-worker", "mail-worker", "revocation-worker"]:
            with self.subTest(name):
                self.check(name, r"@127\.0\.0\.1:\d+/", "@broker.example:5672/", "broker.allowPlaintext")

    def test_providers(self):
        self.check("sms-worker", r'baseURL: "http://127[^"]*"', 'baseURL: "http://10.0.0.1"', "lanes.0.allowPlaintext")
        self.check("sms-worker", r'host: "127\.0\.0\.1",\n      port: \d+,\n      tls', 'host: "smsc.example", port: 2775, tls',
                   "lanes.3.allowPlaintext")
        self.check("push-worker", r'tokenURL: "[^"]*"', 'tokenURL: "http://127.example/token"', "lanes.3.allowPlaintext")
        self.check("revocation-worker", r'baseURL: "[^"]*"', 'baseURL: "http://apple.example"', "lanes.0.allowPlaintext")

    def test_reports(self):
        self.check("sms-worker", r'publicURL: "[^"]*"', 'publicURL: "http://sms.example.com"', "receipts.allowPlaintext")

    def test_the_operators_password_stays_here(self):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("COUNTERSIGN_")}
        environment["COUNTERSIGN_OPERATOR_AMQP_URL"] = "amqp://operator:hunter2@192.0.2.1:5672"
        done = countersign("dead", "list", env=environment)
        self.assertEqual(done.returncode, CONFIGURATION_EXIT, done.stderr)
        self.assertIn("amqps://", done.stderr)
        self.assertNotIn("hunter2", done.stderr + done.stdout)


class ReportPortTest(unittest.TestCase):
    def setUp(self):
        self.worker = Process("sms-worker")
        # On loopback one client has all of them, unless it is said.
        self.worker.variables["COUNTERSIGN_RECEIPTS_CONNECTIONS_PER_CLIENT"] = "128"
        self.addCleanup(self.worker.__exit__)
        self.worker.start().ready()

    def ask(self, port, path, method="GET", source="127.0.0.1"):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30, source_address=(source, 0))
        with contextlib.closing(connection):
            connection.request(method, path)
            return connection.getresponse().status

    def test_it_serves_reports_and_nothing_else(self):
        for path in ["/readyz", "/livez", "/metrics", "/", "/receipts", "//metrics", "/receipts/../metrics"]:
            self.assertIn(self.ask(self.worker.receipts_port, path), [403, 404], path)
        query = "?job=a.sms.1&t=1&mac=AAAA"
        self.assertEqual(self.ask(self.worker.receipts_port, "/receipts/twilio" + query, "POST"), 403)
        self.assertEqual(self.ask(self.worker.port, "/receipts/twilio" + query, "POST"), 405)
        self.assertEqual(self.ask(self.worker.port, "/receipts/vonage/1/AAAA/a.sms.1"), 404)

    def test_clients_that_never_finish_keep_nobody_waiting(self):
        idle = []
        try:
            for _ in range(HALF_REQUESTS):
                one = socket.create_connection(("127.0.0.1", self.worker.receipts_port), timeout=5)
                idle.append(one)
                # Those that are turned away may be reset already.
                with contextlib.suppress(OSError):
                    one.sendall(b"POST /receipts/twilio HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf")
            begun = time.monotonic()
            self.assertEqual(self.ask(self.worker.port, "/readyz"), 200)
            # Another client of the same port.
            status = self.ask(
                self.worker.receipts_port, "/receipts/twilio?job=a.sms.1&t=1&mac=AAAA", "POST", "127.0.0.2")
            self.assertEqual(status, 403)
            # Not as late as when the half requests end: after 10 s.
            self.assertLess(time.monotonic() - begun, 5)
            # The rest are ended though they are not silent.
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline and not self.turned_away("late"):
                for one in idle:
                    with contextlib.suppress(OSError):
                        one.sendall(b"x")
                time.sleep(0.5)
            self.assertGreater(self.turned_away("late"), 0)
            self.assertGreater(self.turned_away("client"), 0)
        finally:
            for one in idle:
                one.close()
        self.assertEqual(self.ask(self.worker.receipts_port, "/receipts/twilio?job=a&t=1&mac=A", "POST"), 403)

    def turned_away(self, reason):
        _, text = self.worker.get("/metrics")
        label = f'countersign_http_turned_away_total{{listener="receipts",reason="{reason}"}} '
        return sum(int(line[len(label):]) for line in text.splitlines() if line.startswith(label))


class TextTest(ClientTest):
    """A job's own text cannot be what only templates may write, or another than it looks."""

    def test_forged_domain_line_and_hidden_text(self):
        for text in [
            "Your code.\n@bank.example #123456", "@bank.example #123456\n\n", "x\r\n @bank.example #123456 %evil.example ",
            "code \u202e654321", "482913\u200b is your code", "two\u2028lines", "\ue000", "pay\u200dpal.example",
        ]:
            number = new_number()
            result = self.client.job("sms.dispatch", {"to": number, "text": text, "deadline": in_seconds(60)})
            self.assertEqual((result["outcome"], result["reason"]["code"]), ("refused", "INVALID_TEXT"), repr(text))
            self.assertEqual(simulator.messages(number), [])

    def test_webhook_ids_move_no_border(self):
        number = new_number()
        message_id = f'A.1700000000.{{"to":"{uuid.uuid4()}"}}'
        result = self.client.job(
            "sms.dispatch", {"to": number, "text": "Hello.", "lane": "webhook", "deadline": in_seconds(60)},
            message_id=message_id)
        self.assertEqual(result["outcome"], "accepted")
        self.assertRegex(result["reference"], r"^WHmsg_[A-Za-z0-9_-]{32}$")


class SealTest(ClientTest):
    """Who can rewrite a queue keeps a sealed code for what it was sealed for, or loses it."""

    def test_a_code_is_shown_for_its_own_domain_only(self):
        number, message_id = new_number(), str(uuid.uuid4())
        code = seal(
            "482913", messageType="sms.dispatch.v1", messageID=message_id, recipient=number,
            bound="template appName domain androidHash", template="verification", appName="Shop", domain="shop.example")
        variables = {"code": code, "appName": "Shop", "domain": "shop.example"}

        def send(**changed):
            body = {"to": number, "template": "verification", "deadline": in_seconds(60), "variables": variables | changed}
            return self.client.job("sms.dispatch", body, message_id=message_id)

        for changed in [{"domain": "evil.example"}, {"appName": "Bank"}, {"androidHash": "FA+9qCX9VSu"}]:
            self.assertEqual(send(**changed)["outcome"], "refused", changed)
            self.assertEqual(simulator.messages(number), [])
        self.assertEqual(send()["outcome"], "accepted")
        self.assertIn("@shop.example #482913", simulator.message(number)["body"])

    def test_a_clear_code_is_refused_where_sealing_is_required(self):
        stack.stop_for(self, *WORKERS)
        with Process("sms-worker") as worker:
            worker.variables["COUNTERSIGN_REQUIRE_SEALED"] = "true"
            worker.start().ready()
            number, message_id = new_number(), str(uuid.uuid4())
            body = {"to": number, "template": "verification", "deadline": in_seconds(60)}
            clear = self.client.job("sms.dispatch", body | {"variables": {"code": "482913", "appName": "Shop"}})
            self.assertEqual((clear["outcome"], clear["reason"]["code"]), ("refused", "INVALID_MESSAGE"))
            self.assertIn("variables.code is in the clear", clear["reason"]["detail"])
            self.assertNotIn("482913", json.dumps(clear))
            self.assertEqual(simulator.messages(number), [])
            code = seal("482913", messageType="sms.dispatch.v1", messageID=message_id, recipient=number)
            sealed = self.client.job(
                "sms.dispatch", body | {"variables": {"code": code, "appName": "Shop"}}, message_id=message_id)
            self.assertEqual(sealed["outcome"], "accepted")


class MemoryTest(unittest.TestCase):
    """Another process of the same user reads no secrets out of a process's memory, and no core file has them."""

    # Root reads everything by its capabilities, so they are taken from both sides.
    WRAPPER = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []

    def read(self, process_id, name):
        """What somebody of the same user reads of a process; None if it is kept from him."""
        done = subprocess.run(
            [*self.WRAPPER, "cat", f"/proc/{process_id}/{name}"], stdin=subprocess.DEVNULL, capture_output=True,
            timeout=180, check=False)
        return done.stdout.decode() if done.returncode == 0 else None

    def test_what_protects_nothing_is_read(self):
        with subprocess.Popen([*self.WRAPPER, "sleep", "60"], env={**os.environ, "PLANTED": "hunter2"}) as plain:
            try:
                eventually("it runs", lambda: self.read(plain.pid, "comm") == "sleep\n")
                self.assertIn("PLANTED=hunter2", self.read(plain.pid, "environ") or "")
            finally:
                plain.kill()

    def test_memory_is_kept(self):
        for name in ["coordinator", "sms-worker", "push-worker", "mail-worker"]:
            with self.subTest(name), Process(name) as process:
                process.wrapper = self.WRAPPER
                process.variables["PLANTED"] = "hunter2"
                process.start()
                eventually("it lives", lambda process=process: self.lives(process), 180)
                self.assertIsNone(self.read(process.running.pid, "environ"))
                self.assertIsNone(self.read(process.running.pid, "maps"))
                limits = self.read(process.running.pid, "limits") or ""
                self.assertRegex(limits, r"Max core file size +0 +0 ")

    def lives(self, process):
        self.assertIsNone(process.running.poll(), process.output())
        with contextlib.suppress(OSError):
            return process.get("/livez")[0] == 200
        return False


class KeysTest(unittest.TestCase):
    """A worker that could open nothing, and secrets that everybody reads, are found before the start."""

    def check(self, name, *words, spoil):
        with Process(name) as spoilt:
            spoil(spoilt)
            done = subprocess.run(
                [BINARIES / name, "--check", "--config", str(spoilt.file)], stdin=subprocess.DEVNULL,
                capture_output=True, text=True, timeout=180, check=False)
            self.assertEqual(done.returncode, CONFIGURATION_EXIT, done.stdout + done.stderr)
            for word in words:
                self.assertIn(word, done.stderr)

    def test_no_keys(self):
        for name in ["sms-worker", "push-worker", "mail-worker"]:
            with self.subTest(name):
                self.check(name, "keysFile", spoil=lambda spoilt: spoilt.replace(r'  keysFile: "[^"]*",\n', ""))

    def test_no_password_of_the_broker(self):
        self.check("sms-worker", "broker.passwordFile",
                   spoil=lambda spoilt: spoilt.replace(r'    passwordFile: "[^"]*broker[^"]*",\n', ""))

    def test_a_secret_that_everybody_reads(self):
        self.check("sms-worker", "can be read by every user", "chmod 600",
                   spoil=lambda spoilt: spoilt.use_password("hunter2\n", mode=0o644))
