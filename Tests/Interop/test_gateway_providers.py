"""Apple, Google and Facebook over HTTP as the stock SDKs bring their credentials: sign-in, links, refusals, keys, and kills.

What an app is promised, and the test that shows it over HTTP:
Apple's nonce, row by row, and a token that counts once: AppleTest
tokens of others, expired, not yet valid, unsigned: TokenTest
a user is known again, by address too where the provider is believed: SignInTest
linking, unlinking, refused links and the merge after them: LinkTest
keys that rotate, vanish, come slowly, and unknown ones: KeysTest
tokens that tests for an emulator make: EmulatorTest
one identity, one account, whatever is killed: KillTest
"""

import concurrent.futures
import json
import os
import secrets
import time
import unittest

import jwt

import simulator
import stack
from gateway_client import TOKENS, Apple, APIError, Assertions, Web, new_number, received_code
from identities import (
    FACEBOOK_APP, GOOGLE_CLIENT, ApplePerson, FacebookPerson, GooglePerson, LimitedFacebookPerson, link_under_kills, sha256, sign_in)
from waiting import eventually

IS_LONG = os.environ.get("COUNTERSIGN_TEST_ALL") == "1"
DUPLICATE = "Duplicate credential received. Please try again with a new credential."
# Accounts fetches the keys of a provider at most once in so many seconds; a loaded machine may add as many.
FETCH_SECONDS = 10
SLOW_SECONDS = 4
QUICK_SECONDS = 3
# Beyond the difference of clocks that is put up with.
SKEW_SECONDS = 600
# Further keys in a set. More than two or three are a provider's exception.
STRANGERS = 20
FLOOD = 200 if IS_LONG else 40
RIVALS, UNDER_WAY = (400, 24) if IS_LONG else (40, 8)


def new_address(domain="gmail.com"):
    return f"{secrets.token_hex(8)}@{domain}"


class ProviderTest(Assertions, unittest.TestCase):
    def setUp(self):
        self.web, self.apple = Web(), Apple()
        self.addCleanup(simulator.clear_faults)

    def refused_credential(self, code, credential, **fields):
        return self.refused(code, sign_in, self.web, credential, **fields)

    def require_signed_in(self, answer, person, is_new=False):
        json.loads(answer["rawUserInfo"])
        self.assertNotIn("pendingToken", answer)
        return self.require_identity(self.web, answer, person.provider, person.subject, is_new)

    def providers(self, id_token):
        return {entry["providerId"]: entry for entry in self.web.lookup(id_token).get("providerUserInfo", [])}


class AppleTest(ProviderTest):
    def test_nonce(self):
        """The table of the protocol, row by row."""
        raw, missing = "raw-nonce", "Nonce is missing in the request."
        rows = [
            ({"nonce": sha256(raw)}, raw, None),
            ({"nonce": raw}, raw, ""),
            ({"nonce": sha256("another")}, raw, ""),
            ({"nonce": sha256(raw)}, None, missing),
            ({"nonce": None, "nonceSupported": True}, raw, ""),
            ({"nonce": None, "nonceSupported": False}, raw, None),
            ({"nonce": None}, None, None),
        ]
        for order, given, detail in rows:
            with self.subTest(order=order, given=given):
                person = ApplePerson()
                credential = {**person.credential(**order), "nonce": given}
                if detail is None:
                    self.require_signed_in(sign_in(self.web, credential), person, is_new=True)
                else:
                    self.assertEqual(self.refused_credential("MISSING_OR_INVALID_NONCE", credential).detail, detail)

    def test_token_counts_once(self):
        for fields in [{}, {"idToken": self.web.anonymous()["idToken"]}, {"autoCreate": False}]:
            credential = ApplePerson().credential()
            sign_in(self.web, credential, **fields)
            for again in [{}, fields]:
                self.assertEqual(self.refused_credential("MISSING_OR_INVALID_NONCE", credential, **again).detail, DUPLICATE)

    def test_several_requests_with_one_token(self):
        for _ in range(3):
            credential = ApplePerson().credential()
            with concurrent.futures.ThreadPoolExecutor(6) as pool:
                calls = [pool.submit(sign_in, self.web, credential) for _ in range(6)]
                errors = [call.exception() for call in calls]
            self.assertEqual(errors.count(None), 1)
            self.assertEqual({error.detail for error in errors if error}, {DUPLICATE})

    def test_name_that_comes_once(self):
        person = ApplePerson(email=new_address("example.com"), textBooleans=True)
        first = person.sign_in(self.web, user={"name": {"firstName": "Åsa", "lastName": "Öst & Co"}})
        self.require_signed_in(first, person, is_new=True)
        self.assertEqual((first["email"], first["emailVerified"]), (person.profile["email"], True))
        second = person.sign_in(self.web)
        self.assertEqual(second["localId"], first["localId"])
        self.assertEqual(self.web.lookup(second["idToken"])["displayName"], "Åsa Öst & Co")

    def test_the_apple_sdk(self):
        person = ApplePerson()
        answer = person.sign_in(self.apple)
        self.require_signed_in(answer, person, is_new=True)
        self.assertEqual(self.apple.lookup(answer["idToken"])["providerUserInfo"][0]["rawId"], person.subject)


class TokenTest(ProviderTest):
    def test_tokens_that_do_not_count(self):
        now = int(time.time())
        faults = [
            {"issuer": "https://appleid.example.com"}, {"issuer": "https://accounts.google.com"}, {"expiresIn": -SKEW_SECONDS},
            {"issuedAt": now - 90_000}, {"issuedAt": now + 3_600}, {"signature": "HS256"},
            {"signature": "foreign"}, {"keyID": "unknown"}, {"client_id": "com.example.stranger"},
        ]
        for order in faults:
            with self.subTest(order):
                self.refused_credential("INVALID_IDP_RESPONSE", ApplePerson().credential(**order))
        for order in [{"client_id": "com.example.stranger"}, {"azp": "stranger"}, {"expiresIn": -SKEW_SECONDS}, {"signature": "foreign"},
                      {"issuer": "https://accounts.example.com"}]:
            with self.subTest(google=order):
                self.refused_credential("INVALID_IDP_RESPONSE", GooglePerson().credential(**order))
        for order in [{"app_id": "77"}, {"expiresIn": -SKEW_SECONDS}]:
            with self.subTest(facebook=order):
                self.refused_credential("INVALID_IDP_RESPONSE", FacebookPerson().credential(**order))

    def test_credentials_that_are_none(self):
        for fields in [{"id_token": "garbage"}, {"id_token": "a.b.c"}, {"access_token": "garbage"}, {}]:
            for provider in ["apple.com", "google.com", "facebook.com"]:
                with self.subTest(provider, fields=fields):
                    with self.assertRaises(APIError) as caught:
                        sign_in(self.web, {"provider": provider, **fields})
                    self.assertEqual(caught.exception.status, 400)
                    self.assertRegex(caught.exception.code, "^(INVALID_IDP_RESPONSE|INVALID_CREDENTIAL_OR_PROVIDER_ID)$")
        self.refused_credential("OPERATION_NOT_ALLOWED", {"provider": "oidc.unknown", "id_token": "x"})

    def test_other_credentials_of_google_and_facebook(self):
        google, facebook = GooglePerson(name="Bo Berg"), FacebookPerson(name="Cy Young")
        _, access = simulator.google_tokens(GOOGLE_CLIENT, google.subject, **google.profile)
        credential = {"provider": "google.com", "access_token": access}
        self.require_signed_in(sign_in(self.web, credential), google, is_new=True)
        # The token of another app is good there, and here it is a way to sign in as its user.
        _, access = simulator.google_tokens("stranger", google.subject)
        self.refused_credential("INVALID_IDP_RESPONSE", {"provider": "google.com", "access_token": access})
        nonce = secrets.token_hex(16)
        _, limited = simulator.facebook_tokens(FACEBOOK_APP, facebook.subject, nonce=sha256(nonce))
        fields = {"provider": "facebook.com", "id_token": limited, "nonce": nonce}
        self.require_signed_in(sign_in(self.web, fields), facebook, is_new=True)
        self.refused_credential("MISSING_OR_INVALID_NONCE", {**fields, "nonce": "another"})
        # They come again until they expire.
        self.require_signed_in(sign_in(self.web, fields), facebook)


class SignInTest(ProviderTest):
    def test_known_again(self):
        for person in [ApplePerson(), GooglePerson(name="Bo Berg"), FacebookPerson(name="Cy Young")]:
            with self.subTest(person.provider):
                first = self.require_signed_in(person.sign_in(self.web), person, is_new=True)
                again = person.sign_in(self.web, autoCreate=False)
                self.assertEqual(self.require_signed_in(again, person), first)
                self.assertEqual(self.web.refresh(again["refreshToken"])["user_id"], first)

    def test_known_in_every_app(self):
        """Each app brings credentials of a client of its own. The app at Facebook is one for all."""
        google = [f"100000000001-{name}.apps.googleusercontent.com" for name in ["ios", "android", "web"]]
        clients = [self.apple, Apple("com.example.push"), self.web]
        for person, ids in [
                (ApplePerson(), ["com.example.app", "com.example.push", "com.example.web"]), (GooglePerson(), google),
                (FacebookPerson(), [])]:
            orders = [{"client_id": one} for one in ids] or [{}] * len(clients)
            users = [sign_in(client, person.credential(**order)) for client, order in zip(clients, orders)]
            self.assertEqual(len({user["localId"] for user in users}), 1, person.provider)

    def test_unknown_without_a_new_account(self):
        self.refused_credential("USER_NOT_FOUND", GooglePerson().credential(), autoCreate=False, returnIdpCredential=False)
        # Apple's token has counted: what stands for it serves in its place.
        person = ApplePerson()
        answer = person.sign_in(self.web, autoCreate=False)
        self.assertEqual(answer["errorMessage"], "USER_NOT_FOUND")
        self.assertFalse(TOKENS & set(answer) - {"expiresIn"})
        self.require_signed_in(self.web.sign_in_with_pending_token(answer["pendingToken"]), person, is_new=True)

    def test_address_that_is_believed(self):
        address = new_address()
        google = GooglePerson(email=address)
        account = google.sign_in(self.web)["localId"]
        apple = ApplePerson(email=address.upper())
        self.assertEqual(apple.sign_in(self.web)["localId"], account)
        self.assertEqual(google.sign_in(self.web)["localId"], account)

    def test_address_that_is_not_believed(self):
        address = new_address()
        account = GooglePerson(email=address).sign_in(self.web)["localId"]
        for person in [FacebookPerson(email=address), ApplePerson(email=address, emailVerified=False)]:
            with self.subTest(person.provider):
                answer = person.sign_in(self.web)
                self.assertIs(answer["needConfirmation"], True)
                self.assertEqual(answer["verifiedProvider"], ["google.com"])
                self.assertFalse({"idToken", "refreshToken", "localId"} & set(answer))
        # Who signed up with an address that is not the user's own waits for nobody there.
        address = new_address()
        early = FacebookPerson(email=address).sign_in(self.web)["localId"]
        self.assertNotEqual(GooglePerson(email=address).sign_in(self.web)["localId"], early)
        self.assertNotEqual(account, early)

    def test_relay_addresses_never_match(self):
        address = new_address("privaterelay.appleid.com")
        accounts = {ApplePerson(email=address).sign_in(self.web)["localId"] for _ in range(2)}
        self.assertEqual(len(accounts), 2)


class LinkTest(ProviderTest):
    def link(self, person, user, **fields):
        return person.sign_in(self.web, idToken=user["idToken"], **fields)

    def merge_refused(self, answer, person):
        self.assertEqual(answer["errorMessage"], "FEDERATED_USER_ID_ALREADY_LINKED")
        self.assertFalse({"idToken", "refreshToken"} & set(answer))
        self.assertEqual(answer["providerId"], person.provider)

    def test_ways_to_the_same_account(self):
        """Anonymous to each provider, then to another one: each leads to the account until it is unlinked."""
        for first, second in [(FacebookPerson(), GooglePerson()), (ApplePerson(), FacebookPerson())]:
            with self.subTest(first=first.provider, second=second.provider):
                user = self.web.anonymous()
                for person in [first, second]:
                    linked = self.link(person, user)
                    self.assertEqual(self.require_signed_in(linked, person), user["localId"])
                # Tokens of before the link are good; those of the next refresh tell of it.
                found = self.providers(user["idToken"])
                self.assertEqual({name: entry["rawId"] for name, entry in found.items()},
                                 {person.provider: person.subject for person in [first, second]})
                claims = self.web.claims(self.web.refresh(user["refreshToken"])["id_token"])
                self.assertEqual(claims["firebase"]["sign_in_provider"], second.provider)
                self.assertNotIn("provider_id", claims)
                for person in [first, second]:
                    self.assertEqual(person.sign_in(self.web)["localId"], user["localId"])
                self.require_unlinked(user, [first, second])

    def require_unlinked(self, user, persons):
        """The last way may go too."""
        for person in persons:
            self.web.update(user["idToken"], deleteProvider=[person.provider])
            self.assertNotIn(person.provider, self.providers(user["idToken"]))
            self.assertNotEqual(person.sign_in(self.web)["localId"], user["localId"])
        self.assertEqual(self.web.lookup(user["idToken"])["localId"], user["localId"])

    def test_apple_and_a_number(self):
        person, number = ApplePerson(), new_number()
        user = person.sign_in(self.web)
        session = self.web.send_code(number)
        linked = self.web.sign_in(session, received_code(number), idToken=user["idToken"])
        self.assertEqual(linked["localId"], user["localId"])
        self.assertEqual(set(self.providers(user["idToken"])), {"apple.com", "phone"})
        self.assertEqual(self.web.sign_in_as(number, count=2)["localId"], user["localId"])
        self.assertEqual(person.sign_in(self.web)["localId"], user["localId"])
        self.web.update(user["idToken"], deleteProvider=["phone"])
        self.assertNotEqual(self.web.sign_in_as(number, count=3)["localId"], user["localId"])
        self.assertEqual(person.sign_in(self.web)["localId"], user["localId"])

    def test_refused_link_and_merge(self):
        for person in [GooglePerson(), FacebookPerson()]:
            with self.subTest(person.provider):
                owner, user, credential = person.sign_in(self.web)["localId"], self.web.anonymous(), person.credential()
                self.merge_refused(sign_in(self.web, credential, idToken=user["idToken"]), person)
                self.assertEqual(sign_in(self.web, credential)["localId"], owner)
                # As the JavaScript SDK asks: the same credential signs in to the owner's account.
                self.refused("FEDERATED_USER_ID_ALREADY_LINKED", self.web.sign_in_with_idp, **credential, idToken=user["idToken"])
                # The first user is still signed in.
                self.assertEqual(self.web.lookup(user["idToken"])["localId"], user["localId"])
                self.assertEqual(self.web.refresh(user["refreshToken"])["user_id"], user["localId"])

    def test_refused_link_of_apple_and_merge(self):
        person = ApplePerson()
        owner, user = person.sign_in(self.web)["localId"], self.web.anonymous()
        # Whether it was asked for or not: the token has counted.
        for is_asked in [True, False]:
            answer = self.link(person, user, returnIdpCredential=is_asked)
            self.merge_refused(answer, person)
            pending = answer["pendingToken"]
            self.assertEqual(self.web.sign_in_with_pending_token(pending)["localId"], owner)
            self.refused("INVALID_PENDING_TOKEN", self.web.sign_in_with_pending_token, pending)
        self.assertEqual(self.web.lookup(user["idToken"])["localId"], user["localId"])

    def test_pending_token_links(self):
        person = ApplePerson()
        owner, user = person.sign_in(self.web), self.web.anonymous()
        answer = self.link(person, user)
        self.web.update(owner["idToken"], deleteProvider=["apple.com"])
        linked = self.web.sign_in_with_pending_token(answer["pendingToken"], idToken=user["idToken"])
        self.assertEqual(self.require_signed_in(linked, person), user["localId"])

    def test_pending_token_of_another_app(self):
        person = ApplePerson()
        person.sign_in(self.web)
        pending = self.link(person, self.web.anonymous())["pendingToken"]
        self.refused("INVALID_PENDING_TOKEN", self.apple.sign_in_with_pending_token, pending)
        self.refused("INVALID_PENDING_TOKEN", self.web.sign_in_with_pending_token, "made-up")

    def test_second_user_of_a_provider(self):
        user = self.web.anonymous()
        self.link(GooglePerson(), user)
        answer = self.link(GooglePerson(), user)
        self.assertEqual(answer["errorMessage"], "FEDERATED_USER_ID_ALREADY_LINKED")

    def test_address_of_another_account(self):
        address = new_address()
        owner = GooglePerson(email=address).sign_in(self.web)["localId"]
        person, user = ApplePerson(email=address), self.web.anonymous()
        answer = self.link(person, user)
        self.assertEqual(answer["errorMessage"], "EMAIL_EXISTS")
        self.assertEqual(self.providers(user["idToken"]), {})
        self.assertEqual(self.web.sign_in_with_pending_token(answer["pendingToken"])["localId"], owner)

    def test_reauthentication_moves_auth_time(self):
        person = ApplePerson()
        first = person.sign_in(self.web)
        time.sleep(1.1)
        again = person.sign_in(self.web, autoCreate=False)
        self.assertEqual(again["localId"], first["localId"])
        self.assertGreater(self.web.claims(again["idToken"])["auth_time"], self.web.claims(first["idToken"])["auth_time"])

    def test_links_of_one_identity_at_once(self):
        for kind in [ApplePerson, GooglePerson]:
            person, users = kind(), [self.web.anonymous() for _ in range(6)]
            with concurrent.futures.ThreadPoolExecutor(len(users)) as pool:
                answers = list(pool.map(lambda user, person=person: self.link(person, user), users))
            linked = [answer["localId"] for answer in answers if "idToken" in answer]
            self.assertEqual(len(linked), 1)
            self.assertEqual(person.sign_in(self.web)["localId"], linked[0])


class KeysTest(ProviderTest):
    """What happens to each provider's keys, side by side: every fetch has to wait until the last one was some time ago."""

    def test_keys(self):
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            for test in [pool.submit(self.rotate), pool.submit(self.vanish), pool.submit(self.come_slowly_and_unknown)]:
                test.result()

    def eventually_good(self, credential):
        """A token of a new key is refused where the keys were just fetched."""
        def attempt():
            try:
                return sign_in(self.web, credential)
            except APIError as error:
                if error.status != 503:
                    self.assertEqual(error.code, "INVALID_IDP_RESPONSE")
                return None
        return eventually("the new key is known", attempt, 3 * FETCH_SECONDS, pause=0.5)

    def is_refused(self, credential):
        try:
            sign_in(self.web, credential)
        except APIError as error:
            return error.code == "INVALID_IDP_RESPONSE"
        return False

    def rotate(self):
        person = GooglePerson()
        old = person.credential()
        self.eventually_good(old)
        simulator.keys("google", rotate=True, keepOld=True)
        self.eventually_good(person.credential())
        self.eventually_good(old)
        # The set may have many keys that sign nothing.
        simulator.keys("google", rotate=True, strangers=STRANGERS)
        self.addCleanup(simulator.keys, "google", strangers=0)

        def is_over():
            # Each of two processes fetches for itself, and the broker hands out in turn.
            return all(self.eventually_good(person.credential()) for _ in stack.accounts_urls()) and self.is_refused(old)
        eventually("the old key is no longer good", is_over, 3 * FETCH_SECONDS)

    def vanish(self):
        """Known keys stay good; a new one does not count until it is there."""
        person = LimitedFacebookPerson()
        # The broker hands out in turn: each process gets the keys.
        for _ in range(4 * len(stack.accounts_urls())):
            self.eventually_good(person.credential())
        for fault in [503, 404, "reset"]:
            order = simulator.inject(provider="facebook-keys", fault=fault, count=1000)
            self.require_signed_in(person.sign_in(self.web), person)
            with self.assertRaises(APIError):
                sign_in(self.web, person.credential(keyID="unknown"))
            simulator.clear_fault(order["id"])
        simulator.keys("facebook", rotate=True)
        self.eventually_good(person.credential())

    def come_slowly_and_unknown(self):
        """Who waits for keys holds nobody up, and unknown ones cost a fetch at most."""
        person, other = ApplePerson(), FacebookPerson()
        self.eventually_good(person.credential())
        order = simulator.inject(provider="apple-keys", fault="latency", delaySeconds=SLOW_SECONDS, count=100)
        simulator.keys("apple", rotate=True)
        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            waiting = [pool.submit(self.eventually_good, person.credential()) for _ in range(12)]
            while not all(one.done() for one in waiting):
                for call in [self.web.anonymous, lambda: other.sign_in(self.web)]:
                    begun = time.monotonic()
                    call()
                    self.assertLess(time.monotonic() - begun, QUICK_SECONDS)
                time.sleep(0.2)
            self.assertEqual({one.result()["federatedId"] for one in waiting}, {person.subject})
        simulator.clear_fault(order["id"])
        self.flood(person)

    def flood(self, person):
        before, begun = sum(simulator.answers("apple-keys").values()), time.monotonic()
        credentials = [person.credential(keyID=secrets.token_hex(8)) for _ in range(FLOOD)]
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            self.assertTrue(all(pool.map(self.is_refused, credentials)))
        fetches = sum(simulator.answers("apple-keys").values()) - before
        self.assertLessEqual(fetches, (1 + (time.monotonic() - begun) // FETCH_SECONDS) * len(stack.accounts_urls()))


class EmulatorTest(ProviderTest):
    """The project takes them, in development, from clients on this machine."""

    @staticmethod
    def credentials(provider, subject):
        claims = {"sub": subject, "email": new_address("example.com"), "email_verified": True}
        unsigned = jwt.encode({"iss": "", "aud": "", "iat": int(time.time()), **claims}, None, algorithm="none")
        return [{"provider": provider, "id_token": token} for token in [json.dumps(claims), unsigned]]

    def test_tokens_that_a_test_makes(self):
        for kind in [ApplePerson, GooglePerson, FacebookPerson]:
            person, accounts = kind(), set()
            for credential in self.credentials(person.provider, person.subject):
                answer = sign_in(self.web, credential)
                self.assertEqual(answer["federatedId"], person.subject)
                accounts.add(answer["localId"])
            self.assertEqual(len(accounts), 1, person.provider)

    def test_not_from_the_internet(self):
        internet = Web(os.environ["COUNTERSIGN_GATEWAY_TLS_URL"], Origin="https://localhost:5000")
        for credential in self.credentials("google.com", GooglePerson().subject):
            self.refused("INVALID_IDP_RESPONSE", sign_in, internet, credential)
        for person in [ApplePerson(), GooglePerson()]:
            self.refused("INVALID_IDP_RESPONSE", sign_in, internet, person.credential(signature="none"))
            self.assertEqual(person.sign_in(internet)["federatedId"], person.subject)


class KillTest(unittest.TestCase):
    def kill(self, name):
        stack.kill(name)
        stack.start(name)

    def test_links_while_accounts_is_killed(self):
        self.addCleanup(stack.start, "accounts")
        tally = link_under_kills(RIVALS, UNDER_WAY, [lambda: self.kill("accounts")])
        print(f"\n  {RIVALS} identities, each claimed by two accounts: {dict(tally)}", flush=True)
        self.assertGreater(tally["kills"], 0)
