"""Passwords over HTTP as the stock SDKs send them: new accounts, sign-in, refusals, changes, links to other ways to sign in.

What an app is promised, and the test that shows it over HTTP:
a new account, and sign-in by its address: SignUpTest, SignInTest
a stranger learns nothing about addresses, by text or by time: SignInTest, TimingTest, ImportedTimingTest
what a change ends, and what it needs: ChangeTest, OldTest
the same account by either way, until one is unlinked: LinkTest
an address that a provider vouches for: BelievedTest
ways to sign in that are off, and limits: OwnTest
"""

import concurrent.futures
import time
import unittest

import hash_vectors
import timings
from gateway_client import (
    PASSWORD, TOKENS, Administrator, APIError, Apple, Assertions, Web, new_email, new_number, received_code)
from identities import ApplePerson, FacebookPerson, GooglePerson
from own_accounts import RECENT_SECONDS, OwnAccounts

OTHER_PASSWORD = "another horse battery"
# To the user, of whatever password there is.
REDACTED = "UkVEQUNURUQ="
TIMED = 60
FLOOD = 40
QUICK_SECONDS = 5
WRONG, LIMITED = "INVALID_LOGIN_CREDENTIALS", "TOO_MANY_ATTEMPTS_TRY_LATER"
# Of the limits that ship: wrong passwords for an address that a network may send within an hour, and the longest pause.
WRONG_PASSWORDS, PAUSE_SECONDS = 10, 30
GUESSES = 14


class PasswordTest(Assertions, unittest.TestCase):
    def setUp(self):
        self.web, self.apple, self.administrator = Web(), Apple(), Administrator()

    @property
    def clients(self):
        for client in [self.web, self.apple]:
            with self.subTest(type(client).__name__):
                yield client

    def expose_addresses(self):
        """The project as one that does not protect them, until the end of the test."""
        self.addCleanup(self.administrator.protect_addresses, True)
        self.administrator.protect_addresses(False)

    def require_password(self, answer, email, client=None, local_id=None):
        claims = self.require_tokens(answer, client or self.web, "password", identities={"email": [email]})
        self.assertEqual(claims["email"], email)
        if local_id is not None:
            self.assertEqual(answer["localId"], local_id)
        return claims

    def providers(self, user):
        return {entry["providerId"] for entry in self.web.lookup(user["idToken"]).get("providerUserInfo", [])}

    def cannot_sign_in(self, email, password=PASSWORD):
        self.refused(WRONG, self.web.sign_in_with_password, email, password)

    def verify_address(self, user):
        self.administrator.change(user["localId"], emailVerified=True)


class SignUpTest(PasswordTest):
    def test_a_new_account(self):
        for client in self.clients:
            email, before = new_email(), time.time()
            user = client.sign_up(email)
            self.assertEqual(set(user) - {"kind"}, TOKENS | {"localId", "email"})
            self.assertEqual(user["email"], email)
            claims = self.require_password(user, email, client)
            self.assertIs(claims["email_verified"], False)
            found = client.lookup(user["idToken"])
            self.assertEqual((found["email"], found["passwordHash"]), (email, REDACTED))
            self.assertFalse(found.get("emailVerified"))
            self.assertLess(abs(found["passwordUpdatedAt"] / 1000 - before), 60)
            [entry] = found["providerUserInfo"]
            self.assertEqual((entry["providerId"], entry["email"], entry["rawId"], entry["federatedId"]), ("password", *[email] * 3))

    def test_with_a_name(self):
        user = self.web.sign_up(new_email(), displayName="Ada King")
        self.assertEqual(self.web.lookup(user["idToken"])["displayName"], "Ada King")

    def test_addresses_and_passwords_that_are_none(self):
        for email in ["", "ada", "ada@", "@example.org", "ada @example.org", "ada@exa mple.org", "a\nb@example.org", "a@b@example.org",
                      "ada@example..org", "a" * 300 + "@example.org"]:
            with self.subTest(email):
                self.refused("INVALID_EMAIL" if email else "MISSING_EMAIL", self.web.sign_up, email)
        error = self.refused("WEAK_PASSWORD", self.web.sign_up, new_email(), "12345")
        self.assertEqual(error.detail, "Password should be at least 6 characters")
        self.refused("MISSING_PASSWORD", self.web.sign_up, new_email(), "")
        self.refused("MISSING_PASSWORD", self.web.call, "accounts:signUp", {"email": new_email()})
        self.refused("MISSING_EMAIL", self.web.call, "accounts:signUp", {"password": PASSWORD})
        self.refused("WEAK_PASSWORD", self.web.sign_up, new_email(), "x" * 4097)

    def test_passwords_of_every_kind(self):
        for password in ["x" * 4096, "pass wörd 日本語", "      ", "emoji 👩‍👩‍👧‍👦"]:
            with self.subTest(password[:20]):
                email = new_email()
                user = self.web.sign_up(email, password)
                self.assertEqual(self.web.sign_in_with_password(email, password)["localId"], user["localId"])
                self.cannot_sign_in(email, password[:-1] + "?")

    def test_an_address_has_one_account(self):
        email = new_email()
        owner = self.web.sign_up(email)
        for text in [email, email.upper()]:
            self.refused("EMAIL_EXISTS", self.web.sign_up, text, OTHER_PASSWORD)
        self.assertEqual(self.web.sign_in_with_password(email)["localId"], owner["localId"])

    def test_several_at_once(self):
        email = new_email()
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            calls = [pool.submit(self.web.sign_up, email) for _ in range(6)]
            errors = [call.exception() for call in calls]
        self.assertEqual(errors.count(None), 1)
        self.assertEqual({error.code for error in errors if error}, {"EMAIL_EXISTS"})

    def test_the_rules(self):
        policy = self.web.get("passwordPolicy", version="v2")
        self.assertEqual(policy["customStrengthOptions"]["minPasswordLength"], 6)
        self.assertEqual(policy["customStrengthOptions"]["maxPasswordLength"], 4096)
        self.assertEqual(policy["schemaVersion"], 1)


class SignInTest(PasswordTest):
    def test_known_again(self):
        for client in self.clients:
            email = new_email()
            user = client.sign_up(email)
            for text in [email, email.upper()]:
                answer = client.sign_in_with_password(text)
                self.assertEqual(set(answer) - {"kind", "displayName"}, TOKENS | {"localId", "email", "registered"})
                self.assertIs(answer["registered"], True)
                self.require_password(answer, email, client, user["localId"])
            self.assertEqual(client.refresh(answer["refreshToken"])["user_id"], user["localId"])

    def test_a_stranger_learns_nothing(self):
        email = new_email()
        self.web.sign_up(email)
        for client in self.clients:
            errors = [self.refused(WRONG, client.sign_in_with_password, *one).error
                      for one in [(email, OTHER_PASSWORD), (new_email(), PASSWORD)]]
            self.assertEqual(*errors)
            # Nor from the question that SDKs of before asked.
            answers = [client.methods_of(one) for one in [email, new_email()]]
            for answer in answers:
                self.assertNotIn("registered", answer)
                self.assertFalse(answer.get("signinMethods") or answer.get("allProviders"))

    def test_where_addresses_are_not_protected(self):
        email, link = new_email(), new_email()
        self.web.sign_up(email)
        self.expose_addresses()
        self.refused("INVALID_PASSWORD", self.web.sign_in_with_password, email, OTHER_PASSWORD)
        self.refused("EMAIL_NOT_FOUND", self.web.sign_in_with_password, link)
        found, none = self.web.methods_of(email), self.web.methods_of(link)
        self.assertEqual((found["registered"], found["signinMethods"], found["allProviders"]), (True, ["password"], ["password"]))
        self.assertIs(none["registered"], False)
        self.assertFalse(none.get("signinMethods"))

    def test_what_is_missing_is_told(self):
        self.refused("MISSING_PASSWORD", self.web.call, "accounts:signInWithPassword", {"email": new_email()})
        self.refused("MISSING_EMAIL", self.web.call, "accounts:signInWithPassword", {"password": PASSWORD})
        self.refused("INVALID_EMAIL", self.web.sign_in_with_password, "ada")

    def test_a_disabled_account_is_told_to_its_owner_alone(self):
        email = new_email()
        user = self.web.sign_up(email)
        self.administrator.change(user["localId"], disableUser=True)
        self.refused("USER_DISABLED", self.web.sign_in_with_password, email)
        self.cannot_sign_in(email, OTHER_PASSWORD)
        self.administrator.change(user["localId"], disableUser=False)
        self.require_password(self.web.sign_in_with_password(email), email)

    def test_hashing_takes_the_places_of_no_other_call(self):
        email = new_email()
        user = self.web.sign_up(email)
        with concurrent.futures.ThreadPoolExecutor(FLOOD) as pool:
            waiting = [pool.submit(self.attempt, email) for _ in range(FLOOD)]
            while not all(one.done() for one in waiting):
                self.assertLess(timings.seconds(self.web.lookup, user["idToken"]), QUICK_SECONDS)
            self.assertIn(200, {one.result() for one in waiting})

    def attempt(self, email):
        try:
            self.web.sign_in_with_password(email)
        except APIError as error:
            self.assertEqual(error.status, 503)
            self.assertGreaterEqual(int(error.retry_after), 1)
            return 503
        return 200


class TimingTest(PasswordTest):
    def measure(self):
        """Each account is asked once, as any limit leaves the first wrong password alone."""
        known, unknown = [], []
        for _ in range(TIMED):
            email = new_email()
            self.administrator.create(email=email, password=PASSWORD)
            known.append(timings.seconds(self.cannot_sign_in, email, OTHER_PASSWORD))
            unknown.append(timings.seconds(self.cannot_sign_in, new_email(), OTHER_PASSWORD))
        return known, unknown

    def test_an_unknown_address_takes_as_long_as_a_known_one(self):
        timings.require_same(self, self.measure)


class ImportedTimingTest(OwnAccounts):
    """In a database of its own: a project pays for every kind of hash that it has imported."""

    def measure(self, hash_parameters, length):
        """An imported hash that no password is known of, one of today, and none: each address is asked once."""
        samples = [[], [], []]
        for _ in range(TIMED):
            emails = [new_email() for _ in samples]
            self.assertEqual(self.administrator.import_users(
                [{"localId": emails[0], "email": emails[0], "passwordHash": hash_vectors.text(bytes(length)),
                  "salt": hash_vectors.text(hash_vectors.SALT)}], **hash_parameters), [])
            self.administrator.create(email=emails[1], password=PASSWORD)
            for kind, email in zip(samples, emails):
                kind.append(timings.seconds(self.refused, WRONG, self.web.sign_in_with_password, email, OTHER_PASSWORD))
        return samples

    def test_a_hash_that_is_cheaper_than_ours(self):
        self.start()
        timings.require_same(self, lambda: self.measure({"hashAlgorithm": "SHA256", "rounds": 1}, 32))

    def test_a_hash_that_is_dearer_than_ours(self):
        self.start()
        timings.require_same(self, lambda: self.measure({"hashAlgorithm": "SCRYPT", **hash_vectors.EXAMPLE}, 64))


class ChangeTest(PasswordTest):
    def test_a_new_password_ends_the_other_sessions(self):
        for client in self.clients:
            email = new_email()
            user, other = client.sign_up(email), client.sign_in_with_password(email)
            changed = client.update(user["idToken"], password=OTHER_PASSWORD, returnSecureToken=True)
            self.require_password(changed, email, client, user["localId"])
            self.refused("TOKEN_EXPIRED", client.refresh, other["refreshToken"])
            self.assertEqual(client.refresh(changed["refreshToken"])["user_id"], user["localId"])
            self.cannot_sign_in(email)
            self.require_password(client.sign_in_with_password(email, OTHER_PASSWORD), email, client, user["localId"])

    def test_both_tokens_or_neither(self):
        email = new_email()
        user = self.web.sign_up(email)
        answer = self.web.update(user["idToken"], displayName="Ada", returnSecureToken=True)
        self.assertFalse(TOKENS & set(answer))
        answer = self.web.update(user["idToken"], displayName="Bo", password=OTHER_PASSWORD, returnSecureToken=True)
        self.assertLessEqual(TOKENS, set(answer))
        self.assertEqual(self.web.claims(answer["idToken"])["name"], "Bo")

    def test_a_password_that_is_weak_changes_nothing(self):
        email = new_email()
        user = self.web.sign_up(email)
        self.refused("WEAK_PASSWORD", self.web.update, user["idToken"], password="12345")
        self.require_password(self.web.sign_in_with_password(email), email)

    def test_an_address_is_proven_before_it_is_changed(self):
        email = new_email()
        user = self.web.sign_up(email)
        error = self.refused("OPERATION_NOT_ALLOWED", self.web.update, user["idToken"], email=new_email())
        self.assertEqual(error.detail, "Please verify the new email before changing email.")
        self.assertEqual(self.web.lookup(user["idToken"])["email"], email)

    def test_an_address_is_changed_where_it_may(self):
        self.expose_addresses()
        email, changed = new_email(), new_email()
        user, other = self.web.sign_up(email), self.web.sign_in_with_password(email)
        self.verify_address(user)
        taken = self.web.sign_up(new_email())
        self.refused("EMAIL_EXISTS", self.web.update, user["idToken"], email=taken["email"])
        answer = self.web.update(user["idToken"], email=changed, returnSecureToken=True)
        claims = self.require_password(answer, changed, local_id=user["localId"])
        self.assertIs(claims["email_verified"], False)
        self.refused("TOKEN_EXPIRED", self.web.refresh, other["refreshToken"])
        self.refused("EMAIL_NOT_FOUND", self.web.sign_in_with_password, email)
        self.assertEqual(self.web.sign_in_with_password(changed)["localId"], user["localId"])
        self.assertEqual(self.web.lookup(answer["idToken"])["initialEmail"], email)

    def test_a_password_is_removed(self):
        for fields in [{"deleteProvider": ["password"]}, {"deleteAttribute": ["PASSWORD", "EMAIL"]}]:
            with self.subTest(fields):
                email = new_email()
                user = self.web.sign_up(email)
                self.web.update(user["idToken"], **fields)
                found = self.web.lookup(self.web.refresh(user["refreshToken"])["id_token"])
                self.assertFalse({"email", "passwordHash", "passwordUpdatedAt"} & set(found))
                self.cannot_sign_in(email)
                # The address is free.
                self.assertNotEqual(self.web.sign_up(email)["localId"], user["localId"])


class LinkTest(PasswordTest):
    def test_an_anonymous_user_gets_a_password(self):
        for client in self.clients:
            user, email = client.anonymous(), new_email()
            linked = client.sign_up(email, idToken=user["idToken"])
            claims = self.require_password(linked, email, client, user["localId"])
            self.assertNotIn("provider_id", claims)
            fresh = client.claims(client.refresh(user["refreshToken"])["id_token"])
            self.assertEqual(fresh["firebase"]["sign_in_provider"], "password")
            self.require_password(client.sign_in_with_password(email), email, client, user["localId"])

    def test_password_and_google_lead_to_the_same_account(self):
        for first in ["password", "google.com"]:
            with self.subTest(first):
                email, google = new_email(), GooglePerson(email=new_email("gmail.com"), emailVerified=True)
                if first == "password":
                    user = self.web.sign_up(email)
                    linked = google.sign_in(self.web, idToken=user["idToken"])
                else:
                    user = google.sign_in(self.web)
                    linked = self.web.sign_up(email, idToken=user["idToken"])
                self.assertEqual(linked["localId"], user["localId"])
                self.assertEqual(self.providers(linked), {"password", "google.com"})
                self.assertEqual(self.web.sign_in_with_password(email)["localId"], user["localId"])
                self.assertEqual(google.sign_in(self.web)["localId"], user["localId"])
                self.require_unlinked(linked, email, google)

    def require_unlinked(self, user, email, google):
        """Each way in turn, the last one too."""
        self.web.update(user["idToken"], deleteProvider=["password"])
        self.cannot_sign_in(email)
        again = google.sign_in(self.web)
        self.assertEqual(again["localId"], user["localId"])
        self.web.update(again["idToken"], deleteProvider=["google.com"])
        self.assertEqual(self.providers(again), set())
        self.assertNotEqual(google.sign_in(self.web)["localId"], user["localId"])

    def test_password_and_number(self):
        email, number = new_email(), new_number()
        user = self.web.sign_up(email)
        session = self.web.send_code(number)
        self.web.sign_in(session, received_code(number), idToken=user["idToken"])
        self.assertEqual(self.providers(user), {"password", "phone"})
        self.assertEqual(self.web.sign_in_as(number, count=2)["localId"], user["localId"])
        self.web.update(user["idToken"], deleteProvider=["password"])
        self.cannot_sign_in(email)
        self.assertEqual(self.web.sign_in_as(number, count=3)["localId"], user["localId"])

    def test_refused_link_and_merge(self):
        email = new_email()
        owner, user = self.web.sign_up(email), self.web.anonymous()
        self.refused("EMAIL_EXISTS", self.web.sign_up, email, idToken=user["idToken"])
        merged = self.web.sign_in_with_password(email)
        self.assertEqual(merged["localId"], owner["localId"])
        self.assertEqual(self.web.lookup(user["idToken"])["localId"], user["localId"])
        self.assertEqual(self.providers(user), set())

    def test_links_of_one_address_at_once(self):
        email, users = new_email(), [self.web.anonymous() for _ in range(6)]
        with concurrent.futures.ThreadPoolExecutor(len(users)) as pool:
            calls = [pool.submit(self.web.sign_up, email, idToken=user["idToken"]) for user in users]
            linked = [call.result()["localId"] for call in calls if not call.exception()]
        self.assertEqual(len(linked), 1)
        self.assertEqual(self.web.sign_in_with_password(email)["localId"], linked[0])

    def test_a_deleted_account_leaves_its_address(self):
        email = new_email()
        user = self.web.sign_up(email)
        self.web.delete(user["idToken"])
        self.cannot_sign_in(email)
        self.assertNotEqual(self.web.sign_up(email)["localId"], user["localId"])


class BelievedTest(PasswordTest):
    """A provider vouches for the address of an account with a password."""

    def test_who_made_the_account_without_the_address_loses_it(self):
        for kind, domain in [(GooglePerson, "gmail.com"), (ApplePerson, "example.org")]:
            email, number = new_email(domain), new_number()
            person = kind(email=email, emailVerified=True)
            with self.subTest(person.provider):
                early = self.web.sign_up(email)
                session = self.web.send_code(number)
                self.web.sign_in(session, received_code(number), idToken=early["idToken"])
                owner = person.sign_in(self.web)
                self.assertEqual(owner["localId"], early["localId"])
                self.assertEqual(self.providers(owner), {person.provider})
                self.cannot_sign_in(email)
                self.refused("TOKEN_EXPIRED", self.web.refresh, early["refreshToken"])
                self.assertNotEqual(self.web.sign_in_as(number, count=2)["localId"], owner["localId"])

    def test_an_address_that_was_proven_keeps_its_password(self):
        email = new_email("gmail.com")
        user = self.web.sign_up(email)
        self.verify_address(user)
        google = GooglePerson(email=email, emailVerified=True)
        joined = google.sign_in(self.web)
        self.assertEqual(joined["localId"], user["localId"])
        self.assertEqual(self.providers(joined), {"password", "google.com"})
        self.assertEqual(self.web.sign_in_with_password(email)["localId"], user["localId"])
        self.assertEqual(self.web.refresh(user["refreshToken"])["user_id"], user["localId"])

    def test_an_address_that_nobody_vouches_for_asks_its_owner(self):
        email = new_email()
        self.web.sign_up(email)
        answer = FacebookPerson(email=email).sign_in(self.web)
        self.assertIs(answer["needConfirmation"], True)
        self.assertEqual(answer["verifiedProvider"], ["password"])
        self.assertFalse(TOKENS & set(answer))

    def test_an_address_of_google_has_no_second_account(self):
        email = new_email("gmail.com")
        google = GooglePerson(email=email, emailVerified=True)
        user = google.sign_in(self.web)
        self.refused("EMAIL_EXISTS", self.web.sign_up, email)
        linked = self.web.sign_up(email, idToken=user["idToken"])
        self.assertEqual(linked["localId"], user["localId"])
        self.assertEqual(self.web.sign_in_with_password(email)["localId"], user["localId"])


class OldTest(OwnAccounts):
    def test_an_id_token_alone_takes_no_password_over(self):
        self.clock.set(-RECENT_SECONDS - 10)
        self.start()
        email = new_email()
        user = self.web.sign_up(email)
        anonymous = self.web.anonymous()
        self.clock.set(0)
        fresh = self.web.refresh(user["refreshToken"])["id_token"]
        for fields in [{"password": OTHER_PASSWORD}, {"email": new_email()}, {"deleteProvider": ["password"]},
                       {"deleteAttribute": ["PASSWORD"]}, {"deleteAttribute": ["EMAIL"]}]:
            with self.subTest(fields):
                self.refused("CREDENTIAL_TOO_OLD_LOGIN_AGAIN", self.web.update, fresh, **fields)
        self.refused("CREDENTIAL_TOO_OLD_LOGIN_AGAIN", self.web.delete, fresh)
        again = self.web.sign_in_with_password(email)
        self.assertEqual(again["localId"], user["localId"])
        self.web.update(again["idToken"], password=OTHER_PASSWORD)
        # A password that was linked without a recent sign-in is not one that a thief of a token may rely on.
        linked = self.web.sign_up(new_email(), idToken=anonymous["idToken"])
        self.refused("CREDENTIAL_TOO_OLD_LOGIN_AGAIN", self.web.delete, linked["idToken"])


class OwnTest(OwnAccounts):
    def test_passwords_that_are_off(self):
        self.start()
        email = new_email()
        user, anonymous = self.web.sign_up(email), self.web.anonymous()
        self.set_methods(password=False, anonymous=True)
        self.switched_off([self.web.sign_in_with_password, email], [self.web.sign_up, new_email()])
        for password in [PASSWORD, OTHER_PASSWORD]:
            self.refused("OPERATION_NOT_ALLOWED", self.web.sign_in_with_password, email, password)
        self.refused("OPERATION_NOT_ALLOWED", self.web.sign_up, new_email(), idToken=anonymous["idToken"])
        self.refused("OPERATION_NOT_ALLOWED", self.web.send_link, "PASSWORD_RESET", email=email)
        # Who is signed in stays it.
        self.assertEqual(self.web.refresh(user["refreshToken"])["user_id"], user["localId"])

    def test_rules_of_new_passwords(self):
        self.set_project(r'(authDomain: "[^"]*",)', r"\1 passwords: { minLength: 10, digit: true, symbol: true },")
        self.start()
        policy = self.web.get("passwordPolicy", version="v2")["customStrengthOptions"]
        self.assertEqual(policy["minPasswordLength"], 10)
        self.assertEqual((policy["containsNumericCharacter"], policy["containsNonAlphanumericCharacter"]), (True, True))
        for password in ["abc1!", "abcdefghij", "abcdefghi1", "abcdefghi!"]:
            self.refused("WEAK_PASSWORD", self.web.sign_up, new_email(), password)
        self.web.sign_up(new_email(), "abcdefgh1!")

    def client(self, address):
        """A client of another network, as the proxy before the gateway says."""
        return Web(self.web.url, X_Forwarded_For=address)

    def guess(self, client, email, count):
        """The errors of wrong passwords, one after the other."""
        errors = []
        for index in range(count):
            with self.assertRaises(APIError) as caught:
                client.sign_in_with_password(email, f"{OTHER_PASSWORD} {index}")
            errors.append(caught.exception)
        return errors

    def require_limited(self, errors):
        """Some were compared, and the last ones were not."""
        self.assertEqual({error.code for error in errors}, {WRONG, LIMITED})
        self.assertEqual((errors[0].code, errors[-1].code), (WRONG, LIMITED))
        self.assertLessEqual(sum(error.code == WRONG for error in errors), WRONG_PASSWORDS)
        self.assertTrue(all(int(error.retry_after) >= 1 for error in errors if error.code == LIMITED))

    def test_guesses_are_limited_and_lock_nobody_out(self):
        self.limit("")
        self.clock.set(-PAUSE_SECONDS - 1)
        self.start()
        email, other = new_email(), new_email()
        self.web.sign_up(other)
        user = self.web.sign_up(email)
        self.web.sign_in_with_password(email)
        stranger, away = self.client("203.0.113.7"), self.client("198.51.100.9")
        self.require_limited(self.guess(stranger, email, GUESSES))
        # Other accounts go on, and the owner where they have signed in before. Elsewhere they wait for a pause.
        for client, address in [(stranger, other), (self.web, email)]:
            self.assertEqual(client.sign_in_with_password(address)["email"], address)
        self.clock.set(0)
        self.assertEqual(away.sign_in_with_password(email)["localId"], user["localId"])
        # An address that nobody has is limited as any other.
        self.require_limited(self.guess(stranger, new_email(), GUESSES))

    def test_new_accounts_of_one_address_are_limited(self):
        self.limit("passwordAccountsPerAddressPerHour: 3")
        self.start()
        email, guest = new_email(), self.web.anonymous()["idToken"]
        self.web.sign_up(email)
        # An anonymous user who puts an address on its account learns as much as a sign-up.
        for _ in range(2):
            self.refused("EMAIL_EXISTS", self.web.update, guest, email=email)
        self.refused(LIMITED, self.web.update, guest, email=email)
        self.refused(LIMITED, self.web.sign_up, new_email())
        self.assertIn("localId", self.client("203.0.113.7").sign_up(new_email()))
