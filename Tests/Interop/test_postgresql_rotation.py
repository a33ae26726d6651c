"""Every key and password is changed as the pages say (docs/operations.md), while verifications and sign-ins go on: none is lost.

Two coordinators, two of accounts, two gateways behind nginx, two sms-workers and a push-worker, with files of the test's own. Codes and
tokens of before a step are good after it.
"""

import contextlib
import json
import os
import pathlib
import secrets
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse

import jwt

import broker
from fleet import ACCOUNTS_DATABASE, FleetTest
from gateway_client import Web
from load import Load
from postgresql import COORDINATOR, DATABASE, SECRETS, WORKER, size
from process import BINARIES
from waiting import eventually

RATE = int(os.environ.get("COUNTERSIGN_LOAD_RATE", size(5, 30)))
# Longer than all steps take.
LOAD_SECONDS = 1800
# Longer than accounts may take to seal its stored keys anew.
SEALED_SECONDS = 60
# The command of the page.
APPEND = "jq -s '{keys: map(.keys[])}' \"$1\" \"$2\""


def run(*command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=True).stdout


def key_ids(path):
    return [key["kid"] for key in json.loads(path.read_text())["keys"]]


class RotationTest(FleetTest):
    def setUp(self):
        super().setUp()
        directory = tempfile.TemporaryDirectory(prefix="countersign-keys-")
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

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

    def give(self, what, processes, variable, path):
        """Gives a file to processes."""
        def change(process):
            process.variables[variable] = str(path)
        self.step(what, processes, change)

    def change_the_sealing_keys(self):
        old = SECRETS / "sealing-keys.json"
        new = self.generate("keys.json", "--id", "next", "--rotate", old)
        self.assertEqual(key_ids(new), ["next", *key_ids(old)])
        for step in [self.workers, self.coordinators, self.accounts]:
            self.give("a new sealing key", step, "COUNTERSIGN_KEYS_FILE", new)
        alone = self.remove("keys-alone.json", new, key_ids(old)[0])
        self.assertEqual(key_ids(alone), ["next", "gateway-1"])
        self.give("the old sealing key goes", self.workers + self.coordinators + self.accounts, "COUNTERSIGN_KEYS_FILE", alone)
        own = self.generate("gateway-keys.json", "--id", "gateway-2")
        both = self.append("keys-of-both.json", alone, own)
        self.give("a new key of the gateway", self.coordinators, "COUNTERSIGN_KEYS_FILE", both)
        self.give("a new key of the gateway", self.gateways, "COUNTERSIGN_KEYS_FILE", own)

    def change_the_key_pair(self):
        old = SECRETS / "accounts-sealing-keys.json"
        new = self.generate("pairs.json", "--sealing", "--id", "next", "--rotate", old)
        self.give("a new key pair", self.accounts, "COUNTERSIGN_SEALING_KEYS_FILE", new)
        public = self.file("public.json", run(BINARIES / "countersign", "keys", "public", new))
        self.give("a new key pair", self.gateways, "COUNTERSIGN_ACCOUNTS_KEYS_FILE", public)
        self.give("the old key pair goes", self.accounts, "COUNTERSIGN_SEALING_KEYS_FILE", self.remove("pair.json", new, key_ids(old)[0]))

    def change_the_token_keys(self):
        old, next_key = SECRETS / "token-keys.json", self.generate("next.json", "--id", "next")
        self.give("a new token key", self.accounts, "COUNTERSIGN_TOKEN_KEYS_FILE", self.append("tokens-1.json", old, next_key))
        before = self.users[0]
        signed = jwt.get_unverified_header(before.answer["idToken"])["kid"]
        last = self.append("tokens-2.json", next_key, old)
        self.give("the new token key comes first", self.accounts, "COUNTERSIGN_TOKEN_KEYS_FILE", last)
        time.sleep(SEALED_SECONDS)
        # Refreshing gives a token under the new key.
        for user in self.users:
            user.answer["refreshToken"] = self.sign_ins.require_good(user)["refresh_token"]
        self.give("the old token key goes", self.accounts, "COUNTERSIGN_TOKEN_KEYS_FILE", next_key)
        # The keys that sign are those of before.
        self.assertEqual(jwt.get_unverified_header(self.users[-1].answer["idToken"])["kid"], signed)

    def change_the_pepper_of_accounts(self):
        old, new = SECRETS / "accounts-pepper", self.file("pepper", secrets.token_hex(32))
        self.give("accounts know both peppers", self.accounts, "COUNTERSIGN_PREVIOUS_PEPPER_FILE", new)
        for process in self.accounts:
            process.variables["COUNTERSIGN_PREVIOUS_PEPPER_FILE"] = str(old)
        self.give("accounts use the new pepper", self.accounts, "COUNTERSIGN_PEPPER_FILE", new)

    def rotate_the_signing_keys(self):
        known = set(self.sign_ins.back_end.keys())
        made = json.loads(run(BINARIES / "countersign", "--json", "--timeout", "50s", "keys", "rotate"))["key"]
        for gateway in self.gateways:
            web = Web(f"http://127.0.0.1:{gateway.listen_port}")
            eventually("each gateway shows the next key", lambda web=web: set(web.keys()) == known | {made}, SEALED_SECONDS)
        self.step("the next signing key is published", [], None)

    def change_the_passwords_of_the_broker(self):
        """Without a restart: open connections go on, and the next ones have the new password."""
        for user in ["coordinator", "accounts", "gateway", "sms-worker", "push-worker"]:
            self.load.mark(f"the broker has a new password of {user}")
            password = secrets.token_hex(16)
            run(os.environ["COUNTERSIGN_TEST_BROKER_CTL"], "rabbitmqctl", "change_password", user, password)
            (SECRETS / f"broker-{user}").write_text(password)
            closed = 0
            for connection in broker.management("/api/connections"):
                if connection.get("user") == user:
                    with contextlib.suppress(urllib.error.HTTPError):  # It has ended meanwhile.
                        broker.management(f"/api/connections/{urllib.parse.quote(connection['name'], safe='')}", "DELETE")
                        closed += 1
            self.assertGreater(closed, 0, f"{user} has had no connection")
        self.step("their connections have ended", [], None)

    def change_the_passwords_of_the_database(self):
        for role, database, processes, options in [
                (COORDINATOR, DATABASE, self.coordinators, []), (WORKER, DATABASE, self.workers, []),
                ("accounts", ACCOUNTS_DATABASE, self.accounts, ["--for-accounts", "--accounts", "countersign_accounts"])]:
            new = self.file(f"database-{role}", secrets.token_hex(16))
            run(BINARIES / "countersign", "store", "create", *options, f"--{role}-password-file", new, "--url",
                f"postgresql://postgres@127.0.0.1:{self.cluster.port}/{database}", "--password-file", SECRETS / "postgresql-postgres")
            self.step(f"the database has a new password of {role}", processes, lambda process, role=role, new=new:
                      process.replace(f'"{SECRETS}/postgresql-{role}"', f'"{new}"'))

    def test_every_key(self):
        self.begin(Load(RATE * LOAD_SECONDS, RATE, limit_seconds=LOAD_SECONDS + 120))
        self.change_the_sealing_keys()
        self.change_the_key_pair()
        self.change_the_token_keys()
        self.change_the_pepper_of_accounts()
        self.rotate_the_signing_keys()
        self.change_the_passwords_of_the_broker()
        self.change_the_passwords_of_the_database()
        self.end()
