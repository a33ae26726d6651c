"""Tokens of Sign in with Apple are revoked, and their owner gets a mail; a kill at any step leaves an ending that is the truth."""

import secrets
import time

import mailbox_of_relay
import simulator
import stack
from countersign_client import ClientTest
from waiting import eventually

APP = "com.example.app"
WEB_CLIENT = "com.example.web"
WORKER = "revocation-worker"
# After a kill: until the lease of what had begun is over, and a delay or two.
PATIENCE_SECONDS = 150


def new_address():
    return f"{secrets.token_hex(8)}@privaterelay.appleid.com"


class RevocationTest(ClientTest):
    def start(self, **fields):
        return self.client.command("revocation.start", {"app": APP, **fields})["operationID"]

    def status(self, operation_id):
        return self.client.command("operation.status", {"operationID": operation_id})

    def ended(self, operation_id, timeout=180):
        return self.client.ended_operation(operation_id, timeout)

    def expect(self, ending, timeout=180, **fields):
        status = self.ended(self.start(**fields), timeout)
        self.assertEqual(status["ending"], ending, status)
        for field in ["authorizationCode", "refreshToken", "accessToken"]:
            if field in fields:
                self.assertNotIn(fields[field], str(status))
        return status


class FlowTest(RevocationTest):
    def test_code_then_token_then_revoked_then_mail(self):
        address = new_address()
        code = simulator.authorization_code(APP)
        operation_id = self.start(authorizationCode=code, notify={"email": address, "languageCode": "de"})
        status = self.ended(operation_id)
        self.assertEqual((status["state"], status["ending"]), ("completed", "REVOKED_AND_NOTIFIED"), status)
        revoked = simulator.revocations(code=code)
        self.assertEqual([entry["tokenTypeHint"] for entry in revoked], ["refresh_token"])
        mail = mailbox_of_relay.message(address)
        self.assertEqual(str(mail["To"]), address)
        self.assertTrue(mail["DKIM-Signature"])
        self.assertTrue(mail.get_body(["plain"]).get_content().strip())
        events = [entry["event"] for entry in status["timeline"]]
        self.assertEqual(events[0], "started")
        for event in ["revoke.accepted", "notice.accepted"]:
            self.assertIn(event, events)

    def test_tokens_go_straight_to_revocation(self):
        for field, hint in [("refreshToken", "refresh_token"), ("accessToken", "access_token")]:
            token = f"r{secrets.token_hex(16)}.0.x"
            self.expect("REVOKED", **{field: token})
            self.assertEqual([entry["tokenTypeHint"] for entry in simulator.revocations(token=token)], [hint])

    def test_services_id_and_its_redirect_uri(self):
        uri = "https://example.com/callback"
        code = simulator.authorization_code(WEB_CLIENT, redirectURI=uri)
        self.expect("REVOKED", authorizationCode=code, clientID=WEB_CLIENT, redirectURI=uri)

    def test_codes_that_apple_does_not_take(self):
        used = simulator.authorization_code(APP)
        self.expect("REVOKED", authorizationCode=used)
        for code in [
            simulator.authorization_code(APP, lifetimeSeconds=0), simulator.authorization_code(WEB_CLIENT),
            f"c{secrets.token_hex(16)}.0.never.issued",
        ]:
            status = self.expect("REFUSED", authorizationCode=code)
            self.assertEqual(status["failure"]["code"], "INVALID_GRANT")

    def test_code_of_another_subject_stays_as_it_is(self):
        code = simulator.authorization_code(APP, subject="001.mine")
        self.expect("REVOKED", authorizationCode=code, subject="001.mine")
        code = simulator.authorization_code(APP, subject="001.other")
        first = self.start(authorizationCode=code, subject="001.mine")
        status = self.ended(first)
        self.assertEqual((status["ending"], status["failure"]["code"]), ("REFUSED", "SUBJECT_MISMATCH"), status)
        self.assertEqual(simulator.revocations(code=code), [])
        self.assertEqual(self.start(authorizationCode=code, subject="001.mine"), first)

    def test_same_token_is_one_operation(self):
        code = simulator.authorization_code(APP)
        first = self.start(authorizationCode=code)
        self.assertEqual(self.start(authorizationCode=code), first)
        self.ended(first)
        self.assertEqual(self.start(authorizationCode=code), first)
        self.assertEqual(len(simulator.revocations(code=code)), 1)

    def test_apple_that_is_away_is_asked_again(self):
        simulator.inject(provider="apple-revoke", fault="503", count=2)
        code = simulator.authorization_code(APP)
        self.expect("REVOKED", timeout=PATIENCE_SECONDS, authorizationCode=code)

    def test_code_whose_exchange_got_no_answer_is_lost(self):
        simulator.inject(provider="apple-token", fault="reset", processed=True, count=1)
        code = simulator.authorization_code(APP)
        status = self.expect("LOST", timeout=PATIENCE_SECONDS, authorizationCode=code)
        self.assertIn("sign in with Apple again", status["failure"]["detail"])
        self.assertEqual(simulator.revocations(code=code), [])


class KillTest(RevocationTest):
    """The worker is killed at each step; what the operation says of its ending is what Apple's side shows."""

    def setUp(self):
        super().setUp()
        self.addCleanup(stack.start, WORKER)

    def restart(self):
        stack.kill(WORKER)
        simulator.clear_faults()
        stack.start(WORKER)

    def hits(self, provider):
        """How many requests hung since the last fault was ordered for a provider."""
        return sum(fault["hits"] for fault in simulator.faults() if fault["provider"] == provider)

    def kill_while(self, provider, processed):
        """The code and the operation of a revocation whose worker is killed while it waits for that answer."""
        simulator.inject(provider=provider, fault="hang", processed=processed, count=100)
        code = simulator.authorization_code(APP)
        operation_id = self.start(authorizationCode=code)
        eventually("the call", lambda: self.hits(provider) > 0)
        self.restart()
        return code, operation_id

    def test_before_the_call(self):
        stack.kill(WORKER)
        code = simulator.authorization_code(APP)
        operation_id = self.start(authorizationCode=code)
        stack.start(WORKER)
        self.assertEqual(self.ended(operation_id)["ending"], "REVOKED")
        self.assertEqual(len(simulator.revocations(code=code)), 1)

    def killed_in_both(self, provider):
        """The endings and the numbers of revocations of two operations, whose workers are killed in the call.

        One is killed before and one after the provider has processed it. Both claims then run out at nearly the same time.
        """
        ends = []
        for code, operation_id in [self.kill_while(provider, processed) for processed in [False, True]]:
            ending = self.ended(operation_id, PATIENCE_SECONDS)["ending"]
            ends.append((ending, len(simulator.revocations(code=code))))
        return ends

    def test_while_apple_exchanges_the_code(self):
        before, after = self.killed_in_both("apple-token")
        # The code was not used up: a second exchange may find it.
        self.assertIn(before, {("REVOKED", 1), ("LOST", 0)})
        # Apple has exchanged it, and nobody has the token.
        self.assertEqual(after, ("LOST", 0))

    def test_while_apple_revokes_the_token(self):
        before, after = self.killed_in_both("apple-revoke")
        self.assertEqual(before, ("REVOKED", 1))
        self.assertEqual(after[0], "REVOKED")
        self.assertGreaterEqual(after[1], 1)

    def test_kills_at_random_moments(self):
        codes = [simulator.authorization_code(APP) for _ in range(60)]
        for provider in ["apple-token", "apple-revoke"]:
            simulator.inject(provider=provider, fault="latency", delaySeconds=0.3, count=1000)
        operations = [self.start(authorizationCode=code) for code in codes]
        for delay in [0.2, 0.4, 0.5]:
            time.sleep(delay)
            stack.kill(WORKER)
            stack.start(WORKER)
        simulator.clear_faults()
        for code, operation_id in zip(codes, operations):
            status = self.ended(operation_id, PATIENCE_SECONDS)
            self.assertIn(status["ending"], {"REVOKED", "LOST"})
            self.assertEqual(bool(simulator.revocations(code=code)), status["ending"] == "REVOKED", status)
