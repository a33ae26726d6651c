"""Two processes of accounts on one PostgreSQL database, and sign-ins with one new number at the same time in both.

A number gets one account whoever is faster, a code gives tokens once, and a number that two link is one's; the other gets a
temporary proof. So is the identity of a provider, whichever of the two processes is killed meanwhile.
"""

import concurrent.futures
import re
import threading
import time
import unittest

import stack
from gateway_client import APIError, Apple, Web, new_number, received_code
from identities import link_under_kills
from postgresql import SECRETS, Cluster, size, started

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


class AccountsTest(unittest.TestCase):
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
        self.processes = [self.accounts() for _ in range(2)]
        self.clients = [Web(), Apple()]

    def accounts(self):
        url = f"postgresql://countersign_accounts@127.0.0.1:{self.cluster.port}/{DATABASE}"
        return started(
            self, "accounts", "database", f'{{ type: "postgresql", url: "{url}", passwordFile: "{SECRETS}/postgresql-accounts" }}')

    def records(self, kind):
        return int(self.cluster.sql(f"SELECT count(*) FROM countersign.store_record WHERE kind = '{kind}'", DATABASE))

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
        tally = link_under_kills(RIVALS, UNDER_WAY, [lambda process=process: self.kill(process) for process in self.processes])
        print(f"\n  {RIVALS} identities: {dict(tally)}", flush=True)
        self.assertGreater(tally["kills"], 0)
