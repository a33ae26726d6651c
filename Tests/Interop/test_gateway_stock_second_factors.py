"""The stock Firebase JavaScript SDK in a browser: second factors, as apps enrol them, are asked for them and take them away.

What the wheel has no source of is written anew in stock-sdk/missing.ts: the session, the hints, the resolver and the assertions. The
requests below them, the errors, `multiFactor` and `verifyPhoneNumber` are the SDK's own.
"""

import time

import records
from authenticator import DIGITS, PERIOD_SECONDS, Authenticator
from gateway_client import PASSWORD, Administrator, new_email, new_number, received_code
from identities import ApplePerson, GooglePerson
from mailbox_of_relay import link
from samples import wrong
from stock_pages import FICTIONAL_CODE, FICTIONAL_NUMBER, VERIFICATION_EXPIRES_AT, VERIFIER, StockTest, new_address, start

setUpModule = start

CREATE = "await createUserWithEmailAndPassword(auth, email, password)"
SIGN_IN = "await signInWithEmailAndPassword(auth, email, password)"
REAUTHENTICATE = "await reauthenticateWithCredential(auth.currentUser, EmailAuthProvider.credential(email, password))"
SESSION = "const user = auth.currentUser, session = await multiFactor(user).getSession();"
SEND = f"{SESSION} {VERIFIER} return await new PhoneAuthProvider(auth).verifyPhoneNumber({{phoneNumber: number, session}}, verifier);"
ENROLL_NUMBER = """
const credential = PhoneAuthProvider.credential(sent, code);
await multiFactor(auth.currentUser).enroll(PhoneMultiFactorGenerator.assertion(credential), name);
"""
SECRET = f"{SESSION} globalThis.secret = await TotpMultiFactorGenerator.generateSecret(session);"
ENROLL_TOTP = "await multiFactor(auth.currentUser).enroll(TotpMultiFactorGenerator.assertionForEnrollment(secret, code), name);"
FACTORS = """
const factors = multiFactor(auth.currentUser).enrolledFactors;
return factors.map(({uid, factorId, displayName, phoneNumber}) => ({uid, factorId, displayName, phoneNumber}));
"""
HINTS = """
catch (error) {
  if (error.code !== "auth/multi-factor-auth-required") throw error;
  globalThis.resolver = getMultiFactorResolver(auth, error);
  return resolver.hints.map(({uid, factorId, displayName, phoneNumber}) => ({uid, factorId, displayName, phoneNumber}));
}
throw new Error("no second factor was asked for");
"""
ASK_NUMBER = f"""
{VERIFIER}
const {{session, hints}} = resolver, multiFactorHint = hints.find((hint) => hint.uid === uid);
return await new PhoneAuthProvider(auth).verifyPhoneNumber({{multiFactorHint, session}}, verifier);
"""
RESOLVE_NUMBER = "resolver.resolveSignIn(PhoneMultiFactorGenerator.assertion(PhoneAuthProvider.credential(sent, code)))"
RESOLVE_TOTP = "resolver.resolveSignIn(TotpMultiFactorGenerator.assertionForSignIn(uid, code))"
RESULT = "const {user, providerId, operationType} = result; return {uid: user.uid, email: user.email, providerId, operationType};"
UNENROLL = "await multiFactor(auth.currentUser).unenroll(uid);"


def masked(number):
    return f"+{'*' * (len(number) - 5)}{number[-4:]}"


class SecondFactorTest(StockTest):
    def created(self):
        """A page whose user has a password and a verified address, the address and the user's ID."""
        page, email = self.begin(), new_email()
        uid = page.run(f"return ({CREATE}).user.uid;", email=email, password=PASSWORD)
        Administrator().change(uid, emailVerified=True)
        return page, email, uid

    def enroll_number(self, page, number=None, name="Mobile"):
        """The number that the user has from now on as a second factor, and the factor's ID."""
        number = number or new_number()
        sent = page.run(SEND, number=number)
        code = FICTIONAL_CODE if number == FICTIONAL_NUMBER else received_code(number)
        page.run(ENROLL_NUMBER, sent=sent, code=code, name=name)
        return number, self.factors(page)[-1]["uid"]

    def enroll_totp(self, page, name="Authenticator"):
        authenticator = Authenticator(page.run(f"{SECRET} return secret.secretKey;"))
        page.run(ENROLL_TOTP, code=authenticator.code(), name=name)
        return authenticator, self.factors(page)[-1]["uid"]

    def factors(self, page):
        return page.run(FACTORS)

    def hints(self, page, call, **values):
        """What a first factor that suffices no longer tells of the second ones."""
        return page.run(f"try {{ {call}; }} {HINTS}", **values)

    def password_hints(self, page, email):
        return self.hints(page, SIGN_IN, email=email, password=PASSWORD)

    def resolve(self, page, call, **values):
        return page.run(f"const result = await {call}; {RESULT}", **values)

    def require_second_factor(self, page, kind, uid, fresh=False):
        claims = self.claims(page, fresh)
        told = claims["firebase"]
        self.assertEqual((told.get("sign_in_second_factor"), told.get("second_factor_identifier")), (kind, uid))
        return claims

    def is_signed_out(self, page):
        return page.run("return auth.currentUser === null;")


class NumberTest(SecondFactorTest):
    def test_a_number_is_enrolled_asked_for_and_taken_away(self):
        page, email, user = self.created()
        number, uid = self.enroll_number(page)
        factor = {"uid": uid, "factorId": "phone", "displayName": "Mobile", "phoneNumber": number}
        self.assertEqual(self.factors(page), [factor])
        self.require_second_factor(page, "phone", uid)
        other = self.begin()
        self.assertEqual(self.password_hints(other, email), [{**factor, "phoneNumber": masked(number)}])
        self.assertTrue(self.is_signed_out(other))
        sent = other.run(ASK_NUMBER, uid=uid)
        result = self.resolve(other, RESOLVE_NUMBER, sent=sent, code=received_code(number, count=2))
        self.assertEqual(result, {"uid": user, "email": email, "providerId": None, "operationType": "signIn"})
        claims = self.require_second_factor(other, "phone", uid)
        self.assertEqual((claims["sub"], claims["firebase"]["sign_in_provider"]), (user, "password"))
        self.require_second_factor(other, "phone", uid, fresh=True)
        other.open(self.site.url)
        self.begin(other)
        self.assertEqual(self.factors(other), [factor])
        other.run(UNENROLL, uid=uid)
        self.assertEqual(self.factors(other), [])
        self.require_second_factor(other, None, None, fresh=True)
        alone = self.begin()
        self.assertEqual(alone.run(f"return ({SIGN_IN}).user.uid;", email=email, password=PASSWORD), user)
        self.require_second_factor(alone, None, None)

    def test_a_fictional_number(self):
        page, email, user = self.created()
        _, uid = self.enroll_number(page, FICTIONAL_NUMBER)
        other = self.begin()
        [hint] = self.password_hints(other, email)
        self.assertEqual((hint["uid"], hint["phoneNumber"]), (uid, masked(FICTIONAL_NUMBER)))
        sent = other.run(ASK_NUMBER, uid=uid)
        self.refused("auth/invalid-verification-code", other, f"await {RESOLVE_NUMBER};", sent=sent, code=wrong(FICTIONAL_CODE))
        self.assertEqual(self.resolve(other, RESOLVE_NUMBER, sent=sent, code=FICTIONAL_CODE)["uid"], user)
        self.require_second_factor(other, "phone", uid)

    def test_codes_that_do_not_count(self):
        page, email, _ = self.created()
        number = new_number()
        sent = page.run(SEND, number=number)
        code = received_code(number)
        for text, error in [(wrong(code), "invalid-verification-code"), ("", "missing-code")]:
            self.refused(f"auth/{error}", page, ENROLL_NUMBER, sent=sent, code=text, name=None)
        self.refused("auth/invalid-verification-id", page, ENROLL_NUMBER, sent="unknown", code=code, name=None)
        self.assertEqual(self.factors(page), [])
        page.run(ENROLL_NUMBER, sent=sent, code=code, name=None)
        [factor] = self.factors(page)
        self.assertFalse(factor.get("displayName"))
        uid = factor["uid"]
        # What was sent to enrol the number signs nobody in.
        other = self.begin()
        self.password_hints(other, email)
        self.refused("auth/invalid-verification-id", other, f"await {RESOLVE_NUMBER};", sent=sent, code=code)
        again = other.run(ASK_NUMBER, uid=uid)
        code = received_code(number, count=2)
        self.refused("auth/invalid-verification-id", other,
                     "await signInWithCredential(auth, PhoneAuthProvider.credential(sent, code));", sent=again, code=code)
        records.set_time("verification", again, VERIFICATION_EXPIRES_AT, 1000)
        self.refused("auth/code-expired", other, f"await {RESOLVE_NUMBER};", sent=again, code=code)
        self.assertTrue(self.is_signed_out(other))

    def test_a_resolver_serves_once(self):
        page, email, _ = self.created()
        number, uid = self.enroll_number(page)
        other = self.begin()
        self.password_hints(other, email)
        sent = other.run(ASK_NUMBER, uid=uid)
        code = received_code(number, count=2)
        self.resolve(other, RESOLVE_NUMBER, sent=sent, code=code)
        self.refused("auth/invalid-multi-factor-session", other, f"await {RESOLVE_NUMBER};", sent=sent, code=code)
        self.refused("auth/invalid-multi-factor-session", other, ASK_NUMBER, uid=uid)


class AuthenticatorTest(SecondFactorTest):
    def test_an_authenticator_is_enrolled_asked_for_and_taken_away(self):
        page, email, user = self.created()
        told = page.run(f"""{SECRET}
            const {{secretKey, hashingAlgorithm, codeLength, codeIntervalSeconds, enrollmentCompletionDeadline}} = secret;
            return [secretKey, hashingAlgorithm, codeLength, codeIntervalSeconds, Date.parse(enrollmentCompletionDeadline),
              secret.generateQrCodeUrl()];""")
        self.assertEqual(told[1:4], ["SHA1", DIGITS, PERIOD_SECONDS])
        self.assertTrue(0 < told[4] / 1000 - time.time() < 3600, told[4])
        self.assertIn(f"{email}?secret={told[0]}&", told[5])
        authenticator = Authenticator(told[0])
        self.refused("auth/invalid-verification-code", page, ENROLL_TOTP, code=authenticator.wrong_code(), name="Authenticator")
        page.run(ENROLL_TOTP, code=authenticator.code(), name="Authenticator")
        [factor] = self.factors(page)
        uid = factor["uid"]
        self.assertEqual(factor, {"uid": uid, "factorId": "totp", "displayName": "Authenticator"})
        self.require_second_factor(page, "totp", uid)
        other = self.begin()
        self.assertEqual(self.password_hints(other, email), [factor])
        self.refused("auth/invalid-verification-code", other, f"await {RESOLVE_TOTP};", uid=uid, code=authenticator.wrong_code())
        self.refused("auth/multi-factor-info-not-found", other, f"await {RESOLVE_TOTP};", uid="unknown", code="123456")
        code = authenticator.code()
        result = self.resolve(other, RESOLVE_TOTP, uid=uid, code=code)
        self.assertEqual(result, {"uid": user, "email": email, "providerId": None, "operationType": "signIn"})
        self.require_second_factor(other, "totp", uid)
        self.require_second_factor(other, "totp", uid, fresh=True)
        # A code counts once.
        third = self.begin()
        self.password_hints(third, email)
        self.refused("auth/invalid-verification-code", third, f"await {RESOLVE_TOTP};", uid=uid, code=code)
        self.resolve(third, RESOLVE_TOTP, uid=uid, code=authenticator.code())
        third.run(UNENROLL, uid=uid)
        self.assertEqual(self.factors(third), [])
        self.refused("auth/multi-factor-info-not-found", third, UNENROLL, uid=uid)
        self.assertEqual(self.begin().run(f"return ({SIGN_IN}).user.uid;", email=email, password=PASSWORD), user)

    def test_either_of_two_is_enough(self):
        page, email, user = self.created()
        number, phone = self.enroll_number(page)
        authenticator, totp = self.enroll_totp(page)
        self.assertEqual([factor["factorId"] for factor in self.factors(page)], ["phone", "totp"])
        other = self.begin()
        self.assertEqual([hint["uid"] for hint in self.password_hints(other, email)], [phone, totp])
        sent = other.run(ASK_NUMBER, uid=phone)
        self.resolve(other, RESOLVE_TOTP, uid=totp, code=authenticator.code())
        self.require_second_factor(other, "totp", totp)
        # The other factor's code is of no use any more.
        code = received_code(number, count=2)
        self.refused("auth/invalid-multi-factor-session", other, f"await {RESOLVE_NUMBER};", sent=sent, code=code)
        third = self.begin()
        self.password_hints(third, email)
        # Asking again within the gap sends nothing.
        sent = third.run(ASK_NUMBER, uid=phone)
        self.assertEqual(self.resolve(third, RESOLVE_NUMBER, sent=sent, code=code)["uid"], user)
        self.require_second_factor(third, "phone", phone)


class FirstFactorTest(SecondFactorTest):
    def test_a_user_reauthenticates(self):
        page, email, user = self.created()
        authenticator, uid = self.enroll_totp(page)
        before = self.claims(page)
        while time.time() < before["auth_time"] + 1:
            time.sleep(0.05)
        [hint] = self.hints(page, REAUTHENTICATE, email=email, password=PASSWORD)
        self.assertEqual((hint["uid"], self.is_signed_out(page)), (uid, False))
        result = self.resolve(page, RESOLVE_TOTP, uid=uid, code=authenticator.code())
        self.assertEqual((result["uid"], result["operationType"]), (user, "reauthenticate"))
        claims = self.require_second_factor(page, "totp", uid)
        self.assertGreater(claims["auth_time"], before["auth_time"])

    def test_providers(self):
        google = GooglePerson(email=new_address(), emailVerified=True)
        apple = ApplePerson(email=new_email(), emailVerified=True)
        for person, make in [(google, self.google), (apple, self.apple)]:
            with self.subTest(person.provider):
                page = self.begin()
                user = page.run(f"return (await signInWithCredential(auth, {make(person)})).user.uid;")
                authenticator, uid = self.enroll_totp(page)
                other = self.begin()
                [hint] = self.hints(other, f"await signInWithCredential(auth, {make(person)})")
                self.assertEqual(hint["uid"], uid)
                result = self.resolve(other, RESOLVE_TOTP, uid=uid, code=authenticator.code())
                self.assertEqual((result["uid"], result["providerId"]), (user, person.provider))
                claims = self.require_second_factor(other, "totp", uid)
                self.assertEqual(claims["firebase"]["sign_in_provider"], person.provider)
                [hint] = self.hints(other, f"await reauthenticateWithCredential(auth.currentUser, {make(person)})")
                self.resolve(other, RESOLVE_TOTP, uid=uid, code=authenticator.code())

    def test_a_number_that_signs_in_is_a_first_factor_alone(self):
        page, _, user = self.created()
        number = new_number()
        self.send_code(page, number, "linkWithPhoneNumber(auth.currentUser, number, verifier)")
        self.confirm(page, received_code(number))
        self.refused("auth/unsupported-first-factor", page, SEND, number=number)
        authenticator, uid = self.enroll_totp(page)
        other = self.begin()
        self.send_code(other, number)
        code = received_code(number, count=2)
        [hint] = self.hints(other, "await confirmation.confirm(code)", code=code)
        self.assertEqual((hint["uid"], self.is_signed_out(other)), (uid, True))
        self.assertEqual(self.resolve(other, RESOLVE_TOTP, uid=uid, code=authenticator.code())["uid"], user)
        claims = self.require_second_factor(other, "totp", uid)
        self.assertEqual((claims["firebase"]["sign_in_provider"], claims["phone_number"]), ("phone", number))
        self.refused("auth/unsupported-first-factor", other, SEND, number=new_number())


class JourneyTest(SecondFactorTest):
    def test_apple_then_a_number_then_a_second_factor_then_deletion(self):
        page, person, own = self.begin(), ApplePerson(email=new_email(), emailVerified=True), new_number()
        user = page.run(f"return (await signInWithCredential(auth, {self.apple(person)})).user.uid;")
        self.send_code(page, own, "linkWithPhoneNumber(auth.currentUser, number, verifier)")
        linked = self.confirm(page, received_code(own))
        self.assertEqual((linked["uid"], sorted(linked["providers"])), (user, ["apple.com", "phone"]))
        number, uid = self.enroll_number(page)
        other = self.begin()
        [hint] = self.hints(other, f"await signInWithCredential(auth, {self.apple(person)})")
        self.assertEqual((hint["uid"], hint["phoneNumber"]), (uid, masked(number)))
        sent = other.run(ASK_NUMBER, uid=uid)
        self.assertEqual(self.resolve(other, RESOLVE_NUMBER, sent=sent, code=received_code(number, count=2))["uid"], user)
        claims = self.require_second_factor(other, "phone", uid)
        self.assertEqual((claims["firebase"]["sign_in_provider"], claims["phone_number"]), ("apple.com", own))
        other.run("await deleteUser(auth.currentUser);")
        self.assertTrue(self.is_signed_out(other))
        # Nothing of it is left: Apple's user and the number begin anew, and no second factor is asked for.
        again = self.begin()
        self.assertNotEqual(again.run(f"return (await signInWithCredential(auth, {self.apple(person)})).user.uid;"), user)
        self.require_second_factor(again, None, None)
        self.send_code(again, own)
        self.assertNotEqual(self.confirm(again, received_code(own, count=2))["uid"], user)


class RefusalTest(SecondFactorTest):
    def test_who_may_enroll(self):
        page, email = self.begin(), new_email()
        page.run(CREATE, email=email, password=PASSWORD)
        for call in [SEND, SECRET]:
            self.refused("auth/unverified-email", page, call, number=new_number())
        for sign_in in ["await signInAnonymously(auth);", None]:
            page = self.begin()
            if sign_in:
                page.run(sign_in)
            else:
                self.sign_in(page)
            for call in [SEND, SECRET]:
                self.refused("auth/unsupported-first-factor", page, call, number=new_number())

    def test_numbers_that_are_not_enrolled(self):
        page, _, _ = self.created()
        number, _ = self.enroll_number(page)
        self.refused("auth/second-factor-already-in-use", page, SEND, number=number)
        self.refused("auth/invalid-phone-number", page, SEND, number="12345")
        self.refused("auth/missing-phone-number", page, SEND, number="")

    def test_five_are_the_most(self):
        page, _, _ = self.created()
        for _ in range(5):
            self.enroll_totp(page)
        self.assertEqual(len(self.factors(page)), 5)
        for call in [SEND, SECRET]:
            self.refused("auth/maximum-second-factor-count-exceeded", page, call, number=new_number())

    def test_the_other_pages_of_a_user_are_signed_out(self):
        page, email, _ = self.created()
        other = self.begin()
        other.run(SIGN_IN, email=email, password=PASSWORD)
        self.enroll_totp(page)
        self.refused("auth/user-token-expired", other, "await auth.currentUser.getIdToken(true);")
        self.assertTrue(self.is_signed_out(other))
        page.run("await auth.currentUser.reload();")

    def test_a_new_factor_is_taken_back(self):
        page, email, user = self.created()
        _, uid = self.enroll_totp(page)
        code = link(email).code
        shown = self.begin().run("return await checkActionCode(auth, code);", code=code)
        self.assertEqual((shown["operation"], shown["data"]["email"]), ("REVERT_SECOND_FACTOR_ADDITION", email))
        info = shown["data"]["multiFactorInfo"]
        self.assertEqual((info["uid"], info["factorId"], info["displayName"]), (uid, "totp", "Authenticator"))
        self.begin().run("await applyActionCode(auth, code);", code=code)
        self.refused("auth/user-token-expired", page, "await auth.currentUser.getIdToken(true);")
        again = self.begin()
        self.assertEqual(again.run(f"return ({SIGN_IN}).user.uid;", email=email, password=PASSWORD), user)
        self.assertEqual(self.factors(again), [])
        self.refused("auth/invalid-action-code", again, "await applyActionCode(auth, code);", code=code)
