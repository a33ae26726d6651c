"""Codes, tokens and numbers are planted in sign-ins over HTTP, good and bad ones; then all that was written is searched for them.

Each place is searched for something that does stand there as well, so that a search that finds nothing is no proof by accident.
"""

import base64
import json
import os
import pathlib
import re
import secrets
import shutil
import subprocess
import threading
import unittest
import urllib.parse
import urllib.request

import pika

import broker
import stack
from authenticator import Authenticator
from countersign_client import Client
from gateway_client import Administrator, APIError, Apple, Assertions, Web, new_email, new_number, received_code, send
from mailbox_of_relay import link
from samples import wrong
from second_factors import Factors
from waiting import eventually

PROCESSES = ["coordinator", "accounts", "gateway"]
EVENTS = "gateway-secrets.events"
# An account has its number, and what its user is called; a verification has its ID and a number until it is forgotten. The ID is of
# no use without the code, which both keep as a hash only.
IN_THE_CLEAR = {"accounts": {"number", "name", "address", "session"}, "coordinator": {"number", "session"}}
# Commands name the number that is to be verified; all else that is secret in them is sealed.
IN_MESSAGES = {"number", "name"}


class Planted:
    def __init__(self):
        self.values = {}

    def add(self, kind, value):
        self.values.setdefault(kind, set()).add(value)
        return value

    def add_tokens(self, answer):
        """Remembers the tokens of an answer, each as a whole and its secret part."""
        for name in ["idToken", "refreshToken", "access_token", "id_token", "refresh_token", "temporaryProof"]:
            if name in answer:
                # Of a signed token the first parts are no secret of their own, but the user's all the same.
                for part in {answer[name], *answer[name].split(".")[1 if "efresh" not in name else 2:]}:
                    self.add(name, part)
        return answer

    @staticmethod
    def forms(value):
        """How a value may be written down: as it is, in capitals or not, in hexadecimal, in base64."""
        raw = value.encode()
        return [value.lower(), raw.hex(), base64.b64encode(raw).decode().rstrip("=")[:-1].lower()]

    def found(self, data):
        text = (data.decode("utf-8", "replace") if isinstance(data, bytes) else data).lower()
        kinds = {}
        for kind, values in self.values.items():
            if kind == "code":
                # Six digits stand anywhere by chance; two of them do not.
                hits = {one for one in values if one in text and re.search(rf"(?<![0-9a-f]){one}(?![0-9a-f])", text)}
                hits = hits if len(hits) >= 2 else set()
            else:
                hits = {one for one in values if any(form in text for form in self.forms(one.lstrip("+")))}
            if hits:
                kinds[kind] = hits
        return kinds


class SearchTest(unittest.TestCase):
    def test_it_finds_every_form(self):
        planted = Planted()
        number, token = planted.add("number", new_number()), planted.add("token", secrets.token_urlsafe(32))
        codes = [planted.add("code", code) for code in ["123457", "765432"]]
        for value, kind in [(number, "number"), (token, "token")]:
            for text in [value, value.upper(), f"x{value[1:]}y", value.lstrip("+").encode().hex(), f"\\x00{value.lstrip('+').encode().hex()}ff",
                         base64.b64encode(value.lstrip("+").encode()).decode()]:
                if kind == "number" or text[1:-1] != value[1:]:
                    self.assertIn(kind, planted.found(text.encode()), text)
        self.assertEqual(planted.found(" ".join(codes)), {"code": set(codes)})
        self.assertEqual(planted.found(codes[0] + " and nothing else"), {})


class SecretsTest(Assertions, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.sizes = {path: path.stat().st_size for path in cls.logs()}
        cls.addClassCleanup(cls.restart_all, None)
        cls.restart_all("trace")

    @staticmethod
    def logs():
        return [stack.DIRECTORY / "log" / f"{one}.log" for name in PROCESSES for one in stack.processes(name)]

    @staticmethod
    def restart_all(level):
        """From now on they are as talkative as that."""
        if level:
            os.environ["COUNTERSIGN_LOG_LEVEL"] = level
        problems = []
        try:
            for step, one in [(step, one) for name in PROCESSES for step in [stack.stop, stack.start] for one in stack.processes(name)]:
                try:
                    step(one)
                except (RuntimeError, subprocess.TimeoutExpired) as error:
                    # The others are to run all the same.
                    problems.append(error)
        finally:
            os.environ.pop("COUNTERSIGN_LOG_LEVEL", None)
        if problems:
            raise problems[0]

    def setUp(self):
        self.web, self.apple = Web(), Apple()
        self.planted = Planted()
        self.name = f"Ada {secrets.token_hex(8)}"

    # --- what is done -----------------------------------------------------------------------------------------------

    def new_number(self):
        return self.planted.add("number", new_number())

    def refuse(self, call, *arguments, **fields):
        """A call that is refused; the refusal may repeat nothing."""
        with self.assertRaises(APIError) as caught:
            call(*arguments, **fields)
        self.assertEqual(self.planted.found(json.dumps(caught.exception.error)), {}, caught.exception)

    def sign_in(self, client, number, count=1, **fields):
        session = self.planted.add("session", client.send_code(number))
        code = self.planted.add("code", received_code(number, count=count))
        self.refuse(client.sign_in, session, self.planted.add("code", wrong(code)))
        return session, code, self.planted.add_tokens(client.sign_in(session, code, **fields))

    def run_all(self):
        number = self.new_number()
        session, code, user = self.sign_in(self.web, number)
        self.refuse(self.web.sign_in, session, code)
        self.planted.add_tokens(self.web.refresh(user["refreshToken"]))
        self.planted.add_tokens(self.apple.refresh(user["refreshToken"]))
        self.planted.add("name", self.name)
        self.planted.add_tokens(self.web.update(user["idToken"], displayName=self.name, returnSecureToken=True))
        anonymous = self.planted.add_tokens(self.apple.anonymous())
        _, _, proof = self.sign_in(self.apple, number, count=2, idToken=anonymous["idToken"], operation="LINK")
        self.planted.add_tokens(self.apple.sign_in_with_proof(number, proof["temporaryProof"]))
        self.refuse(self.apple.sign_in_with_proof, number, proof["temporaryProof"])
        self.sign_in(self.web, self.new_number(), idToken=anonymous["idToken"])
        gone = self.planted.add_tokens(self.web.anonymous())
        self.web.delete(gone["idToken"])
        self.refuse(self.web.lookup, gone["idToken"])
        self.refuse(self.web.refresh, gone["refreshToken"])
        self.passwords()
        self.second_factors()
        self.administrators()
        self.bad_values()
        self.bad_requests(user)

    def new_address(self):
        return self.planted.add("address", new_email())

    def new_password(self):
        return self.planted.add("password", secrets.token_urlsafe(24))

    def code_of(self, email, count=1):
        found = link(email, count=count)
        return self.planted.add("link", found.code)

    def passwords(self):
        email, password, other = self.new_address(), self.new_password(), self.new_password()
        user = self.planted.add_tokens(self.web.sign_up(email, password))
        self.planted.add_tokens(self.apple.sign_in_with_password(email, password))
        self.refuse(self.web.sign_in_with_password, email, self.new_password())
        self.refuse(self.web.sign_in_with_password, self.new_address(), password)
        self.refuse(self.web.sign_up, email, other)
        self.refuse(self.web.sign_up, self.new_address(), self.planted.add("password", "x" * 5000))
        self.planted.add_tokens(self.web.update(user["idToken"], password=other))
        self.web.send_link("PASSWORD_RESET", email=email)
        code = self.code_of(email)
        self.web.look_at_link(code)
        self.web.reset_password(code, self.new_password())
        self.refuse(self.web.reset_password, code, password)
        stranger = self.new_address()
        self.web.send_sign_in_link(stranger)
        code = self.code_of(stranger)
        self.refuse(self.web.sign_in_with_link, self.new_address(), code)
        self.planted.add_tokens(self.web.sign_in_with_link(stranger, code))
        self.refuse(self.web.sign_in_with_link, stranger, code)

    def second_factors(self):
        email, password, number = self.new_address(), self.new_password(), self.new_number()
        user = self.planted.add_tokens(self.web.sign_up(email, password))
        Administrator().change(user["localId"], emailVerified=True)
        factors, token = Factors(self.web), user["idToken"]
        session = self.planted.add("session", factors.start_phone(token, number))
        code = self.planted.add("code", received_code(number))
        self.refuse(factors.finish_phone, token, session, self.planted.add("code", wrong(code)))
        token = self.planted.add_tokens(factors.finish_phone(token, session, code, self.name))["idToken"]
        secret = factors.start_totp(token)
        authenticator = Authenticator(self.planted.add("shared secret", secret["sharedSecretKey"]))
        for text in [authenticator.key.hex(), base64.b64encode(authenticator.key).decode().rstrip("=")]:
            self.planted.add("shared secret", text)
        ticket = self.planted.add("ticket", secret["sessionInfo"])
        self.refuse(factors.finish_totp, token, ticket, self.planted.add("code", authenticator.wrong_code()))
        code = self.planted.add("code", authenticator.code())
        token = self.planted.add_tokens(factors.finish_totp(token, ticket, code, self.name))["idToken"]
        phone, totp = [factor["mfaEnrollmentId"] for factor in self.web.lookup(token)["mfaInfo"]]
        pending = self.pending(email, password)
        self.refuse(factors.sign_in_with_totp, pending, totp, self.planted.add("code", authenticator.wrong_code()))
        code = self.planted.add("code", authenticator.code())
        self.planted.add_tokens(factors.sign_in_with_totp(pending, totp, code))
        self.refuse(factors.sign_in_with_totp, pending, totp, code)
        pending = self.pending(email, password)
        session = self.planted.add("session", factors.start_sign_in(pending, phone))
        code = self.planted.add("code", received_code(number, count=2))
        token = self.planted.add_tokens(factors.finish_sign_in(pending, session, code))["idToken"]
        self.planted.add_tokens(factors.withdraw(token, totp))

    def pending(self, email, password):
        return self.planted.add("pending credential", self.web.sign_in_with_password(email, password)["mfaPendingCredential"])

    def administrators(self):
        administrator, uid = Administrator(), secrets.token_hex(8)
        email, password = self.new_address(), self.new_password()
        administrator.create(localId=uid, email=email, password=password)
        administrator.change(uid, password=self.new_password())
        administrator.find(email=[email])
        answer = administrator.call("/accounts:sendOobCode", {"requestType": "PASSWORD_RESET", "email": email, "returnOobLink": True})
        self.web.reset_password(self.planted.add("link", answer["oobCode"]), password)
        token = self.planted.add_tokens(self.web.sign_in_with_password(email, password))["idToken"]
        cookie = administrator.call(":createSessionCookie", {"idToken": token, "validDuration": "3600"})["sessionCookie"]
        for part in cookie.split(".")[1:]:
            self.planted.add("cookie", part)
        made = self.planted.add("hash", secrets.token_bytes(32).hex())
        administrator.import_users([{"localId": f"{uid}-2", "email": self.new_address(), "salt": "c2FsdA==",
                                     "passwordHash": base64.b64encode(bytes.fromhex(made)).decode()}], hashAlgorithm="SHA256", rounds=1)
        self.refuse(Administrator(self.planted.add("bad token", secrets.token_urlsafe(40))).find, email=[email])
        self.refuse(self.web.sign_in_with_custom_token, self.planted.add("bad token", secrets.token_urlsafe(40)))

    def bad_values(self):
        for _ in range(3):
            self.refuse(self.web.lookup, self.planted.add("bad token", secrets.token_urlsafe(40)))
            self.refuse(self.web.refresh, self.planted.add("bad token", ".".join(secrets.token_urlsafe(16) for _ in range(3))))
            self.refuse(self.web.sign_in, self.planted.add("session", secrets.token_urlsafe(24)), self.planted.add("code", "904173"))
            self.refuse(self.web.sign_in_with_proof, self.new_number(), self.planted.add("bad token", secrets.token_urlsafe(40)))
            self.refuse(self.web.send_code, self.planted.add("number", "+1" + str(secrets.randbelow(10**15) + 10**16)))
            self.refuse(Apple("com.example.push").send_code, self.new_number(), iosReceipt=self.planted.add(
                "bad token", secrets.token_urlsafe(40)), iosSecret=self.planted.add("bad token", secrets.token_urlsafe(40)))

    def bad_requests(self, user):
        """Secrets where none belong: in the path, the query, the headers, in what is no JSON."""
        token = self.planted.add("bad token", secrets.token_urlsafe(40))
        lookup = self.web.path("accounts:lookup")
        for method, path, body, headers in [
            ("POST", lookup, f'{{"idToken": "{token}", nonsense', {}), ("POST", lookup, json.dumps({"idToken": [token]}), {}),
            ("POST", lookup, json.dumps({"idToken": {token: token}}), {}), ("POST", lookup, token, {}),
            ("POST", f"{lookup}&idToken={token}&access_token={token}", "{}", {}),
            ("POST", lookup, '{"localId": ["x"]}', {
                "Authorization": f"Bearer {token}", "Cookie": f"session={token}", "X-Firebase-AppCheck": token}),
            ("GET", f"/{token}/{token}?x={token}", None, {}), ("POST", self.web.path(f"accounts:{token}"), "{}", {}),
            ("POST", lookup.replace("key=", f"key={token}"), "{}", {}), (token, lookup, "{}", {}),
            ("POST", lookup, "{}", {"Origin": f"http://{token}.example", "User-Agent": "curl", "X-Firebase-Locale": token,
                                    "X-Ios-Bundle-Identifier": token, "X-Firebase-GMPID": token}),
        ]:
            answer = send(self.web.url, method, path, body, {"Content-Type": "application/json", **headers})
            self.assertGreaterEqual(answer.status, 400)
            self.assertNotIn(token, answer.body.decode("utf-8", "replace"))
        self.assertEqual(self.web.lookup(user["idToken"])["displayName"], self.name)

    def malformed(self):
        """Commands that break the contract, as a gateway of another version might send them: secrets that are not sealed, no JSON."""
        url = urllib.parse.urlsplit(os.environ["COUNTERSIGN_AMQP_URL"])
        password = (stack.DIRECTORY / "secrets" / "broker-gateway").read_text().strip()
        client = Client.of(self, f"amqp://gateway:{password}@{url.hostname}:{url.port}")
        token, number = self.planted.add("bad token", secrets.token_urlsafe(40)), self.new_number()
        for name, body, overrides in [
            ("account.lookup", {"project": "example", "idToken": token}, {}),
            ("account.signInWithPhone", {"project": "example", "sessionInfo": token, "code": token, "phoneNumber": number, "replyKey": token}, {}),
            ("session.refresh", {"project": token, "refreshToken": [token], "replyKey": number}, {}),
            ("account.update", f'{{"idToken": "{token}", {number}'.encode(), {}),
            ("account.lookup", {"idToken": token}, {"type": f"account.{token}.v1"}),
        ]:
            error = client.refused(name, body, **overrides)
            self.assertEqual(self.planted.found(f"{error} {error.reason} {error.field}"), {}, name)
        # Nobody can be answered, so it is buried.
        client.send("countersign.commands", "account.lookup", {"project": "example", "idToken": token}, reply_to="sms.dispatch")

    # --- what is told to others -------------------------------------------------------------------------------------

    def listen(self):
        queue = f"/api/queues/%2F/{EVENTS}"
        broker.management(queue, "PUT", {"auto_delete": False, "durable": True, "arguments": {"x-queue-type": "classic"}})
        self.addCleanup(broker.management, queue, "DELETE")
        broker.management(f"/api/bindings/%2F/e/countersign.events/q/{EVENTS}", "POST", {"routing_key": "#"})

    def events(self):
        found = broker.management(
            f"/api/queues/%2F/{EVENTS}/get", "POST", {"count": 10000, "ackmode": "ack_requeue_false", "encoding": "auto"})
        kinds = {one["routing_key"] for one in found}
        self.assertLessEqual({"account.created", "account.updated", "account.deleted", "verification.approved"}, kinds)
        for one in found:
            # Events of verifications tell which number was verified; those of accounts tell no value.
            told = set() if one["routing_key"].startswith("account.") else {"number", "session"}
            yield f"event {one['routing_key']}", json.dumps(one), "countersign.events", told

    # --- what is searched -------------------------------------------------------------------------------------------

    def urls(self):
        urls = [*stack.coordinator_urls(), *stack.accounts_urls(), *stack.gateway_health_urls()]
        self.assertGreaterEqual(len(urls), 3)
        return urls

    def places(self):
        """Whatever has been written: the name of the place, what stands there, what is known to, and what may."""
        for path in self.logs():
            # What the run before this one has said is left out.
            yield path.name, path.read_bytes()[self.sizes[path]:], " DEBUG ", set()
        for url in self.urls():
            for page, known in [("/metrics", "countersign_"), ("/readyz", "ready")]:
                with urllib.request.urlopen(url + page, timeout=60) as response:
                    text = response.read().decode()
                yield url + page, re.sub(r" [^ ]+$", "", text, flags=re.MULTILINE) if page == "/metrics" else text, known, set()
        for listing, known in {"queues": "accounts.commands", "connections": "gateway", "exchanges": "countersign.commands"}.items():
            yield f"the broker's {listing}", json.dumps(broker.management(f"/api/{listing}")), known, set()
        yield from self.files()

    def files(self):
        if stack.IS_POSTGRESQL:
            for process, database in stack.DATABASES.items():
                dump = self.dump(database)
                yield f"database {database}", dump, "store_record", IN_THE_CLEAR[process]
            yield "PostgreSQL's log of changes", stack.database_changes(), "account", IN_THE_CLEAR["accounts"]
            return
        for name in ["coordinator", "accounts"]:
            # With what is not yet in the file itself.
            paths = sorted((stack.DIRECTORY / "data").glob(f"{name}.sqlite*"))
            yield f"{name}.sqlite", b"".join(path.read_bytes() for path in paths), "store_record", IN_THE_CLEAR[name]

    @staticmethod
    def dump(database):
        """All that a database holds, as pg_dump writes it: bodies in hexadecimal."""
        program = shutil.which("pg_dump") or str(max(pathlib.Path("/usr/lib/postgresql").glob("*/bin/pg_dump")))
        url = urllib.parse.urlsplit(os.environ["COUNTERSIGN_STACK_DATABASE_URL"])
        password = pathlib.Path(os.environ["COUNTERSIGN_STACK_DATABASE_PASSWORD_FILE"]).read_text().strip()
        return subprocess.run(
            [program, "--host", url.hostname, "--port", str(url.port), "--username", url.username, database],
            stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=True, env=os.environ | {"PGPASSWORD": password}).stdout

    def messages(self):
        """Commands to accounts, as they wait in their queue while it is away, and what lies in the queues of dead letters."""
        user = self.planted.add_tokens(self.web.anonymous())
        number = self.new_number()
        session = self.planted.add("session", self.web.send_code(number))
        code = self.planted.add("code", received_code(number))
        stack.stop_for(self, "accounts")
        calls = [
            threading.Thread(target=self.unanswered, args=call, daemon=True) for call in [
                (self.web.sign_in, session, code), (self.web.lookup, user["idToken"]), (self.web.refresh, user["refreshToken"]),
                (self.web.delete, user["idToken"]), (self.web.sign_in_with_password, self.new_address(), self.new_password()),
                (self.web.reset_password, self.planted.add("link", secrets.token_urlsafe(32)), self.new_password()),
                (Administrator(self.planted.add("bad token", secrets.token_urlsafe(40))).remove, "somebody")]]
        for call in calls:
            call.start()
        bodies = self.waiting("accounts.commands", len(calls))
        for call in calls:
            call.join()
        stack.start("accounts")
        dead = [one["name"] for one in broker.management("/api/queues/%2F") if one["name"].endswith(".dead")]
        self.assertIn("accounts.commands.dead", dead)
        self.waiting("accounts.commands.dead", 1)
        # What somebody sent in the clear stands in the body; the rest is ours.
        return bodies + [text for name in dead for text in self.read(name, with_body=False)]

    def unanswered(self, call, *arguments):
        try:
            call(*arguments)
        except APIError:
            pass

    def waiting(self, queue, count):
        return eventually(f"{queue} has {count} messages", lambda: len(found := self.read(queue)) >= count and found, 60)

    @staticmethod
    def read(queue, with_body=True):
        """The messages of a queue; what is taken comes back when the connection ends."""
        connection = pika.BlockingConnection(pika.URLParameters(os.environ["COUNTERSIGN_OPERATOR_AMQP_URL"]))
        found = []
        try:
            channel = connection.channel()
            while True:
                method, properties, body = channel.basic_get(queue)
                if method is None:
                    return found
                found.append(repr(properties) + (body.decode("utf-8", "replace") if with_body else ""))
        finally:
            connection.close()

    def test_nothing_secret_is_written(self):
        self.listen()
        self.run_all()
        self.malformed()
        leaks = []
        messages = self.messages()
        self.assertTrue(any('"sessionInfo"' in text for text in messages), "no sign-in was seen")
        places = [("a message", text, "", IN_MESSAGES) for text in messages]
        places += [*self.events(), *self.places()]
        for place, data, known, allowed in places:
            text = data if isinstance(data, bytes) else data.encode()
            self.assertIn(known.encode(), text, f"{place} does not hold what it is known to hold")
            for kind, values in self.planted.found(text).items():
                if kind not in allowed:
                    leaks.append(f"{place}: {kind}: {self.around(text, sorted(values)[0])}")
        self.assertEqual(leaks, [], "\n".join(leaks))
        self.require_found(places)

    def require_found(self, places):
        """What may stand in the databases is found there: they were read, and the search sees into their records."""
        seen = {place: self.planted.found(data) for place, data, _, _ in places if "sqlite" in place or place.startswith("database")}
        self.assertTrue(seen)
        self.assertTrue(any({"number", "name"} <= set(found) for found in seen.values()), seen.keys())

    def around(self, data, value):
        text = data.decode("utf-8", "replace")
        for form in self.planted.forms(value.lstrip("+")):
            at = text.lower().find(form)
            if at >= 0:
                return repr(text[max(0, at - 120):at + len(form) + 40])
        return "somewhere"
