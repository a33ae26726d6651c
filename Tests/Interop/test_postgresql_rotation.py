"""Every key is changed as the pages say (docs/operations.md), while verifications and sign-ins go on: none is lost.

Two coordinators, two of accounts, two gateways behind nginx, two sms-workers and a push-worker, with files of the test's own. Codes and
tokens of before a step are good after it.
"""

import json
import os
import pathlib
import secrets
import subprocess
import tempfile
import threading
import time
import unittest

import jwt

import stack
from gateway_client import APIError, Apple, Web, new_number, received_code
from load import Load
from postgresql import COORDINATOR, COORDINATORS, SECRETS, WORKER, Cluster, Restarting, size
from process import BINARIES
from test_gateway_proxy import Front

ACCOUNTS_DATABASE = stack.DATABASES["accounts"]
CAPTCHA_APP = "com.example.recaptcha"
RATE = int(os.environ.get("COUNTERSIGN_LOAD_RATE", size(5, 30)))
# Longer than all steps take.
LOAD_SECONDS = 1800
# Users who sign in one after the other, each again and again.
SIGN_INS = 3
# Codes that are asked for before a step, and entered after it.
PENDING = 4
# For a while apps may be told to try again (503), as when a process is restarted.
ATTEMPTS = 10
# Longer than accounts may take to seal its stored keys anew.
SEALED_SECONDS = 60
# The command of the page.
APPEND = "jq -s '{keys: map(.keys[])}' \"$1\" \"$2\""


def run(*command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=True).stdout


def key_ids(path):
    return [key["kid"] for key in json.loads(path.read_text())["keys"]]


def captcha(app):
    """A token that the simulator's reCAPTCHA takes for one of a person."""
    return f"high.sendVerificationCode.{secrets.token_hex(8)}@{app}"


class User:
    """An account with the tokens of its sign-in, which are never replaced by newer ones."""

    def __init__(self, client, number, answer):
        self.client, self.number, self.answer = client, number, answer

    def require_good(self):
        """The ID token passes at the gateway and at a verifier, and the refresh token gives another one: its answer."""
        user = self.client.lookup(self.answer["idToken"])
        claims = self.client.claims(self.answer["idToken"])
        refreshed = self.client.refresh(self.answer["refreshToken"])
        if {user["localId"], claims["sub"], refreshed["user_id"]} != {self.answer["localId"]}:
            raise AssertionError(f"tokens of another account: {user['localId']}")
        return refreshed


class SignIns:
    """Sign-ins from the number to a refreshed token, until the end; whatever fails is kept."""

    def __init__(self, url):
        self.url = url
        self.over = threading.Event()
        self.done, self.again, self.lost = 0, 0, []
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self._run, args=[index], daemon=True) for index in range(SIGN_INS)]

    def start(self):
        for thread in self.threads:
            thread.start()
        return self

    def end(self):
        self.over.set()
        for thread in self.threads:
            thread.join(120)

    def client(self, index):
        """Of an app without proofs, a page, and an app whose proofs the gateway seals."""
        return [Apple(url=self.url), Web(self.url), Apple(CAPTCHA_APP, url=self.url)][index % 3]

    def call(self, function, *arguments, **fields):
        """A call, made again as apps do when they are told to."""
        for attempt in range(ATTEMPTS):
            try:
                return function(*arguments, **fields)
            except APIError as error:
                if error.status != 503 or attempt == ATTEMPTS - 1:
                    raise
                with self.lock:
                    self.again += 1
                time.sleep(1)
        return None

    def send_code(self, client):
        number = new_number()
        app = client.headers.get("X-Ios-Bundle-Identifier")
        proof = {"recaptchaToken": captcha(app)} if app == CAPTCHA_APP else {}
        return number, self.call(client.send_code, number, **proof)

    def sign_in(self, client, number, session):
        return User(client, number, self.call(client.sign_in, session, received_code(number)))

    def _run(self, index):
        client = self.client(index)
        while not self.over.is_set():
            begun = time.strftime("%H:%M:%S")
            try:
                user = self.sign_in(client, *self.send_code(client))
                self.call(user.require_good)
            except Exception as error:  # pylint: disable=broad-except
                with self.lock:
                    self.lost.append(f"{begun} {type(client).__name__}: {error!r}")
            else:
                with self.lock:
                    self.done += 1


class RotationTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        stack.require_all_ready()
        names = [name for name in COORDINATORS if (stack.DIRECTORY / "pid" / f"{name}.pid").exists()]
        # The gateway starts last, and gets the keys of the stack's accounts again.
        stack.stop_for_class(cls, "gateway", *names, "accounts", "push-worker", "sms-worker-1", "sms-worker-2")

    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="countersign-keys-")
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        self.cluster = Cluster("rotation").create()
        self.addCleanup(self.cluster.remove)
        self.cluster.create_accounts(ACCOUNTS_DATABASE)
        self.workers = [self.process(name, "ledger", WORKER) for name in ["sms-worker", "sms-worker", "push-worker"]]
        self.coordinators = [self.process("coordinator", "database", COORDINATOR) for _ in range(2)]
        self.accounts = [self.process("accounts", "database", "accounts") for _ in range(2)]
        self.gateways = [self.process("gateway") for _ in range(2)]
        for process in self.all():
            process.start()
        for process in self.all():
            process.ready()
        self.front = self.enterContext(Front(*[one.listen_port for one in self.gateways]))
        self.dead = self.dead_letters()

    def all(self):
        return self.workers + self.coordinators + self.accounts + self.gateways

    def process(self, name, section=None, role=None):
        process = self.enterContext(Restarting(name))
        if section:
            database = self.cluster.section(role)
            if role == "accounts":
                database = database.replace("/countersign\"", f"/{ACCOUNTS_DATABASE}\"")
            process.replace(rf"(?<=\n)  {section}: \{{[^}}]*\}}", f"  {section}: {database}")
        return process

    @staticmethod
    def dead_letters():
        return len(json.loads(run(BINARIES / "countersign", "--json", "dead", "list", "--limit", "1000"))["letters"])

    # Files

    def file(self, name, content):
        path = self.directory / name
        path.touch(mode=0o600)
        path.write_text(content)
        return path

    def generate(self, name, *options):
        return self.file(name, run(BINARIES / "countersign", "keys", "generate", *options))

    def append(self, name, first, second):
        return self.file(name, run("bash", "-c", APPEND, "append", first, second))

    def remove(self, name, path, kid):
        return self.file(name, json.dumps({"keys": [key for key in json.loads(path.read_text())["keys"] if key["kid"] != kid]}))

    # Steps

    def step(self, what, processes, variable, path):
        """Gives a file to processes, restarts each, and requires that what began before it is good."""
        begun = []
        for index in range(PENDING):
            client = self.sign_ins.client(index)
            begun.append((client, *self.sign_ins.send_code(client)))
        for process in processes:
            self.load.mark(f"{what}: {process.name}")
            self.assertEqual(process.stop(), 0, process.output())
            process.variables[variable] = str(path)
            process.start().ready()
        for process in self.all():
            process.ready()
        for user in self.users:
            self.sign_ins.call(user.require_good)
        self.users += [self.sign_ins.sign_in(*one) for one in begun]
        self.assertEqual(self.sign_ins.lost, [], what)

    def change_the_sealing_keys(self):
        old = SECRETS / "sealing-keys.json"
        new = self.generate("keys.json", "--id", "next", "--rotate", old)
        self.assertEqual(key_ids(new), ["next", *key_ids(old)])
        for step in [self.workers, self.coordinators, self.accounts]:
            self.step("a new sealing key", step, "COUNTERSIGN_KEYS_FILE", new)
        alone = self.remove("keys-alone.json", new, key_ids(old)[0])
        self.assertEqual(key_ids(alone), ["next", "gateway-1"])
        self.step("the old sealing key goes", self.workers + self.coordinators + self.accounts, "COUNTERSIGN_KEYS_FILE", alone)
        own = self.generate("gateway-keys.json", "--id", "gateway-2")
        both = self.append("keys-of-both.json", alone, own)
        self.step("a new key of the gateway", self.coordinators, "COUNTERSIGN_KEYS_FILE", both)
        self.step("a new key of the gateway", self.gateways, "COUNTERSIGN_KEYS_FILE", own)

    def change_the_key_pair(self):
        old = SECRETS / "accounts-sealing-keys.json"
        new = self.generate("pairs.json", "--sealing", "--id", "next", "--rotate", old)
        self.step("a new key pair", self.accounts, "COUNTERSIGN_SEALING_KEYS_FILE", new)
        public = self.file("public.json", run(BINARIES / "countersign", "keys", "public", new))
        self.step("a new key pair", self.gateways, "COUNTERSIGN_ACCOUNTS_KEYS_FILE", public)
        self.step("the old key pair goes", self.accounts, "COUNTERSIGN_SEALING_KEYS_FILE", self.remove("pair.json", new, key_ids(old)[0]))

    def change_the_token_keys(self):
        old, next_key = SECRETS / "token-keys.json", self.generate("next.json", "--id", "next")
        self.step("a new token key", self.accounts, "COUNTERSIGN_TOKEN_KEYS_FILE", self.append("tokens-1.json", old, next_key))
        before = self.users[0]
        signed = jwt.get_unverified_header(before.answer["idToken"])["kid"]
        last = self.append("tokens-2.json", next_key, old)
        self.step("the new token key comes first", self.accounts, "COUNTERSIGN_TOKEN_KEYS_FILE", last)
        time.sleep(SEALED_SECONDS)
        # Refreshing gives a token under the new key.
        for user in self.users:
            user.answer["refreshToken"] = self.sign_ins.call(user.require_good)["refresh_token"]
        self.step("the old token key goes", self.accounts, "COUNTERSIGN_TOKEN_KEYS_FILE", next_key)
        # The keys that sign are those of before.
        self.assertEqual(jwt.get_unverified_header(self.users[-1].answer["idToken"])["kid"], signed)

    def change_the_pepper_of_accounts(self):
        old, new = SECRETS / "accounts-pepper", self.file("pepper", secrets.token_hex(32))
        self.step("accounts know both peppers", self.accounts, "COUNTERSIGN_PREVIOUS_PEPPER_FILE", new)
        for process in self.accounts:
            process.variables["COUNTERSIGN_PREVIOUS_PEPPER_FILE"] = str(old)
        self.step("accounts use the new pepper", self.accounts, "COUNTERSIGN_PEPPER_FILE", new)

    def test_every_key(self):
        self.load = Load(RATE * LOAD_SECONDS, RATE, limit_seconds=LOAD_SECONDS + 120).start()
        self.sign_ins = SignIns(f"https://localhost:{self.front.port}").start()
        self.users = []
        self.change_the_sealing_keys()
        self.change_the_key_pair()
        self.change_the_token_keys()
        self.change_the_pepper_of_accounts()
        self.sign_ins.end()
        self.load.end_soon()
        self.load.wait()
        print(f"  {self.sign_ins.done} sign-ins, {len(self.sign_ins.lost)} lost, {self.sign_ins.again} calls made again", flush=True)
        self.assertEqual(self.sign_ins.lost, [])
        self.assertGreater(self.sign_ins.done, len(self.users))
        self.load.verify(self, self.cluster.unknown_calls())
        for process in self.coordinators:
            self.assertEqual(process.metric("countersign_codes_lost_total", number="real"), 0)
        self.assertEqual(self.dead_letters(), self.dead)
        while_published = time.monotonic() + 90
        while self.cluster.unpublished() and time.monotonic() < while_published:
            time.sleep(0.2)
        self.assertEqual(self.cluster.unpublished(), "")
