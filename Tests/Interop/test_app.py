"""An app proves itself before an SMS is spent: by push, by reCAPTCHA where that cannot work, and what every mistake is answered with."""

import secrets
import time

import app_sdk
import records
import simulator
from countersign_client import ClientTest, Refused
from samples import new_number
from waiting import eventually

APP = "com.example.push"
STRING_FORM_APP = "com.example.audit"
CAPTCHA_APP = "com.example.recaptcha"
# Tag of `expiresAt` in the record of a receipt.
EXPIRES_AT = 8
# What the coordinator expects of a token unless the app is configured otherwise.
ACTION = "sendVerificationCode"


def new_device(app=APP, **order):
    """A device token as the SDK writes it, in capitals, that Apple has given an app on this device."""
    token = secrets.token_hex(32).upper()
    simulator.device(token, app, **order)
    return token


def captcha(kind, app=CAPTCHA_APP):
    """A reCAPTCHA token that an app made for the expected action, `kind` being what the simulator makes of it."""
    return f"{kind}.{ACTION}.{secrets.token_hex(8)}@{app}"


class AppTest(ClientTest):
    def verify_app(self, device, app=APP, **fields):
        return self.client.command("app.verify", {"app": app, "deviceToken": device, **fields})

    def prove(self, device, app=APP, **fields):
        sdk = app_sdk.App()
        sdk.wait_for(self.verify_app(device, app, **fields)["receipt"])
        self.assertTrue(sdk.receive(simulator.push(device)["payload"]))
        return sdk.credential

    def start(self, proof, app=APP, number=None):
        body = {"phoneNumber": number or new_number(), "app": app}
        return self.client.command("verification.start", body | ({"proof": proof} if proof else {}))

    def approve(self, started):
        code = simulator.code(simulator.message(started["phoneNumber"])["body"])
        self.client.command("verification.check", {"verificationID": started["verificationID"], "code": code})

    def refused(self, call, *arguments, **fields):
        with self.assertRaises(Refused) as caught:
            call(*arguments, **fields)
        return caught.exception

    def expect(self, code, reason, proof, app=APP):
        """A start with that proof is answered so, and no SMS is sent."""
        number = new_number()
        error = self.refused(self.start, proof, app, number)
        self.assertEqual((error.code, error.reason), (code, reason), error)
        self.assertEqual(simulator.messages(number), [])
        for secret in (proof or {}).values():
            self.assertNotIn(secret, error.message)

    def ended(self, receipt):
        return self.client.ended_operation(receipt, timeout=90)

    def push_events(self, receipt):
        status = self.client.command("operation.status", {"operationID": receipt})
        return [entry["event"] for entry in status["timeline"]]

    def events(self, started):
        status = self.client.command("verification.status", {"verificationID": started["verificationID"]})
        return [entry["event"] for entry in status["timeline"]]


class PushTest(AppTest):
    def test_push_then_sms_then_code(self):
        device = new_device()
        reply = self.verify_app(device)
        self.assertIsInstance(reply["suggestedTimeout"], int)
        push = simulator.push(device)
        headers = push["headers"]
        self.assertEqual(headers["apns-topic"], APP)
        self.assertEqual((headers["apns-push-type"], headers["apns-priority"]), ("background", "5"))
        self.assertGreater(int(headers["apns-expiration"]), time.time())
        self.assertEqual(push["payload"]["aps"], {"content-available": 1})
        self.assertIsInstance(push["payload"][app_sdk.KEY], dict)
        sdk = app_sdk.App()
        self.assertFalse(sdk.receive(push["payload"]), "a receipt that nobody waits for")
        sdk.wait_for(reply["receipt"])
        self.assertTrue(sdk.receive(push["payload"]))
        started = self.start(sdk.credential)
        self.approve(started)
        self.assertEqual(self.ended(reply["receipt"])["state"], "completed")
        events = self.events(started)
        self.assertIn("push.accepted", events)
        self.assertIn("proof.accepted", events)
        self.assertEqual(len(simulator.pushes(device)), 1)

    def test_payload_as_a_text(self):
        device = new_device(STRING_FORM_APP)
        receipt = self.verify_app(device, STRING_FORM_APP)["receipt"]
        payload = simulator.push(device)["payload"]
        self.assertIsInstance(payload[app_sdk.KEY], str)
        sdk = app_sdk.App()
        sdk.wait_for(receipt)
        self.assertTrue(sdk.receive(payload))

    def test_pair_is_good_for_many_numbers(self):
        pair = self.prove(new_device())
        for _ in range(3):
            self.approve(self.start(pair))

    def test_every_call_has_a_receipt_of_its_own(self):
        device = new_device()
        receipts = {self.verify_app(device)["receipt"] for _ in range(3)}
        self.assertEqual(len(receipts), 3)
        simulator.push(device, count=3)

    def test_token_of_the_sandbox_is_found_there_and_remembered(self):
        device = new_device(environment="sandbox")
        for count in [1, 2]:
            self.verify_app(device)
            push = simulator.push(device, count=count)
            self.assertIn("sandbox", push["headers"]["host"])

    def test_token_that_apple_does_not_know(self):
        status = self.ended(self.verify_app(secrets.token_hex(32))["receipt"])
        self.assertEqual(status["state"], "failed")
        self.assertIn(status["failure"]["code"], {"WRONG_ENVIRONMENT", "BAD_DEVICE_TOKEN"})

    def test_token_of_another_app(self):
        status = self.ended(self.verify_app(new_device("com.example.app"))["receipt"])
        self.assertEqual((status["state"], status["failure"]["code"]), ("failed", "WRONG_TOPIC"))

    def test_wrong_environment_is_told(self):
        device = new_device(environment="sandbox")
        status = self.ended(self.verify_app(device, environment="production")["receipt"])
        self.assertEqual(status["state"], "failed")
        self.assertIn(status["failure"]["code"], {"WRONG_ENVIRONMENT", "BAD_DEVICE_TOKEN"})

    def test_refused_push_sends_the_app_to_recaptcha(self):
        device = new_device(reason="Unregistered")
        receipt = self.verify_app(device)["receipt"]
        status = self.ended(receipt)
        self.assertEqual((status["state"], status["failure"]["code"]), ("failed", "UNREGISTERED"))
        self.expect("MISSING_APP_CREDENTIAL", "UNREGISTERED", {"receipt": receipt})
        # From now on the app is told at once.
        error = self.refused(self.verify_app, device)
        self.assertEqual((error.code, error.reason), ("MISSING_IOS_APP_TOKEN", "UNREGISTERED"))
        started = self.start({"receipt": receipt, "recaptchaToken": captcha("high", APP)})
        self.approve(started)
        events = self.events(started)
        self.assertIn("push.refused", events)
        self.assertIn("recaptcha.accepted", events)

    def test_push_that_is_not_answered_is_sent_again_on_another_connection(self):
        device = new_device()
        simulator.inject(provider="apns", fault="hang", to=device.lower(), count=1)
        self.approve(self.start(self.prove(device)))

    def test_push_that_is_never_answered_does_not_hold_up_the_app(self):
        device = new_device()
        simulator.inject(provider="apns", fault="hang", to=device.lower(), count=1000)
        reply = self.verify_app(device)
        time.sleep(reply["suggestedTimeout"])
        self.assertEqual(simulator.pushes(device), [])
        started = self.start({"receipt": reply["receipt"], "recaptchaToken": captcha("high", APP)})
        self.approve(started)
        # Other devices are not held up either.
        self.prove(new_device())
        # Nobody knows whether it will come after all, and the timeline says so.
        eventually("the timeline says so", lambda: "push.unknown" in self.push_events(reply["receipt"]), timeout=90)

    def test_throttled_push_comes_later(self):
        device = new_device(reason="TooManyRequests", count=1)
        self.verify_app(device)
        simulator.push(device, timeout=180)

    def test_reset_is_no_loss(self):
        device = new_device()
        simulator.inject(provider="apns", fault="reset", to=device.lower(), count=2)
        self.approve(self.start(self.prove(device)))


class CredentialTest(AppTest):
    def test_wrong_secret(self):
        pair = self.prove(new_device())
        self.expect("INVALID_APP_CREDENTIAL", "WRONG_SECRET", pair | {"secret": pair["secret"][:-1] + "_"})
        self.approve(self.start(pair))

    def test_secret_of_another_app(self):
        pair = self.prove(new_device())
        self.expect("APP_NOT_VERIFIED", "OTHER_APP", pair, app=STRING_FORM_APP.replace("audit", "app"))

    def test_secret_of_another_receipt(self):
        first, second = self.prove(new_device()), self.prove(new_device())
        self.expect("INVALID_APP_CREDENTIAL", "WRONG_SECRET", first | {"secret": second["secret"]})

    def test_expired_receipt(self):
        pair = self.prove(new_device())
        records.set_time("appProof", pair["receipt"], EXPIRES_AT, 1000)
        self.expect("INVALID_APP_CREDENTIAL", "RECEIPT_EXPIRED", pair)

    def test_receipt_that_nobody_issued(self):
        self.expect("INVALID_APP_CREDENTIAL", "UNKNOWN_RECEIPT", {"receipt": "x" * 22, "secret": "y" * 43})

    def test_receipt_without_its_secret(self):
        receipt = self.verify_app(new_device())["receipt"]
        self.expect("MISSING_APP_CREDENTIAL", None, {"receipt": receipt})

    def test_no_proof(self):
        self.expect("MISSING_CLIENT_IDENTIFIER", None, None)

    def test_device_token_that_is_none(self):
        error = self.refused(self.verify_app, "not hexadecimal")
        self.assertEqual((error.code, error.field), ("INVALID_APP_CREDENTIAL", "deviceToken"))
        error = self.refused(self.verify_app, "")
        self.assertEqual(error.code, "MISSING_IOS_APP_TOKEN")

    def test_app_without_push(self):
        error = self.refused(self.verify_app, new_device(), CAPTCHA_APP)
        self.assertEqual(error.code, "INVALID_APP_CREDENTIAL")

    def test_audited_app_is_let_through(self):
        started = self.start(None, STRING_FORM_APP)
        self.assertIn("proof.missing", self.events(started))
        self.approve(started)


class CaptchaTest(AppTest):
    def expect_captcha(self, reason, token):
        self.expect("CAPTCHA_CHECK_FAILED", reason, {"recaptchaToken": token}, CAPTCHA_APP)

    def test_good_token(self):
        started = self.start({"recaptchaToken": captcha("high")}, CAPTCHA_APP)
        self.assertIn("recaptcha.accepted", self.events(started))
        self.approve(started)

    def test_tokens_that_do_not_pass(self):
        self.expect_captcha("CAPTCHA_SCORE_TOO_LOW", captcha("low"))
        self.expect_captcha("CAPTCHA_EXPIRED", captcha("expired"))
        self.expect_captcha("CAPTCHA_TOLL_FRAUD", captcha("fraud"))
        self.expect_captcha("CAPTCHA_INVALID", "nonsense" + secrets.token_hex(8))
        self.expect_captcha("CAPTCHA_ACTION_MISMATCH", f"high.login.{secrets.token_hex(8)}@{CAPTCHA_APP}")

    def test_token_of_another_app(self):
        token = secrets.token_hex(8)
        simulator.recaptcha(token, action=ACTION, bundleID="com.example.other")
        self.expect_captcha("CAPTCHA_APP_MISMATCH", token)
        # Made by no app: on a page of the web, say.
        self.expect_captcha("CAPTCHA_APP_MISMATCH", f"high.{ACTION}.{secrets.token_hex(8)}")

    def test_token_without_an_action(self):
        self.expect_captcha("CAPTCHA_ACTION_MISMATCH", f"high..{secrets.token_hex(8)}@{CAPTCHA_APP}")

    def test_token_is_good_once(self):
        token = captcha("high")
        self.approve(self.start({"recaptchaToken": token}, CAPTCHA_APP))
        self.expect_captcha("CAPTCHA_REPLAYED", token)

    def test_token_that_was_used_elsewhere(self):
        token = captcha("high")
        simulator.recaptcha(token, invalidReason="DUPE")
        self.expect_captcha("CAPTCHA_DUPLICATE", token)

    def test_busy_provider_is_asked_again(self):
        token = captcha("high")
        simulator.inject(provider="recaptcha", fault="429", to=token, count=1, retryAfterSeconds=1)
        self.approve(self.start({"recaptchaToken": token}, CAPTCHA_APP))

    def test_silent_provider_is_not_waited_for(self):
        token = captcha("high")
        simulator.inject(provider="recaptcha", fault="hang", to=token, count=10)
        self.expect("APP_NOT_VERIFIED", "CAPTCHA_UNDECIDED", {"recaptchaToken": token}, CAPTCHA_APP)
