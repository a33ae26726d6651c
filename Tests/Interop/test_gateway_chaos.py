"""Sign-ins by phone, and by password with a second factor, over HTTP while gateway, accounts and coordinator are killed, and the
broker restarts.

Every code gives exactly one account and no number two; of the calls with one code, all that were ever made, at most one gets
tokens; a number is enrolled once, and from then on no account gives tokens without it; and nobody is left without a way in.
"""

import collections
import concurrent.futures
import contextlib
import http.client
import itertools
import os
import threading
import time
import unittest

import simulator
import stack
from gateway_client import Administrator, APIError, Assertions, Web, new_email, new_number
from second_factors import Factors

IS_LONG = os.environ.get("COUNTERSIGN_TEST_ALL") == "1"
SIGN_INS = int(os.environ.get("COUNTERSIGN_GATEWAY_CHAOS", "2000" if IS_LONG else "400"))
UNDER_WAY = 24
LIMIT_SECONDS = 2400 if IS_LONG else 900
# How long one user is patient with all that goes wrong.
USER_SECONDS = 400
DOWN_SECONDS = 1
# In the long run a process is killed every so often.
KILL_EVERY_SECONDS = 2
POLL_SECONDS = 0.3
AWAY = (OSError, http.client.HTTPException)


class Postman:
    """The codes that phones have received, read for all users at once."""

    def __init__(self):
        self.codes = {}
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def run(self):
        while not self.over.wait(POLL_SECONDS):
            received = collections.defaultdict(list)
            for message in simulator.newest(2000):
                # Other tests send texts of their own.
                with contextlib.suppress(ValueError):
                    received[message["to"]].append(simulator.code(message["body"]))
            self.codes.update(received)

    def code(self, number, count, deadline):
        return self.last(number, lambda codes: len(codes) >= count, deadline)

    def last(self, number, is_wanted, deadline):
        """The last code, once it is the one wanted."""
        while not is_wanted(codes := self.codes.get(number, ())):
            if time.monotonic() > deadline:
                raise TimeoutError(f"no such SMS for …{number[-4:]}")
            time.sleep(0.05)
        return codes[-1]


class User:
    """One phone: it goes on until it is signed in."""

    def __init__(self, number, index, postman, tally):
        self.number, self.postman, self.tally = number, postman, tally
        urls = stack.gateway_urls()
        # The two calls of a code go to two gateways, where there are two.
        self.clients = [Web(urls[(index + turn) % len(urls)]) for turn in range(2)]
        for client in self.clients:
            client.timeout = 40
        self.deadline = time.monotonic() + USER_SECONDS
        self.accounts = []
        self.tokens = None
        self.lost = 0

    def patiently(self, call, *arguments):
        while True:
            try:
                return call(*arguments)
            except AWAY:
                self.tally["connections lost"] += 1
            except APIError as error:
                if error.status not in {500, 503} and error.code != "TOO_MANY_ATTEMPTS_TRY_LATER":
                    raise
                self.tally[f"{error.status} {error.code if error.status == 400 else error.word}"] += 1
            if time.monotonic() > self.deadline:
                raise TimeoutError(f"…{self.number[-4:]} is not answered")
            time.sleep(0.3)

    # Answers of a call where another call with the code had the tokens.
    spent = {"SESSION_EXPIRED"}

    def enter(self, call, *arguments):
        """One call with the code: its account and tokens; `None` where another call with it had them."""
        try:
            return self.patiently(call, *arguments)
        except APIError as error:
            if error.code not in self.spent:
                raise
            return None

    def enter_twice(self, calls, *arguments):
        """Two calls with the code at the same time: the tokens of one; `None` where the answer with them was lost."""
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            calls = [pool.submit(self.enter, call, *arguments) for call in calls]
            got = [answer for answer in (call.result() for call in calls) if answer]
        if len(got) > 1:
            raise AssertionError(f"one code gave tokens twice: …{self.number[-4:]}")
        self.lost += not got
        return got[0] if got else None

    def sign_in(self):
        """Until one of two calls at the same time has tokens. An answer that was lost costs another SMS."""
        for attempt in itertools.count(1):
            session = self.patiently(self.clients[0].send_code, self.number)
            code = self.postman.code(self.number, attempt, self.deadline)
            self.tokens = self.enter_twice([client.sign_in for client in self.clients], session, code)
            if self.tokens:
                self.accounts.append(self.tokens["localId"])
                return self


class FactorUser(User):
    """One that enrols a second factor, and signs in with a password and its code."""

    # An enrolment whose answer was lost ends other sessions, and has the number, whenever it comes.
    spent = {"SESSION_EXPIRED", "INVALID_MFA_PENDING_CREDENTIAL", "TOKEN_EXPIRED", "SECOND_FACTOR_EXISTS"}

    def __init__(self, person, index, postman, tally):
        self.email, number, self.local_id = person
        super().__init__(number, index, postman, tally)
        self.factors = [Factors(client) for client in self.clients]
        self.used = set()

    def known(self):
        """Codes that are none of the next session's: one that is asked for again sends the same one again."""
        return self.used | set(self.postman.codes.get(self.number, ()))

    def next_code(self, known):
        code = self.postman.last(self.number, lambda codes: codes and codes[-1] not in known, self.deadline)
        self.used.add(code)
        return code

    def enroll(self, id_token):
        """Whether the answer says so."""
        known = self.known()
        session = self.enter(self.factors[1].start_phone, id_token, self.number)
        calls = [factors.finish_phone for factors in self.factors]
        return bool(session and self.enter_twice(calls, id_token, session, self.next_code(known)))

    def sign_in(self):
        is_enrolled = False
        while True:
            first = self.patiently(self.clients[0].sign_in_with_password, self.email)
            if "idToken" in first:
                if is_enrolled:
                    raise AssertionError(f"tokens without the second factor: …{self.number[-4:]}")
                is_enrolled = self.enroll(first["idToken"])
                continue
            is_enrolled = True
            pending, [factor] = first["mfaPendingCredential"], first["mfaInfo"]
            known = self.known()
            session = self.patiently(self.factors[1].start_sign_in, pending, factor["mfaEnrollmentId"])
            calls = [factors.finish_sign_in for factors in self.factors]
            self.tokens = self.enter_twice(calls, pending, session, self.next_code(known))
            if self.tokens:
                return self


class Accidents(threading.Thread):
    def __init__(self, done, total):
        super().__init__(daemon=True)
        self.done, self.total = done, total
        self.happened = collections.Counter()
        self.error = None
        self.over = threading.Event()

    def names(self):
        """Every process by itself: of two, the other goes on."""
        groups = [stack.processes(name) for name in ["gateway", "accounts", "coordinator"]]
        return [name for turn in itertools.zip_longest(*groups) for name in turn if name]

    def run(self):
        try:
            if IS_LONG:
                self.run_long()
            else:
                self.run_short()
        except Exception as error:  # It is told by the test.
            self.error = error

    def kill(self, name):
        stack.kill(name)
        self.over.wait(DOWN_SECONDS)
        stack.start(name)
        self.happened[name] += 1

    def restart_broker(self):
        stack.restart_broker()
        self.happened["broker"] += 1

    def run_short(self):
        """Each once, spread over the load."""
        names = self.names()
        acts = [lambda name=name: self.kill(name) for name in names] + [self.restart_broker]
        for number, act in enumerate(acts):
            while self.done() < self.total * (number + 0.5) / (len(acts) + 1) and not self.over.is_set():
                time.sleep(0.05)
            act()

    def run_long(self):
        """In turn until the load is over; the broker restarts in the middle."""
        names = itertools.cycle(self.names())
        while not self.over.wait(KILL_EVERY_SECONDS):
            if self.done() > self.total / 2 and not self.happened["broker"]:
                self.restart_broker()
            self.kill(next(names))


class ChaosTest(Assertions, unittest.TestCase):
    def test_every_code_gives_one_account(self):
        first = int(time.time()) % 900 * 10_000
        # Distinct mobile numbers of Germany, far apart in prefix, and others in each run.
        numbers = [f"+49157{(first + index) * 4801 % 9_000_000 + 1_000_013:07d}" for index in range(SIGN_INS)]
        self.assertEqual(len(set(numbers)), SIGN_INS)
        before = stack.records("account", "accounts")
        done = self.sign_in_under_accidents(User, numbers)
        self.require_accounts(done, numbers)
        # None is left over that nobody knows of.
        self.assertEqual(stack.records("account", "accounts") - before, SIGN_INS)

    def test_every_code_of_a_second_factor_gives_one_session(self):
        administrator, web = Administrator(), Web()

        def person(_):
            email = new_email()
            local_id = web.sign_up(email)["localId"]
            administrator.change(local_id, emailVerified=True)
            return email, new_number(), local_id

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            people = list(pool.map(person, range(SIGN_INS)))
        done = self.sign_in_under_accidents(FactorUser, people)
        self.assertEqual(sorted(user.number for user in done), sorted(number for _, number, _ in people))
        for user in done:
            claims = web.claims(user.tokens["idToken"])
            self.assertEqual((claims["sub"], claims["firebase"].get("sign_in_second_factor")), (user.local_id, "phone"))

    def sign_in_under_accidents(self, kind, people):
        """The users, once all are in."""
        for name in ["gateway", "accounts", "coordinator"]:
            self.addCleanup(stack.start, name)
        tally, done, errors, begun = collections.Counter(), [], [], time.monotonic()
        accidents = Accidents(lambda: len(done), len(people))
        with Postman() as postman, concurrent.futures.ThreadPoolExecutor(UNDER_WAY) as pool:
            accidents.start()
            # A user's patience begins with its turn.
            calls = [pool.submit(lambda *one: done.append(kind(*one, postman, tally).sign_in()), person, index)
                     for index, person in enumerate(people)]
            for call in concurrent.futures.as_completed(calls, timeout=LIMIT_SECONDS):
                if call.exception():
                    errors.append(repr(call.exception()))
            accidents.over.set()
            accidents.join(timeout=600)
        took = time.monotonic() - begun
        lost = sum(user.lost for user in done)
        print(f"\n  {len(done)} of {len(people)} signed in within {took:.0f} s under {dict(accidents.happened)}; "
              f"{lost} answers with tokens were lost; {dict(tally)}", flush=True)
        self.assertEqual(errors[:5], [])
        self.assertIsNone(accidents.error)
        self.require_accidents(accidents.happened)
        return done

    def require_accidents(self, happened):
        """Everything was killed that there is, and the broker was away."""
        names = Accidents(len, 0).names()
        self.assertLessEqual({*names, "broker"}, set(happened))

    def require_accounts(self, users, numbers):
        """Each number has one account, and every account that was named is that one."""
        self.assertEqual(sorted(user.number for user in users), sorted(numbers))
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for user, found in zip(users, pool.map(self.found, users)):
                self.assertEqual((found["localId"], found["phoneNumber"]), (user.accounts[-1], user.number))
        self.assertEqual(len({user.accounts[-1] for user in users}), len(numbers), "one account for two numbers")
        # Whoever lost an answer signs in to the account that the lost one had made: there is no second.
        for user in users:
            self.assertEqual(bool(user.tokens.get("isNewUser", False)), user.lost == 0, user.number[-4:])
        keys = users[0].clients[0].keys()
        for user in users[:: max(1, len(users) // 50)]:
            user.clients[0].keys = lambda: keys
            self.require_tokens(user.tokens, user.clients[0], "phone", user.number, age=LIMIT_SECONDS)

    @staticmethod
    def found(user):
        return user.clients[0].lookup(user.tokens["idToken"])
