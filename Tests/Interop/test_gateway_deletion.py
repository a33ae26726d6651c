"""Deletions over HTTP: what accounts, the coordinator and the mail-worker hold about a user is erased, also by processes that are killed."""

import concurrent.futures
import json
import secrets
import sqlite3
import time
import unittest
import urllib.error

import broker
import records
import simulator
import stack
from countersign_client import Client
from gateway_client import Apple, Assertions, Web, new_number
from identities import APP, ApplePerson
from page_flow import PageFlow
from process import Process
from samples import in_seconds
from waiting import eventually

DELETIONS = 12
KILLS = 4
# Processes that have a part in the end of an account of Apple's page, each killed as often.
KILLED, ROUNDS = ["accounts", "coordinator", "revocation-worker", "mail-worker"], 2
# Addresses for a queue that has room for fewer.
FORGOTTEN = 6
OUTAGE_SECONDS = 35
ERASED_SECONDS = 180
# Until the lease of what a killed worker had begun is over, and what accounts asks for again is done.
REVOKED_SECONDS = 300
# On PostgreSQL the workers' tables are in the coordinator's database.
WORKERS = [] if stack.IS_POSTGRESQL else ["sms-ledger", "revocation-ledger", "mail-ledger", "mail-suppressions"]
LIST = "coordinator" if stack.IS_POSTGRESQL else "mail-suppressions"
# Tags of records of accounts, and the length of the part of a session's ID that names the account.
SESSION_AUTH_TIME, ACCOUNT_VALID_SINCE, ACCOUNT_ID = 4, 6, 43


def rows(of, but=()):
    """Every value of a database, as bytes, with its table, but for some tables."""
    if stack.IS_POSTGRESQL:
        names = stack.sql("SELECT table_name FROM information_schema.tables WHERE table_schema = 'countersign'",
                          stack.DATABASES[of])
        for name in names.splitlines():
            if name in but:
                continue
            # Bytes are shown in hexadecimal.
            yield name, bytes.fromhex(stack.sql(
                f"SELECT encode(convert_to(coalesce(string_agg(t::text, ' '), ''), 'UTF8'), 'hex') FROM countersign.{name} t",
                stack.DATABASES[of]))
        return
    path = stack.DIRECTORY / "data" / f"{of}.sqlite"
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30) as database:
        for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            if name in but:
                continue
            for row in database.execute(f'SELECT * FROM "{name}"'):
                yield name, b" ".join(value if isinstance(value, bytes) else str(value).encode() for value in row)


def holds(of, text):
    """The tables that have a text."""
    # Replies that the coordinator has recorded name a number until they end by themselves.
    but = {"store_inbox"} if of == "coordinator" and text.startswith("+") else set()
    shown = {text.encode(), text.encode().hex().encode()}
    return {name for name, row in rows(of, but) if any(one in row for one in shown)}


def forgotten(kind):
    return broker.figures("mail.forget").get("message_stats", {}).get(kind, 0)


class DeletionTest(Assertions, unittest.TestCase):
    def setUp(self):
        self.web = Web()

    def require_erased(self, text):
        for of in ["coordinator", "accounts", *WORKERS]:
            eventually(f"nothing in {of}", lambda of=of: not holds(of, text), ERASED_SECONDS)

    def erased(self):
        return stack.records("erasure", "accounts") == 0

    def test_number_is_forgotten_and_free(self):
        number = new_number()
        user = self.web.sign_in_as(number)
        self.assertTrue(holds("coordinator", number) and holds("accounts", number))
        self.web.delete(user["idToken"])
        self.refused("USER_NOT_FOUND", self.web.lookup, user["idToken"])
        eventually("the erasure", self.erased, ERASED_SECONDS)
        self.require_erased(number)
        again = self.web.sign_in_as(number, count=2)
        self.assertNotEqual(again["localId"], user["localId"])
        self.assertTrue(holds("coordinator", number))

    def test_verification_since_the_deletion_goes_on(self):
        number = new_number()
        user = self.web.sign_in_as(number)
        stack.stop_for(self, "coordinator")
        self.web.delete(user["idToken"])
        stack.start("coordinator")
        session = self.web.send_code(number)
        eventually("the erasure", self.erased, ERASED_SECONDS)
        answer = self.web.sign_in(session, simulator.code(simulator.message(number, count=2)["body"]))
        self.assertTrue(answer["isNewUser"])

    def test_outage_of_the_coordinator_costs_no_erasure(self):
        """What waited for its end is carried out, by a coordinator that is killed too, and spares the next owner."""
        users = [(number, self.web.sign_in_as(number)) for number in [new_number() for _ in range(3)]]
        stack.stop_for(self, "coordinator")
        for _, user in users:
            self.web.delete(user["idToken"])
        time.sleep(OUTAGE_SECONDS)
        stack.start("coordinator")
        session = self.web.send_code(users[0][0])
        self.restart("coordinator")
        # Sooner than accounts asks again.
        eventually("the erasures", self.erased, OUTAGE_SECONDS)
        for number, _ in users[1:]:
            self.assertFalse(holds("coordinator", number))
        answer = self.web.sign_in(session, simulator.code(simulator.message(users[0][0], count=2)["body"]))
        self.assertTrue(answer["isNewUser"])

    def test_code_of_ones_own_allows_a_deletion_that_needs_a_recent_sign_in(self):
        apple, person = Apple(), ApplePerson(email="ada@erased.example", emailVerified=True)
        user = person.sign_in(apple)
        session = apple.claims(user["idToken"])["sid"]
        records.set_time("account", session[:ACCOUNT_ID], ACCOUNT_VALID_SINCE, 1000, "accounts")
        records.set_time("session", session, SESSION_AUTH_TIME, int(time.time() - 3600) * 1000, "accounts")
        self.refused("CREDENTIAL_TOO_OLD_LOGIN_AGAIN", apple.delete, user["idToken"])
        other = simulator.authorization_code(APP, subject="001.other")
        self.refused("INVALID_IDP_RESPONSE", apple.revoke_token, user["idToken"], other)
        self.assertEqual(simulator.revocations(code=other), [])
        self.refused("CREDENTIAL_TOO_OLD_LOGIN_AGAIN", apple.delete, user["idToken"])
        code = simulator.authorization_code(APP, subject=person.subject)
        apple.revoke_token(user["idToken"], code)
        self.assertEqual(len(simulator.revocations(code=code)), 1)
        # The same code of the same account is the same revocation.
        apple.revoke_token(user["idToken"], code)
        apple.delete(user["idToken"])
        for text in ["ada@erased.example", person.subject]:
            eventually("nothing in accounts", lambda text=text: not holds("accounts", text), ERASED_SECONDS)

    def test_a_revocation_without_team_and_key_names_what_is_missing(self):
        """The worker has them for another app alone."""
        stack.stop_for(self, "revocation-worker")
        worker = self.enterContext(Process("revocation-worker"))
        worker.replace('clientID: "com.example.app"', 'clientID: "com.example.other"')
        worker.start().ready()
        apple, person = Apple(), ApplePerson()
        user = person.sign_in(apple)
        code = simulator.authorization_code(APP, subject=person.subject)
        refused = self.refused("OPERATION_NOT_ALLOWED", apple.revoke_token, user["idToken"], code)
        self.assertEqual(refused.detail, "Team, key ID and key of Sign in with Apple are not configured for this app.")
        self.assertEqual(simulator.revocations(code=code), [])

    def test_addresses_leave_the_list_of_the_mail_worker(self):
        address = f"gone+{secrets.token_hex(8)}@privaterelay.appleid.com"
        mail = {"to": address, "subject": "Hello", "text": "Hi", "deadline": in_seconds(120)}
        self.assertEqual(Client.of(self).job("mail.relay", mail)["reason"]["code"], "RECIPIENT_GONE")
        self.assertTrue(holds(LIST, address))
        person = ApplePerson(email=address)
        self.web.delete(person.sign_in(self.web)["idToken"])
        self.require_erased(address)
        # A result that nobody takes would keep the job.
        eventually("the job's end", lambda: forgotten("ack") and not broker.figures("mail.forget")["messages"], ERASED_SECONDS)

    def test_a_full_queue_of_addresses_holds_up_no_erasure_and_loses_none(self):
        """A bound of one in the place of the queue's own."""
        stack.stop_for(self, "mail-worker")
        self.addCleanup(self.limit, None)
        self.limit(1)
        persons = [ApplePerson(email=f"{number}@erased.example") for number in range(FORGOTTEN)]
        acknowledged = forgotten("ack")
        for person in persons:
            user = self.web.sign_in_as(number := new_number())
            person.sign_in(self.web, idToken=user["idToken"])
            self.web.delete(user["idToken"])
            eventually("the erasure", self.erased, ERASED_SECONDS)
            # Of two coordinators the one that has published an event takes it out of its outbox a while later.
            self.require_erased(number)
        self.assertLess(broker.figures("mail.forget")["messages"], FORGOTTEN)
        self.assertTrue(any(holds("accounts", person.profile["email"]) for person in persons))
        # A process that is killed keeps it, too.
        self.restart("accounts")
        self.limit(None)
        for person in persons:
            eventually("all jobs are out", lambda person=person: not holds("accounts", person.profile["email"]), ERASED_SECONDS)
        stack.start("mail-worker")
        eventually("the jobs' end", lambda: forgotten("ack") >= acknowledged + FORGOTTEN
                   and not broker.figures("mail.forget")["messages"], ERASED_SECONDS)

    def limit(self, length):
        path = "/api/policies/%2F/test.mail.forget"
        if length is None:
            try:
                broker.management(path, "DELETE")
            except urllib.error.HTTPError as error:
                if error.code != 404:
                    raise
            return
        policy = {"pattern": r"^mail\.forget$", "apply-to": "queues", "priority": 99,
                  "definition": {"max-length": length, "overflow": "reject-publish"}}
        broker.management(path, "PUT", policy)
        eventually("the policy holds", lambda: broker.figures("mail.forget").get("policy") == "test.mail.forget")
        time.sleep(broker.MOVE_SECONDS)

    def test_a_service_has_no_address_forgotten(self):
        job = {"addresses": ["gone@erased.example"], "knownBefore": "2100-01-01T00:00:00Z", "deadline": "2100-01-01T00:00:00Z"}
        result = Client.of(self).job("mail.forget", job)
        self.assertEqual((result["outcome"], result["reason"]["code"]), ("refused", "NOT_ALLOWED"))

    def test_processes_that_are_killed_forget_no_erasure(self):
        users = [(number, self.web.sign_in_as(number)) for number in [new_number() for _ in range(DELETIONS)]]
        with concurrent.futures.ThreadPoolExecutor(len(users)) as pool:
            done = [pool.submit(self.delete, user["idToken"]) for _, user in users]
            for index in range(KILLS):
                time.sleep(0.3)
                self.restart("coordinator" if index % 2 else "accounts")
            for one in done:
                one.result()
        eventually("the erasures", self.erased, ERASED_SECONDS)
        for number, user in users:
            self.refused("USER_NOT_FOUND", self.web.lookup, user["idToken"])
            self.require_erased(number)

    def user_of_the_page(self):
        """A user with a number whose identity of Apple left a token: with the page's code."""
        number, hint, person = new_number(), secrets.token_hex(16), ApplePerson(email=f"{secrets.token_hex(8)}@erased.example")
        simulator.consent("apple", clientID="com.example.web", subject=person.subject, loginHint=hint, **person.profile)
        user = self.web.sign_in_as(number)
        flow = PageFlow(self.web, "apple.com", oauthScope="name,email", customParameter={"login_hint": hint}).consent()
        flow.sign_in(idToken=user["idToken"])
        return user, flow.answer["code"], [number, person.profile["email"]]

    def test_processes_that_are_killed_forget_no_token_of_apple(self):
        channel = broker.channel(self, "service")
        queue = channel.queue_declare("", exclusive=True).method.queue
        channel.queue_bind(queue, "countersign.events", "account.erased")
        users = [self.user_of_the_page() for _ in range(DELETIONS)]
        with concurrent.futures.ThreadPoolExecutor(len(users)) as pool:
            done = [pool.submit(self.delete, user["idToken"]) for user, _, _ in users]
            for name in KILLED * ROUNDS:
                self.restart(name)
            for one in done:
                one.result()
        for _, code, _ in users:
            eventually("Apple's token is revoked", lambda code=code: simulator.revocations(code=code), REVOKED_SECONDS)
        endings = {}

        def told():
            while body := channel.basic_get(queue, auto_ack=True)[2]:
                event = json.loads(body)
                endings[event["localID"]] = [event.get(part) for part in ["apple", "coordinator", "mail"]]
            return {user["localId"] for user, _, _ in users} <= set(endings)

        eventually(lambda: f"the events: {len(endings)}", told, REVOKED_SECONDS)
        for user, _, texts in users:
            self.assertEqual(endings[user["localId"]], ["revoked", "forgotten", "told"])
            for text in texts:
                self.require_erased(text)

    def delete(self, id_token):
        """Until it is told that the account is gone."""
        def gone():
            try:
                self.web.delete(id_token)
            except Exception as error:  # Whatever a killed process leads to.
                return getattr(error, "code", None) == "USER_NOT_FOUND"
            return True
        eventually("the deletion", gone, ERASED_SECONDS)
