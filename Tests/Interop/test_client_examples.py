"""The clients of docs/clients in Python, PHP and Java, as they stand. Those in Go and Node need too large a package, and one that
Debian lacks."""

import contextlib
import json
import os
import subprocess
import sys
import threading
import unittest
import urllib.error
import urllib.parse
import uuid
from pathlib import Path

import pika

import broker
from gateway_client import new_number, received_code
from waiting import eventually

CLIENTS = Path(__file__).resolve().parents[2] / "docs/clients"
APP = "com.example.app"
COMMANDS = "countersign.commands"
KEY = "verification.start"
JARS = ":".join(f"/usr/share/java/{name}.jar" for name in ["amqp-client", "gson", "slf4j-api", "slf4j-nop"])


class Host:
    """A virtual host of its own with the exchange of commands: the test is what answers there."""

    def __init__(self, test, with_queue):
        self.name = f"clients-{uuid.uuid4().hex[:8]}"
        management = urllib.parse.urlsplit(os.environ["COUNTERSIGN_TEST_MANAGEMENT_URL"])
        known = urllib.parse.urlsplit(os.environ["COUNTERSIGN_AMQP_URL"])
        self.url = f"amqp://{management.username}:{management.password}@{known.hostname}:{known.port}/{self.name}"
        broker.management(f"/api/vhosts/{self.name}", "PUT", {})
        test.addCleanup(broker.management, f"/api/vhosts/{self.name}", "DELETE")
        broker.management(f"/api/permissions/{self.name}/{management.username}", "PUT", {"configure": ".*", "write": ".*", "read": ".*"})
        self.connection = pika.BlockingConnection(pika.URLParameters(self.url))
        test.addCleanup(lambda: self.connection.is_open and self.connection.close())
        self.channel = self.connection.channel()
        self.channel.exchange_declare(COMMANDS, "direct", durable=True)
        if with_queue:
            self.channel.queue_declare("commands")
            self.channel.queue_bind("commands", COMMANDS, KEY)

    def received(self):
        """The next command: its properties."""
        def get():
            method, properties, _ = self.channel.basic_get("commands", auto_ack=True)
            return method and properties
        return eventually("a command", get, 60, pause=0.05)

    def drop_others(self):
        """Closes the connections of the clients."""
        def close():
            mine = self.connection._impl._transport._sock.getsockname()[1]
            names = [one["name"] for one in broker.management("/api/connections")
                     if one.get("vhost") == self.name and one.get("peer_port") != mine]
            for name in names:
                with contextlib.suppress(urllib.error.HTTPError):
                    broker.management(f"/api/connections/{urllib.parse.quote(name, safe='')}", "DELETE")
            return names
        eventually("a connection of a client", close, 60)

    def answer(self, properties, body):
        self.channel.basic_publish("", properties.reply_to, json.dumps(body), pika.BasicProperties(
            type="verification.started.v1", correlation_id=properties.correlation_id))


class Examples:
    """The tests of each language."""

    command = []

    def run_example(self, *arguments, url=None):
        environment = {**os.environ, "COUNTERSIGN_AMQP_URL": url or os.environ["COUNTERSIGN_AMQP_URL"]}
        return subprocess.run([*self.command, *arguments], env=environment, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=180)

    def test_a_number_is_verified_and_a_wrong_code_refused(self):
        number = new_number()
        started = self.run_example("start", number, APP)
        self.assertEqual(started.returncode, 0, started.stderr)
        session, code = started.stdout.strip(), received_code(number)
        wrong = self.run_example("check", session, "000000" if code != "000000" else "000001", APP)
        self.assertEqual(wrong.returncode, 1)
        self.assertIn("INVALID_CODE: ", wrong.stderr)
        right = self.run_example("check", session, code, APP)
        self.assertEqual((right.returncode, right.stdout.strip()), (0, number), right.stderr)

    def test_a_command_that_no_queue_takes_ends_at_once(self):
        host = Host(self, with_queue=False)
        done = self.run_example("start", new_number(), APP, url=host.url)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no queue takes verification.start", done.stderr)

    def test_a_command_is_repeated_under_its_id_over_a_lost_connection(self):
        host = Host(self, with_queue=True)
        ids = []

        def serve():
            ids.append(host.received().message_id)
            host.drop_others()
            second = host.received()
            ids.append(second.message_id)
            host.answer(second, {"verificationID": "answered"})

        server = threading.Thread(target=serve)
        server.start()
        done = self.run_example("start", new_number(), APP, url=host.url)
        server.join(120)
        self.assertEqual((done.returncode, done.stdout.strip()), (0, "answered"), done.stderr)
        self.assertEqual((len(ids), len(set(ids))), (2, 1))

    def test_what_is_missing_is_told(self):
        done = self.run_example("start")
        self.assertEqual(done.returncode, 1)
        self.assertIn("start NUMBER APP", done.stderr)


class PythonTest(Examples, unittest.TestCase):
    command = [sys.executable, CLIENTS / "verify.py"]


class PHPTest(Examples, unittest.TestCase):
    command = ["php", CLIENTS / "verify.php"]


class JavaTest(Examples, unittest.TestCase):
    command = ["java", "-cp", JARS, CLIENTS / "Verify.java"]


if __name__ == "__main__":
    unittest.main()
