"""OpenID Connect over HTTP: sign-ins at a provider's page and by tokens from elsewhere, and everything that is refused.

What an app is promised, and the test that shows it over HTTP:
both flows, with profile and tokens, to sign in, link and re-authenticate: SignInTest
what a provider is asked, and what nobody may add to it: AskedTest
answers of a page that are another's, old, mixed up or made up: AnswerTest
tokens that a provider never signed, or for somebody else: TokenTest
providers that are slow, endless, wrong or gone: FailureTest
tokens from elsewhere: ElsewhereTest
a provider that somebody else wrote: ForeignTest
the pages of Apple, Google and Facebook: OtherPagesTest
one identity, one account, whatever is killed: KillTest
"""

import concurrent.futures
import json
import os
import secrets
import threading
import time
import unittest
import urllib.parse

import jwt

import simulator
import stack
from foreign_provider import CLIENT, ForeignProvider
from gateway_client import PROJECT, Administrator, Apple, APIError, Assertions, Web
from identities import ApplePerson, FacebookPerson, GooglePerson, OpenIDPerson, link_under_kills, sha256, sign_in
from local_server import Handler, Server
from page_flow import CALLBACK, RESERVED, PageFlow, change, configure_provider, every_word, fields_of, open_page
from waiting import eventually

PROVIDER_URL = os.environ["COUNTERSIGN_STACK_PROVIDER_URL"]
IS_LONG = os.environ.get("COUNTERSIGN_TEST_ALL") == "1"
RIVALS, UNDER_WAY = (200, 16) if IS_LONG else (30, 8)
FETCH_SECONDS = 10
# An endless or silent provider holds a sign-in up no longer.
PATIENCE_SECONDS = 20
OFF = "The identity provider configuration is not found."


class OpenIDTest(Assertions, unittest.TestCase):
    def setUp(self):
        self.web, self.apple = Web(), Apple()
        self.addCleanup(simulator.clear_identities)
        self.addCleanup(simulator.clear_faults)

    def person(self):
        return OpenIDPerson(email=f"{secrets.token_hex(8)}@example.com", name="Ada Lovelace")

    def require_signed_in(self, answer, person, provider="oidc.example", is_new=False):
        self.assertIn("oauthIdToken", answer)
        return self.require_identity(self.web, answer, provider, person.subject, is_new)

    def configure(self, issuer, client_id="client-web", secret="secret", flow="code"):
        """A provider that an administrator sets, for the length of a test."""
        administrator = Administrator()
        provider = configure_provider(administrator, issuer, client_id, secret, flow)
        path = administrator.path(f"projects/{PROJECT}/oauthIdpConfigs/{provider}", "v2")
        self.addCleanup(lambda: administrator.read(administrator.send("DELETE", path)))
        return provider

    def invalid(self, flow, code="INVALID_IDP_RESPONSE", **fields):
        return self.refused(code, flow.sign_in, **fields)


class SignInTest(OpenIDTest):
    def test_both_flows(self):
        for provider in ["oidc.example", "oidc.implicit"]:
            with self.subTest(provider):
                person = self.person()
                answer = person.flow(self.web, provider=provider).sign_in()
                account = self.require_signed_in(answer, person, provider, is_new=True)
                profile = json.loads(answer["rawUserInfo"])
                self.assertEqual((profile["sub"], profile["name"]), (person.subject, "Ada Lovelace"))
                self.assertEqual((answer["email"], answer["displayName"]), (person.profile["email"], "Ada Lovelace"))
                self.assertEqual("oauthAccessToken" in answer, provider == "oidc.example")
                again = person.flow(self.web, provider=provider).sign_in(autoCreate=False)
                self.assertEqual(self.require_signed_in(again, person, provider), account)
                user = self.web.lookup(again["idToken"])["providerUserInfo"][0]
                self.assertEqual((user["providerId"], user["rawId"]), (provider, person.subject))

    def test_link_and_reauthentication(self):
        person, user = self.person(), self.web.anonymous()
        linked = person.flow(self.web).sign_in(idToken=user["idToken"])
        self.assertEqual(self.require_signed_in(linked, person), user["localId"])
        time.sleep(1.1)
        again = person.flow(self.web).sign_in(autoCreate=False)
        self.assertEqual(again["localId"], user["localId"])
        self.assertGreater(self.web.claims(again["idToken"])["auth_time"], self.web.claims(linked["idToken"])["auth_time"])
        for answer in [linked, again]:
            self.assertLessEqual({"rawUserInfo", "oauthIdToken", "oauthAccessToken"}, set(answer))
        self.web.update(again["idToken"], deleteProvider=["oidc.example"])
        self.assertNotEqual(person.sign_in(self.web)["localId"], user["localId"])

    def test_two_clients_have_two_secrets(self):
        """The simulator exchanges no code for another client or by another secret."""
        for client, client_id in [(self.web, "client-web"), (self.apple, "client-ios")]:
            person = self.person()
            flow = person.flow(client, client_id=client_id)
            self.assertEqual(flow.asked["client_id"], client_id)
            self.require_signed_in(flow.sign_in(), person, is_new=True)

    def test_refused_link_and_merge(self):
        person = self.person()
        owner, user = person.sign_in(self.web)["localId"], self.web.anonymous()
        flow = person.flow(self.web)
        answer = flow.sign_in(idToken=user["idToken"])
        self.assertEqual(answer["errorMessage"], "FEDERATED_USER_ID_ALREADY_LINKED")
        self.assertFalse({"idToken", "refreshToken"} & set(answer))
        self.assertEqual(self.web.sign_in_with_pending_token(answer["pendingToken"])["localId"], owner)
        self.refused("INVALID_PENDING_TOKEN", self.web.sign_in_with_pending_token, answer["pendingToken"])
        self.assertEqual(self.web.lookup(user["idToken"])["localId"], user["localId"])

    def test_keys_rotate(self):
        person = self.person()
        person.sign_in(self.web)
        simulator.keys("oidc", rotate=True)

        def signs_in():
            try:
                return person.sign_in(self.web)
            except APIError as error:
                self.assertEqual(error.code, "INVALID_IDP_RESPONSE")
                return None
        eventually("the new key is known", signs_in, 3 * FETCH_SECONDS, pause=0.5)


class AskedTest(OpenIDTest):
    def test_what_the_provider_sees(self):
        flow = PageFlow(
            self.web, "oidc.example", oauthScope="mail.read,calendars.read", customParameter={"login_hint": "ada@example.com"})
        flow.consent()
        asked, page = simulator.asked_of_page(flow.state)
        self.assertEqual(page, "oidc-page")
        self.assertLessEqual({"openid", "mail.read", "calendars.read"}, set(asked["scope"].split()))
        self.assertEqual(asked["login_hint"], "ada@example.com")
        self.assertEqual((asked["client_id"], asked["redirect_uri"]), ("client-web", CALLBACK))
        self.assertEqual((asked["response_type"], asked["code_challenge_method"]), ("code", "S256"))
        self.assertTrue(asked["nonce"])
        self.assertNotIn(flow.session, flow.address)

    def test_reserved_parameters(self):
        """An app that is made to add them could have the answer sent elsewhere, or an old token taken."""
        for provider in ["oidc.example", "oidc.implicit", "google.com", "apple.com", "facebook.com"]:
            plain = set(PageFlow(self.web, provider).asked)
            for name, value in RESERVED.items():
                # Some servers read names without their case.
                for spelling in [name, name.upper(), name.title()]:
                    with self.subTest(provider, parameter=spelling):
                        flow = PageFlow(self.web, provider, customParameter={spelling: value, "harmless": "1"})
                        self.assertEqual(set(flow.asked), plain | {"harmless"})
                        # Not by its side either: which of two counts is the provider's affair.
                        self.assertNotIn(value, every_word(flow.address))

    def test_pages_of_the_project_alone(self):
        for page in ["https://evil.example.net/callback", "https://localhost.evil.example.net/callback"]:
            self.refused("UNAUTHORIZED_DOMAIN", PageFlow, self.web, "oidc.example", continueUri=page)

    def test_providers_that_are_off(self):
        for provider in ["oidc.off", "oidc.unknown"]:
            error = self.refused("OPERATION_NOT_ALLOWED", PageFlow, self.web, provider)
            self.assertEqual(error.detail, OFF)
            error = self.refused("OPERATION_NOT_ALLOWED", sign_in, self.web, {"provider": provider, "id_token": "x"})
            self.assertEqual(error.detail, OFF)


class AnswerTest(OpenIDTest):
    def test_state_and_session(self):
        flow, other = self.person().flow(self.web), self.person().flow(self.web)
        for state in ["made-up", flow.state[:-2], flow.state + "A", flow.state.swapcase()]:
            with self.subTest(state):
                self.invalid(flow, back=change(flow.back, state=state))
        for session in [other.session, "", "made-up", sha256(flow.session), None]:
            with self.subTest(session=session):
                self.invalid(flow, sessionId=session)
        # None of that has used it up.
        self.assertIn("idToken", flow.sign_in())

    def test_injected_code(self):
        """The code of somebody else's flow, in one's own."""
        victim, attacker = self.person().flow(self.web), self.person().flow(self.web)
        self.invalid(attacker, back=change(attacker.back, code=victim.answer["code"]))
        self.invalid(attacker, back=victim.back)
        self.assertIn("idToken", victim.sign_in())

    def test_injected_token(self):
        person = self.person()
        victim = person.flow(self.web, provider="oidc.implicit")
        attacker = self.person().flow(self.web, provider="oidc.implicit")
        self.invalid(attacker, back=change(attacker.back, id_token=victim.answer["id_token"]))
        elsewhere = person.form()["id_token"]
        fresh = self.person().flow(self.web, provider="oidc.implicit")
        self.invalid(fresh, back=change(fresh.back, id_token=elsewhere))

    def test_replay(self):
        for provider in ["oidc.example", "oidc.implicit"]:
            with self.subTest(provider):
                flow = self.person().flow(self.web, provider=provider)
                flow.sign_in()
                with self.assertRaises(APIError) as caught:
                    flow.sign_in()
                self.assertEqual(caught.exception.status, 400)

    def test_replays_at_once(self):
        flow = self.person().flow(self.web)
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            errors = [call.exception() for call in [pool.submit(flow.sign_in) for _ in range(6)]]
        self.assertEqual(errors.count(None), 1)

    def test_mix_up(self):
        """An answer of another provider (RFC 9207), and one of another flow's provider."""
        # This provider always says who it is. A wrong answer ends its flow.
        for issuer in ["https://evil.example.com", simulator.openid_issuer() + "/", None]:
            flow = self.person().flow(self.web)
            self.invalid(flow, back=change(flow.back, iss=issuer))
        flow = self.person().flow(self.web)
        implicit = self.person().flow(self.web, provider="oidc.implicit")
        self.invalid(flow, back=change(flow.back, state=implicit.state), sessionId=implicit.session)

    def test_another_address(self):
        """The answer counts at the address that it was sent to."""
        flow = self.person().flow(self.web)
        for page in ["http://localhost:5000/other", "https://evil.example.com/callback"]:
            self.invalid(flow, back=flow.back.replace(CALLBACK, page))

    def test_refusal(self):
        person = self.person()
        for error, code in [("access_denied", "USER_CANCELLED"), ("server_error", "INVALID_IDP_RESPONSE")]:
            flow = person.flow(self.web, order={"error": error})
            self.assertEqual(flow.answer["error"], error)
            self.invalid(flow, code)


class TokenTest(OpenIDTest):
    def test_tokens_that_do_not_count(self):
        now = int(time.time())
        faults = [
            {"issuer": "https://evil.example.com"}, {"issuer": simulator.openid_issuer() + "/"}, {"nonce": "another"}, {"nonce": ""},
            {"keyID": "unknown"}, {"signature": "none"}, {"signature": "HS256"}, {"signature": "foreign"},
            {"clientID": "client-stranger"}, {"azp": "client-stranger"}, {"expiresIn": -600}, {"issuedAt": now + 3600},
        ]
        for provider in ["oidc.example", "oidc.implicit"]:
            for order in faults:
                with self.subTest(provider, order=order):
                    flow = self.person().flow(self.web, provider=provider, order=order)
                    # Another issuer beside the code would be refused for itself.
                    self.invalid_token(flow, change(flow.back, iss=simulator.openid_issuer()))

    def invalid_token(self, flow, back):
        with self.assertRaises(APIError) as caught:
            flow.sign_in(back=back)
        self.assertEqual(caught.exception.status, 400, caught.exception)
        self.assertIn(caught.exception.code, {"INVALID_IDP_RESPONSE", "MISSING_OR_INVALID_NONCE"})

    def test_profile_of_somebody_else(self):
        flow = self.person().flow(self.web, order={"userinfoSubject": "another"})
        self.invalid(flow)


class ElsewhereTest(OpenIDTest):
    def test_nonce(self):
        """The rule of identity-toolkit.md, section 10."""
        raw = "raw-nonce"
        wrong = "MISSING_OR_INVALID_NONCE"
        rows = [(None, None, None), (raw, raw, None), (sha256(raw), raw, None), (None, raw, wrong), (raw, None, wrong),
                (raw, "another", wrong)]
        for signed, given, code in rows:
            with self.subTest(signed=signed, given=given):
                person = self.person()
                credential = {**person.credential(nonce=signed), "nonce": given}
                if code:
                    self.refused(code, sign_in, self.web, credential)
                else:
                    answer = sign_in(self.web, credential)
                    self.require_signed_in(answer, person, is_new=True)
                    self.assertEqual(answer["oauthIdToken"], credential["id_token"])

    def test_signs_in_links_and_reauthenticates(self):
        person, user = self.person(), self.web.anonymous()
        for fields in [{"idToken": user["idToken"]}, {}, {"autoCreate": False}]:
            answer = sign_in(self.web, person.credential(), **fields)
            self.assertEqual(self.require_signed_in(answer, person), user["localId"])
            self.assertEqual(json.loads(answer["rawUserInfo"])["sub"], person.subject)
        # Every client of the provider counts.
        self.assertEqual(sign_in(self.apple, person.credential(client_id="client-ios"))["localId"], user["localId"])

    def test_tokens_that_do_not_count(self):
        # One that is not signed at all is taken from tests for an emulator.
        for order in [{"issuer": "https://evil.example.com"}, {"keyID": "unknown"}, {"signature": "HS256"}, {"signature": "foreign"},
                      {"client_id": "client-stranger"}, {"azp": "client-stranger"}, {"expiresIn": -600}]:
            with self.subTest(order):
                with self.assertRaises(APIError) as caught:
                    sign_in(self.web, self.person().credential(**order))
                self.assertEqual((caught.exception.status, caught.exception.code), (400, "INVALID_IDP_RESPONSE"))


class EndlessHandler(Handler):
    """A provider that answers slowly, endlessly or wrongly, as its test says."""

    # Another test has another provider at this address.
    protocol_version = "HTTP/1.0"

    def do_GET(self):
        if "/.well-known/" not in self.path:
            self.answer(404)
        elif self.server.fault == "endless":
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            for _ in range(4096):
                self.wfile.write(b" " * 65536)
        elif self.server.fault == "silent":
            self.server.over.wait(PATIENCE_SECONDS * 3)
        else:
            self.answer(200, self.server.fault.encode())

    do_POST = do_GET


class FailureTest(OpenIDTest):
    def test_inside(self):
        """Addresses that somebody typed in reach no inside."""
        for issuer in [stack.coordinator_urls()[0], "https://127.0.0.1:5671", "https://localhost", "https://169.254.169.254"]:
            with self.subTest(issuer):
                try:
                    provider = self.configure(issuer)
                except APIError as error:
                    self.assertEqual(error.status, 400)
                else:
                    self.require_failure(lambda provider=provider: PageFlow(self.web, provider))

    def require_failure(self, call):
        begun = time.monotonic()
        with self.assertRaises(APIError) as caught:
            call()
        self.assertLess(time.monotonic() - begun, PATIENCE_SECONDS)
        self.assertIn(caught.exception.status, {400, 500, 503}, caught.exception)

    def test_discovery(self):
        server = Server(EndlessHandler, urllib.parse.urlsplit(PROVIDER_URL).port).start(self.addCleanup)
        other = json.dumps({
            "issuer": "https://other.example.com", "authorization_endpoint": "https://other.example.com/a",
            "token_endpoint": "https://other.example.com/t", "jwks_uri": "https://other.example.com/k"})
        for fault in ["endless", "silent", "garbage", "{}", "[" * 100_000, other]:
            with self.subTest(fault[:20]):
                server.fault, server.over = fault, threading.Event()
                provider = self.configure(f"{PROVIDER_URL}/{secrets.token_hex(8)}")
                self.require_failure(lambda provider=provider: PageFlow(self.web, provider))
                server.over.set()

    FAULTS = [{"fault": "503"}, {"fault": "reset"}, {"fault": "huge"}, {"fault": "latency", "delaySeconds": 60}]

    def test_token_endpoint(self):
        for fault in self.FAULTS:
            with self.subTest(fault):
                order = simulator.inject(provider="oidc-token", **fault)
                flow = self.person().flow(self.web)
                self.require_failure(flow.sign_in)
                simulator.clear_fault(order["id"])

    def test_profile(self):
        """Who the user is, the ID token says."""
        for fault in self.FAULTS:
            with self.subTest(fault):
                order = simulator.inject(provider="oidc-user", **fault)
                person, begun = self.person(), time.monotonic()
                self.require_signed_in(person.flow(self.web).sign_in(), person, is_new=True)
                self.assertLess(time.monotonic() - begun, PATIENCE_SECONDS)
                simulator.clear_fault(order["id"])
        simulator.change_discovery(userinfo_endpoint=None)
        person = self.person()
        self.require_signed_in(person.flow(self.web).sign_in(), person, is_new=True)

    def test_others_are_not_held_up(self):
        simulator.inject(provider="oidc-token", fault="latency", delaySeconds=5, count=100)
        flows = [self.person().flow(self.web) for _ in range(6)]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            waiting = [pool.submit(flow.sign_in) for flow in flows]
            begun = time.monotonic()
            self.web.anonymous()
            GooglePerson().sign_in(self.web)
            self.assertLess(time.monotonic() - begun, 4)
            concurrent.futures.wait(waiting)


class ForeignTest(OpenIDTest):
    """A provider that somebody else wrote, and that an administrator has set."""

    def setUp(self):
        super().setUp()
        self.provider = ForeignProvider().start(self.addCleanup)

    def add_user(self):
        address = f"{secrets.token_hex(8)}@example.com"
        self.provider.add_user(email=address, email_verified=True, name="Ada Lovelace")
        return address

    def require_user(self, answer, provider, is_new):
        self.assertEqual((answer["providerId"], answer.get("isNewUser")), (provider, True if is_new else None))
        subject = jwt.decode(answer["oauthIdToken"], options={"verify_signature": False})["sub"]
        self.assertEqual(answer["federatedId"], subject)
        self.assertEqual(self.web.claims(answer["idToken"])["firebase"]["identities"][provider], [subject])
        return answer["localId"]

    def test_both_flows_and_a_token_from_elsewhere(self):
        for flow in ["code", "idToken"]:
            with self.subTest(flow):
                provider = self.configure(self.provider.url, CLIENT, self.provider.secret, flow)
                address = self.add_user()
                scopes = {"oauthScope": "email,profile"}
                answer = PageFlow(self.web, provider, **scopes).consent().sign_in()
                account = self.require_user(answer, provider, is_new=True)
                self.assertEqual((answer["email"], json.loads(answer["rawUserInfo"])["name"]), (address, "Ada Lovelace"))
                again = PageFlow(self.web, provider, **scopes).consent().sign_in()
                self.assertEqual(self.require_user(again, provider, is_new=False), account)
                credential = {"provider": provider, "id_token": self.token_from_elsewhere()}
                self.refused("MISSING_OR_INVALID_NONCE", sign_in, self.web, credential)
                elsewhere = sign_in(self.web, {**credential, "nonce": "n"})
                self.assertEqual(self.require_user(elsewhere, provider, is_new=False), account)

    def token_from_elsewhere(self):
        asked = {"client_id": CLIENT, "redirect_uri": CALLBACK, "response_type": "id_token", "scope": "openid", "nonce": "n",
                 "state": "s"}
        return fields_of(open_page(f"{self.provider.url}/authorize?{urllib.parse.urlencode(asked)}"))["id_token"]


class OtherPagesTest(OpenIDTest):
    def flow(self, provider, kind, **profile):
        person = kind(**{"email": f"{secrets.token_hex(8)}@gmail.com", **profile})
        hint = secrets.token_hex(16)
        client = {"apple.com": {"clientID": "com.example.web"}, "facebook.com": {"appID": "1234567890123456"},
                  "google.com": {"clientID": "100000000001-web.apps.googleusercontent.com"}}[provider]
        simulator.consent(
            provider.removesuffix(".com"), subject=person.subject, loginHint=hint, name="Ada Lovelace", **client, **person.profile)
        scope = {"apple.com": "name,email", "google.com": "email,profile", "facebook.com": "email"}[provider]
        return person, PageFlow(self.web, provider, oauthScope=scope, customParameter={"login_hint": hint}).consent()

    def test_google_and_facebook(self):
        for provider, kind in [("google.com", GooglePerson), ("facebook.com", FacebookPerson)]:
            with self.subTest(provider):
                person, flow = self.flow(provider, kind)
                answer = flow.sign_in()
                self.assertEqual((answer["providerId"], answer["federatedId"]), (provider, person.subject))
                self.assertEqual((answer["email"], answer["displayName"]), (person.profile["email"], "Ada Lovelace"))
                self.assertIn("oauthAccessToken", answer)

    def test_apple(self):
        """Its name comes once, and its refresh token is revoked when the account is deleted."""
        person, flow = self.flow("apple.com", ApplePerson)
        self.assertIn("user", flow.answer)
        answer = flow.sign_in()
        self.assertEqual((answer["federatedId"], answer["email"]), (person.subject, person.profile["email"]))
        self.assertEqual(self.web.lookup(answer["idToken"])["displayName"], "Ada Lovelace")
        self.assertEqual(person.sign_in(self.web)["localId"], answer["localId"])
        self.web.delete(answer["idToken"])
        self.require_revoked(flow)

    def test_apple_that_is_unlinked(self):
        _, flow = self.flow("apple.com", ApplePerson)
        answer = flow.sign_in()
        self.web.update(answer["idToken"], deleteProvider=["apple.com"])
        self.require_revoked(flow)

    def require_revoked(self, flow):
        [revoked] = eventually("Apple's token is revoked", lambda: simulator.revocations(code=flow.answer["code"]), 60)
        self.assertTrue(revoked["isKnown"])
        self.assertEqual((revoked["clientID"], revoked["tokenTypeHint"]), ("com.example.web", "refresh_token"))

    def test_state_of_another_provider(self):
        _, google = self.flow("google.com", GooglePerson)
        _, facebook = self.flow("facebook.com", FacebookPerson)
        self.invalid(google, back=change(google.back, state=facebook.state))
        self.invalid(google, back=change(google.back, state=facebook.state), sessionId=facebook.session)


class KillTest(OpenIDTest):
    def test_links_while_accounts_is_killed(self):
        self.addCleanup(stack.start, "accounts")
        tally = link_under_kills(RIVALS, UNDER_WAY, [lambda: self.restart("accounts")], [OpenIDPerson])
        print(f"\n  {RIVALS} identities, each claimed by two accounts: {dict(tally)}", flush=True)
        self.assertGreater(tally["kills"], 0)
