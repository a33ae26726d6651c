"""The stock Firebase JavaScript SDK signs in by phone and by identity providers, in a browser: what apps see of every answer and error."""

import json
import os
import pathlib
import re
import socket
import time

import records
import simulator
import stack
from gateway_client import new_number
from identities import ApplePerson, FacebookPerson, GooglePerson
from samples import wrong
from stock_pages import (
    APPLE_CLIENT, FICTIONAL_CODE, FICTIONAL_NUMBER, USER, VERIFICATION_EXPIRES_AT, VERIFIER, StockTest, new_address, shown_code, start,
)

setUpModule = start

README = pathlib.Path(__file__).resolve().parents[2] / "README.md"
# The lines of the README, and the address in them.
LINES = re.compile(r"^```js\n(.*?)^```$", re.MULTILINE | re.DOTALL)
README_URL = "http://127.0.0.1:5716"


class SignInTest(StockTest):
    def test_the_lines_of_the_readme(self):
        [lines] = LINES.findall(README.read_text())
        self.assertIn(README_URL, lines)
        page = self.new_page()
        result = page.run(f"{lines.replace(README_URL, self.gateway_url())}; return [user.phoneNumber, await user.getIdToken()];")
        number, token = result
        self.assertEqual(number, "+16505553434")
        self.assertEqual(self.web.claims(token)["phone_number"], number)

    def test_a_number_signs_in(self):
        page = self.begin()
        number, user = self.sign_in(page)
        self.assertEqual((user["phoneNumber"], user["isAnonymous"], user["providers"]), (number, False, ["phone"]))
        claims = self.claims(page)
        self.assertEqual((claims["sub"], claims["phone_number"]), (user["uid"], number))
        self.assertEqual(page.run("return news;"), [None, user["uid"]])
        shown = page.run("""
            const {claims, signInProvider, signInSecondFactor, authTime, issuedAtTime, expirationTime}
              = await auth.currentUser.getIdTokenResult();
            return {claims, signInProvider, signInSecondFactor, times: [authTime, issuedAtTime, expirationTime].map(Date.parse)};""")
        self.assertEqual(shown["claims"], claims)
        self.assertEqual((shown["signInProvider"], shown["signInSecondFactor"]), ("phone", None))
        self.assertEqual(shown["times"], [claims[name] * 1000 for name in ["auth_time", "iat", "exp"]])

    def test_a_code_is_wrong_then_right_then_used(self):
        page, number, code = self.asked()
        for text, error in [(wrong(code), "invalid-verification-code"), ("", "missing-code")]:
            self.refused(f"auth/{error}", page, "await confirmation.confirm(code);", code=text)
        self.assertIsNone(self.user(page))
        self.assertEqual(self.confirm(page, code)["phoneNumber"], number)
        self.refused("auth/code-expired", page, "await confirmation.confirm(code);", code=code)
        # The page stays signed in.
        self.assertEqual(self.user(page)["phoneNumber"], number)

    def test_sessions_that_give_nothing(self):
        page, number, code = self.asked()
        session = page.run("return confirmation.verificationId;")
        records.set_time("verification", session, VERIFICATION_EXPIRES_AT, 1000)
        enter = "await signInWithCredential(auth, PhoneAuthProvider.credential(session, code));"
        self.refused("auth/code-expired", page, enter, session=session, code=code)
        self.refused("auth/invalid-verification-id", page, enter, session="unknown", code=code)
        self.refused("auth/missing-verification-id", page, enter, session="", code=code)

    def test_too_many_wrong_codes(self):
        page, number, code = self.asked()
        errors = page.run("""
            const errors = [];
            for (const guess of guesses) await confirmation.confirm(guess).catch((error) => errors.push(error.code));
            return errors;""", guesses=[f"{(int(code) + step) % 1_000_000:06d}" for step in range(1, 7)])
        self.assertEqual(errors, ["auth/invalid-verification-code"] * 4 + ["auth/too-many-requests"] * 2)

    def test_numbers_that_are_none(self):
        page = self.begin()
        for number, error in [("12345", "invalid-phone-number"), ("+1", "invalid-phone-number"), ("", "missing-phone-number")]:
            with self.subTest(number):
                self.refused(f"auth/{error}", page, f"{VERIFIER} await signInWithPhoneNumber(auth, number, verifier);", number=number)

    def test_language_of_the_app(self):
        page = self.begin()
        number = new_number()
        page.run("auth.languageCode = 'pt-BR';")
        self.send_code(page, number)
        self.assertIn("é seu código", simulator.message(number)["body"])

    def test_servers_that_refuse(self):
        page = self.begin(key="another-api-key-of-nobody")
        sign_in = f"{VERIFIER} await signInWithPhoneNumber(auth, number, verifier);"
        self.refused("auth/api-key-not-valid.-please-pass-a-valid-api-key.", page, sign_in, number=new_number())
        page = self.begin()
        # The key is there although nothing is enforced; without it this rejects.
        page.run("await initializeRecaptchaConfig(auth);")
        with socket.socket() as nobody:
            nobody.bind(("127.0.0.1", 0))
            page = self.begin(url=f"http://127.0.0.1:{nobody.getsockname()[1]}")
            self.refused("auth/network-request-failed", page, sign_in, number=new_number())


class SessionTest(StockTest):
    def test_a_page_finds_its_user_again(self):
        page = self.begin()
        number, user = self.sign_in(page)
        page.open(self.site.url)
        self.begin(page)
        self.assertEqual(self.user(page), user)
        self.require_noted(["accounts:lookup"], lambda: [path.rsplit("/", 1)[1] for path in self.calls(page)])
        page.run("await signOut(auth);")
        page.open(self.site.url)
        self.begin(page)
        self.assertIsNone(self.user(page))
        self.assertEqual(self.sign_in_again(page, number)["uid"], user["uid"])

    def test_an_outage_of_accounts_keeps_users(self):
        """The SDK takes an error that it can read for the end of its user."""
        page = self.begin()
        _, user = self.sign_in(page)
        stack.stop_for(self, "accounts")
        page.open(self.site.url)
        self.begin(page)
        self.assertEqual(self.user(page), user)
        self.refused("auth/network-request-failed", page, "await auth.currentUser.getIdToken(true);")
        self.assertEqual(self.user(page), user)
        stack.start("accounts")
        self.claims(page, fresh=True)
        self.assertEqual(self.user(page), user)

    def test_tokens_are_refreshed(self):
        page = self.begin()
        number, user = self.sign_in(page)
        first = self.claims(page)
        # So that the second differs: times are of seconds.
        while time.time() < first["iat"] + 1:
            time.sleep(0.05)
        second = self.claims(page, fresh=True)
        self.assertGreater(second["iat"], first["iat"])
        for name in ["sub", "auth_time", "phone_number", "firebase"]:
            self.assertEqual(second[name], first[name])
        self.assertEqual(self.claims(page), second)
        self.assertEqual(page.run("return news;"), [None, user["uid"], user["uid"]])
        self.require_noted(["/securetoken.googleapis.com/v1/token"], lambda: self.calls(page)[-1:])
        page.run("await auth.currentUser.reload();")
        self.assertEqual(self.user(page), user)
        self.assertEqual(self.user(page)["phoneNumber"], number)

    def test_a_deleted_user_is_gone_everywhere(self):
        page, other = self.begin(), self.begin()
        number, user = self.sign_in(page)
        self.assertEqual(self.sign_in_again(other, number)["uid"], user["uid"])
        page.run("await auth.currentUser.delete();")
        self.assertIsNone(self.user(page))
        self.refused("auth/user-token-expired", other, "await auth.currentUser.reload();")
        self.assertIsNone(self.user(other))
        self.assertNotEqual(self.sign_in_again(page, number)["uid"], user["uid"])

    def test_a_deleted_user_gets_no_token(self):
        page, other = self.begin(), self.begin()
        number, _ = self.sign_in(page)
        self.sign_in_again(other, number)
        page.run("await auth.currentUser.delete();")
        self.refused("auth/user-token-expired", other, "await auth.currentUser.getIdToken(true);")
        self.assertIsNone(self.user(other))


class NumberTest(StockTest):
    LINK = "linkWithPhoneNumber(auth.currentUser, number, verifier)"
    REAUTHENTICATE = "reauthenticateWithPhoneNumber(auth.currentUser, number, verifier)"
    VERIFY = "new PhoneAuthProvider(auth).verifyPhoneNumber(number, verifier)"

    def test_an_anonymous_user_gets_a_number_and_loses_it(self):
        page = self.begin()
        user = page.run(f"const {{user}} = await signInAnonymously(auth); {USER}")
        self.assertEqual((user["isAnonymous"], user["phoneNumber"], user["providers"]), (True, None, []))
        self.assertEqual(self.claims(page)["firebase"]["sign_in_provider"], "anonymous")
        number = new_number()
        self.send_code(page, number, self.LINK)
        linked = self.confirm(page, shown_code(number))
        self.assertEqual(linked, {**user, "isAnonymous": False, "phoneNumber": number, "providers": ["phone"]})
        claims = self.claims(page)
        self.assertEqual((claims["sub"], claims["phone_number"], claims["firebase"]), (
            user["uid"], number, {"identities": {"phone": [number]}, "sign_in_provider": "phone"}))
        self.refused("auth/provider-already-linked", page, f"{VERIFIER} await {self.LINK};", number=new_number())
        page.run("await unlink(auth.currentUser, 'phone');")
        self.assertEqual((self.user(page)["phoneNumber"], self.user(page)["providers"]), (None, []))
        self.assertNotIn("phone_number", self.claims(page, fresh=True))
        self.refused("auth/no-such-provider", page, "await unlink(auth.currentUser, 'phone');")

    def test_a_number_of_another_user_signs_in_to_that_one(self):
        owner = self.begin()
        number, user = self.sign_in(owner)
        page = self.begin()
        page.run("await signInAnonymously(auth);")
        count = len(simulator.messages(number))
        self.send_code(page, number, self.LINK)
        code = simulator.code(simulator.message(number, count=count + 1)["body"])
        found = page.run("""
            try { await confirmation.confirm(code); } catch (error) {
              globalThis.credential = PhoneAuthProvider.credentialFromError(error);
              return [error.code, error.customData.phoneNumber, auth.currentUser.isAnonymous];
            }""", code=code)
        self.assertIn(found[0], {"auth/credential-already-in-use", "auth/account-exists-with-different-credential"})
        self.assertEqual(found[1:], [number, True])
        other = page.run(f"const {{user}} = await signInWithCredential(auth, credential); {USER}")
        self.assertEqual(other, user)

    def test_a_number_is_changed(self):
        page = self.begin()
        old, user = self.sign_in(page)
        number = new_number()
        page.run(f"{VERIFIER} globalThis.session = await {self.VERIFY};", number=number)
        page.run("await updatePhoneNumber(auth.currentUser, PhoneAuthProvider.credential(session, code));", code=shown_code(number))
        self.assertEqual(self.user(page), {**user, "phoneNumber": number})
        self.assertEqual(self.claims(page)["phone_number"], number)
        # The old number is free.
        self.assertNotEqual(self.sign_in_again(self.begin(), old)["uid"], user["uid"])

    def test_a_user_reauthenticates(self):
        page = self.begin()
        number, user = self.sign_in(page)
        before = self.claims(page)
        count = len(simulator.messages(number))
        while time.time() < before["auth_time"] + 1:
            time.sleep(0.05)
        self.send_code(page, number, self.REAUTHENTICATE)
        again = self.confirm(page, simulator.code(simulator.message(number, count=count + 1)["body"]))
        self.assertEqual(again, user)
        self.assertGreater(self.claims(page)["auth_time"], before["auth_time"])
        other = new_number()
        self.send_code(page, other, self.REAUTHENTICATE)
        self.refused("auth/user-mismatch", page, "await confirmation.confirm(code);", code=shown_code(other))
        self.assertEqual(self.user(page)["uid"], user["uid"])


class ProviderTest(StockTest):
    SIGN_IN = "signInWithCredential(auth, {})"
    LINK = "linkWithCredential(auth.currentUser, {})"
    REAUTHENTICATE = "reauthenticateWithCredential(auth.currentUser, {})"

    @property
    def people(self):
        """A user at each provider, and the expression of their credential, which is a new one each time."""
        for person, make in [(ApplePerson(), self.apple), (GooglePerson(), self.google), (FacebookPerson(), self.facebook)]:
            with self.subTest(person.provider):
                yield person, make

    def use(self, page, call, credential):
        return page.run(f"const {{user}} = await {call.format(credential)}; {USER}")

    def caught(self, page, call, credential, provider):
        """The error of a refused call. The page keeps what the provider's class makes of it as `found`."""
        return page.run(f"""
            try {{ await {call.format(credential)}; }} catch (error) {{
              globalThis.found = {provider}.credentialFromError(error);
              return [error.code, error.customData.email];
            }}""")

    def anonymous(self, page):
        return page.run(f"const {{user}} = await signInAnonymously(auth); {USER}")

    def test_each_provider_signs_in(self):
        for person, make in self.people:
            page = self.begin()
            user = self.use(page, self.SIGN_IN, make(person))
            self.assertEqual((user["providers"], user["isAnonymous"]), ([person.provider], False))
            claims = self.claims(page)
            self.assertEqual((claims["sub"], claims["firebase"]["sign_in_provider"]), (user["uid"], person.provider))
            self.assertEqual(claims["firebase"]["identities"][person.provider], [person.subject])
            self.assertEqual(self.use(self.begin(), self.SIGN_IN, make(person)), user)

    def test_what_a_provider_says_of_its_user(self):
        email = new_address()
        person = GooglePerson(email=email, emailVerified=True, name="Ada King")
        found = self.begin().run(f"""
            const result = await signInWithCredential(auth, {self.google(person)});
            const {{email, emailVerified, displayName, providerData: [{{providerId, uid, ...entry}}]}} = result.user;
            const credential = GoogleAuthProvider.credentialFromResult(result);
            return [email, emailVerified, displayName, providerId, uid, entry.email, entry.displayName, result.providerId,
              Boolean(credential.idToken)];""")
        self.assertEqual(found, [
            email, True, "Ada King", "google.com", person.subject, email, "Ada King", "google.com", True])

    def test_an_anonymous_user_links_two_providers_and_unlinks_them(self):
        page, facebook, apple = self.begin(), FacebookPerson(), ApplePerson()
        user = self.anonymous(page)
        self.use(page, self.LINK, self.facebook(facebook))
        linked = self.use(page, self.LINK, self.apple(apple))
        self.assertEqual((linked["uid"], linked["isAnonymous"], sorted(linked["providers"])), (
            user["uid"], False, ["apple.com", "facebook.com"]))
        self.refused("auth/provider-already-linked", page, f"await {self.LINK.format(self.apple(ApplePerson()))};")
        pairs = [(facebook, self.facebook), (apple, self.apple)]
        for person, make in pairs:
            self.assertEqual(self.use(self.begin(), self.SIGN_IN, make(person))["uid"], user["uid"])
        for person, make in pairs:
            page.run("await unlink(auth.currentUser, provider);", provider=person.provider)
            self.assertNotIn(person.provider, self.user(page)["providers"])
            self.assertNotEqual(self.use(self.begin(), self.SIGN_IN, make(person))["uid"], user["uid"])
        self.assertEqual((self.user(page)["uid"], self.user(page)["providers"]), (user["uid"], []))
        self.refused("auth/no-such-provider", page, "await unlink(auth.currentUser, 'apple.com');")

    def test_a_refused_link_leads_to_the_other_user(self):
        """As the guide merges two: of Apple by what the error carries, of the others by the same credential again."""
        classes = {"apple.com": "OAuthProvider", "google.com": "GoogleAuthProvider", "facebook.com": "FacebookAuthProvider"}
        for person, make in self.people:
            owner = self.use(self.begin(), self.SIGN_IN, make(person))
            page, credential = self.begin(), make(person)
            self.anonymous(page)
            page.run("globalThis.first = auth.currentUser;")
            error = self.caught(page, self.LINK, credential, classes[person.provider])
            self.assertEqual(error[0], "auth/credential-already-in-use")
            again = "found" if person.provider == "apple.com" else credential
            self.assertEqual(self.use(page, self.SIGN_IN, again)["uid"], owner["uid"])
            # The first user's tokens stay good, so that an app can move what is its.
            page.run("await first.getIdToken(true); await first.reload();")
            self.assertEqual(self.user(page)["uid"], owner["uid"])

    def test_a_credential_of_apple_counts_once(self):
        page, person = self.begin(), ApplePerson()
        credential = self.apple(person)
        user = self.use(page, self.SIGN_IN, credential)
        self.refused("auth/missing-or-invalid-nonce", page, f"await {self.SIGN_IN.format(credential)};")
        other = self.begin()
        self.anonymous(other)
        self.caught(other, self.LINK, self.apple(person), "OAuthProvider")
        self.assertEqual(self.use(other, self.SIGN_IN, "found")["uid"], user["uid"])
        self.refused("auth/invalid-credential", other, f"await {self.SIGN_IN.format('found')};")

    def test_an_address_that_no_provider_vouches_for(self):
        email = new_address()
        google, facebook = GooglePerson(email=email, emailVerified=True), FacebookPerson(email=email)
        owner = self.use(self.begin(), self.SIGN_IN, self.google(google))
        page = self.begin()
        error = self.caught(page, self.SIGN_IN, self.facebook(facebook), "FacebookAuthProvider")
        self.assertEqual(error, ["auth/account-exists-with-different-credential", email])
        # The guide's way out: sign in by the way that is known, and link the new one.
        self.use(page, self.SIGN_IN, self.google(google))
        self.assertEqual(self.use(page, self.LINK, "found")["uid"], owner["uid"])
        self.assertEqual(self.use(self.begin(), self.SIGN_IN, self.facebook(facebook))["uid"], owner["uid"])

    def test_a_user_reauthenticates_and_is_deleted(self):
        for person, make in self.people:
            page, other = self.begin(), type(person)()
            user = self.use(page, self.SIGN_IN, make(person))
            before = self.claims(page)
            while time.time() < before["auth_time"] + 1:
                time.sleep(0.05)
            self.assertEqual(self.use(page, self.REAUTHENTICATE, make(person)), user)
            self.assertGreater(self.claims(page)["auth_time"], before["auth_time"])
            self.use(self.begin(), self.SIGN_IN, make(other))
            self.refused("auth/user-mismatch", page, f"await {self.REAUTHENTICATE.format(make(other))};")
            page.run("await deleteUser(auth.currentUser);")
            self.assertIsNone(self.user(page))
            self.assertNotEqual(self.use(page, self.SIGN_IN, make(person))["uid"], user["uid"])
            # The SDK takes this answer for the end of its user.
            self.refused("auth/user-token-expired", page, f"await {self.REAUTHENTICATE.format(make(type(person)()))};")
            self.assertIsNone(self.user(page))

    def test_credentials_that_are_none(self):
        page = self.begin()
        nonce = json.dumps(simulator.apple_id_token(APPLE_CLIENT, "001234.unknown.0123", nonce="0" * 64))
        audience = json.dumps(GooglePerson().form(client_id="of-another-project")["id_token"])
        for credential, error in [
            (f"new OAuthProvider('apple.com').credential({{idToken: {nonce}, rawNonce: 'n'}})", "missing-or-invalid-nonce"),
            (f"GoogleAuthProvider.credential({audience})", "invalid-credential"),
            ("FacebookAuthProvider.credential('unknown')", "invalid-credential"),
            ("GithubAuthProvider.credential('token')", "operation-not-allowed"),
        ]:
            with self.subTest(error):
                self.refused(f"auth/{error}", page, f"await {self.SIGN_IN.format(credential)};")
        self.assertIsNone(self.user(page))


class SecuredTest(StockTest):
    def gateway_url(self):
        return os.environ["COUNTERSIGN_GATEWAY_TLS_URL"]

    def test_a_server_of_ones_own(self):
        page = self.begin()
        number, user = self.sign_in(page)
        self.assertEqual(self.claims(page, fresh=True)["phone_number"], number)
        page.open(self.site.url)
        self.begin(page)
        self.assertEqual(self.user(page), user)

    def test_an_outage_of_the_gateway_keeps_users(self):
        page = self.begin()
        _, user = self.sign_in(page)
        stack.stop_for(self, "gateway")
        page.open(self.site.url)
        self.begin(page)
        self.assertEqual(self.user(page), user)
        stack.start("gateway")
        self.claims(page, fresh=True)


class UnchangedTest(StockTest):
    """An app that is told of no server: Google's names, led to ours."""

    # As in apps under test: no reCAPTCHA of Google's is to be solved.
    SETTINGS = "auth.settings.appVerificationDisabledForTesting = true;"

    def gateway_url(self):
        return None

    def test_googles_names_are_ours(self):
        page = self.begin()
        page.run(self.SETTINGS)
        self.send_code(page, FICTIONAL_NUMBER)
        user = self.confirm(page, FICTIONAL_CODE)
        self.assertEqual((user["phoneNumber"], user["providers"]), (FICTIONAL_NUMBER, ["phone"]))
        self.assertEqual(self.claims(page, fresh=True)["phone_number"], FICTIONAL_NUMBER)
        self.require_noted("https://securetoken.googleapis.com/v1/token", lambda: page.run(
            "return performance.getEntriesByType('resource').at(-1).name.split('?')[0];"))
        page.open(self.site.url)
        self.begin(page)
        self.assertEqual(self.user(page), user)

    def test_a_page_solves_recaptcha(self):
        page = self.begin()
        # A page may load Google's script itself; this one has its functions, and solves nothing.
        page.run("""
            globalThis.grecaptcha = {
              render(container, parameters) { globalThis.rendered = parameters; return 1; },
              execute() { rendered.callback("solved"); }, getResponse: () => "", reset() {},
            };""")
        number, user = self.sign_in(page)
        self.assertEqual(page.run("return rendered.sitekey;"), "site-key")
        self.assertEqual(user["phoneNumber"], number)

    def test_a_wrong_code(self):
        page = self.begin()
        page.run(self.SETTINGS)
        number = new_number()
        self.send_code(page, number)
        code = shown_code(number)
        self.refused("auth/invalid-verification-code", page, "await confirmation.confirm(code);", code=wrong(code))
        self.assertEqual(self.confirm(page, code)["phoneNumber"], number)
