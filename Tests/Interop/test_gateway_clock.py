"""Tokens and sign-ins that are old, ways to sign in that are off, and limits: on an accounts process of the test's own, whose
clock and configuration it sets."""

import os
import pathlib
import subprocess

import simulator
from gateway_client import new_number, received_code
from own_accounts import RECENT_SECONDS, OwnAccounts

HOUR = 3600


class ClockTest(OwnAccounts):
    def test_id_token_of_an_hour_ago_has_expired_and_its_session_has_not(self):
        self.clock.set(-HOUR - 10)
        self.start()
        user = self.web.anonymous()
        self.assertEqual(self.web.lookup(user["idToken"])["localId"], user["localId"])
        self.clock.set(0)
        for client in [self.web, self.apple]:
            self.refused("TOKEN_EXPIRED", client.lookup, user["idToken"])
            self.refused("TOKEN_EXPIRED", client.update, user["idToken"], displayName="x")
            self.refused("TOKEN_EXPIRED", client.delete, user["idToken"])
            fresh = client.refresh(user["refreshToken"])
            self.assertEqual(client.lookup(fresh["id_token"])["localId"], user["localId"])
        number = new_number()
        session = self.web.send_code(number)
        code = received_code(number)
        self.refused("TOKEN_EXPIRED", self.web.sign_in, session, code, idToken=user["idToken"])
        self.web.sign_in(session, code, idToken=fresh["id_token"])

    def test_an_id_token_alone_takes_no_account_over(self):
        self.clock.set(-RECENT_SECONDS - 10)
        self.start()
        old, number = new_number(), new_number()
        user = self.web.sign_in_as(old)
        anonymous = self.web.anonymous()
        self.clock.set(0)
        # A refresh is no sign-in.
        fresh = self.web.refresh(user["refreshToken"])["id_token"]
        for token in [user["idToken"], fresh]:
            self.refused("CREDENTIAL_TOO_OLD_LOGIN_AGAIN", self.web.delete, token)
            self.refused("CREDENTIAL_TOO_OLD_LOGIN_AGAIN", self.web.update, token, deleteProvider=["phone"])
        session = self.web.send_code(number)
        code = received_code(number)
        self.refused("CREDENTIAL_TOO_OLD_LOGIN_AGAIN", self.web.sign_in, session, code, idToken=fresh, operation="UPDATE")
        # Nor is a first number one, which the account may have at any time.
        linked = self.web.sign_in(session, code, idToken=anonymous["idToken"])
        self.refused("CREDENTIAL_TOO_OLD_LOGIN_AGAIN", self.web.delete, linked["idToken"])
        again = self.web.sign_in_as(old, count=2, operation="REAUTH")
        self.assertEqual(again["localId"], user["localId"])
        self.web.update(again["idToken"], deleteProvider=["phone"])
        self.web.delete(again["idToken"])
        self.refused("USER_NOT_FOUND", self.web.lookup, again["idToken"])

    def test_an_anonymous_account_is_deleted_at_any_age(self):
        self.clock.set(-RECENT_SECONDS - 10)
        self.start()
        user = self.web.anonymous()
        self.clock.set(0)
        self.web.delete(user["idToken"])
        self.refused("USER_NOT_FOUND", self.web.lookup, user["idToken"])

    def test_ways_to_sign_in_that_are_off(self):
        self.start()
        user = self.web.anonymous()
        number, other, sent = new_number(), new_number(), new_number()
        phone = self.web.sign_in_as(number)
        session = self.web.send_code(sent)
        code = received_code(sent)
        self.set_methods(phone=False, anonymous=False)
        self.switched_off([self.web.anonymous], [self.web.send_code, other])
        # No SMS is paid for, and a code that was sent before is good for nothing.
        refused = new_number()
        self.refused("OPERATION_NOT_ALLOWED", self.web.send_code, refused)
        self.assertEqual(simulator.messages(refused), [])
        self.refused("OPERATION_NOT_ALLOWED", self.web.sign_in, session, code)
        self.refused("OPERATION_NOT_ALLOWED", self.web.sign_in, session, code, idToken=user["idToken"])
        # Who is signed in stays it.
        self.assertEqual(self.web.lookup(phone["idToken"])["phoneNumber"], number)
        self.assertEqual(self.web.refresh(user["refreshToken"])["user_id"], user["localId"])

    def test_anonymous_accounts_of_one_address_are_limited(self):
        self.limit("anonymousPerAddressPerHour: 3")
        self.start()
        for _ in range(3):
            self.web.anonymous()
        self.refused("TOO_MANY_ATTEMPTS_TRY_LATER", self.web.anonymous)
        # Not by what the client says of its address, unless a proxy says it.
        self.assertEqual(self.web.sign_in_as(new_number())["isNewUser"], True)

    def test_keys_of_other_processes_are_told_to_the_operator_and_in_development_to_clients(self):
        """Accounts cannot open what the gateway has sealed."""
        other = pathlib.Path(self.gateway.directory.name) / "other.json"
        made = subprocess.run(
            [os.path.join(os.environ["COUNTERSIGN_BIN"], "countersign"), "keys", "generate", "--sealing", "--id", "other"],
            stdin=subprocess.DEVNULL, capture_output=True, timeout=90, check=True)
        other.write_bytes(made.stdout)
        other.chmod(0o600)
        self.accounts.replace(r'sealingKeysFile: "[^"]*"', f'sealingKeysFile: "{other}"')
        self.start()
        error = self.refused("INTERNAL_ERROR", self.web.lookup, "x", status=500)
        self.assertIn("accountsKeysFile", str(error))
        self.assertGreaterEqual(sum(
            float(line.split()[-1]) for line in self.gateway.get("/metrics")[1].splitlines()
            if line.startswith("countersign_gateway_misconfigured_total{")), 1)
        self.gateway.line("keys")
