"""An nginx of a test's own before gateways, with the file and the limits that ship."""

import contextlib
import email
import http.client
import os
import pathlib
import re
import shutil
import socket
import ssl
import subprocess
import tempfile
import time

import stack
from gateway_client import Answer
from process import free_port

# Exit codes of curl for connections that end without an answer.
CURL_NO_ANSWER = {16, 18, 52, 55, 56, 92}
ORIGIN = "https://app.example.com"


class Front:
    def __init__(self, *gateways, names=None):
        """- `names`: those that it answers to, with its certificate and the key for them, instead of the stack's."""
        self.directory = tempfile.TemporaryDirectory(prefix="countersign-")
        self.port = free_port()
        stack.configure_front(self.directory.name, self.port, gateways)
        self.running = None
        if names is not None:
            self.rename(*names)

    def rename(self, hosts, certificate, key):
        file = pathlib.Path(self.directory.name) / "gateway.conf"
        text = file.read_text()
        for name, value in [("server_name", " ".join(hosts)), ("ssl_certificate", certificate), ("ssl_certificate_key", key)]:
            text, count = re.subn(rf"^(  {name}) .*", rf"\1 {value};", text, flags=re.MULTILINE)
            if count != 1:
                raise ValueError(f"the configuration of nginx has {count} lines of {name}")
        file.write_text(text)

    def __enter__(self):
        command = [shutil.which("nginx") or "/usr/sbin/nginx", "-e", "stderr", "-p", self.directory.name]
        self.running = subprocess.Popen([*command, "-c", f"{self.directory.name}/nginx.conf"], stdin=subprocess.DEVNULL)
        deadline = time.monotonic() + 30
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=5).close()
                return self
            except OSError:
                if self.running.poll() is not None or time.monotonic() > deadline:
                    self.__exit__()
                    raise
                time.sleep(0.05)

    def __exit__(self, *_):
        self.running.terminate()
        self.running.wait(timeout=30)
        self.directory.cleanup()

    def log(self):
        with open(f"{self.directory.name}/log.refusals.log", encoding="utf-8") as file:
            return file.read()

    def connect(self, client, plain=False, timeout=30):
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=timeout, source_address=(client, 0))
        if plain:
            return connection
        context = ssl.create_default_context(cafile=os.environ["COUNTERSIGN_CA_FILE"])
        return context.wrap_socket(connection, server_hostname="auth.localhost")

    def send(self, client, request, plain=False):
        with self.connect(client, plain) as connection:
            with contextlib.suppress(OSError):  # It may refuse before it has read all.
                connection.sendall(request)
            return read(connection)

    def call(self, client, method, path, body=b"", host="auth.localhost", **headers):
        return self.send(client, request(method, path, body, host, **headers))

    def curl(self, client, path, *options, host="auth.localhost"):
        """A request over HTTP/2 by a client that is not ours: the version that was spoken, and the answer."""
        with tempfile.NamedTemporaryFile() as head:
            done = subprocess.run(
                ["curl", "--silent", "--show-error", "--noproxy", "*", "--http2", "--max-time", "30", "--interface", client,
                 "--cacert", os.environ["COUNTERSIGN_CA_FILE"], "--connect-to", f"::127.0.0.1:{self.port}", "--dump-header", head.name,
                 "--write-out", "\n%{http_version} %{http_code}", *options, f"https://{host}:{self.port}{path}"],
                stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
            lines = head.read()
        body, _, outcome = done.stdout.rpartition(b"\n")
        version, status = outcome.decode().split()
        if done.returncode in CURL_NO_ANSWER:
            raise ConnectionResetError(done.stderr.decode())
        if done.returncode:
            raise OSError(done.stderr.decode())
        fields = lines.rstrip().split(b"\r\n\r\n")[-1].split(b"\r\n")[1:]
        message = email.message_from_bytes(b"\r\n".join(fields), _class=http.client.HTTPMessage)
        return version, Answer(int(status), message, body)


def request(method, path, body=b"", host="auth.localhost", **headers):
    fields = {"Host": host, "Origin": ORIGIN, **{name.replace("_", "-"): text for name, text in headers.items()}}
    if body:
        fields.setdefault("Content-Length", str(len(body)))
        fields.setdefault("Content-Type", "application/json")
    head = "".join(f"{name}: {text}\r\n" for name, text in fields.items() if text is not None)
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body


def read(connection):
    response = http.client.HTTPResponse(connection, method="POST")
    response.begin()
    return Answer(response.status, response.headers, response.read())
