"""Bad starts: what cannot be mended by waiting ends the process with one line that says what to do, all else is waited for."""

import json
import os
import socket
import subprocess
import unittest

import process
import stack
from process import Process

VHOST = "bad-start"
USAGE, UNAVAILABLE, CONFIGURATION = 64, 69, 78


def broker_ctl(*arguments):
    subprocess.run(
        [os.environ["COUNTERSIGN_TEST_BROKER_CTL"], *arguments], stdin=subprocess.DEVNULL, capture_output=True,
        timeout=120, check=True)


class ScriptTest(unittest.TestCase):
    def test_a_process_that_has_ended_is_not_waited_for(self):
        script = 'source "$0/deploy/lib/common.sh"; wait_until 150 "$(live_pid /nonexistent || echo 0)" false'
        done = subprocess.run(["bash", "-c", script, stack.ROOT], timeout=60, check=False)
        self.assertEqual(done.returncode, 2)


class EndTest(unittest.TestCase):
    """The process ends at once, with its exit code and one line."""

    def ends(self, running, code, *words):
        """One line beside warnings, that begins with the process's name and has those words."""
        ended, lines = running.start().end()
        self.assertEqual(ended, code, lines)
        lines = [line for line in lines if " WARN " not in line]
        self.assertEqual(len(lines), 1, lines)
        self.assertTrue(lines[0].startswith(f"{running.name}: "), lines[0])
        for word in words:
            self.assertIn(word, lines[0])

    def each(self, check):
        """Every process of the stack in turn, with a configuration that may be spoilt."""
        names = process.names()
        self.assertIn("sms-worker", names)
        for name in names:
            with self.subTest(name), Process(name) as running:
                check(running)

    def spoilt(self, pattern, text, *words):
        def check(running):
            running.replace(pattern, text)
            self.ends(running, CONFIGURATION, running.file.name, *words)

        self.each(check)

    def test_unknown_key(self):
        self.spoilt(r"\{", "{ logg: {},", "logg: unknown key", "did you mean log?")

    def test_wrong_value(self):
        self.spoilt(r'level: "\w+"', 'level: "loud"', "log.level", "must be one of", "info")

    def test_configuration_that_is_no_json(self):
        self.spoilt(r"http:", "http")

    def test_configuration_that_is_not_there(self):
        def check(running):
            running.file.unlink()
            self.ends(running, CONFIGURATION, str(running.file), "does not exist", "create it")

        self.each(check)

    def test_secret_that_is_not_there(self):
        self.spoilt(r'File: "[^"]+"', 'File: "/nowhere/secret"', "File", "/nowhere/secret")

    def test_secret_that_is_empty(self):
        self.spoilt(r'File: "[^"]+"', 'File: "/dev/null"', "/dev/null is empty", "write the secret into it")

    def test_port_in_use(self):
        def check(running):
            with socket.socket() as listener:
                listener.bind(("127.0.0.1", running.port))
                listener.listen()
                self.ends(running, UNAVAILABLE, str(running.port), "in use", "stop what listens there")

        self.each(check)

    def test_wrong_argument(self):
        def check(running):
            running.arguments = ["--confg", str(running.file)]
            ended, lines = running.start().end()
            self.assertEqual(ended, USAGE, lines)
            self.assertIn("--confg", lines[0])
            self.assertIn("--config", " ".join(lines))

        self.each(check)


class PatienceTest(unittest.TestCase):
    """The process lives, says once what it waits for and how to fix that, is not ready, and ends when it is asked to."""

    @classmethod
    def setUpClass(cls):
        broker_ctl("add_vhost", VHOST)
        for user in [name for name in process.names() if name != "simulator"]:
            broker_ctl("set_permissions", "-p", VHOST, user, "", ".*", ".*")

    @classmethod
    def tearDownClass(cls):
        broker_ctl("delete_vhost", VHOST)

    def waits(self, running, *words):
        """A line with those words, and how to fix it; alive, not ready, and gone when asked."""
        line = running.start().line(words[0])
        for word in [*words, "hint="]:
            self.assertIn(word, line)
        self.assertEqual(running.get("/livez")[0], 200)
        status, report = running.get("/readyz")
        self.assertEqual(status, 503)
        failing = [check for check in json.loads(report)["checks"] if not check["ok"]]
        self.assertTrue(failing and all(check["problem"] for check in failing), report)
        self.assertEqual(running.stop(), 0, running.output())

    def each(self, spoil, *words):
        for name in process.names():
            if name == "simulator":
                continue
            with self.subTest(name), Process(name) as running:
                spoil(running)
                self.waits(running, *words)

    def test_no_broker(self):
        self.each(lambda running: running.replace(r"@127\.0\.0\.1:\d+/", f"@127.0.0.1:{process.free_port()}/"),
                  "the broker cannot be reached; trying again", "start the broker")

    def test_wrong_password(self):
        self.each(lambda running: running.use_password("wrong\n"),
                  "the broker refuses the user or the password; trying again", "broker.passwordFile")

    def test_missing_topology(self):
        self.each(lambda running: running.replace(r"(@127\.0\.0\.1:\d+/)", rf"\g<1>{VHOST}"),
                  "something is missing on the broker; trying again", "countersign topology apply")
