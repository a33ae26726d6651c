"""Two processes of accounts on one PostgreSQL database, and sign-ins with one new number at the same time in both.

A number gets one account whoever is faster, a code gives tokens once, and a number that two link is one's; the other gets a
temporary proof. So is the identity of a provider, whichever of the two processes is killed or stands still meanwhile. A host's
clock that is wrong changes no answer: the database's counts.
"""

import collections
import concurrent.futures
import json
import re
import threading
import time
import unittest

import jwt

import broker
import stack
from gateway_client import APIError, Apple, Assertions, Web, new_number, received_code
from identities import ApplePerson, link_under_kills
from postgresql import SECRETS, Cluster, size, started
from preload import Clock, library
from waiting import eventually

DATABASE = stack.DATABASES["accounts"]
# Numbers of a round, each with a code of two apps: as many first sign-ins at the same time, twice.
NUMBERS = 8
# Until both processes have met at one number; the first round is usually enough.
MAX_ROUNDS = 5
# Identities, each claimed by two accounts, and those under way at once.
RIVALS, UNDER_WAY = size(24, 400), size(8, 24)
# So often a call is made that is refused because too much goes on, with as many seconds between.
ATTEMPTS = 5
PAUSE_SECONDS = 1
# Longer than a session may be silent whose process publishes.
FROZEN_SECONDS = 15
# Users that are deleted while one process after the other stands still.
DELETIONS = size(16, 200)
ERASED_SECONDS = 180
# By which a host's clock is wrong: longer than a sign-in counts as recent.
WRONG_SECONDS = 600
# Users of one wrong clock: each makes some ten calls, which the broker gives to the two in turn.
VISITORS = size(6, 60)


class PairTest(Assertions, unittest.TestCase):
    """The stack's own processes of accounts are away, and its gateway speaks to these."""

    @classmethod
    def setUpClass(cls):
        stack.require_all_ready()
        # Verifiers are to get the keys of the stack's accounts again.
        cls.addClassCleanup(stack.start, "gateway")
        cls.addClassCleanup(stack.stop, "gateway")
        cls.addClassCleanup(stack.start, "accounts")
        stack.stop("accounts")

    def setUp(self):
        self.cluster = Cluster("accounts")
        self.addCleanup(self.cluster.remove)
        self.cluster.start()
        self.cluster.create_accounts(DATABASE)
        self.processes = [self.accounts(lambda process, place=place: self.change(process, place)) for place in range(2)]
        self.clients = [Web(), Apple()]

    def change(self, process, place):
        """What is different about one of them."""

    def accounts(self, change):
        url = f"postgresql://countersign_accounts@127.0.0.1:{self.cluster.port}/{DATABASE}"
        return started(
            self, "accounts", "database", f'{{ type: "postgresql", url: "{url}", passwordFile: "{SECRETS}/postgresql-accounts" }}',
            change)

    def records(self, kind):
        return int(self.cluster.sql(f"SELECT count(*) FROM countersign.store_record WHERE kind = '{kind}'", DATABASE))

    def claim_identities(self, disturb):
        tally = link_under_kills(RIVALS, UNDER_WAY, [lambda process=process: disturb(process) for process in self.processes])
        print(f"\n  at least {RIVALS} identities: {dict(tally)}", flush=True)
        self.assertGreaterEqual(tally["kills"], len(self.processes))

    @staticmethod
    def patiently(call, *arguments):
        """As apps do: what is answered 503, because a process stands still, is asked again."""
        deadline = time.monotonic() + ERASED_SECONDS
        while True:
            try:
                return call(*arguments)
            except APIError as error:
                if error.status != 503 or time.monotonic() > deadline:
                    raise
                time.sleep(PAUSE_SECONDS)


class AccountsTest(PairTest):
    def conflicts(self):
        pages = [one.get("/metrics")[1] for one in self.processes]
        return sum(int(float(text)) for page in pages
                   for text in re.findall(r"^countersign_database_conflicts_total(?:\{\})? (\S+)$", page, re.MULTILINE))

    def codes(self, number):
        found = []
        for count, client in enumerate(self.clients, 1):
            session = client.send_code(number)
            found.append((client, session, received_code(number, count=count)))
        return found

    @staticmethod
    def together(calls):
        """The answers to calls that begin at the same time; an error stands for its answer."""
        begin = threading.Barrier(len(calls))

        def one(call):
            begin.wait(timeout=30)
            attempts = 0
            while True:
                attempts += 1
                try:
                    return call()
                except APIError as error:
                    if error.status != 503 or attempts == ATTEMPTS:
                        return error
                # As apps do, with the same code.
                time.sleep(PAUSE_SECONDS)
        with concurrent.futures.ThreadPoolExecutor(len(calls)) as pool:
            return list(pool.map(one, calls))

    def sign_in_together(self):
        numbers = [new_number() for _ in range(NUMBERS)]
        with concurrent.futures.ThreadPoolExecutor(NUMBERS) as pool:
            codes = list(pool.map(self.codes, numbers))
        # Each code twice: under a message ID for each request.
        calls = [(number, session, lambda client=client, session=session, code=code: client.sign_in(session, code))
                 for number, found in zip(numbers, codes) for client, session, code in found for _ in range(2)]
        answers = self.together([call for _, _, call in calls])
        accounts = {number: [] for number in numbers}
        sessions = {session: [] for _, session, _ in calls}
        for (number, session, _), answer in zip(calls, answers):
            sessions[session].append(answer)
            if isinstance(answer, APIError):
                self.assertEqual(answer.code, "SESSION_EXPIRED", answer)
            else:
                self.assertEqual(answer["phoneNumber"], number)
                accounts[number].append(answer)
        for answers in sessions.values():
            self.assertEqual(sum(not isinstance(answer, APIError) for answer in answers), 1, "tokens of one code")
        for number, found in accounts.items():
            self.assertEqual(len({answer["localId"] for answer in found}), 1, f"accounts of …{number[-4:]}")
            self.assertEqual(sum(bool(answer.get("isNewUser")) for answer in found), 1)
        return {found[0]["localId"] for found in accounts.values()}

    def test_first_sign_ins_at_the_same_time(self):
        accounts, rounds = set(), 0
        while rounds < MAX_ROUNDS and not (rounds and self.conflicts()):
            accounts |= self.sign_in_together()
            rounds += 1
        conflicts = self.conflicts()
        print(f"\n  {rounds} rounds, {conflicts} conflicts", flush=True)
        self.assertEqual(self.records("account"), len(accounts))
        self.assertEqual(len(accounts), NUMBERS * rounds)
        self.assertEqual(self.records("session"), 2 * NUMBERS * rounds)
        self.assertEqual(self.records("usedCredential"), 2 * NUMBERS * rounds)
        # Last, for it tells of this test only: without a conflict it has shown nothing.
        self.assertGreater(
            conflicts, 0, f"the two never met in {rounds} rounds: that is chance, and rare; if it comes again, look whether both take "
            "commands (countersign_commands_total of each) and whether conflicts are counted (countersign_database_conflicts_total)")

    def test_links_at_the_same_time(self):
        numbers = [new_number() for _ in range(NUMBERS)]
        with concurrent.futures.ThreadPoolExecutor(NUMBERS) as pool:
            codes = list(pool.map(self.codes, numbers))
        users = [[client.anonymous() for client in self.clients] for _ in numbers]
        answers = self.together([
            lambda client=client, session=session, code=code, user=user: client.sign_in(session, code, idToken=user["idToken"])
            for found, pair in zip(codes, users) for (client, session, code), user in zip(found, pair)])
        for number, pair, got in zip(numbers, users, zip(answers[::2], answers[1::2])):
            for answer in got:
                self.assertNotIsInstance(answer, APIError)
            winner = [index for index, answer in enumerate(got) if "idToken" in answer]
            self.assertEqual(len(winner), 1, "one has the number")
            mine, other = pair[winner[0]]["localId"], got[1 - winner[0]]
            self.assertEqual((got[winner[0]]["localId"], got[winner[0]]["phoneNumber"]), (mine, number))
            self.assertEqual(set(other) - {"kind"}, {"phoneNumber", "temporaryProof", "temporaryProofExpiresIn"})
            # A proof is for the app that got it.
            signed_in = self.clients[1 - winner[0]].sign_in_with_proof(number, other["temporaryProof"])
            self.assertEqual(signed_in["localId"], mine)
            # Who lost keeps an account of its own.
            loser = self.clients[0].lookup(pair[1 - winner[0]]["idToken"])
            self.assertNotIn("phoneNumber", loser)
        self.assertEqual(self.records("account"), 2 * NUMBERS)

    @staticmethod
    def kill(process):
        process.kill()
        process.start().ready()

    def test_identities_that_two_accounts_claim(self):
        self.claim_identities(self.kill)


class FreezeTest(PairTest):
    """One of the two stands still in the middle of its work, as on a host that hangs, and wakes up when the other one has done it."""

    @staticmethod
    def freeze(process):
        process.pause()
        time.sleep(FROZEN_SECONDS)
        process.resume()
        process.ready()

    def test_identities_that_two_accounts_claim(self):
        self.claim_identities(self.freeze)

    def test_deletions(self):
        self.channel = broker.channel(self, "service")
        self.queue = self.channel.queue_declare("", exclusive=True).method.queue
        self.events = collections.defaultdict(set)
        for name in ["account.deleted", "account.erased"]:
            self.channel.queue_bind(self.queue, "countersign.events", name)
        web = self.clients[0]
        with concurrent.futures.ThreadPoolExecutor(UNDER_WAY) as pool:
            users = list(pool.map(lambda _: self.user(web), range(DELETIONS)))
            for process in self.processes:
                self.take()
                gone = [pool.submit(self.delete, web, users.pop()) for _ in range(DELETIONS // 3)]
                # The others are in the middle.
                concurrent.futures.wait(gone, return_when=concurrent.futures.FIRST_COMPLETED)
                process.pause()
                time.sleep(FROZEN_SECONDS)
                process.resume()
                for one in gone:
                    one.result()
            for one in [pool.submit(self.delete, web, user) for user in users]:
                one.result()
        for process in self.processes:
            process.ready()
        eventually(lambda: f"all is erased: {self.left()}", lambda: self.take() or not any(self.left()), ERASED_SECONDS)
        self.take()
        # One that woke up may have published its event again, and made no other one.
        self.assertEqual(len(self.events), 2 * DELETIONS)
        self.assertEqual({len(ids) for ids in self.events.values()}, {1})

    def left(self):
        """Accounts, sessions, erasures and messages that there are."""
        messages = self.cluster.sql("SELECT count(*) FROM countersign.store_outbox", DATABASE)
        return [self.records(kind) for kind in ["account", "session", "erasure", "grantRevocation"]] + [int(messages)]

    def take(self):
        while True:
            method, properties, body = self.channel.basic_get(self.queue, auto_ack=True)
            if method is None:
                return
            self.events[method.routing_key, json.loads(body)["localID"]].add(properties.message_id)

    @staticmethod
    def user(web):
        user = web.sign_in_as(new_number())
        ApplePerson(email=f"{user['localId']}@erased.example").sign_in(web, idToken=user["idToken"])
        return user

    def delete(self, web, user):
        try:
            self.patiently(web.delete, user["idToken"])
        except APIError as error:
            # It was deleted by the call whose answer was lost.
            self.assertEqual(error.code, "USER_NOT_FOUND", error)
        with self.assertRaises(APIError) as caught:
            self.patiently(web.lookup, user["idToken"])
        self.assertEqual(caught.exception.code, "USER_NOT_FOUND")


class ClocksTest(PairTest):
    """The second process is on a host whose clock is wrong."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.library = library(cls.addClassCleanup, "clock_step")

    def change(self, process, place):
        if place == 1:
            self.clock = Clock(self, self.library, WRONG_SECONDS)
            process.variables |= self.clock.variables

    def test_the_clock_of_the_database_counts(self):
        right, wrong = self.processes
        first = self.clients[0].anonymous()
        # The gateway has the keys of these processes from then on.
        eventually("the keys", lambda: jwt.get_unverified_header(first["idToken"])["kid"] in self.clients[0].keys())
        self.clients[0].delete(first["idToken"])
        for seconds in [WRONG_SECONDS, -WRONG_SECONDS]:
            self.clock.set(seconds)
            eventually("it is noticed", lambda seconds=seconds: abs(
                (wrong.metric("countersign_database_clock_difference_seconds") or 0) + seconds) < 2)
            before = [self.commands(one) for one in self.processes]
            with concurrent.futures.ThreadPoolExecutor(UNDER_WAY) as pool:
                list(pool.map(self.visit, range(VISITORS)))
            worked = [self.commands(one) - count for one, count in zip(self.processes, before)]
            self.assertGreater(min(worked), VISITORS, f"one of them did nothing: {worked}")
            for process in self.processes:
                self.assertEqual(process.get("/readyz")[0], 200)
        self.assertEqual(self.records("account"), 0)
        self.assertEqual(self.records("session"), 0)
        self.assertLess(abs(right.metric("countersign_database_clock_difference_seconds")), 1)

    @staticmethod
    def commands(process):
        return sum(float(line.split()[-1]) for line in process.get("/metrics")[1].splitlines()
                   if line.startswith("countersign_commands_total{"))

    def visit(self, _):
        """A user from sign-in to deletion, whichever of the two carries out which step."""
        web, number = Web(), new_number()
        session = web.send_code(number)
        user = web.sign_in(session, received_code(number))
        signed_in = self.require_tokens(user, web, "phone", number)
        self.refused("SESSION_EXPIRED", web.sign_in, session, received_code(number))
        person = ApplePerson()
        linked = person.sign_in(web, idToken=user["idToken"])
        self.assertEqual(linked["localId"], user["localId"])
        again = web.sign_in_as(number, count=2, operation="REAUTH")
        proven = self.require_tokens(again, web, "phone", number, identities={"apple.com": [person.subject]})
        self.assertGreaterEqual(proven["auth_time"], signed_in["auth_time"])
        for _ in range(4):
            fresh = web.refresh(user["refreshToken"])["id_token"]
            self.assertEqual(web.lookup(fresh)["localId"], user["localId"])
            self.assertEqual(web.claims(fresh)["auth_time"], signed_in["auth_time"])
        # A recent sign-in is one for both of them.
        web.delete(again["idToken"])
        for token in [user["idToken"], fresh]:
            self.refused("USER_NOT_FOUND", web.lookup, token)
        self.assertRaises(APIError, web.refresh, user["refreshToken"])
