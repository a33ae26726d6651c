"""The clients of docs/clients in Python, PHP and Java, as they stand. Those in Go and Node need too large a package, and one that
Debian lacks."""

import contextlib
import json
import os
import socket
import ssl
import subprocess
import sys
import tempfile
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


class TLSServer:
    """Has a certificate for localhost of an authority of its own; counts the clients that took it and began with AMQP."""

    def __init__(self, test):
        self.directory = Path(test.enterContext(tempfile.TemporaryDirectory(prefix="countersign-")))
        self.certificate, key = self.directory / "certificate.pem", self.directory / "key.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
             "subjectAltName=DNS:localhost", "-keyout", key, "-out", self.certificate], capture_output=True, check=True, timeout=60)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(self.certificate, key)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.taken = self.refused = 0
        thread = threading.Thread(target=self._serve)
        thread.start()
        test.addCleanup(thread.join, 60)
        test.addCleanup(self.listener.shutdown, socket.SHUT_RDWR)

    def _serve(self):
        with self.listener, contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                connection.settimeout(60)
                try:
                    # PHP compares the name after the handshake.
                    with self.context.wrap_socket(connection, server_side=True) as secured:
                        began = secured.recv(4) == b"AMQP"
                except OSError:
                    began = False
                    connection.close()
                self.taken, self.refused = self.taken + began, self.refused + (not began)


class Examples:
    """The tests of each language."""

    command = []

    def trusting(self, server):
        """The variables by which the language trusts the authority of a server."""
        return {"SSL_CERT_FILE": str(server.certificate)}

    def run_example(self, *arguments, url=None, variables=None):
        environment = {**os.environ, "COUNTERSIGN_AMQP_URL": url or os.environ["COUNTERSIGN_AMQP_URL"], **(variables or {})}
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

    def test_only_a_certificate_of_the_host_by_a_known_authority_is_taken(self):
        server = TLSServer(self)
        for host, variables, takes in [
                ("localhost", {}, False), ("127.0.0.1", self.trusting(server), False), ("localhost", self.trusting(server), True)]:
            server.taken = server.refused = 0
            done = self.run_example("start", new_number(), APP, url=f"amqps://user:secret@{host}:{server.port}/", variables=variables)
            self.assertEqual(done.returncode, 1)
            self.assertEqual((server.taken > 0, server.refused > 0), (takes, not takes), f"{host} {done.stderr}")

    def test_other_schemes_are_refused(self):
        done = self.run_example("start", new_number(), APP, url="http://user:secret@127.0.0.1:1/")
        self.assertEqual(done.returncode, 1)
        self.assertNotIn("secret", done.stderr)

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

    def trusting(self, server):
        store = server.directory / "authorities.p12"
        if not store.exists():
            subprocess.run(
                ["keytool", "-importcert", "-noprompt", "-file", server.certificate, "-alias", "test", "-keystore", store,
                 "-storepass", "changeit"], capture_output=True, check=True, timeout=60)
        return {"JAVA_TOOL_OPTIONS": f"-Djavax.net.ssl.trustStore={store} -Djavax.net.ssl.trustStorePassword=changeit"}
