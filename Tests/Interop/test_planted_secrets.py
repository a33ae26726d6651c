"""Codes, tokens, numbers and addresses are planted in a full run, with everything that goes wrong besides; then all that the processes have
written is searched for them: logs at their most talkative, metrics, dead letters' headers, the broker's listings, database files."""

import json
import os
import pathlib
import re
import secrets
import tempfile
import urllib.request

import pika

import app_sdk
import broker
import simulator
import stack
from countersign_client import ClientTest, Refused
from local_server import Handler, Server
from process import Process
from samples import in_seconds
from test_app import ACTION, new_device

APP, PUSH_APP, CAPTCHA_APP = "com.example.app", "com.example.push", "com.example.recaptcha"
SMS_WORKERS = ["sms-worker-1", "sms-worker-2"]
PROCESSES = ["coordinator", *SMS_WORKERS, "push-worker", "revocation-worker", "mail-worker"]
# Where something may stand in the clear, as SECURITY.md says ("What is not done"): by the beginning of the file's name, the kinds. A job waits in
# the coordinator's database until the broker has it, a revocation until its notice is sent; nothing else may be anywhere.
ALLOWED = dict.fromkeys(
    ["coordinator.sqlite", "PostgreSQL's store_", "PostgreSQL's log of changes", "PostgreSQL's pg_statistic"],
    {"number", "device token", "mail address"})
# So many of one kind are planted that one of six digits, which may stand anywhere by chance, is no finding yet.
CODES = 3
WEBHOOK_LANE = """
lanes: [{{ name: "webhook", type: "webhook", baseURL: "http://127.0.0.1:{port}/sms", secretFile: "{secret}", from: "Example",
  timeoutSeconds: 5, breakerThreshold: 0 }}],
}}
"""


def new_number(prefix="+49171"):
    """A number that no other test uses; nine random digits are in no file by chance."""
    return prefix + str(secrets.randbelow(9_000_000) + 1_000_000)


class Echo(Server):
    """A provider that refuses everything and repeats what it was sent, wherever an answer has room."""

    def __init__(self, planted):
        super().__init__(EchoHandler)
        self.planted = planted
        self.statuses = [400, 422, 302, 500, 503, 429, 200]
        self.asked = 0


class EchoHandler(Handler):
    """Repeats the body in the body, a header, the address to go to and the reason."""

    def do_POST(self):
        body = self.body().decode()
        data = json.loads(body)["data"]
        status = self.server.statuses[self.server.asked % len(self.server.statuses)]
        self.server.asked += 1
        text = f"cannot send '{data['text']}' to {data['to']}".replace("\n", " ")
        answer = json.dumps({"message": text, "code": data["to"], "reference": text, "data": data}).encode()
        self.send_response(status, text)
        self.send_header("Location", f"http://127.0.0.1/{data['to']}")
        self.send_header("X-Error", text)
        self.send_header("Retry-After", data["to"])
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)


class Planted:
    def __init__(self):
        self.values = {}

    def add(self, kind, value):
        self.values.setdefault(kind, set()).add(value)
        return value

    def found(self, data, words=True):
        """The kinds of which something stands in the data: a number also without its plus, a token in any case of its letters."""
        text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
        lower = text.lower()
        kinds = {}
        for kind, values in self.values.items():
            if kind.startswith("code"):
                hits = {one for one in values if one in text and re.search(rf"(?<![0-9]){one}(?![0-9])", text)}
                if len(hits) >= 2:
                    kinds[kind] = hits
                continue
            hits = {one for one in values if one.lower().lstrip("+") in lower}
            if hits:
                kinds[kind] = hits
        return kinds


class PlantedSecretsTest(ClientTest):
    @classmethod
    def setUpClass(cls):
        cls.sizes = {path: path.stat().st_size for path in cls.logs()}
        cls.addClassCleanup(cls.restart)
        os.environ["COUNTERSIGN_LOG_LEVEL"] = "trace"
        try:
            for name in PROCESSES:
                stack.stop(name)
                stack.start(name)
        finally:
            del os.environ["COUNTERSIGN_LOG_LEVEL"]

    @classmethod
    def restart(cls):
        for name in PROCESSES:
            stack.stop(name)
            stack.start(name)

    @staticmethod
    def logs():
        """The logs of our processes; the simulator, its front and the relay stand for others, who know what they are sent."""
        return [stack.DIRECTORY / "log" / f"{one}.log" for name in PROCESSES for one in stack.processes(name)]

    def setUp(self):
        self.planted = Planted()
        super().setUp()
        self.extra_logs = {}

    # --- what is done ---------------------------------------------------------------------------------------------------

    def tried(self, name, body, **overrides):
        """A command that may be refused; the answer may repeat nothing either."""
        try:
            self.client.command(name, body, **overrides)
        except Refused as error:
            self.assertEqual(self.planted.found(f"{error} {error.reason}"), {})

    def verify(self, prefix="+49171"):
        number = self.planted.add("number", new_number(prefix))
        started = self.client.command("verification.start", {
            "phoneNumber": number, "app": APP, "languageCode": "de",
            "client": {"ip": "203.0.113.9"}})["verificationID"]
        code = self.planted.add("code sent", simulator.code(simulator.message(number)["body"]))
        for _ in range(2):
            wrong = self.planted.add("code wrong", str(secrets.randbelow(900_000) + 100_000))
            if wrong != code:
                self.tried("verification.check", {"verificationID": started, "code": wrong})
        self.client.command("verification.check", {"verificationID": started, "code": code})
        for again in [code, "12 34 5", "0" * 40]:
            try:
                self.client.command("verification.check", {"verificationID": started, "code": again})
            except Refused as error:
                self.assertEqual(self.planted.found(str(error)), {})
        self.client.command("verification.status", {"verificationID": started})

    def refused_numbers(self):
        for prefix in ["+1900555", "+4990055", "+88213", "+9991", "+49 (0) 171-x"]:
            number = self.planted.add("number", new_number(prefix))
            self.tried("verification.start", {"phoneNumber": number, "app": APP})
            self.client.job("sms.dispatch", {"to": number, "text": "Hello.", "deadline": in_seconds(30)})

    def prove(self):
        sdk = app_sdk.App()
        device = self.planted.add("device token", new_device(PUSH_APP))
        sdk.wait_for(self.client.command("app.verify", {"app": PUSH_APP, "deviceToken": device})["receipt"])
        self.assertTrue(sdk.receive(simulator.push(device)["payload"]))
        proof = sdk.credential
        self.planted.add("push secret", proof["secret"])
        number = self.planted.add("number", new_number())
        wrong = self.planted.add("push secret", secrets.token_urlsafe(32))
        self.tried("verification.start", {
            "phoneNumber": number, "app": PUSH_APP, "proof": {"receipt": proof["receipt"], "secret": wrong}})
        self.client.command("verification.start", {"phoneNumber": number, "app": PUSH_APP, "proof": proof})
        self.planted.add("code sent", simulator.code(simulator.message(number)["body"]))
        for kind in ["high", "low", "invalid"]:
            token = self.planted.add("reCAPTCHA token", f"{kind}.{ACTION}.{secrets.token_hex(16)}@{CAPTCHA_APP}")
            number = self.planted.add("number", new_number())
            try:
                self.client.command("verification.start", {
                    "phoneNumber": number, "app": CAPTCHA_APP, "proof": {"recaptchaToken": token}})
                self.planted.add("code sent", simulator.code(simulator.message(number)["body"]))
            except Refused as error:
                self.assertEqual(self.planted.found(str(error)), {})
        bad = self.planted.add("device token", secrets.token_hex(32).upper())
        self.client.command("app.verify", {"app": PUSH_APP, "deviceToken": bad})
        none = self.planted.add("device token", "zz" + secrets.token_hex(31))
        self.tried("app.verify", {"app": PUSH_APP, "deviceToken": none})

    def revoke(self):
        address = self.planted.add("mail address", f"{secrets.token_hex(8)}@privaterelay.appleid.com")
        code = simulator.authorization_code(APP)
        for fields in [
            {"authorizationCode": code, "notify": {"email": address}},
            {"authorizationCode": f"c{secrets.token_hex(16)}.0.never.issued"},
            {"refreshToken": f"r{secrets.token_hex(16)}.0.x"},
        ]:
            for kind, value in fields.items():
                if kind != "notify":
                    self.planted.add(kind, value)
            operation = self.client.command("revocation.start", {"app": APP, **fields})["operationID"]
            self.client.ended_operation(operation)
        # Those of other tests may be texts that stand elsewhere as well.
        revocations = simulator.revocations(code=code)
        self.assertTrue(revocations)
        for entry in revocations:
            self.planted.add("refresh token of the exchange", entry["token"])

    def mail(self):
        for _ in range(CODES):
            address = self.planted.add("mail address", f"ada.{secrets.token_hex(8)}@example.org")
            code = self.planted.add("code mailed", str(secrets.randbelow(900_000) + 100_000))
            self.client.job("mail.relay", {
                "to": address, "template": "address-verification", "languageCode": "en",
                "variables": {"code": code, "appName": "Shop"}, "deadline": in_seconds(60)})
        link = f"https://example.com/in?t={self.planted.add('link token', secrets.token_hex(16))}"
        for address in [f"ada.{secrets.token_hex(8)}@example.org", f"{secrets.token_hex(8)}@@no-address"]:
            self.planted.add("mail address", address)
            self.client.job("mail.relay", {
                "to": address, "template": "sign-in-link", "variables": {"link": link, "appName": "Shop"},
                "deadline": in_seconds(60)})

    def malformed(self):
        """Messages that break the contract, with everything in them that must not be repeated."""
        number = self.planted.add("number", new_number())
        code = self.planted.add("code malformed", str(secrets.randbelow(900_000) + 100_000))
        self.planted.add("code malformed", str(secrets.randbelow(900_000) + 100_000))
        token = self.planted.add("token malformed", secrets.token_hex(24))
        bodies = [
            f'{{"to": "{number}", "code": "{code}", nonsense'.encode(),
            {"to": {number: code}, "text": token, "deadline": in_seconds(30)},
            {"to": [number], "variables": {"code": [code]}, "template": [token]},
            {"to": number, "text": [token], "deadline": code},
            {"to": number, "template": "verification", "variables": {"code": {token: code}}, "deadline": in_seconds(30)},
            {"to": number, "text": "x", "deadline": token},
            {"to": number, "text": "x", "onUnknown": token, "deadline": in_seconds(30)},
            {"phoneNumber": number, "deviceToken": token, "code": code},
            # In the form of a sealed one.
            {"to": number, "template": "verification", "deadline": in_seconds(30),
             "variables": {"code": f"eyJhbGciOiJkaXIifQ..{token}.{token}.{token}"}},
        ]
        for body in bodies:
            for exchange, key in [("countersign.jobs", "sms.dispatch"), ("countersign.jobs", "mail.relay"),
                                  ("countersign.jobs", "push.verify"), ("countersign.jobs", "apple.revoke"),
                                  ("countersign.commands", "verification.start"),
                                  ("countersign.commands", "verification.check"),
                                  ("countersign.commands", "app.verify"), ("countersign.commands", "revocation.start")]:
                correlation_id = self.client.send(exchange, key, body)
                _, answer = self.client.wait(correlation_id)
                self.assertEqual(self.planted.found(json.dumps(answer)), {}, (key, body))

    def provider_errors(self):
        for name in SMS_WORKERS:
            stack.stop(name)
        echo = Echo(self.planted).start(self.addCleanup)
        try:
            with Process("sms-worker") as worker, tempfile.TemporaryDirectory() as directory:
                lane = WEBHOOK_LANE.format(port=echo.server_port, secret="../secrets/webhook-secret")
                worker.replace_lanes(lane)
                worker.variables["COUNTERSIGN_LOG_LEVEL"] = "trace"
                worker.start().ready()
                for _ in echo.statuses:
                    number = self.planted.add("number", new_number())
                    code = self.planted.add("code to the provider", str(secrets.randbelow(900_000) + 100_000))
                    result = self.client.job("sms.dispatch", {
                        "to": number, "template": "verification", "variables": {"code": code, "appName": "Shop"},
                        "deadline": in_seconds(20)}, timeout=180)
                    self.assertEqual(self.planted.found(json.dumps(result)), {}, result)
                self.extra_logs["sms-worker of the test"] = worker.output() + worker.get("/metrics")[1]
                data = pathlib.Path(worker.directory.name) / "data"
                for path in data.iterdir():
                    self.extra_logs[f"{path.name} of the test"] = path.read_bytes()
                if stack.IS_POSTGRESQL:
                    for name, content in stack.database_files(worker.database()):
                        self.extra_logs[f"PostgreSQL's {name} of the test"] = content
                del directory
        finally:
            for name in SMS_WORKERS:
                os.environ["COUNTERSIGN_LOG_LEVEL"] = "trace"
                try:
                    stack.start(name)
                finally:
                    del os.environ["COUNTERSIGN_LOG_LEVEL"]

    # --- what is searched -----------------------------------------------------------------------------------------------

    def metrics(self):
        """The metrics of every process, without the values of the series."""
        urls = stack.coordinator_urls()
        for variable in ["SMS", "PUSH", "REVOCATION", "MAIL"]:
            urls += os.environ[f"COUNTERSIGN_{variable}_WORKER_URLS"].split(",")
        for url in urls:
            for page in ["/metrics", "/readyz"]:
                with urllib.request.urlopen(url + page, timeout=60) as response:
                    text = response.read().decode()
                yield url + page, re.sub(r" [^ ]+$", "", text, flags=re.MULTILINE) if page == "/metrics" else text

    def dead_letters(self):
        """Properties and headers of every dead letter; the bodies are what somebody sent."""
        names = [one["name"] for one in broker.management("/api/queues/%2F") if one["name"].endswith(".dead")]
        self.assertTrue(names)
        count = 0
        connection = pika.BlockingConnection(pika.URLParameters(os.environ["COUNTERSIGN_OPERATOR_AMQP_URL"]))
        try:
            for name in names:
                # What is taken comes back when the connection ends.
                channel = connection.channel()
                while True:
                    method, properties, _ = channel.basic_get(name)
                    if method is None:
                        break
                    count += 1
                    yield f"dead letter in {name}", repr(properties)
        finally:
            connection.close()
        self.assertGreater(count, 0, "the malformed messages have left dead letters")

    def everything(self):
        for path in self.logs():
            with path.open("rb") as log:
                # A log begins anew when its process does.
                log.seek(self.sizes.get(path, 0) if path.stat().st_size >= self.sizes.get(path, 0) else 0)
                yield path.name, log.read()
        yield from self.metrics()
        yield from self.dead_letters()
        for listing in ["queues", "bindings", "connections", "consumers", "exchanges", "channels", "overview"]:
            yield f"the broker's {listing}", json.dumps(broker.management(f"/api/{listing}"))
        for path in sorted((stack.DIRECTORY / "data").iterdir()):
            if path.is_file():
                yield path.name, path.read_bytes()
        if stack.IS_POSTGRESQL:
            for name, content in stack.database_files():
                yield f"PostgreSQL's {name}", content
            yield "PostgreSQL's log of changes", stack.database_changes()
            yield "what PostgreSQL says", (stack.DIRECTORY / "postgresql" / "log" / "postgresql.log").read_bytes()
        yield from self.extra_logs.items()

    def test_nothing_that_was_planted_is_found(self):
        for prefix in ["+49171", "+447400", "+33612", "+34612", "+39347"][:5]:
            self.verify(prefix) if prefix == "+49171" else self.verify_short(prefix)
        self.refused_numbers()
        self.prove()
        self.revoke()
        self.mail()
        self.malformed()
        self.client.job("sms.dispatch", {
            "to": self.planted.add("number", "+15005550001"), "text": "x", "lane": "twilio", "deadline": in_seconds(30)})
        self.provider_errors()
        places, leaks = 0, []
        for place, data in self.everything():
            places += 1
            allowed = next((kinds for name, kinds in ALLOWED.items() if place.startswith(name)), set())
            for kind, values in self.planted.found(data).items():
                if kind not in allowed:
                    leaks.append(f"{place}: {kind}: {self.around(data, sorted(values)[0])}")
        self.assertGreater(places, 30)
        self.assertEqual(leaks, [], "\n".join(leaks))

    def verify_short(self, prefix):
        """By another provider: six digits are left of the number."""
        number = self.planted.add("number", prefix + str(secrets.randbelow(900_000) + 100_000))
        self.client.command("verification.start", {"phoneNumber": number, "app": APP})
        self.planted.add("code sent", simulator.code(simulator.message(number)["body"]))

    @staticmethod
    def around(data, value):
        text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
        at = text.lower().find(value.lower().lstrip("+"))
        return repr(text[max(0, at - 120):at + len(value) + 40])
