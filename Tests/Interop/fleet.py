"""Two of each process on one PostgreSQL server behind nginx, and users who sign in again and again meanwhile."""

import itertools
import json
import re
import secrets
import threading
import time
import unittest

import stack
from gateway_client import JWK_SET, APIError, Apple, Client, Web, new_number, received_code, send
from gateway_front import Front
from postgresql import COORDINATOR, COORDINATORS, WORKER, Cluster, Restarting
from process import countersign
from waiting import eventually

ACCOUNTS_DATABASE = stack.DATABASES["accounts"]
CAPTCHA_APP = "com.example.recaptcha"
# Users who sign in one after the other, each again and again.
SIGN_INS = 3
# Codes that are asked for before a step, and entered after it.
PENDING = 4
# For a while apps may be told to try again (503), as when a process is restarted.
ATTEMPTS = 10
# How long the last messages may take to be published.
PUBLISH_SECONDS = 90


def captcha(app):
    """A token that the simulator's reCAPTCHA takes for one of a person."""
    return f"high.sendVerificationCode.{secrets.token_hex(8)}@{app}"


class BackEnd(Client):
    """A server of the app's, which verifies ID tokens and keeps the keys for them as long as it may (docs/verifying-tokens.md)."""

    def __init__(self, url):
        super().__init__(url)
        self.known, self.until = {}, 0

    def keys(self):
        if time.monotonic() >= self.until:
            answer = send(self.url, "GET", JWK_SET)
            self.known = self.keys_of(answer)
            self.until = time.monotonic() + int(re.search(r"max-age=(\d+)", answer.headers["Cache-Control"])[1])
        return self.known


class User:
    """An account with the tokens of its sign-in, which are never replaced by newer ones."""

    def __init__(self, client, number, answer):
        self.client, self.number, self.answer = client, number, answer

    def require_good(self, back_end):
        """The ID token passes at the gateway and at a verifier, and the refresh token gives another one: its answer."""
        user = self.client.lookup(self.answer["idToken"])
        claims = back_end.claims(self.answer["idToken"])
        refreshed = self.client.refresh(self.answer["refreshToken"])
        if {user["localId"], claims["sub"], refreshed["user_id"]} != {self.answer["localId"]}:
            raise AssertionError(f"tokens of another account: {user['localId']}")
        return refreshed


class SignIns:
    """Sign-ins from the number to a refreshed token, until the end; whatever fails is kept."""

    def __init__(self, url):
        self.url = url
        self.back_end = BackEnd(url)
        self.devices = itertools.count(1)
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
        """A device with an app without proofs, a page, or an app whose proofs the gateway seals. Each has an address of its own."""
        client, device = [Apple(url=self.url), Web(self.url), Apple(CAPTCHA_APP, url=self.url)][index % 3], next(self.devices)
        client.address = f"127.1.{device >> 8}.{device & 255}"
        return client

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

    def require_good(self, user):
        return self.call(user.require_good, self.back_end)

    def _run(self, index):
        while not self.over.is_set():
            client, begun = self.client(index), time.strftime("%H:%M:%S")
            try:
                user = self.sign_in(client, *self.send_code(client))
                self.require_good(user)
            except Exception as error:  # pylint: disable=broad-except
                with self.lock:
                    self.lost.append(f"{begun} {type(client).__name__}: {error!r}")
            else:
                with self.lock:
                    self.done += 1


class FleetTest(unittest.TestCase):
    """Two coordinators, two of accounts, two gateways, two sms-workers and a push-worker, in the place of the stack's own."""

    @classmethod
    def setUpClass(cls):
        stack.require_all_ready()
        names = [name for name in COORDINATORS if (stack.DIRECTORY / "pid" / f"{name}.pid").exists()]
        # The gateway starts last, and gets the keys of the stack's accounts again.
        stack.stop_for_class(cls, "gateway", *names, "accounts", "push-worker", "sms-worker-1", "sms-worker-2")

    def setUp(self):
        self.cluster = Cluster("fleet").create()
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
        self.users = []

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
        said = countersign("--json", "dead", "list", "--limit", "1000").stdout
        return len(json.loads(said)["letters"])

    def begin(self, load):
        """Starts the load, and users who sign in."""
        self.load = load.start()
        self.sign_ins = SignIns(f"https://localhost:{self.front.port}").start()

    def step(self, what, processes, change):
        """Changes processes, restarts each, and requires that what began before it is good."""
        begun = []
        for index in range(PENDING):
            client = self.sign_ins.client(index)
            begun.append((client, *self.sign_ins.send_code(client)))
        for process in processes:
            self.load.mark(f"{what}: {process.name}")
            self.assertEqual(process.stop(), 0, process.output())
            change(process)
            process.start().ready()
        for process in self.all():
            process.ready()
        # One that begins now, and gets the keys that are given out now.
        self.sign_ins.back_end = BackEnd(self.sign_ins.url)
        for user in self.users:
            self.sign_ins.require_good(user)
        self.users += [self.sign_ins.sign_in(*one) for one in begun]
        self.assertEqual(self.sign_ins.lost, [], what)

    def end(self):
        """Ends the load, and requires that nothing of it is lost."""
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
        eventually(self.cluster.unpublished, lambda: self.cluster.unpublished() == "", PUBLISH_SECONDS)
