"""A receiver of webhooks: HTTPS with the tests' authority, which checks every signature as docs/webhooks.md shows it."""

import json
import os
import pathlib
import re
import ssl
import threading

from local_server import Handler, Server

SECRETS = pathlib.Path(os.environ["COUNTERSIGN_CA_FILE"]).parent
PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/webhooks.md"


def sample():
    """`is_genuine` of the page."""
    names = {}
    exec(compile(re.search(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S)[1], PAGE, "exec"), names)
    return names["is_genuine"]


is_genuine = sample()


class Receiver:
    """Answers with `status`, and keeps what it has answered 2xx, in order. On a port of its own, again after `down`."""

    def __init__(self, add_cleanup):
        self.add_cleanup = add_cleanup
        self.lock = threading.Lock()
        self.status = 200
        self.secret = None
        self.received = []
        self.forged = 0
        self.asked = 0
        self.port = 0
        self.up()

    def up(self):
        receiver = self

        class Events(Handler):
            def do_POST(self):
                body = self.body()
                receiver.take(self, body)

        self.server = Server(Events, self.port)
        self.port = self.server.server_address[1]
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(SECRETS / "front-cert.pem", SECRETS / "front-key.pem")
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.server.start(self.add_cleanup)

    def down(self):
        self.server.shutdown()
        self.server.server_close()

    @property
    def url(self):
        return f"https://localhost:{self.port}/events?from=countersign"

    def take(self, request, body):
        status = self.status
        with self.lock:
            self.asked += 1
            if self.secret and not is_genuine(self.secret, request.headers, body):
                self.forged += 1
                status = 400
            elif status < 300:
                self.received.append((request.headers["webhook-id"], json.loads(body)))
        request.answer(status)

    def events(self):
        with self.lock:
            return list(self.received)

    def of(self, subject, field="verificationID"):
        """The events of a subject, in the order of their first arrival."""
        seen, found = set(), []
        for identity, event in self.events():
            if event["data"].get(field) == subject and identity not in seen:
                seen.add(identity)
                found.append(event)
        return found
