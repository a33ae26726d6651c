"""Jobs that another service enqueues itself: their results, and what becomes of those that break the contract."""

import base64
import json
import uuid

import broker
import simulator
from countersign_client import ClientTest
from samples import in_seconds, new_number


class JobTest(ClientTest):
    def dispatch(self, body, **properties):
        return self.client.job("sms.dispatch", body, **properties)

    def text_job(self, number, **fields):
        return {"to": number, "text": "Your table is ready.", "deadline": in_seconds(120), **fields}

    def test_a_text_is_sent_and_its_result_comes_back(self):
        number = new_number("+49170")
        message_id = str(uuid.uuid4())
        result = self.dispatch(self.text_job(number), message_id=message_id)
        self.assertEqual(result["outcome"], "accepted")
        self.assertEqual(result["jobID"], message_id)
        self.assertTrue(result["reference"])
        self.assertTrue(result["lane"])
        self.assertEqual((result["segments"], result["encoding"]), (1, "gsm7"))
        self.assertEqual(simulator.message(number)["body"], "Your table is ready.")

    def test_the_same_job_twice_is_sent_once_and_answered_twice(self):
        number = new_number("+49170")
        message_id = str(uuid.uuid4())
        job = self.text_job(number)
        self.assertEqual(self.dispatch(job, message_id=message_id), self.dispatch(job, message_id=message_id))
        self.assertEqual(len(simulator.messages(number)), 1)

    def test_a_late_job_is_not_sent(self):
        number = new_number("+49170")
        result = self.dispatch(self.text_job(number, deadline=in_seconds(-1)))
        self.assertEqual(result["outcome"], "expired")
        self.assertEqual(simulator.messages(number), [])

    def test_a_number_that_is_none_is_refused(self):
        result = self.dispatch(self.text_job("hello"))
        self.assertEqual(result["outcome"], "refused")
        self.assertTrue(result["reason"]["code"])

    def test_a_refused_first_lane_hands_over_to_the_second(self):
        number = new_number("+49170")
        simulator.inject(provider="twilio", fault="429", to=number, count=1, retryAfterSeconds=1)
        result = self.dispatch(self.text_job(number))
        self.assertEqual(result["outcome"], "accepted")
        self.assertEqual(len(simulator.messages(number)), 1)

    def test_no_answer_is_unknown_and_not_sent_again(self):
        number = new_number("+49170")
        simulator.inject(provider="twilio", fault="reset", to=number, count=1, processed=True)
        result = self.dispatch(self.text_job(number))
        self.assertEqual(result["outcome"], "unknown")
        self.assertEqual(len(simulator.messages(number)), 1)

    def test_messages_that_break_the_contract_are_dead_letters_with_their_reason(self):
        sealed = ".".join(
            base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in [
                json.dumps({"alg": "dir", "enc": "A256GCM", "kid": "nobody-has-it"}).encode(), b"", b"0" * 12,
                b"secret", b"1" * 16])
        template = {
            "to": new_number("+49170"), "template": "verification", "variables": {"code": sealed}, "deadline": in_seconds(60)}
        job = self.text_job(new_number("+49170"))
        cases = {
            "NOT_JSON": (b"{nonsense", {}),
            "WRONG_CONTENT_TYPE": (job, {"content_type": "text/plain"}),
            "UNKNOWN_TYPE": (job, {"type": "sms.send.v1"}),
            "UNKNOWN_VERSION": (job, {"type": "sms.dispatch.v9"}),
            "MISSING_FIELD": ({"to": new_number("+49170"), "text": "No deadline."}, {}),
            "BODY_TOO_LARGE": (self.text_job(new_number("+49170"), padding="x" * 1_000_000), {}),
            "UNKNOWN_KEY": (template, {}),
        }
        for reason, (body, properties) in cases.items():
            with self.subTest(reason):
                message_id = str(uuid.uuid4())
                result = self.dispatch(body, message_id=message_id, **properties)
                self.assertEqual(result["outcome"], "refused", "the courtesy result to whoever waits")
                dead = broker.dead_letter("sms.dispatch", message_id)
                self.assertIsNotNone(dead, "no dead letter")
                headers = dead[0].headers
                self.assertEqual(headers["x-dead-reason"], reason)
                self.assertEqual(headers["x-dead-queue"], "sms.dispatch")
                self.assertTrue(headers["x-last-error"])
                expected = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.assertEqual(dead[1], expected, "the message is kept as it came")
        # The worker goes on.
        self.assertEqual(self.dispatch(self.text_job(new_number("+49170")))["outcome"], "accepted")
