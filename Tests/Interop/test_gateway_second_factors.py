"""Second factors over HTTP as the stock SDKs ask for them: enrolment, sign-in, withdrawal, and what each refuses.

What an app is promised, and the test that shows it over HTTP:
a number or an authenticator beside any first factor: PhoneFactorTest, TOTPFactorTest
who may enrol: EnrollmentTest
no first factor alone gets tokens: FirstFactorTest
a pending credential counts once, for its own account, for ten minutes: PendingTest, OwnTest
what is sensitive needs a recent sign-in, and each kind can be off: OwnTest
a code counts for what it was sent for: PurposeTest
no SMS without the proof of the app that any start needs: ProofTest
tokens say which factor was given, through refreshes: PhoneFactorTest, TOTPFactorTest
the other sessions end with an enrolment: EnrollmentTest
"""

import concurrent.futures
import datetime
import json
import secrets
import time
import unittest

import jwt

import app_sdk
import simulator
from authenticator import DIGITS, PERIOD_SECONDS, Authenticator
from gateway_client import (
    PASSWORD, PROJECT, TOKENS, Administrator, APIError, Apple, Assertions, Web, new_email, new_number, received_code, send)
from identities import FacebookPerson
from mailbox_of_relay import link
from own_accounts import RECENT_SECONDS, OwnAccounts
from samples import wrong
from second_factors import Factors

FICTIONAL, FICTIONAL_CODE = "+16505554567", "123456"
CODES = f"/emulator/v1/projects/{PROJECT}/verificationCodes"
PENDING_SECONDS = 600
PUSH_APP, CAPTCHA_APP = "com.example.push", "com.example.recaptcha"
CUSTOM_AUDIENCE = "https://identitytoolkit.googleapis.com/google.identity.identitytoolkit.v1.IdentityToolkit"
UNSUPPORTED = "UNSUPPORTED_FIRST_FACTOR"


def masked(number):
    return "+" + "*" * (len(number) - 5) + number[-4:]


class SecondFactorsTest(Assertions, unittest.TestCase):
    def setUp(self):
        self.web, self.apple, self.administrator = Web(), Apple(), Administrator()
        self.factors = Factors(self.web)
        self.addCleanup(simulator.clear_faults)

    def new_user(self):
        """A user by address and password, whose address is verified: address, ID and tokens."""
        email = new_email()
        local_id = self.web.sign_up(email)["localId"]
        self.administrator.change(local_id, emailVerified=True)
        return email, self.web.sign_in_with_password(email)

    def new_phone_user(self, name=None):
        """The same with a number as the second factor: address, number, tokens."""
        email, user = self.new_user()
        number = new_number()
        return email, number, {**user, **self.factors.enroll_phone(user["idToken"], number, name=name)}

    def pending(self, email, client=None):
        return self.require_pending((client or self.web).sign_in_with_password(email))

    def require_pending(self, answer):
        """No tokens, and nothing that stands for them."""
        self.assertFalse(set(answer) & (TOKENS | {"phoneNumber", "isNewUser", "temporaryProof", "pendingToken"}))
        self.assertTrue(answer["localId"] and answer["mfaPendingCredential"] and answer["mfaInfo"])
        for factor in answer["mfaInfo"]:
            self.assertEqual(len({"phoneInfo", "totpInfo"} & set(factor)), 1)
            datetime.datetime.fromisoformat(factor["enrolledAt"].replace("Z", "+00:00"))
            self.assertRegex(factor["enrolledAt"], r"\.\d{3}Z$")
        return answer

    def require_factor(self, tokens, kind, enrollment, client=None):
        """What the tokens say, also after a refresh."""
        client = client or self.web
        self.assertEqual(set(tokens), {"idToken", "refreshToken"})
        refreshed = client.refresh(tokens["refreshToken"])
        for token in [tokens["idToken"], refreshed["id_token"]]:
            firebase = client.claims(token)["firebase"]
            self.assertEqual((firebase.get("sign_in_second_factor"), firebase.get("second_factor_identifier")), (kind, enrollment))
        return client.claims(tokens["idToken"])

    def enrollments(self, id_token):
        return self.web.lookup(id_token).get("mfaInfo", [])


class PhoneFactorTest(SecondFactorsTest):
    def test_enrol_sign_in_withdraw(self):
        for client in [self.web, self.apple]:
            with self.subTest(type(client).__name__):
                factors = Factors(client)
                email, user = self.new_user()
                number = new_number()
                enrolled = factors.enroll_phone(user["idToken"], number, name="Work")
                [factor] = self.enrollments(enrolled["idToken"])
                self.assertEqual((factor["phoneInfo"], factor["displayName"]), (number, "Work"))
                enrollment = factor["mfaEnrollmentId"]
                # Who has just proven the number has given it.
                self.require_factor(enrolled, "phone", enrollment, client)
                pending = self.pending(email, client)
                [shown] = pending["mfaInfo"]
                self.assertEqual((shown["mfaEnrollmentId"], shown["displayName"], shown["phoneInfo"]), (enrollment, "Work", masked(number)))
                self.assertEqual((pending["localId"], pending["email"]), (user["localId"], email))
                self.assertIs(pending["registered"], True)
                self.assertNotIn(number, json.dumps(pending))
                session = factors.start_sign_in(pending["mfaPendingCredential"], enrollment)
                tokens = factors.finish_sign_in(pending["mfaPendingCredential"], session, received_code(number, count=2))
                claims = self.require_factor(tokens, "phone", enrollment, client)
                self.assertEqual((claims["sub"], claims["firebase"]["sign_in_provider"]), (user["localId"], "password"))
                # The number is no way to sign in.
                self.assertNotIn("phone_number", claims)
                self.assertNotIn("phone", claims["firebase"]["identities"])
                left = factors.withdraw(tokens["idToken"], enrollment)
                self.assertEqual(set(left), {"idToken", "refreshToken"})
                self.assertEqual(self.enrollments(left["idToken"]), [])
                self.require_tokens(client.sign_in_with_password(email), client, "password", identities={"email": [email]})

    def test_fictional_number(self):
        email, user = self.new_user()
        session = self.factors.start_phone(user["idToken"], FICTIONAL)
        self.refused("INVALID_CODE", self.factors.finish_phone, user["idToken"], session, wrong(FICTIONAL_CODE))
        before = len(simulator.messages(FICTIONAL))
        enrolled = self.factors.finish_phone(user["idToken"], session, FICTIONAL_CODE)
        [factor] = self.enrollments(enrolled["idToken"])
        pending = self.pending(email)["mfaPendingCredential"]
        session = self.factors.start_sign_in(pending, factor["mfaEnrollmentId"])
        tokens = self.factors.finish_sign_in(pending, session, FICTIONAL_CODE)
        self.require_factor(tokens, "phone", factor["mfaEnrollmentId"])
        self.assertEqual(len(simulator.messages(FICTIONAL)), before)

    def test_a_wrong_code_is_not_the_end(self):
        email, number, user = self.new_phone_user()
        pending = self.pending(email)
        session = self.factors.start_sign_in(pending["mfaPendingCredential"], pending["mfaInfo"][0]["mfaEnrollmentId"])
        code = received_code(number, count=2)
        self.refused("INVALID_CODE", self.factors.finish_sign_in, pending["mfaPendingCredential"], session, wrong(code))
        tokens = self.factors.finish_sign_in(pending["mfaPendingCredential"], session, code)
        self.assertEqual(self.web.claims(tokens["idToken"])["sub"], user["localId"])

    def test_development_shows_the_codes(self):
        email, user = self.new_user()
        number = new_number()

        def shown(session):
            # Each gateway knows what it has answered itself.
            entries = self.web.read(send(self.web.url, "GET", CODES))["verificationCodes"]
            return {entry["sessionInfo"]: (entry["phoneNumber"], entry["code"]) for entry in entries}[session]

        session = self.factors.start_phone(user["idToken"], number)
        self.assertEqual(shown(session), (number, received_code(number)))
        enrolled = self.factors.finish_phone(user["idToken"], session, received_code(number))
        pending = self.pending(email)["mfaPendingCredential"]
        session = self.factors.start_sign_in(pending, self.enrollments(enrolled["idToken"])[0]["mfaEnrollmentId"])
        self.assertEqual(shown(session), (number, received_code(number, count=2)))


class TOTPFactorTest(SecondFactorsTest):
    def test_enrol_sign_in_withdraw(self):
        for client in [self.web, self.apple]:
            with self.subTest(type(client).__name__):
                factors = Factors(client)
                email, user = self.new_user()
                secret = factors.start_totp(user["idToken"])
                self.assertEqual((secret["hashingAlgorithm"], secret["verificationCodeLength"], secret["periodSec"]), (
                    "SHA1", DIGITS, PERIOD_SECONDS))
                until = datetime.datetime.fromisoformat(secret["finalizeEnrollmentTime"].replace("Z", "+00:00"))
                self.assertGreater(until.timestamp(), time.time())
                authenticator = Authenticator(secret["sharedSecretKey"])
                enrolled = factors.finish_totp(user["idToken"], secret["sessionInfo"], authenticator.code(), "Authenticator")
                [factor] = self.enrollments(enrolled["idToken"])
                self.assertEqual((factor["totpInfo"], factor["displayName"]), ({}, "Authenticator"))
                enrollment = factor["mfaEnrollmentId"]
                self.require_factor(enrolled, "totp", enrollment, client)
                pending = self.pending(email, client)
                self.assertEqual([shown["mfaEnrollmentId"] for shown in pending["mfaInfo"]], [enrollment])
                wrong_code, code = authenticator.wrong_code(), authenticator.code()
                self.refused("INVALID_CODE", factors.sign_in_with_totp, pending["mfaPendingCredential"], enrollment, wrong_code)
                tokens = factors.sign_in_with_totp(pending["mfaPendingCredential"], enrollment, code)
                self.assertEqual(self.require_factor(tokens, "totp", enrollment, client)["sub"], user["localId"])
                # A code counts once (RFC 6238, section 5.2).
                self.refused("INVALID_CODE", factors.sign_in_with_totp, self.pending(email)["mfaPendingCredential"], enrollment, code)
                left = factors.withdraw(tokens["idToken"], enrollment)
                self.assertEqual(self.enrollments(left["idToken"]), [])

    def test_a_secret_enrols_once_and_by_its_own_code(self):
        _, user = self.new_user()
        secret = self.factors.start_totp(user["idToken"])
        authenticator = Authenticator(secret["sharedSecretKey"])
        self.refused("INVALID_CODE", self.factors.finish_totp, user["idToken"], secret["sessionInfo"], authenticator.wrong_code())
        enrolled = self.factors.finish_totp(user["idToken"], secret["sessionInfo"], authenticator.code())
        with self.assertRaises(APIError):
            self.factors.finish_totp(enrolled["idToken"], secret["sessionInfo"], authenticator.code())
        self.assertEqual(len(self.enrollments(enrolled["idToken"])), 1)

    def test_a_secret_is_its_own_account_s(self):
        _, user = self.new_user()
        _, other = self.new_user()
        secret = self.factors.start_totp(user["idToken"])
        with self.assertRaises(APIError):
            self.factors.finish_totp(other["idToken"], secret["sessionInfo"], Authenticator(secret["sharedSecretKey"]).code())
        self.assertEqual(self.enrollments(other["idToken"]), [])

    def test_five_wrong_codes_end_a_pending_credential(self):
        email, user = self.new_user()
        _, authenticator = self.factors.enroll_totp(user["idToken"])
        answer = self.pending(email)
        pending, enrollment = answer["mfaPendingCredential"], answer["mfaInfo"][0]["mfaEnrollmentId"]
        for _ in range(5):
            self.refused("INVALID_CODE", self.factors.sign_in_with_totp, pending, enrollment, authenticator.wrong_code())
        code = authenticator.code()
        self.refused("INVALID_MFA_PENDING_CREDENTIAL", self.factors.sign_in_with_totp, pending, enrollment, code)
        again = self.pending(email)["mfaPendingCredential"]
        self.require_factor(self.factors.sign_in_with_totp(again, enrollment, code), "totp", enrollment)

    def test_beside_a_number(self):
        email, number, user = self.new_phone_user()
        enrolled, authenticator = self.factors.enroll_totp(user["idToken"])
        kinds = {("phoneInfo" in factor): factor["mfaEnrollmentId"] for factor in self.enrollments(enrolled["idToken"])}
        pending = self.pending(email)
        self.assertEqual({factor["mfaEnrollmentId"] for factor in pending["mfaInfo"]}, set(kinds.values()))
        # Either will do.
        tokens = self.factors.sign_in_with_totp(pending["mfaPendingCredential"], kinds[False], authenticator.code())
        self.require_factor(tokens, "totp", kinds[False])
        left = self.factors.withdraw(tokens["idToken"], kinds[False])
        self.assertEqual([factor["phoneInfo"] for factor in self.enrollments(left["idToken"])], [number])


class EnrollmentTest(SecondFactorsTest):
    def starts(self, user):
        return [(self.factors.start_phone, user["idToken"], new_number()), (self.factors.start_totp, user["idToken"])]

    def test_first_factors_that_do_not_suffice(self):
        number = new_number()
        issuer = "firebase-auth-emulator@example.com"
        token = jwt.encode({"iss": issuer, "sub": issuer, "aud": CUSTOM_AUDIENCE, "uid": secrets.token_hex(8), "iat": int(time.time()),
                            "exp": int(time.time()) + 3600}, None, "none")
        for user in [self.web.anonymous(), self.web.sign_in_as(number), self.web.sign_in_with_custom_token(token)]:
            for start in self.starts(user):
                self.refused(UNSUPPORTED, *start)
        self.assertEqual(len(simulator.messages(number)), 1)

    def test_an_address_has_to_be_verified(self):
        user = self.web.sign_up(new_email())
        for start in self.starts(user):
            self.refused("UNVERIFIED_EMAIL", *start)

    def test_one_number_once(self):
        _, number, user = self.new_phone_user()
        with self.assertRaises(APIError) as caught:
            self.factors.enroll_phone(user["idToken"], number, count=2)
        self.assertEqual(caught.exception.code, "SECOND_FACTOR_EXISTS")

    def test_what_is_missing_is_told(self):
        _, user = self.new_user()
        token = user["idToken"]
        for code, call, body in [
            ("MISSING_ID_TOKEN", "Enrollment:start", {}), ("MISSING_ID_TOKEN", "Enrollment:finalize", {}),
            ("MISSING_ID_TOKEN", "Enrollment:withdraw", {}), ("MISSING_PHONE_NUMBER", "Enrollment:start", {"idToken": token}),
            ("MISSING_SESSION_INFO", "Enrollment:finalize", {"idToken": token}),
            ("MISSING_CODE", "Enrollment:finalize", {"idToken": token, "phoneVerificationInfo": {"sessionInfo": "s"}}),
            ("MISSING_MFA_ENROLLMENT_ID", "Enrollment:withdraw", {"idToken": token}),
            ("MFA_ENROLLMENT_NOT_FOUND", "Enrollment:withdraw", {"idToken": token, "mfaEnrollmentId": "none"}),
            ("INVALID_ID_TOKEN", "Enrollment:withdraw", {"idToken": "none", "mfaEnrollmentId": "none"}),
            ("MISSING_MFA_PENDING_CREDENTIAL", "SignIn:start", {}), ("MISSING_MFA_PENDING_CREDENTIAL", "SignIn:finalize", {}),
            ("MISSING_MFA_ENROLLMENT_ID", "SignIn:start", {"mfaPendingCredential": "none"}),
            ("INVALID_MFA_PENDING_CREDENTIAL", "SignIn:start", {"mfaPendingCredential": "none", "mfaEnrollmentId": "none"}),
            ("INVALID_MFA_PENDING_CREDENTIAL", "SignIn:finalize",
             {"mfaPendingCredential": "none", "mfaEnrollmentId": "none", "totpVerificationInfo": {"verificationCode": "123456"}}),
        ]:
            with self.subTest(code, call=call):
                self.refused(code, self.factors.call, call, **body)

    def test_the_other_sessions_end(self):
        email, user = self.new_user()
        other = self.web.sign_in_with_password(email)
        enrolled = self.factors.enroll_phone(user["idToken"], new_number())
        self.refused("TOKEN_EXPIRED", self.web.refresh, other["refreshToken"])
        self.assertEqual(self.web.refresh(enrolled["refreshToken"])["user_id"], user["localId"])


class FirstFactorTest(SecondFactorsTest):
    def test_any_first_factor_waits_for_the_second(self):
        email, number, user = self.new_phone_user()
        person = FacebookPerson()
        person.sign_in(self.web, idToken=user["idToken"])
        self.require_pending(self.web.sign_in_with_password(email))
        answer = self.require_pending(person.sign_in(self.web))
        self.assertEqual((answer["providerId"], answer["federatedId"]), ("facebook.com", person.subject))
        # The first link is that of the mail about the second factor.
        self.web.send_sign_in_link(email)
        answer = self.require_pending(self.web.sign_in_with_link(email, link(email, count=2).code))
        self.assertEqual((answer["email"], answer["localId"]), (email, user["localId"]))

    def test_a_pending_credential_is_no_token(self):
        email, _, _ = self.new_phone_user()
        pending = self.pending(email)["mfaPendingCredential"]
        with self.assertRaises(APIError):
            self.web.lookup(pending)
        with self.assertRaises(APIError):
            self.web.refresh(pending)


class PendingTest(SecondFactorsTest):
    def test_it_counts_once(self):
        email, number, user = self.new_phone_user()
        answer = self.pending(email)
        pending, enrollment = answer["mfaPendingCredential"], answer["mfaInfo"][0]["mfaEnrollmentId"]
        session = self.factors.start_sign_in(pending, enrollment)
        code = received_code(number, count=2)
        tokens = self.factors.finish_sign_in(pending, session, code)
        self.assertEqual(self.web.claims(tokens["idToken"])["sub"], user["localId"])
        with self.assertRaises(APIError) as caught:
            self.factors.finish_sign_in(pending, session, code)
        self.assertIn(caught.exception.code, {"INVALID_MFA_PENDING_CREDENTIAL", "SESSION_EXPIRED"})
        self.refused("INVALID_MFA_PENDING_CREDENTIAL", self.factors.start_sign_in, pending, enrollment)

    def test_it_counts_once_of_several_at_once(self):
        email, user = self.new_user()
        _, authenticator = self.factors.enroll_totp(user["idToken"])
        answer = self.pending(email)
        pending, enrollment = answer["mfaPendingCredential"], answer["mfaInfo"][0]["mfaEnrollmentId"]
        code = authenticator.code()
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            calls = [pool.submit(self.factors.sign_in_with_totp, pending, enrollment, code) for _ in range(6)]
            errors = [call.exception() for call in calls]
        self.assertEqual(errors.count(None), 1)

    def test_it_is_its_own_account_s(self):
        email, _, _ = self.new_phone_user()
        other_email, other_number, _ = self.new_phone_user()
        mine, other = self.pending(email), self.pending(other_email)
        enrollment = other["mfaInfo"][0]["mfaEnrollmentId"]
        self.refused("MFA_ENROLLMENT_NOT_FOUND", self.factors.start_sign_in, mine["mfaPendingCredential"], enrollment)
        session = self.factors.start_sign_in(other["mfaPendingCredential"], enrollment)
        code = received_code(other_number, count=2)
        self.refused("INVALID_SESSION_INFO", self.factors.finish_sign_in, mine["mfaPendingCredential"], session, code)
        # That has used nothing up.
        self.factors.finish_sign_in(other["mfaPendingCredential"], session, code)

    def test_a_new_password_ends_it(self):
        email, _, user = self.new_phone_user()
        answer = self.pending(email)
        self.web.update(user["idToken"], password=PASSWORD + "!")
        self.refused("INVALID_MFA_PENDING_CREDENTIAL", self.factors.start_sign_in, answer["mfaPendingCredential"],
                     answer["mfaInfo"][0]["mfaEnrollmentId"])

    def test_a_disabled_account(self):
        email, _, user = self.new_phone_user()
        answer = self.pending(email)
        self.administrator.change(user["localId"], disableUser=True)
        self.refused("USER_DISABLED", self.factors.start_sign_in, answer["mfaPendingCredential"], answer["mfaInfo"][0]["mfaEnrollmentId"])


class PurposeTest(SecondFactorsTest):
    def test_a_session_counts_for_what_it_was_made_for(self):
        email, number, user = self.new_phone_user()
        answer = self.pending(email)
        pending, enrollment = answer["mfaPendingCredential"], answer["mfaInfo"][0]["mfaEnrollmentId"]
        first = self.web.send_code(number)
        first_code = received_code(number, count=2)
        self.refused("INVALID_SESSION_INFO", self.factors.finish_sign_in, pending, first, first_code)
        self.refused("INVALID_SESSION_INFO", self.factors.finish_phone, user["idToken"], first, first_code)
        session = self.factors.start_sign_in(pending, enrollment)
        self.assertNotEqual(session, first)
        code = received_code(number, count=3)
        self.refused("INVALID_SESSION_INFO", self.web.sign_in, session, code)
        self.refused("INVALID_SESSION_INFO", self.factors.finish_phone, user["idToken"], session, code)
        another = new_number()
        enrolling = self.factors.start_phone(user["idToken"], another)
        self.refused("INVALID_SESSION_INFO", self.factors.finish_sign_in, pending, enrolling, received_code(another))
        # None of that has counted as a guess.
        self.require_factor(self.factors.finish_sign_in(pending, session, code), "phone", enrollment)


class ProofTest(SecondFactorsTest):
    def require_proof(self, app, proof_for, others):
        """Each start sends its code with a proof that was made for it, and none with any other one, which is told as for a sign-in."""
        factors = Factors(Apple(app))
        email, user = self.new_user()
        number = new_number()

        def started(count, action, start, *arguments):
            for code, proof in {"MISSING_CLIENT_IDENTIFIER": {}, **others()}.items():
                self.refused(code, start, *arguments, **proof)
            self.assertEqual(len(simulator.messages(number)), count - 1)
            return start(*arguments, **proof_for(action)), received_code(number, count=count)

        enrolled = factors.finish_phone(
            user["idToken"], *started(1, "mfaSmsEnrollment", factors.start_phone, user["idToken"], number))
        [factor] = self.enrollments(enrolled["idToken"])
        pending = self.pending(email)["mfaPendingCredential"]
        enrollment = factor["mfaEnrollmentId"]
        tokens = factors.finish_sign_in(pending, *started(2, "mfaSmsSignIn", factors.start_sign_in, pending, enrollment))
        self.require_factor(tokens, "phone", enrollment)

    def test_receipt_of_a_push(self):
        app, device = Apple(PUSH_APP), secrets.token_hex(32).upper()
        simulator.device(device, PUSH_APP)
        pair = app_sdk.proof(app.call("accounts:verifyIosClient", {"appToken": device})["receipt"], device)
        others = {"MISSING_APP_CREDENTIAL": {"iosReceipt": pair["iosReceipt"]},
                  "INVALID_APP_CREDENTIAL": {**pair, "iosSecret": pair["iosSecret"][:-1] + "_"}}
        self.require_proof(PUSH_APP, lambda _: pair, lambda: others)

    def test_token_of_recaptcha_enterprise(self):
        def proof(action):
            token = f"high.{action}.{secrets.token_hex(8)}@{CAPTCHA_APP}"
            return {"captchaResponse": token, "recaptchaVersion": "RECAPTCHA_ENTERPRISE"}

        # A token is good once.
        self.require_proof(CAPTCHA_APP, proof, lambda: {"INVALID_RECAPTCHA_ACTION": proof("sendVerificationCode")})


class OwnTest(OwnAccounts):
    def new_user(self):
        """A user with a verified address: address and tokens."""
        self.factors = Factors(self.web)
        email = new_email()
        self.administrator.change(self.web.sign_up(email)["localId"], emailVerified=True)
        return email, self.web.sign_in_with_password(email)

    def new_totp_user(self, seconds):
        """The same with a TOTP factor, while accounts is so far from the time: with its authenticator and the factor's ID."""
        email, user = self.new_user()
        secret = self.factors.start_totp(user["idToken"])
        authenticator = Authenticator(secret["sharedSecretKey"])
        tokens = self.factors.finish_totp(user["idToken"], secret["sessionInfo"], authenticator.code_in(seconds))
        [factor] = self.web.lookup(tokens["idToken"])["mfaInfo"]
        return email, {**user, **tokens}, authenticator, factor["mfaEnrollmentId"]

    def pending_of(self, email):
        return self.web.sign_in_with_password(email)["mfaPendingCredential"]

    def test_a_pending_credential_is_too_old_after_ten_minutes(self):
        self.clock.set(-PENDING_SECONDS - 10)
        self.start()
        email, user, authenticator, enrollment = self.new_totp_user(-PENDING_SECONDS - 10)
        pending = self.pending_of(email)
        self.clock.set(0)
        code = authenticator.code_in(0)
        self.refused("INVALID_MFA_PENDING_CREDENTIAL", self.factors.sign_in_with_totp, pending, enrollment, code)
        again = self.pending_of(email)
        tokens = self.factors.sign_in_with_totp(again, enrollment, code)
        self.assertEqual(self.web.claims(tokens["idToken"])["sub"], user["localId"])

    def test_an_id_token_alone_enrolls_and_withdraws_nothing(self):
        self.clock.set(-RECENT_SECONDS - 10)
        self.start()
        email, user, authenticator, enrollment = self.new_totp_user(-RECENT_SECONDS - 10)
        self.clock.set(0)
        fresh = self.web.refresh(user["refreshToken"])["id_token"]
        for call, *arguments in [
            (self.factors.start_phone, new_number()), (self.factors.start_totp,), (self.factors.withdraw, enrollment),
        ]:
            with self.subTest(call.__name__):
                self.refused("CREDENTIAL_TOO_OLD_LOGIN_AGAIN", call, fresh, *arguments)
        pending = self.pending_of(email)
        tokens = self.factors.sign_in_with_totp(pending, enrollment, authenticator.code_in(0))
        self.factors.withdraw(tokens["idToken"], enrollment)
        self.assertLessEqual(TOKENS, set(self.web.sign_in_with_password(email)))

    def test_kinds_that_are_off(self):
        self.start()
        email, user, authenticator, totp = self.new_totp_user(0)
        number = new_number()
        user = self.factors.enroll_phone(user["idToken"], number)
        phone = next(factor["mfaEnrollmentId"] for factor in self.web.lookup(user["idToken"])["mfaInfo"] if "phoneInfo" in factor)
        # Each by itself: the other one goes on.
        self.set_methods(password=True, totp=True)
        self.switched_off([self.factors.start_phone, user["idToken"], new_number()])
        self.factors.start_totp(user["idToken"])
        self.refused("OPERATION_NOT_ALLOWED", self.factors.start_sign_in, self.pending_of(email), phone)
        self.set_methods(password=True, phoneSecondFactor=True)
        self.switched_off([self.factors.start_totp, user["idToken"]])
        other = new_number()
        self.factors.start_phone(user["idToken"], other)
        received_code(other)
        self.refused("OPERATION_NOT_ALLOWED", self.factors.sign_in_with_totp, self.pending_of(email), totp, authenticator.code_in(0))
        self.set_methods(password=True)
        self.switched_off([self.factors.start_totp, user["idToken"]], [self.factors.start_phone, user["idToken"], new_number()])
        # The first factor alone is not enough all the same.
        pending = self.pending_of(email)
        code = authenticator.code_in(PERIOD_SECONDS)
        self.refused("OPERATION_NOT_ALLOWED", self.factors.sign_in_with_totp, pending, totp, code)
        self.refused("OPERATION_NOT_ALLOWED", self.factors.start_sign_in, pending, phone)
        self.assertEqual(len(simulator.messages(number)), 1)
        self.assertIn("id_token", self.web.refresh(user["refreshToken"]))
