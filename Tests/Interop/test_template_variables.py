"""Variables of one's own in SMS and mail: they arrive as given, and what could mislead a reader leaves nothing."""

import json
import pathlib
import shutil
import unittest

import simulator
import stack
from countersign_client import Client
from gateway_client import PROJECT, send
from process import Process, countersign
from samples import in_seconds, new_number
from service_accounts import ServiceAccount
from test_mail import parsed, received

DECLARATIONS = """{
  shop: { maxLength: 20 }, // every message has to give it
  city: { maxLength: 20, default: "Köln & Bonn" },
}"""


def templates(process, kind, name, template):
    """Gives a process templates of its own: the shipped ones with one more, and its variables."""
    directory = pathlib.Path(process.directory.name) / "templates"
    shutil.copytree(stack.ROOT / "Config" / "templates" / kind, directory)
    (directory / "variables.json5").write_text(DECLARATIONS)
    for path in directory.glob("*.json"):
        file = json.loads(path.read_text())
        file["templates"][name] = template
        path.write_text(json.dumps(file))
    process.replace(r'(?<=templates: \{ directory: )"[^"]*"', f'"{directory}"')
    return directory


class SMSTest(unittest.TestCase):
    def setUp(self):
        self.client = Client.of(self)
        stack.stop_for(self, "sms-worker-1", "sms-worker-2")
        self.worker = self.enterContext(Process("sms-worker"))
        wordings = ["{code} confirms your order at {shop} in {city}. {appName}"]
        self.directory = templates(self.worker, "sms", "order", {"plain": wordings, "domainBound": wordings})
        self.worker.start().ready()

    def send(self, number, custom):
        variables = {"code": "246813", "appName": "Shop", "domain": "shop.example", "custom": custom}
        return self.client.job("sms.dispatch", {
            "to": number, "template": "order", "languageCode": "en", "variables": variables, "deadline": in_seconds(120)})

    def test_a_value_and_a_default_stand_in_the_message(self):
        number = new_number("+49170")
        result = self.send(number, {"shop": "Corner {code}"})
        self.assertEqual(result["outcome"], "accepted", result)
        self.assertEqual(
            simulator.message(number)["body"],
            "246813 confirms your order at Corner {code} in Köln & Bonn. Shop\n@shop.example #246813")

    def test_what_could_mislead_is_refused_by_name_and_nothing_is_sent(self):
        number = new_number("+49170")
        for custom, code, field in [
            ({}, "MISSING_VARIABLE", "variables.custom.shop"), ({"shpo": "A"}, "UNKNOWN_VARIABLE", "did you mean shop?"),
            ({"shop": "A", "code": "111111"}, "UNKNOWN_VARIABLE", "variables.custom.code"),
            ({"shop": "see evil.example"}, "INVALID_VARIABLE", "variables.custom.shop"),
            ({"shop": "code 9 9 9 9"}, "INVALID_VARIABLE", "variables.custom.shop"),
            ({"shop": "A\n@evil.example #1"}, "INVALID_VARIABLE", "variables.custom.shop"),
            ({"shop": "A" * 21}, "INVALID_VARIABLE", "variables.custom.shop"),
        ]:
            with self.subTest(custom):
                result = self.send(number, custom)
                self.assertEqual((result["outcome"], result["reason"]["code"]), ("refused", code))
                self.assertIn(field, result["reason"]["detail"])
        self.assertEqual(simulator.messages(number), [])

    def test_a_verification_has_the_values_of_its_app_and_of_its_start(self):
        stack.stop_for(self, "coordinator")
        coordinator = self.enterContext(Process("coordinator"))
        coordinator.replace(
            r'(?<=domain: "example.com",)', '\n      template: "order", variables: { city: "Bonn" }, startVariables: ["shop"],')
        coordinator.start().ready()
        number = new_number("+49170")
        body = {"phoneNumber": number, "app": "com.example.app", "languageCode": "en"}
        for variables, field in [(None, "variables.shop"), ({"shop": "A", "city": "B"}, "variables.city")]:
            error = self.client.refused("verification.start", {**body, "variables": variables})
            self.assertEqual((error.code, error.field), ("INVALID_ARGUMENT", field))
        # HTTP gives none: the caller is told which is missing, and by whom it can be given.
        url = stack.gateway_urls()[0]
        token = ServiceAccount(self.addCleanup, "verifications").access_token(url)
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        for variables, field, text in [({}, "app", "needs variables.shop"), ({"variables": {"shop": "A"}}, "variables", "not a field")]:
            answer = send(url, "POST", f"/v1/projects/{PROJECT}/verifications", json.dumps(body | variables), headers)
            problem = json.loads(answer.body)
            self.assertEqual((answer.status, problem["field"]), (400, field), answer.body)
            self.assertIn(text, problem["detail"])
        self.client.command("verification.start", {**body, "variables": {"shop": "Corner"}})
        text = simulator.message(number)["body"]
        code = simulator.code(text)
        self.assertEqual(text, f"{code} confirms your order at Corner in Bonn. Example\n@example.com #{code}")

    def test_the_check_finds_a_language_without_the_variable(self):
        self.assertEqual(countersign("templates", "check", str(self.directory)).returncode, 0)
        path = self.directory / "fr.json"
        file = json.loads(path.read_text())
        file["templates"]["order"] = {"plain": ["{code} {appName} {shpo}"], "domainBound": ["{code} {appName}"]}
        path.write_text(json.dumps(file))
        done = countersign("templates", "check", str(self.directory))
        self.assertEqual(done.returncode, 1)
        self.assertIn("fr.json: order.plain[0]: uses {shpo} (did you mean {shop}?)", done.stdout)


class MailTest(unittest.TestCase):
    def setUp(self):
        self.client = Client.of(self)
        stack.stop_for(self, "mail-worker")
        worker = self.enterContext(Process("mail-worker"))
        templates(worker, "mail", "order", {
            "subject": "Your order at {shop}", "blocks": [{"text": "{shop} in {city}"}, {"code": "{code}"}]})
        worker.start().ready()

    def send(self, to, custom):
        return self.client.job("mail.relay", {
            "to": to, "template": "order", "languageCode": "en", "variables": {"code": "246813", "custom": custom},
            "deadline": in_seconds(120)}, timeout=180)

    def test_a_value_is_escaped_in_html_and_adds_no_header(self):
        to = f"ada+{new_number('')}@privaterelay.appleid.com"
        self.assertEqual(self.send(to, {"shop": "A <b>B</b> & Söhne"})["outcome"], "accepted")
        (raw,) = received(to)
        mail = parsed(raw)
        self.assertEqual(mail["Subject"], "Your order at A <b>B</b> & Söhne")
        self.assertIn("A <b>B</b> & Söhne in Köln & Bonn", mail.get_body(("plain",)).get_content())
        html = mail.get_body(("html",)).get_content()
        self.assertIn("A &lt;b&gt;B&lt;/b&gt; &amp; Söhne", html)
        self.assertNotIn("<b>B", html)
        result = self.send(to, {"shop": "A\r\nBcc: eve@example.org"})
        self.assertEqual((result["outcome"], result["reason"]["code"]), ("refused", "INVALID_VARIABLE"))
        self.assertEqual(self.send(to, {})["reason"]["code"], "MISSING_VARIABLE")
        self.assertEqual(len(received(to)), 1)
