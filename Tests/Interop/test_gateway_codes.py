"""Error codes over HTTP that no other module shows: docs/requirements.md has the table of all."""

import time
import unittest

import records
from gateway_client import CONTINUE_URL, PASSWORD, Administrator, Apple, Assertions, Web, new_email
from mailbox_of_relay import link
from process import Process

# Tag of a ticket's field.
EXPIRES_AT = 4
MOST_USERS = 1000
SITE_KEY, EMULATOR_TOKENS = 'siteKey: "site-key", ', "emulatorTokens: true,"


class AppTest(Assertions, unittest.TestCase):
    def setUp(self):
        self.clients = [Web(), Apple()]

    def refused_by_all(self, code, call, body):
        for client in self.clients:
            with self.subTest(code, body=body, client=type(client).__name__):
                self.refused(code, client.call, call, body)

    def test_sign_ins_with_a_provider(self):
        good = {"postBody": "providerId=google.com&id_token=x", "returnSecureToken": True}
        self.refused_by_all("MISSING_REQUEST_URI", "accounts:signInWithIdp", good)
        self.refused_by_all("INVALID_REQUEST_URI", "accounts:signInWithIdp", {**good, "requestUri": "localhost"})
        for body in ["providerId=google.com", "id_token=x", ""]:
            self.refused_by_all("INVALID_CREDENTIAL_OR_PROVIDER_ID", "accounts:signInWithIdp",
                                {"requestUri": "http://localhost", "postBody": body})

    def test_pages_to_go_on_to(self):
        for page in ["localhost", "javascript:alert(1)"]:
            self.refused_by_all("INVALID_CONTINUE_URI", "accounts:sendOobCode",
                                {"requestType": "PASSWORD_RESET", "email": new_email(), "continueUrl": page})

    def test_a_link_that_is_opened_late(self):
        for client in self.clients:
            email, before = new_email(), records.identifiers("ticket", "accounts")
            client.sign_up(email, PASSWORD)
            client.send_sign_in_link(email, continueUrl=CONTINUE_URL)
            code = link(email).code
            [ticket] = records.identifiers("ticket", "accounts") - before
            records.set_time("ticket", ticket, EXPIRES_AT, int(time.time() * 1000) - 1000, "accounts")
            self.refused("EXPIRED_OOB_CODE", client.sign_in_with_link, email, code)


class CallTest(Assertions, unittest.TestCase):
    def test_answers_to_any_call(self):
        web, stranger, unknown = Web(), Administrator("stranger"), Web(key="unknown")
        lookup = web.path("accounts:lookup")
        find = stranger.path("projects/{projectsId}/accounts:lookup")
        for client, path, body, status, word, reason, message in [
            (web, lookup, b"{", 400, "INVALID_ARGUMENT", "parseError", "Invalid JSON payload received. "),
            (web, lookup, b'{"idToken": 5}', 400, "INVALID_ARGUMENT", "parseError", "Invalid JSON payload received. "),
            (unknown, unknown.path("accounts:lookup"), b"{}", 400, "INVALID_ARGUMENT", "keyInvalid", "API key not valid. Please"),
            (web, lookup.partition("?")[0], b"{}", 403, "PERMISSION_DENIED", "forbidden", "The request is missing a valid API key."),
            (stranger, find, b"{}", 401, "UNAUTHENTICATED", "authError", "Request had invalid authentication credentials. "),
            (web, find, b"{}", 401, "UNAUTHENTICATED", "authError", "Request had invalid authentication credentials. "),
            (web, "/nowhere", b"{}", 404, "NOT_FOUND", "notFound", ""),
            (web, web.path("accounts:signInWithGameCenter"), b"{}", 501, "NOT_IMPLEMENTED", "notImplemented", "OPERATION_NOT_ALLOWED : "),
        ]:
            with self.subTest(status=status, path=path):
                error = client.send("POST", path, body, Content_Type="application/json").error()
                self.assertEqual((error.status, error.word, error.reason), (status, word, reason))
                self.assertTrue(error.message.startswith(message), error.message)


class ProjectTest(Assertions, unittest.TestCase):
    def test_a_project_without_recaptcha(self):
        gateway = self.enterContext(Process("gateway"))
        # In development mode SDKs get a key that they do not use.
        gateway.replace("development: true", "development: false")
        gateway.replace(r"\n *simulatorURL: .*", "")
        projects = gateway.projects.read_text()
        for part in [SITE_KEY, EMULATOR_TOKENS]:
            self.assertIn(part, projects)
            projects = projects.replace(part, "")
        gateway.projects.write_text(projects)
        gateway.start().ready()
        for client in [Web, Apple]:
            self.refused("RECAPTCHA_NOT_ENABLED", client(url=f"http://127.0.0.1:{gateway.listen_port}").get, "recaptchaParams")


class AdministratorTest(Assertions, unittest.TestCase):
    def setUp(self):
        self.administrator = Administrator()

    def test_users(self):
        for call in ["/accounts:update", "/accounts:delete"]:
            self.refused("MISSING_LOCAL_ID", self.administrator.call, call, {})
        self.refused("LOCAL_ID_LIST_EXCEEDS_LIMIT", self.administrator.call, "/accounts:batchDelete",
                     {"localIds": [f"user-{number}" for number in range(MOST_USERS + 1)]})

    def test_a_project_without_a_bearer(self):
        self.refused("INSUFFICIENT_PERMISSION", Web().call, "accounts:signUp", {"targetProjectId": "example"})
