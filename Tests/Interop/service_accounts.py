"""Service accounts of a test's own, and access tokens for them as RFC 7523 has it."""

import json
import pathlib
import secrets
import tempfile
import time
import urllib.parse

import jwt

from gateway_client import PROJECT, send
from process import countersign

ALL_ROLES = "users.read,users.write,users.export,tokens,config"
GRANT_TYPE = "urn:ietf:params:oauth:grant-type:jwt-bearer"
GRANT = "/oauth2.googleapis.com/token"


class ServiceAccount:
    """A service account with its key file, until the cleanup."""

    def __init__(self, add_cleanup, roles=ALL_ROLES):
        self.name = f"test-{secrets.token_hex(6)}"
        directory = tempfile.TemporaryDirectory(prefix="countersign-")
        add_cleanup(directory.cleanup)
        self.file = pathlib.Path(directory.name) / "key.json"
        self.run("add", self.name, "--roles", roles, "--key-file", str(self.file))
        add_cleanup(self.delete)
        self.email = json.loads(self.file.read_text())["client_email"]

    @staticmethod
    def run(*arguments):
        done = countersign("--json", "service-account", *arguments, "--project", PROJECT)
        if done.returncode:
            raise AssertionError(f"service-account {arguments[0]} ended with {done.returncode}: {done.stderr}")
        return json.loads(done.stdout)

    def delete(self):
        countersign("service-account", "delete", self.name, "--project", PROJECT)

    def access_token(self, gateway):
        """An access token, by an assertion that its key has signed."""
        key = json.loads(self.file.read_text())
        now = int(time.time())
        claims = {"iss": self.email, "sub": self.email, "aud": key["token_uri"], "iat": now, "exp": now + 3600}
        assertion = jwt.encode(claims, key["private_key"], "RS256", {"kid": key["private_key_id"]})
        form = urllib.parse.urlencode({"grant_type": GRANT_TYPE, "assertion": assertion}).encode()
        answer = send(gateway, "POST", GRANT, form, {"Content-Type": "application/x-www-form-urlencoded"})
        if answer.status != 200:
            raise AssertionError(f"no access token: {answer.status} {answer.body}")
        return answer.json()["access_token"]
