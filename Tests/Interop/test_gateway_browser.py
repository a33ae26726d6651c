"""A page signs in by phone in a browser: what `fetch` may send and read across origins is the browser's to decide."""

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import threading
import unittest
import urllib.parse

from chromium import FLAGS, program
from gateway_client import IDENTITY_TOOLKIT, KEY, PROJECT, SECURE_TOKEN, Web, new_number, received_code
from local_server import Handler, Server

PAGE_SECONDS = 90
# The headers are those of the JavaScript SDK, each of which needs a preflight's leave.
PAGE = """<!doctype html>
<meta charset="utf-8">
<title>Sign in</title>
<script type="module">
const {gateway, number} = Object.fromEntries(new URLSearchParams(location.search));
const headers = {
  "Content-Type": "application/json", "X-Client-Version": "Chrome/JsCore/11.0.2/FirebaseCore-web",
  "X-Firebase-Client": "eyJ2ZXJzaW9uIjoyfQ", "X-Firebase-Locale": "pt-BR",
};

async function call(name, body) {
  const response = await fetch(`${gateway}IDENTITY_TOOLKIT/v1/accounts:${name}?key=KEY`, {
    method: "POST", headers, body: JSON.stringify(body), referrerPolicy: "no-referrer" });
  return {status: response.status, body: await response.json()};
}

async function signIn() {
  const result = {};
  const {sessionInfo} = (await call("sendVerificationCode", {
    phoneNumber: number, clientType: "CLIENT_TYPE_WEB", captchaResponse: "NO_RECAPTCHA", recaptchaVersion: "RECAPTCHA_ENTERPRISE" })).body;
  const code = await (await fetch("/code?to=" + encodeURIComponent(number))).text();
  result.wrong = await call("signInWithPhoneNumber", {sessionInfo, code: code === "000000" ? "000001" : "000000"});
  result.user = await call("signInWithPhoneNumber", {sessionInfo, code});
  const {idToken, refreshToken} = result.user.body;
  result.lookup = await call("lookup", {idToken});
  const refreshed = await fetch(`${gateway}SECURE_TOKEN?key=KEY`, {
    method: "POST", headers: {...headers, "Content-Type": "application/x-www-form-urlencoded"},
    body: new URLSearchParams({grant_type: "refresh_token", refresh_token: refreshToken}) });
  result.refresh = {status: refreshed.status, body: await refreshed.json()};
  result.again = await call("signInWithPhoneNumber", {sessionInfo, code});
  return result;
}

let result;
try { result = await signIn(); } catch (error) { result = {error: String(error)}; }
await fetch("/result", {method: "POST", body: JSON.stringify(result)});
</script>
"""


class Site(Server):
    def __init__(self):
        super().__init__(SiteHandler)
        self.result, self.told = None, threading.Event()


class SiteHandler(Handler):
    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        if url.path == "/code":
            self.answer(200, received_code(urllib.parse.parse_qs(url.query)["to"][0]).encode(), "text/plain")
        else:
            page = PAGE.replace("IDENTITY_TOOLKIT", IDENTITY_TOOLKIT).replace("SECURE_TOKEN", SECURE_TOKEN).replace("KEY", KEY)
            self.answer(200, page.encode(), "text/html")

    def do_POST(self):
        self.server.result = json.loads(self.body())
        self.answer(200, b"{}")
        self.server.told.set()


class BrowserTest(unittest.TestCase):
    def setUp(self):
        self.site = Site().start(self.addCleanup)

    def open_page(self, **query):
        with tempfile.TemporaryDirectory(prefix="countersign-", ignore_cleanup_errors=True) as directory:
            address = f"http://localhost:{self.site.server_port}/?{urllib.parse.urlencode(query)}"
            log = pathlib.Path(directory) / "log"
            with open(log, "wb") as output:
                running = subprocess.Popen(
                    [program(), *FLAGS, f"--user-data-dir={directory}/profile", "--remote-debugging-port=0", address],
                    stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=os.environ | {"HOME": directory},
                    start_new_session=True)
            try:
                if not self.site.told.wait(PAGE_SECONDS):
                    self.fail(f"the page told nothing within {PAGE_SECONDS} s: {log.read_text(errors='replace')[-2000:]}")
            finally:
                # All of it: a browser is many processes, and one that is asked to end leaves some behind.
                os.killpg(running.pid, signal.SIGKILL)
                running.wait()
        return self.site.result

    def test_page_signs_in(self):
        number = new_number()
        result = self.open_page(gateway=os.environ["COUNTERSIGN_GATEWAY_URL"], number=number)
        self.assertNotIn("error", result, result)
        self.assertEqual({name: answer["status"] for name, answer in result.items()}, {
            "wrong": 400, "user": 200, "lookup": 200, "refresh": 200, "again": 400})
        # A page reads errors across origins, too.
        self.assertEqual(result["wrong"]["body"]["error"]["message"].split(" : ")[0], "INVALID_CODE")
        self.assertEqual(result["again"]["body"]["error"]["message"].split(" : ")[0], "SESSION_EXPIRED")
        user = result["user"]["body"]
        self.assertEqual((user["phoneNumber"], user["isNewUser"]), (number, True))
        self.assertEqual(result["lookup"]["body"]["users"][0]["localId"], user["localId"])
        for token in [user["idToken"], result["refresh"]["body"]["id_token"]]:
            claims = Web().claims(token)
            self.assertEqual((claims["aud"], claims["sub"], claims["phone_number"]), (PROJECT, user["localId"], number))

    def test_browser_keeps_to_cors(self):
        """So that the other test shows something: a server that answers preflights otherwise is not read."""
        result = self.open_page(gateway=f"http://127.0.0.1:{self.site.server_port}", number=new_number())
        self.assertIn("error", result)
