"""A phone signs in over HTTP as the stock SDKs do: every way that works, and the protocol's own error for every one that does not.

What an app is promised, and the test that shows it over HTTP:
a code by SMS and a session: SignInTest.test_a_new_number_is_a_new_account_and_a_known_one_the_same
asking again is harmless: SignInTest.test_asking_again_sends_nothing, …after_the_gap_sends_the_same_code, test_another_requester…
the language of the SMS: SignInTest.test_sms_is_in_the_language_of_the_header
a session outlives restarts: SignInTest.test_a_session_outlives_every_process
wrong, expired, used and unknown codes are told apart, and guessing ends: CodeTest
a push before an SMS is spent: PushTest.test_push_then_sms_then_account, test_push_comes_behind_the_answer
reCAPTCHA where no push arrives: PushTest.test_device_tokens_that_are_none, CaptchaTest
an APNs key for each app: PushTest (that with a client certificate: Tests/Workers/PushTests)
device tokens of the sandbox, of production and of neither: PushTest.test_token_of_the_sandbox, test_token_of_an_environment_that_nobody_names
the payload as SDKs know it, in both forms: PushTest, by app_sdk
fictional numbers: FictionalTest, ProofModesTest
an app's verification switched off for testing: ProofModesTest
errors with a code, a text and a time to wait: every test here, and test_gateway_accounts.CommonTest
"""

import concurrent.futures
import json
import secrets
import time
import unittest
import urllib.parse

import app_sdk
import records
import simulator
from gateway_client import APIError, Apple, Assertions, Web, new_number, received_code
from process import Process
from samples import wrong

PUSH_APP, CAPTCHA_APP, AUDIT_APP = "com.example.push", "com.example.recaptcha", "com.example.audit"
FICTIONAL = {"+16505553434": "654321", "+16505554567": "123456"}
ACTION = "sendVerificationCode"
MAX_CHECKS = 5
PROOF_SECONDS = "3600"
# Tags of fields in the coordinator's records.
VERIFICATION_EXPIRES_AT, VERIFICATION_RESEND_AFTER, RECEIPT_EXPIRES_AT = 14, 15, 8


class PhoneTest(Assertions, unittest.TestCase):
    def setUp(self):
        self.web, self.apple = Web(), Apple()
        self.addCleanup(simulator.clear_faults)

    def new_user(self, client=None):
        number = new_number()
        answer = (client or self.web).sign_in_as(number)
        self.assertIs(answer["isNewUser"], True)
        return number, answer

    def session_of(self, id_token):
        """What ties a token to its session: when it began, and what a service may know it by."""
        claims = self.web.claims(id_token)
        return claims["auth_time"], claims.get("sid")


class SignInTest(PhoneTest):
    def test_a_new_number_is_a_new_account_and_a_known_one_the_same(self):
        for client in [self.web, self.apple]:
            with self.subTest(type(client).__name__):
                number, first = self.new_user(client)
                self.assertEqual(set(first), {
                    "idToken", "refreshToken", "expiresIn", "localId", "isNewUser", "phoneNumber"})
                self.assertEqual(first["phoneNumber"], number)
                self.require_tokens(first, client, "phone", number)
                self.assertEqual(len(simulator.messages(number)), 1)
                second = client.sign_in_as(number, count=2)
                self.assertEqual(second["localId"], first["localId"])
                self.assertFalse(second.get("isNewUser", False))
                self.assertNotEqual(second["refreshToken"], first["refreshToken"])
                self.require_tokens(second, client, "phone", number)
                # The one does not end the other.
                for answer in [first, second]:
                    self.assertEqual(client.lookup(answer["idToken"])["localId"], first["localId"])
                    self.assertEqual(client.refresh(answer["refreshToken"])["user_id"], first["localId"])

    def test_both_sdks_reach_the_same_account(self):
        number, first = self.new_user(self.web)
        second = self.apple.sign_in_as(number, count=2)
        self.assertEqual(second["localId"], first["localId"])

    def test_asking_again_sends_nothing(self):
        number = new_number()
        sessions = {self.web.send_code(number) for _ in range(5)}
        code = received_code(number)
        self.assertEqual(len(sessions), 1)
        self.assertEqual(len(simulator.messages(number)), 1)
        self.web.sign_in(sessions.pop(), code)
        self.assertEqual(len(simulator.messages(number)), 1)

    def test_asking_again_after_the_gap_sends_the_same_code(self):
        number = new_number()
        session = self.web.send_code(number)
        code = received_code(number)
        records.set_time("verification", session, VERIFICATION_RESEND_AFTER, 1000)
        self.assertEqual(self.web.send_code(number), session)
        self.assertEqual(received_code(number, count=2), code)
        self.web.sign_in(session, code)

    def test_another_requester_gets_a_session_of_its_own(self):
        number = new_number()
        first = self.web.send_code(number)
        other = Web(User_Agent="Mozilla/5.0 (Macintosh) Safari/605.1.15")
        second = other.send_code(number)
        code = received_code(number)
        self.assertNotEqual(first, second)
        other.sign_in(second, code)
        self.assertEqual(len(simulator.messages(number)), 1)
        self.refused("SESSION_EXPIRED", self.web.sign_in, first, code)

    def test_sms_is_in_the_language_of_the_header(self):
        # The last has no texts, so the app's own language is taken.
        for language, words in {"pt-BR": "é seu código", "de": "ist Ihr", "fr": "est votre code", "tlh": "is your"}.items():
            for client in [Web(X_Firebase_Locale=language), Apple(X_Firebase_Locale=language)]:
                with self.subTest(language, client=type(client).__name__):
                    number = new_number()
                    client.send_code(number)
                    self.assertIn(words, simulator.message(number)["body"])

    def test_a_known_number_is_not_told_from_a_new_one(self):
        known, _ = self.new_user()
        answers = []
        for number in [known, new_number()]:
            answer = self.web.send("POST", self.web.path("accounts:sendVerificationCode"), json.dumps(
                {"phoneNumber": number, "clientType": "CLIENT_TYPE_WEB"}).encode(), Content_Type="application/json")
            self.assertEqual(answer.status, 200)
            answers.append((set(answer.json()), len(answer.json()["sessionInfo"]), sorted(answer.headers.keys())))
        self.assertEqual(answers[0], answers[1])

    def test_every_spelling_is_understood(self):
        number = new_number()
        session = self.web.call("accounts:sendVerificationCode", {
            "phone_number": number, "client_type": 1, "recaptcha_token": None, "tenantIdOfNobody": {"x": [1]}})["sessionInfo"]
        answer = self.web.call("accounts:signInWithPhoneNumber", {
            "session_info": session, "code": received_code(number), "operation": "1"})
        self.assertEqual(answer["phoneNumber"], number)
        self.assertEqual(self.web.call("accounts:lookup", {"id_token": answer["idToken"]})["users"][0]["localId"], answer["localId"])

    def test_a_session_outlives_every_process(self):
        number = new_number()
        session = self.web.send_code(number)
        code = received_code(number)
        self.restart("coordinator", "accounts", "gateway", "sms-worker-1", "sms-worker-2")
        answer = self.web.sign_in(session, code)
        self.assertEqual(answer["phoneNumber"], number)
        self.assertEqual(len(simulator.messages(number)), 1)
        self.restart("accounts", "gateway")
        self.assertEqual(self.web.lookup(answer["idToken"])["phoneNumber"], number)
        self.assertEqual(self.web.refresh(answer["refreshToken"])["user_id"], answer["localId"])

    def test_session_of_another_app_is_none(self):
        number = new_number()
        session = Apple(AUDIT_APP).send_code(number)
        code = received_code(number)
        self.refused("INVALID_SESSION_INFO", Apple("com.example.app").sign_in, session, code)
        self.assertEqual(Apple(AUDIT_APP).sign_in(session, code)["phoneNumber"], number)


class CodeTest(PhoneTest):
    def start(self):
        number = new_number()
        session = self.web.send_code(number)
        return session, received_code(number)

    def test_wrong_used_expired_and_unknown_are_told_apart(self):
        session, code = self.start()
        self.refused("INVALID_CODE", self.web.sign_in, session, wrong(code))
        self.web.sign_in(session, code)
        self.refused("SESSION_EXPIRED", self.web.sign_in, session, code)
        # Whoever has not the code learns nothing of its use.
        self.refused("INVALID_CODE", self.web.sign_in, session, wrong(code))
        self.refused("INVALID_SESSION_INFO", self.web.sign_in, secrets.token_urlsafe(16), code)
        expired, code = self.start()
        records.set_time("verification", expired, VERIFICATION_EXPIRES_AT, 1000)
        self.refused("SESSION_EXPIRED", self.web.sign_in, expired, code)

    def test_five_wrong_codes_end_it(self):
        session, code = self.start()
        # The same guess again is the same check.
        guesses = [f"{(int(code) + step) % 1_000_000:06d}" for step in range(1, MAX_CHECKS + 1)]
        for guess in [guesses[0], *guesses[:-1]]:
            self.refused("INVALID_CODE", self.web.sign_in, session, guess)
        self.refused("TOO_MANY_ATTEMPTS_TRY_LATER", self.web.sign_in, session, guesses[-1])
        self.refused("TOO_MANY_ATTEMPTS_TRY_LATER", self.web.sign_in, session, code)

    def test_the_same_code_at_the_same_time_signs_in_once(self):
        for _ in range(5):
            session, code = self.start()
            with concurrent.futures.ThreadPoolExecutor(4) as pool:
                calls = [pool.submit(Web().sign_in, session, code) for _ in range(4)]
            errors = [call.exception() for call in calls if call.exception()]
            self.assertEqual([error.code for error in errors], ["SESSION_EXPIRED"] * 3)

    def test_numbers_that_are_none(self):
        for number in ["hello", "+1", "+1415555012345678901", "0160 1234567", "+49160" + "1" * 200]:
            with self.subTest(number[:20]):
                error = self.refused("INVALID_PHONE_NUMBER", self.web.send_code, number)
                self.assertEqual(error.reason, "invalid")
        # Of a kind that receives no SMS: premium rate.
        with self.assertRaises(APIError) as caught:
            self.web.send_code("+19005550123")
        self.assertIn(caught.exception.code, {"INVALID_PHONE_NUMBER", "OPERATION_NOT_ALLOWED"})

    def test_sessions_and_codes_that_are_none(self):
        session, code = self.start()
        for other in ["", "x", "é" * 100, "s" * 5000, "a b\nc"]:
            with self.subTest(other[:10]):
                self.refused("INVALID_SESSION_INFO" if other else "MISSING_SESSION_INFO", self.web.sign_in, other, code)
        for other in ["12345", "1234567", "abcdef", "c" * 5000]:
            with self.subTest(other[:10]):
                self.refused("INVALID_CODE", self.web.sign_in, session, other)
        self.web.sign_in(session, code)

    def test_more_sms_to_a_number_than_its_limit(self):
        number = new_number()
        session = self.web.send_code(number)
        count = 1
        while count < 20:
            received_code(number, count=count)
            self.web.sign_in(session, received_code(number))
            try:
                session = self.web.send_code(number)
            except APIError as error:
                self.assertIn(error.code, {"TOO_MANY_ATTEMPTS_TRY_LATER", "QUOTA_EXCEEDED"})
                break
            count += 1
        self.assertEqual(count, 5, "SMS to one number within ten minutes")
        self.assertEqual(len(simulator.messages(number)), 5)


class SignedInTest(PhoneTest):
    def require_same_session(self, before, after):
        self.assertEqual(self.session_of(after), self.session_of(before))

    def test_anonymous_account_gets_a_number(self):
        for client in [self.web, self.apple]:
            with self.subTest(type(client).__name__):
                anonymous = client.anonymous()
                # Linking is no new sign-in, so the time of it would be told apart.
                time.sleep(1.1)
                number = new_number()
                answer = client.sign_in_as(number, idToken=anonymous["idToken"], operation="LINK")
                self.assertEqual(answer["localId"], anonymous["localId"])
                self.assertEqual(answer["phoneNumber"], number)
                self.assertFalse(answer.get("isNewUser", False))
                self.require_tokens(answer, client, "phone", number)
                self.require_same_session(anonymous["idToken"], answer["idToken"])
                # As does the refresh token from before, in another tab.
                fresh = client.refresh(anonymous["refreshToken"])["id_token"]
                self.require_claims(client, fresh, "phone", number, anonymous["localId"])
                self.require_same_session(anonymous["idToken"], fresh)
                user = client.lookup(answer["idToken"])
                self.assertEqual(user["phoneNumber"], number)
                self.assertEqual([(entry["providerId"], entry["phoneNumber"]) for entry in user["providerUserInfo"]], [("phone", number)])
                # From now on the number signs in to it.
                again = client.sign_in_as(number, count=2)
                self.assertEqual(again["localId"], anonymous["localId"])
                self.require_tokens(again, client, "phone", number)

    def test_used_code_of_a_link_signs_nobody_in(self):
        anonymous = self.web.anonymous()
        number = new_number()
        session = self.web.send_code(number)
        code = received_code(number)
        self.web.sign_in(session, code, idToken=anonymous["idToken"])
        self.refused("SESSION_EXPIRED", self.web.sign_in, session, code)
        self.refused("SESSION_EXPIRED", self.web.sign_in, session, code, idToken=anonymous["idToken"])

    def test_number_is_changed_and_the_old_one_free(self):
        old, user = self.new_user()
        elsewhere = self.web.sign_in_as(old, count=2)
        number = new_number()
        answer = self.apple.sign_in_as(number, idToken=user["idToken"], operation="UPDATE")
        self.assertEqual((answer["localId"], answer["phoneNumber"]), (user["localId"], number))
        self.require_same_session(user["idToken"], answer["idToken"])
        self.assertEqual(self.web.lookup(user["idToken"])["phoneNumber"], number)
        # The other sessions have ended.
        self.refused("TOKEN_EXPIRED", self.web.lookup, elsewhere["idToken"])
        self.refused("TOKEN_EXPIRED", self.web.refresh, elsewhere["refreshToken"])
        other = self.web.sign_in_as(old, count=3)
        self.assertIs(other["isNewUser"], True)
        self.assertNotEqual(other["localId"], user["localId"])

    def foreign_number(self, id_token, number, count):
        """Proves the number of another account with an ID token: the temporary proof."""
        answer = self.web.sign_in_as(number, count=count, idToken=id_token, operation="LINK")
        self.assertEqual(set(answer), {"phoneNumber", "temporaryProof", "temporaryProofExpiresIn"})
        self.assertEqual((answer["phoneNumber"], answer["temporaryProofExpiresIn"]), (number, PROOF_SECONDS))
        return answer["temporaryProof"]

    def test_number_of_another_account_gives_a_proof_that_signs_in_to_it_once(self):
        number, holder = self.new_user()
        anonymous = self.web.anonymous()
        proof = self.foreign_number(anonymous["idToken"], number, 2)
        self.assertNotIn("phoneNumber", self.web.lookup(anonymous["idToken"]))
        self.refused("INVALID_TEMPORARY_PROOF", self.web.sign_in_with_proof, new_number(), proof)
        proof = self.foreign_number(anonymous["idToken"], number, 3)
        # For the app alone that has got it.
        self.refused("INVALID_TEMPORARY_PROOF", self.apple.sign_in_with_proof, number, proof)
        answer = self.web.sign_in_with_proof(number, proof)
        self.assertEqual(answer["localId"], holder["localId"])
        self.require_tokens(answer, self.web, "phone", number)
        self.refused("INVALID_TEMPORARY_PROOF", self.web.sign_in_with_proof, number, proof)
        for other in ["x", secrets.token_urlsafe(32), "é" * 64, "p" * 5000]:
            self.refused("INVALID_TEMPORARY_PROOF", self.web.sign_in_with_proof, number, other)

    def test_proof_with_another_account_is_spent_and_gives_none(self):
        """Otherwise one code would sign in without end."""
        number, _ = self.new_user()
        anonymous = self.web.anonymous()
        proof = self.foreign_number(anonymous["idToken"], number, 2)
        self.refused("PHONE_NUMBER_EXISTS", self.web.sign_in_with_proof, number, proof, idToken=anonymous["idToken"])
        self.refused("INVALID_TEMPORARY_PROOF", self.web.sign_in_with_proof, number, proof)

    def test_reauthentication_moves_the_time_and_makes_no_account(self):
        number, user = self.new_user()
        time.sleep(1.1)
        again = self.apple.sign_in_as(number, count=2, operation="REAUTH")
        self.assertEqual(again["localId"], user["localId"])
        self.assertGreater(self.session_of(again["idToken"])[0], self.session_of(user["idToken"])[0])
        unknown = new_number()
        session = self.apple.send_code(unknown)
        self.refused("USER_NOT_FOUND", self.apple.sign_in, session, received_code(unknown), operation="REAUTH")
        answer = self.apple.sign_in_as(unknown, count=2)
        self.assertIs(answer["isNewUser"], True, "the refusal has made an account")

    def test_code_with_a_token_that_is_none_is_not_used_up(self):
        number = new_number()
        session = self.web.send_code(number)
        code = received_code(number)
        self.refused("INVALID_ID_TOKEN", self.web.sign_in, session, code, idToken="no.id.token")
        self.assertEqual(self.web.sign_in(session, code)["phoneNumber"], number)

    def test_unlinking_frees_the_number(self):
        number, user = self.new_user()
        answer = self.web.update(user["idToken"], deleteProvider=["phone"], returnSecureToken=True)
        self.assertEqual(answer["localId"], user["localId"])
        found = self.web.lookup(user["idToken"])
        self.assertNotIn("phoneNumber", found)
        self.assertEqual(found.get("providerUserInfo", []), [])
        other = self.web.sign_in_as(number, count=2)
        self.assertNotEqual(other["localId"], user["localId"])


class FictionalTest(PhoneTest):
    NUMBER, OTHER = FICTIONAL

    def test_they_sign_in_hundreds_of_times_without_sms(self):
        locals_ = set()
        for _ in range(25):
            answer = self.web.sign_in(self.web.send_code(self.NUMBER), FICTIONAL[self.NUMBER])
            locals_.add(answer["localId"])
        self.assertEqual(len(locals_), 1)
        self.assertEqual(simulator.messages(self.NUMBER), [])
        self.require_tokens(answer, self.web, "phone", self.NUMBER)
        session = self.web.send_code(self.NUMBER)
        self.refused("INVALID_CODE", self.web.sign_in, session, wrong(FICTIONAL[self.NUMBER]))
        self.assertEqual(self.web.delete(answer["idToken"]).keys() - {"kind"}, set())

    def test_the_real_proof_of_a_number_ends_what_the_fictional_one_began(self):
        fictional = self.web.sign_in(self.web.send_code(self.OTHER), FICTIONAL[self.OTHER])
        # For this app the number is a real one, which its owner proves by SMS.
        owner = Apple(AUDIT_APP)
        before = len(simulator.messages(self.OTHER))
        real = owner.sign_in_as(self.OTHER, count=before + 1)
        self.addCleanup(lambda: owner.delete(real["idToken"]))
        self.assertEqual(real["localId"], fictional["localId"])
        self.refused("TOKEN_EXPIRED", self.web.lookup, fictional["idToken"])
        self.refused("TOKEN_EXPIRED", self.web.refresh, fictional["refreshToken"])
        session = self.web.send_code(self.OTHER)
        self.refused("OPERATION_NOT_ALLOWED", self.web.sign_in, session, FICTIONAL[self.OTHER])
        self.assertEqual(owner.lookup(real["idToken"])["phoneNumber"], self.OTHER)


def made_up_proofs():
    """What a client may send that has no proof: nothing, and proofs of its own invention."""
    text = "made-up-" + secrets.token_hex(8)
    return {
        "none": {}, "a pair": {"iosReceipt": text, "iosSecret": text}, "half of one": {"iosReceipt": text},
        "reCAPTCHA 2": {"recaptchaToken": text},
        "reCAPTCHA Enterprise": {"captchaResponse": text + "e", "recaptchaVersion": "RECAPTCHA_ENTERPRISE"},
        "no reCAPTCHA": {"captchaResponse": "NO_RECAPTCHA", "recaptchaVersion": "RECAPTCHA_ENTERPRISE"},
        "what looks sealed": {"iosReceipt": text, "iosSecret": "eyJhIjoxfQ.a.b.c.d"},
    }


class ProofModesTest(PhoneTest):
    """Apps in every mode, with and without a proof: fictional numbers pass, real ones need a good one."""

    NUMBER, CODE = "+16505550142", "271828"
    OFF_APP = "com.example.off"
    # What a real number is told where the app has to prove itself, by what is sent in the place of a proof.
    REFUSALS = {
        PUSH_APP: {
            "none": "MISSING_CLIENT_IDENTIFIER", "a pair": "INVALID_APP_CREDENTIAL", "half of one": "MISSING_APP_CREDENTIAL",
            "reCAPTCHA 2": "CAPTCHA_CHECK_FAILED", "reCAPTCHA Enterprise": "INVALID_RECAPTCHA_TOKEN",
            "no reCAPTCHA": "MISSING_CLIENT_IDENTIFIER", "what looks sealed": "INVALID_APP_CREDENTIAL"},
        CAPTCHA_APP: {
            "none": "MISSING_CLIENT_IDENTIFIER", "a pair": "INVALID_APP_CREDENTIAL", "half of one": "INVALID_APP_CREDENTIAL",
            "reCAPTCHA 2": "CAPTCHA_CHECK_FAILED", "reCAPTCHA Enterprise": "INVALID_RECAPTCHA_TOKEN",
            "no reCAPTCHA": "MISSING_CLIENT_IDENTIFIER", "what looks sealed": "INVALID_APP_CREDENTIAL"},
        OFF_APP: dict.fromkeys(made_up_proofs(), "APP_NOT_VERIFIED"),
    }

    def fictional_clients(self, url=None):
        """One client for each mode that an app can have, with a fictional number of it and its code."""
        for app in self.REFUSALS:
            yield app, Apple(app, url=url), self.NUMBER, self.CODE
        trusted, number = Apple(url=url), "+16505553434"
        yield "trusted", trusted, number, FICTIONAL[number]
        yield "audit", Web(url), number, FICTIONAL[number]

    def require_fictional_numbers_pass(self, url=None):
        for app, client, number, code in self.fictional_clients(url):
            for name, proof in made_up_proofs().items():
                with self.subTest(app, proof=name):
                    answer = client.sign_in(client.send_code(number, **proof), code)
                    self.assertEqual(answer["phoneNumber"], number)
            self.assertEqual(simulator.messages(number), [])

    def require_real_numbers_are_refused(self, refusals, url=None):
        for app, codes in refusals.items():
            client = Apple(app, url=url)
            for name, proof in made_up_proofs().items():
                with self.subTest(app, proof=name):
                    number = new_number()
                    self.refused(codes[name], client.send_code, number, **proof)
                    self.assertEqual(simulator.messages(number), [])

    def enforcing(self, phone):
        """A gateway of its own, whose project has that enforcement of reCAPTCHA Enterprise: its address."""
        gateway = self.enterContext(Process("gateway"))
        projects = gateway.projects.read_text()
        self.assertIn('phone: "OFF"', projects)
        gateway.projects.write_text(projects.replace('phone: "OFF"', f'phone: "{phone}"'))
        gateway.start().ready()
        return f"http://127.0.0.1:{gateway.listen_port}"

    def test_they_pass_in_every_mode_without_a_proof_and_with_a_made_up_one(self):
        self.require_fictional_numbers_pass()

    def test_they_pass_where_the_project_audits_and_enforces_recaptcha(self):
        for phone in ["AUDIT", "ENFORCE"]:
            with self.subTest(phone):
                self.require_fictional_numbers_pass(self.enforcing(phone))

    def test_real_numbers_need_a_good_proof(self):
        self.require_real_numbers_are_refused(self.REFUSALS)

    def test_real_numbers_need_a_token_where_the_project_enforces_recaptcha(self):
        url = self.enforcing("ENFORCE")
        codes = dict.fromkeys(made_up_proofs(), "MISSING_RECAPTCHA_TOKEN") | {"reCAPTCHA Enterprise": "INVALID_RECAPTCHA_TOKEN"}
        self.require_real_numbers_are_refused({PUSH_APP: codes, CAPTCHA_APP: codes, self.OFF_APP: self.REFUSALS[self.OFF_APP]}, url)
        # Not even an app that is trusted, or only watched, gets by.
        for client in [Apple(url=url), Apple(AUDIT_APP, url=url), Web(url)]:
            self.refused("MISSING_RECAPTCHA_TOKEN", client.send_code, new_number())
        client, number = Apple(CAPTCHA_APP, url=url), new_number()
        other = f"high.login.{secrets.token_hex(8)}@{CAPTCHA_APP}"
        self.refused("INVALID_RECAPTCHA_ACTION", client.send_code, number, captchaResponse=other, recaptchaVersion="RECAPTCHA_ENTERPRISE")
        token = f"high.{ACTION}.{secrets.token_hex(8)}@{CAPTCHA_APP}"
        session = client.send_code(number, captchaResponse=token, recaptchaVersion="RECAPTCHA_ENTERPRISE")
        self.assertEqual(client.sign_in(session, received_code(number))["phoneNumber"], number)

    def test_apps_that_are_trusted_or_watched_need_none(self):
        for client in [Apple(), Apple(AUDIT_APP), Web()]:
            number = new_number()
            client.sign_in(client.send_code(number), received_code(number))
        # What is sent all the same is judged where it counts.
        self.refused("INVALID_APP_CREDENTIAL", Apple().send_code, new_number(), **made_up_proofs()["a pair"])
        number = new_number()
        watched = Apple(AUDIT_APP)
        watched.sign_in(watched.send_code(number, **made_up_proofs()["a pair"]), received_code(number))


class PushTest(PhoneTest):
    def setUp(self):
        super().setUp()
        self.app = Apple(PUSH_APP)

    def new_device(self, app=PUSH_APP, **order):
        token = secrets.token_hex(32).upper()
        simulator.device(token, app, **order)
        return token

    def verify_client(self, device, **fields):
        answer = self.app.call("accounts:verifyIosClient", {"appToken": device, **fields})
        # The SDK ends the app otherwise.
        self.assertIsInstance(answer["receipt"], str)
        self.assertRegex(answer["suggestedTimeout"], "^[1-9][0-9]*$")
        return answer["receipt"]

    def prove(self, **fields):
        device = self.new_device(**({"environment": "sandbox"} if fields.get("isSandbox") else {}))
        return app_sdk.proof(self.verify_client(device, **fields), device)

    def refused_proof(self, code, client=None, **proof):
        number = new_number()
        error = self.refused(code, (client or self.app).send_code, number, **proof)
        for secret in proof.values():
            self.assertNotIn(secret, error.message)
        self.assertEqual(simulator.messages(number), [])

    def test_push_then_sms_then_account(self):
        pair = self.prove()
        for _ in range(2):
            number = new_number()
            session = self.app.send_code(number, **pair)
            answer = self.app.sign_in(session, received_code(number))
            self.assertEqual(answer["phoneNumber"], number)

    def test_token_of_the_sandbox(self):
        number = new_number()
        session = self.app.send_code(number, **self.prove(isSandbox=True))
        self.app.sign_in(session, received_code(number))

    def test_token_of_an_environment_that_nobody_names(self):
        """The SDK says only that a token is of the sandbox; whether it is, the service finds out."""
        for environment in ["sandbox", "production"]:
            device = self.new_device(environment=environment)
            sdk = app_sdk.App()
            sdk.wait_for(self.verify_client(device))
            self.assertTrue(sdk.receive(simulator.push(device)["payload"]), environment)

    def test_push_comes_behind_the_answer(self):
        """A receipt that the SDK does not know yet would be lost with its secret."""
        early = 0
        for _ in range(5):
            device = self.new_device()
            sdk = app_sdk.App()
            receipt = self.verify_client(device)
            early += len(simulator.pushes(device))
            sdk.wait_for(receipt)
            self.assertTrue(sdk.receive(simulator.push(device)["payload"]))
        # On a busy machine a push may overtake this process, which has yet to read the answer.
        self.assertLess(early, 3, "pushes were there before the answers were read")

    def test_what_is_wrong_with_a_proof(self):
        pair = self.prove()
        self.refused_proof("MISSING_CLIENT_IDENTIFIER")
        self.refused_proof("MISSING_APP_CREDENTIAL", iosReceipt=pair["iosReceipt"])
        self.refused_proof("INVALID_APP_CREDENTIAL", iosReceipt=pair["iosReceipt"], iosSecret=pair["iosSecret"][:-1] + "_")
        self.refused_proof("INVALID_APP_CREDENTIAL", iosReceipt="x" * 22, iosSecret="y" * 43)
        self.refused_proof("APP_NOT_VERIFIED", self.apple, **pair)
        records.set_time("appProof", pair["iosReceipt"], RECEIPT_EXPIRES_AT, 1000)
        self.refused_proof("INVALID_APP_CREDENTIAL", **pair)

    def test_device_tokens_that_are_none(self):
        self.refused("INVALID_APP_CREDENTIAL", self.verify_client, "not hexadecimal")
        self.refused("MISSING_IOS_APP_TOKEN", self.verify_client, "")
        device = self.new_device(reason="Unregistered")
        self.verify_client(device)
        deadline = time.monotonic() + 120
        while True:
            # From the refusal on the app is told at once, and turns to reCAPTCHA.
            try:
                self.verify_client(device)
            except APIError as error:
                self.assertEqual(error.code, "MISSING_IOS_APP_TOKEN")
                break
            self.assertLess(time.monotonic(), deadline, "the refusal of the push is not told")
            time.sleep(0.2)
        number = new_number()
        token = f"high.{ACTION}.{secrets.token_hex(8)}@{PUSH_APP}"
        session = self.app.send_code(number, recaptchaToken=token)
        self.app.sign_in(session, received_code(number))

    def test_app_that_is_not_registered(self):
        stranger = Apple("com.example.stranger")
        number = new_number()
        with self.assertRaises(APIError) as caught:
            stranger.send_code(number)
        self.assertEqual((caught.exception.status, caught.exception.word), (403, "PERMISSION_DENIED"))
        self.assertEqual(simulator.messages(number), [])


class CaptchaTest(PhoneTest):
    def setUp(self):
        super().setUp()
        self.app = Apple(CAPTCHA_APP)

    @staticmethod
    def token(kind, app=CAPTCHA_APP, action=ACTION):
        return f"{kind}.{action}.{secrets.token_hex(8)}@{app}"

    def accepted(self, **proof):
        number = new_number()
        self.app.sign_in(self.app.send_code(number, **proof), received_code(number))

    def refused_token(self, code, **proof):
        number = new_number()
        error = self.refused(code, self.app.send_code, number, **proof)
        for text in proof.values():
            if "@" in text:
                self.assertNotIn(text, error.message)
        self.assertEqual(simulator.messages(number), [])

    def test_tokens_that_pass(self):
        self.accepted(recaptchaToken=self.token("high"))
        self.accepted(captchaResponse=self.token("high"), recaptchaVersion="RECAPTCHA_ENTERPRISE")
        # With a token of version 2 the JavaScript SDK says that there is none of Enterprise.
        self.accepted(recaptchaToken=self.token("high"), captchaResponse="NO_RECAPTCHA", recaptchaVersion="RECAPTCHA_ENTERPRISE")

    def test_tokens_that_do_not_pass(self):
        for kind in ["low", "expired", "fraud"]:
            with self.subTest(kind):
                self.refused_token("CAPTCHA_CHECK_FAILED", recaptchaToken=self.token(kind))
        self.refused_token("CAPTCHA_CHECK_FAILED", recaptchaToken=self.token("high", "com.example.other"))
        self.refused_token("CAPTCHA_CHECK_FAILED", recaptchaToken=self.token("high", action="login"))

    def test_token_is_good_once(self):
        token = self.token("high")
        self.accepted(recaptchaToken=token)
        self.refused_token("CAPTCHA_CHECK_FAILED", recaptchaToken=token)

    def test_no_token(self):
        self.refused_token("MISSING_CLIENT_IDENTIFIER", captchaResponse="NO_RECAPTCHA")

    def test_what_the_sdks_ask_before(self):
        params = self.web.get("recaptchaParams")
        self.assertLessEqual({"recaptchaSiteKey"}, set(params))
        self.assertEqual(self.apple.get("recaptchaParams"), params)
        config = self.web.get("recaptchaConfig", "v2", {"clientType": "CLIENT_TYPE_WEB", "version": "RECAPTCHA_ENTERPRISE"})
        states = {entry["provider"]: entry["enforcementState"] for entry in config["recaptchaEnforcementState"]}
        self.assertLessEqual({"PHONE_PROVIDER"}, set(states))
        # Without a key, also where nothing is enforced, JavaScript's initializeRecaptchaConfig rejects.
        self.assertEqual(len(config["recaptchaKey"].split("/")), 4, "the SDKs split it")
        for client in [self.web, self.apple]:
            project = client.get("projects")
            self.assertEqual(project["projectId"], "100000000001")
            self.assertIn("localhost", project["authorizedDomains"])
            self.assertTrue(any(
                urllib.parse.urlsplit("//" + domain).hostname.endswith(("firebaseapp.com", "web.app"))
                for domain in project["authorizedDomains"]), "the Apple SDK needs one")
