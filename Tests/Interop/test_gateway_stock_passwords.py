"""The stock Firebase JavaScript SDK in a browser: passwords, links of mails and custom tokens, as apps see every answer and error.

What the wheel has no source of is written anew in stock-sdk/missing.ts: the functions that send a verification, a change of address and
a link that signs in, `updatePassword`, `updateEmail` and `signInWithCustomToken`. The requests below them are the SDK's own.
"""

import json
import time

import jwt

from gateway_client import CONTINUE_URL, PASSWORD, Administrator, new_email
from identities import GooglePerson
from mailbox_of_relay import link
from stock_pages import StockTest, start

setUpModule = start

OTHER_PASSWORD = "another horse battery"
CREATE = "createUserWithEmailAndPassword(auth, email, password)"
SIGN_IN = "signInWithEmailAndPassword(auth, email, password)"
LINK = "linkWithCredential(auth.currentUser, EmailAuthProvider.credential(email, password))"
REAUTHENTICATE = "reauthenticateWithCredential(auth.currentUser, EmailAuthProvider.credential(email, password))"
SETTINGS = json.dumps({"url": CONTINUE_URL, "handleCodeInApp": True})
USER = """
const {uid, email: address, emailVerified, isAnonymous, providerData} = user;
return {uid, address, emailVerified, isAnonymous, providers: providerData.map((entry) => entry.providerId).sort()};
"""


class AddressTest(StockTest):
    def use(self, page, call, email, password=PASSWORD):
        return page.run(f"const {{user}} = await {call}; {USER}", email=email, password=password)

    def created(self):
        page, email = self.begin(), new_email()
        return page, email, self.use(page, CREATE, email)

    def user(self, page):
        return page.run(f"const user = auth.currentUser; if (!user) return null; {USER}")

    def cannot_sign_in(self, email, password=PASSWORD):
        page = self.begin()
        self.refused("auth/invalid-credential", page, f"await {SIGN_IN};", email=email, password=password)

    def signed_in(self, email):
        page = self.begin()
        self.use(page, SIGN_IN, email)
        return page


class PasswordTest(AddressTest):
    def wait_a_second(self, page):
        """Until the next token has another time."""
        before = self.claims(page)
        while time.time() < before["auth_time"] + 1:
            time.sleep(0.05)
        return before

    def test_a_user_signs_up_and_in(self):
        page, email, user = self.created()
        self.assertEqual((user["address"], user["emailVerified"], user["isAnonymous"], user["providers"]), (
            email, False, False, ["password"]))
        self.assertEqual(self.claims(page)["firebase"]["sign_in_provider"], "password")
        self.assertEqual(self.use(self.begin(), SIGN_IN, email), user)
        page.open(self.site.url)
        self.begin(page)
        self.assertEqual(self.user(page), user)

    def test_refusals(self):
        page, email, _ = self.created()
        for call, address, password, error in [
            (CREATE, email, PASSWORD, "email-already-in-use"), (CREATE, new_email(), "12345", "weak-password"),
            (CREATE, "ada", PASSWORD, "invalid-email"), (CREATE, new_email(), "", "missing-password"),
            (SIGN_IN, email, OTHER_PASSWORD, "invalid-credential"), (SIGN_IN, new_email(), PASSWORD, "invalid-credential"),
            (SIGN_IN, "ada", PASSWORD, "invalid-email"), (SIGN_IN, email, "", "missing-password"),
        ]:
            with self.subTest(call=call, error=error):
                self.refused(f"auth/{error}", page, f"await {call};", email=address, password=password)

    def test_a_disabled_user(self):
        page, email, user = self.created()
        Administrator().change(user["uid"], disableUser=True)
        self.refused("auth/user-disabled", page, f"await {SIGN_IN};", email=email, password=PASSWORD)

    def test_an_anonymous_user_gets_a_password(self):
        page, email = self.begin(), new_email()
        user = page.run(f"const {{user}} = await signInAnonymously(auth); {USER}")
        linked = self.use(page, LINK, email)
        self.assertEqual((linked["uid"], linked["isAnonymous"], linked["providers"]), (user["uid"], False, ["password"]))
        self.assertEqual(self.use(self.begin(), SIGN_IN, email)["uid"], user["uid"])
        self.refused("auth/provider-already-linked", page, f"await {LINK};", email=new_email(), password=PASSWORD)

    def test_password_and_google(self):
        page, email, user = self.created()
        person = GooglePerson()
        credential = f"GoogleAuthProvider.credential({json.dumps(person.form()['id_token'])})"
        linked = page.run(f"const {{user}} = await linkWithCredential(auth.currentUser, {credential}); {USER}")
        self.assertEqual((linked["uid"], linked["providers"]), (user["uid"], ["google.com", "password"]))
        page.run("await unlink(auth.currentUser, 'password');")
        self.assertEqual(self.user(page)["providers"], ["google.com"])
        self.cannot_sign_in(email)
        again = f"GoogleAuthProvider.credential({json.dumps(person.form()['id_token'])})"
        self.assertEqual(self.begin().run(f"return (await signInWithCredential(auth, {again})).user.uid;"), user["uid"])

    def test_an_address_of_another_user(self):
        _, email, owner = self.created()
        page = self.begin()
        page.run("await signInAnonymously(auth);")
        self.refused("auth/email-already-in-use", page, f"await {LINK};", email=email, password=PASSWORD)
        self.assertEqual(self.use(page, SIGN_IN, email)["uid"], owner["uid"])

    def test_a_user_reauthenticates(self):
        page, email, user = self.created()
        before = self.wait_a_second(page)
        self.assertEqual(self.use(page, REAUTHENTICATE, email)["uid"], user["uid"])
        self.assertGreater(self.claims(page)["auth_time"], before["auth_time"])
        _, other, _ = self.created()
        self.refused("auth/user-mismatch", page, f"await {REAUTHENTICATE};", email=other, password=PASSWORD)

    def test_a_password_is_changed(self):
        page, email, user = self.created()
        other = self.begin()
        self.use(other, SIGN_IN, email)
        page.run("await updatePassword(auth.currentUser, password);", password=OTHER_PASSWORD)
        self.assertEqual(self.user(page), user)
        self.claims(page, fresh=True)
        self.cannot_sign_in(email)
        self.assertEqual(self.use(self.begin(), SIGN_IN, email, OTHER_PASSWORD), user)
        # The other page is signed out at its next token.
        self.refused("auth/user-token-expired", other, "await auth.currentUser.getIdToken(true);")
        self.assertIsNone(self.user(other))
        self.refused("auth/weak-password", page, "await updatePassword(auth.currentUser, '12345');")

    def test_the_rules_are_read(self):
        status = self.begin().run("return await validatePassword(auth, '12345');")
        self.assertEqual((status["isValid"], status["meetsMinPasswordLength"]), (False, False))
        self.assertIs(self.begin().run("return (await validatePassword(auth, password)).isValid;", password=PASSWORD), True)


class MailTest(AddressTest):
    def test_an_address_is_verified(self):
        page, email, user = self.created()
        page.run("await sendEmailVerification(auth.currentUser);")
        code = link(email).code
        shown = self.begin().run("return await checkActionCode(auth, code);", code=code)
        self.assertEqual((shown["operation"], shown["data"]["email"]), ("VERIFY_EMAIL", email))
        # In another browser than the user's.
        self.begin().run("await applyActionCode(auth, code);", code=code)
        page.run("await auth.currentUser.reload();")
        self.assertEqual(self.user(page), {**user, "emailVerified": True})
        self.refused("auth/invalid-action-code", page, "await applyActionCode(auth, code);", code=code)

    def test_a_password_is_forgotten(self):
        page, email, user = self.created()
        self.begin().run("await sendPasswordResetEmail(auth, email);", email=email)
        code, other = link(email).code, self.begin()
        self.assertEqual(other.run("return await verifyPasswordResetCode(auth, code);", code=code), email)
        self.refused("auth/weak-password", other, "await confirmPasswordReset(auth, code, '12345');", code=code)
        other.run("await confirmPasswordReset(auth, code, password);", code=code, password=OTHER_PASSWORD)
        self.assertEqual(self.use(other, SIGN_IN, email, OTHER_PASSWORD)["uid"], user["uid"])
        self.refused("auth/invalid-action-code", other, "await confirmPasswordReset(auth, code, 'xxxxxx');", code=code)
        self.refused("auth/user-token-expired", page, "await auth.currentUser.getIdToken(true);")
        # A stranger's address is answered as any other.
        other.run("await sendPasswordResetEmail(auth, email);", email=new_email())

    def test_an_address_is_changed_and_taken_back(self):
        page, email, user = self.created()
        # An address that was never proven gets no link that takes the change back.
        Administrator().change(user["uid"], emailVerified=True)
        changed = new_email()
        page.run("await verifyBeforeUpdateEmail(auth.currentUser, address);", address=changed)
        code = link(changed).code
        shown = self.begin().run("return await checkActionCode(auth, code);", code=code)
        self.assertEqual((shown["operation"], shown["data"]["email"], shown["data"]["previousEmail"]), (
            "VERIFY_AND_CHANGE_EMAIL", changed, email))
        self.begin().run("await applyActionCode(auth, code);", code=code)
        again = self.use(self.begin(), SIGN_IN, changed)
        self.assertEqual((again["uid"], again["address"], again["emailVerified"]), (user["uid"], changed, True))
        back = link(email).code
        shown = self.begin().run("return await checkActionCode(auth, code);", code=back)
        self.assertEqual((shown["operation"], shown["data"]["email"]), ("RECOVER_EMAIL", email))
        self.begin().run("await applyActionCode(auth, code);", code=back)
        self.cannot_sign_in(changed)
        self.assertEqual(self.use(self.begin(), SIGN_IN, email)["uid"], user["uid"])
        page = self.signed_in(email)
        self.refused("auth/operation-not-allowed", page, "await updateEmail(auth.currentUser, address);", address=new_email())

    def test_a_link_signs_in(self):
        page, email = self.begin(), new_email()
        page.run(f"await sendSignInLinkToEmail(auth, email, {SETTINGS});", email=email)
        url = link(email).url
        self.assertEqual(page.run("return [isSignInWithEmailLink(auth, url), isSignInWithEmailLink(auth, 'http://localhost/')];", url=url),
                         [True, False])
        self.refused("auth/invalid-email", page, "await signInWithEmailLink(auth, email, url);", email=new_email(), url=url)
        user = page.run(f"const {{user}} = await signInWithEmailLink(auth, email, url); {USER}", email=email, url=url)
        self.assertEqual((user["address"], user["emailVerified"], user["providers"]), (email, True, ["password"]))
        self.refused("auth/invalid-action-code", page, "await signInWithEmailLink(auth, email, url);", email=email, url=url)
        other = self.begin()
        other.run(f"await signInAnonymously(auth); await sendSignInLinkToEmail(auth, email, {SETTINGS});", email=email)
        again = "const {user} = await signInWithEmailLink(auth, email, url);"
        self.assertEqual(other.run(f"{again} {USER}", email=email, url=link(email, count=2).url), user)

    def test_an_anonymous_user_gets_an_address(self):
        page, email = self.begin(), new_email()
        user = page.run(f"const {{user}} = await signInAnonymously(auth); {USER}")
        page.run(f"await sendSignInLinkToEmail(auth, email, {SETTINGS});", email=email)
        linked = page.run(
            f"const {{user}} = await linkWithCredential(auth.currentUser, EmailAuthProvider.credentialWithLink(email, url)); {USER}",
            email=email, url=link(email).url)
        self.assertEqual((linked["uid"], linked["address"], linked["isAnonymous"]), (user["uid"], email, False))

    def test_hostile_pages(self):
        page, email, _ = self.created()
        error = page.run("try { await sendPasswordResetEmail(auth, email, {url}); } catch (error) { return error.code; }",
                         email=email, url="https://evil.example/")
        self.assertIn(error, {"auth/unauthorized-continue-uri", "auth/invalid-continue-uri"})


class CustomTokenTest(StockTest):
    def token(self, uid, **claims):
        """As libraries for servers make it for a server of development."""
        email, now = "firebase-auth-emulator@example.com", int(time.time())
        audience = "https://identitytoolkit.googleapis.com/google.identity.identitytoolkit.v1.IdentityToolkit"
        return jwt.encode({"iss": email, "sub": email, "aud": audience, "uid": uid, "iat": now, "exp": now + 3600, "claims": claims},
                          None, algorithm="none")

    def test_a_server_signs_a_user_in(self):
        page, uid = self.begin(), f"server user {new_email()}"
        call = "const {user} = await signInWithCustomToken(auth, token);"
        self.assertEqual(page.run(f"{call} return user.uid;", token=self.token(uid, premium=True)), uid)
        claims = self.claims(page)
        self.assertEqual((claims["sub"], claims["premium"], claims["firebase"]["sign_in_provider"]), (uid, True, "custom"))
        self.assertIs(self.claims(page, fresh=True)["premium"], True)
        self.refused("auth/invalid-custom-token", page, call, token="a.b.c")
