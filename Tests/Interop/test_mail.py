"""Mail: what is signed verifies for others, what the relay takes arrives, and what goes wrong ends as it should."""

import email
import email.policy
import hashlib
import itertools
import json
import os
import pathlib
import subprocess
import tempfile
import time
import unittest
import uuid

import dkim

import stack
from countersign_client import ClientTest
from process import countersign
from samples import in_seconds

MAILDIR = pathlib.Path(os.environ["COUNTERSIGN_MAILDIR"])
RECORDS = json.loads((stack.DIRECTORY / "secrets" / "dkim-records.json").read_text())
LANGUAGES = ["ar", "bn", "de", "en", "es", "fr", "hi", "ja", "pt-BR", "pt-PT"]

# A second verifier, with the keys in place of DNS. One line for each signature of each mail: its algorithm and what became of it.
MAIL_DKIM = r"""
use strict; use warnings; use JSON::PP; use Net::DNS; use Mail::DKIM::Verifier; use Mail::DKIM::DNS;
my $records = decode_json(do { local $/; open(my $f, '<', shift) or die; <$f> });
{ no warnings 'redefine'; *Mail::DKIM::DNS::query = sub {
    my $text = $records->{$_[0]} or return;
    return Net::DNS::RR->new(owner => $_[0], type => 'TXT', txtdata => [unpack '(A200)*', $text]); } }
for (@ARGV) {
    my $verifier = Mail::DKIM::Verifier->new;
    open(my $mail, '<:raw', $_) or die; $verifier->load($mail);
    print $_->algorithm, ' ', $_->result, "\n" for $verifier->signatures;
}
"""


def lookup(name, timeout=5):
    return RECORDS.get(name.decode().rstrip("."), "").encode()


def received(recipient):
    """What the relay keeps for a recipient: raw, without what the relay has put before it."""
    mails = []
    for path in (MAILDIR / "new").glob("*"):
        raw = path.read_bytes().replace(b"\n", b"\r\n")
        if f"\r\nDelivered-To: {recipient}\r\n".encode() in raw.partition(b"\r\n\r\n")[0] + b"\r\n":
            mails.append(raw.split(b"\r\n", 2)[2])
    return mails


def parsed(raw):
    return email.message_from_bytes(raw, policy=email.policy.SMTP)


def content(part):
    return part.get_content().replace("\r\n", "\n")


def hash_of_job(message_id, sender="sender"):
    """What stands for a job of a sender where the mail worker names it to others."""
    return hashlib.sha256(f"{sender}\x1f{message_id}".encode()).hexdigest()[:32]


class SignatureTest(unittest.TestCase):
    """Mails as the worker writes them, looked at by two verifiers that know nothing of it."""

    @classmethod
    def setUpClass(cls):
        cls.directory = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="countersign-")))
        cls.numbers = itertools.count()

    def tearDown(self):
        # All of a test in one go: its start takes longer than a mail.
        mails = sorted(self.directory.glob("*.eml"))
        if mails:
            done = subprocess.run(
                ["perl", "-e", MAIL_DKIM, stack.DIRECTORY / "secrets" / "dkim-records.json", *mails], capture_output=True, text=True,
                timeout=180, check=True)
            # Debian's Mail::DKIM does not know Ed25519 yet.
            self.assertEqual(done.stdout.split("\n").count("rsa-sha256 pass"), len(mails), done.stdout)
        for path in mails:
            path.unlink()

    def preview(self, *arguments, **files):
        options = list(arguments)
        for name, text in files.items():
            path = self.directory / name
            path.write_bytes(text.encode())
            options += [f"--{name}-file", str(path)]
        output = self.directory / f"{next(self.numbers)}.eml"
        done = countersign("mail", "preview", "ada@example.org", *options, "--output", str(output))
        self.assertEqual(done.returncode, 0, done.stderr)
        raw = output.read_bytes()
        self.assertEqual(dkim.DKIM(raw).verify(idx=0, dnsfunc=lookup), True)
        self.assertEqual(dkim.DKIM(raw).verify(idx=1, dnsfunc=lookup), True)
        self.assertNotIn(b"\n", raw.replace(b"\r\n", b""))
        self.assertNotIn(b"\r", raw.replace(b"\r\n", b""))
        self.assertLessEqual(max(map(len, raw.split(b"\r\n"))), 998)
        return parsed(raw)

    def test_plain(self):
        mail = self.preview("--subject", "Hello", text="Hi\n")
        self.assertEqual(content(mail), "Hi\n")

    def test_long_headers(self):
        subject = " ".join(["word"] * 79)
        self.assertEqual(self.preview("--subject", subject, text="Hi")["Subject"], subject)
        subject = "x" * 399
        self.assertEqual(self.preview("--subject", subject, text="Hi")["Subject"], subject)

    def test_subjects_that_are_not_ascii(self):
        for subject in ["Größe", "件名がとても長いときは、何行にもわたって折り返されます。" * 4, "emoji 👩‍👩‍👧‍👦 " * 10, "=?UTF-8?Q?x?="]:
            subject = subject.strip()
            mail = self.preview("--subject", subject, text="Hi")
            self.assertEqual(str(mail["Subject"]), subject)

    def test_dots_at_line_starts(self):
        text = ".\n..\n.dot\n\n.\n"
        self.assertEqual(content(self.preview("--subject", "Dots", text=text)), text)

    def test_lone_carriage_returns_and_line_feeds(self):
        mail = self.preview("--subject", "Breaks", text="a\rb\nc\r\nd\n\re")
        self.assertEqual(mail.get_content().splitlines(), ["a", "b", "c", "d", "", "e"])

    def test_bodies_of_a_megabyte(self):
        for line in ["plain text of some length, again and again\n", "x" * 1000 + "\n", "wörter und wörter\n", "日本語の本文\n"]:
            text = line * (1_048_576 // len(line.encode()))
            mail = self.preview("--subject", "Large", text=text, html=f"<pre>{text}</pre>")
            self.assertEqual(content(mail.get_body(("plain",))), text)

    def test_one_click_unsubscription_is_signed(self):
        mail = self.preview("--subject", "News", "--unsubscribe", "https://example.com/u?x=1", text="Hi")
        self.assertEqual(mail["List-Unsubscribe"], "<https://example.com/u?x=1>")
        self.assertEqual(mail["List-Unsubscribe-Post"], "List-Unsubscribe=One-Click")
        for signature in mail.get_all("DKIM-Signature"):
            signed = "".join(signature.split()).lower().partition(";h=")[2].partition(";")[0].split(":")
            self.assertTrue({"list-unsubscribe", "list-unsubscribe-post", "from", "subject"} <= set(signed))

    def test_every_template_in_every_language(self):
        for language in LANGUAGES:
            for template in [
                "revocation-notice", "address-verification", "sign-in-link", "password-reset", "address-change", "address-recovery",
                "security-notice", "second-factor-reversal",
            ]:
                with self.subTest(language=language, template=template):
                    mail = self.preview(
                        "--template", template, "--language", language, "--code", "123456", "--link", "https://example.com/l",
                        "--change", "A & B.", "--second-factor", "+*******0100", "--app-name", "Example & Co")
                    html = mail.get_body(("html",)).get_content()
                    self.assertIn(f'lang="{language}"', html)
                    self.assertIn("Example &amp; Co", html)
                    self.assertIn("https://example.com/l", mail.get_body(("plain",)).get_content())
                    self.assertIn("Example & Co", mail["Subject"])

    def test_a_change_on_the_way_is_noticed(self):
        with tempfile.TemporaryDirectory() as directory:
            output = pathlib.Path(directory) / "mail.eml"
            done = countersign(
                "mail", "preview", "ada@example.org", "--template", "sign-in-link", "--link", "https://example.com/l",
                "--output", str(output))
            self.assertEqual(done.returncode, 0, done.stderr)
            raw = output.read_bytes()
            for changed in [raw.replace(b"To: ada", b"To: eve"), raw.replace(b"\r\nSubject:", b"\r\nSubject: x\r\nSubject:")]:
                self.assertFalse(dkim.DKIM(changed).verify(dnsfunc=lookup))


class DeliveryTest(ClientTest):
    def address(self, word="ada"):
        return f"{word}+{uuid.uuid4().hex[:12]}@privaterelay.appleid.com"

    def relay(self, to, timeout=180, **fields):
        body = {"to": to, "subject": "Hello", "text": "Hi\n.dot\n", "deadline": in_seconds(120), **fields}
        return self.client.job("mail.relay", body, timeout=timeout)

    def test_a_mail_arrives_signed(self):
        to, message_id = self.address(), str(uuid.uuid4())
        body = {"to": to, "template": "address-verification", "languageCode": "de", "variables": {"code": "135790"},
                "deadline": in_seconds(120)}
        result = self.client.job("mail.relay", body, message_id=message_id)
        self.assertEqual(result["outcome"], "accepted", result)
        self.assertTrue(result["reference"])
        self.assertEqual(result["lane"], "relay")
        (raw,) = received(to)
        self.assertTrue(dkim.verify(raw, dnsfunc=lookup))
        mail = parsed(raw)
        self.assertEqual(mail["Message-ID"], f"<{hash_of_job(message_id)}@example.com>")
        self.assertEqual(mail["Auto-Submitted"], "auto-generated")
        self.assertIn("135790", mail.get_body(("plain",)).get_content())
        self.assertIn("135790", mail.get_body(("html",)).get_content())

    def test_the_same_job_twice_is_one_mail(self):
        to, message_id = self.address(), str(uuid.uuid4())
        body = {"to": to, "subject": "Hello", "text": "Hi", "deadline": in_seconds(120)}
        first = self.client.job("mail.relay", body, message_id=message_id)
        second = self.client.job("mail.relay", body, message_id=message_id)
        self.assertEqual(first, second)
        self.assertEqual(len(received(to)), 1)

    def test_an_unregistered_sender_is_refused_before_it_leaves(self):
        to = self.address()
        result = self.relay(to, **{"from": "hello@unregistered.example"})
        self.assertEqual((result["outcome"], result["reason"]["code"]), ("refused", "SENDER_NOT_REGISTERED"))
        self.assertEqual(result["attempts"], 0)
        self.assertEqual(received(to), [])

    def test_nobody_else_gets_a_mail(self):
        for to in ["ada@example.org\r\nRCPT TO:<eve@example.org>", "ada@example.org\n", "Ada <ada@example.org>"]:
            result = self.relay(to)
            self.assertEqual((result["outcome"], result["reason"]["code"]), ("refused", "INVALID_RECIPIENT"))
        result = self.relay(self.address(), subject="Hello\r\nBcc: eve@example.org")
        self.assertEqual((result["outcome"], result["reason"]["code"]), ("refused", "INVALID_SUBJECT"))
        self.assertEqual(received("eve@example.org"), [])

    def test_an_international_address(self):
        to = f"ünï{uuid.uuid4().hex[:8]}@example.org"
        self.assertEqual(self.relay(to)["outcome"], "accepted")
        self.assertEqual(len(received(to)), 1)

    def test_who_is_gone_is_suppressed_until_somebody_lifts_it(self):
        for word in ["gone", "inactive"]:
            to = self.address(word)
            first = self.relay(to)
            self.assertEqual((first["outcome"], first["reason"]["code"]), ("refused", "RECIPIENT_GONE"))
            self.assertEqual(first["reason"]["providerCode"], "550 5.1.1")
            self.assertTrue(first["suppress"])
            second = self.relay(to)
            self.assertEqual((second["outcome"], second["reason"]["code"]), ("refused", "RECIPIENT_SUPPRESSED"))
            listed = json.loads(countersign("mail", "suppressions", "list", "--json").stdout)
            self.assertIn(to, [entry["address"] for entry in listed])
            self.assertEqual(countersign("mail", "suppressions", "lift", to).returncode, 0)
            self.assertEqual(self.relay(to)["reason"]["code"], "RECIPIENT_GONE")

    def test_no_reply_after_the_dot_is_unknown_and_not_repeated(self):
        to = self.address("drop")
        result = self.relay(to)
        self.assertEqual((result["outcome"], result["reason"]["code"]), ("unknown", "NO_REPLY"))
        self.assertEqual(len(received(to)), 1)

    def test_who_allows_a_repetition_gets_copies_that_can_be_told(self):
        to = self.address("drop")
        # Time for two repetitions.
        result = self.relay(to, deadline=in_seconds(20), onUnknown="resend")
        self.assertEqual(result["outcome"], "unknown")
        mails = received(to)
        self.assertGreater(len(mails), 1)
        self.assertEqual(len({parsed(raw)["Message-ID"] for raw in mails}), 1)

    def test_a_busy_server_gets_it_later(self):
        to = self.address("busy")
        result = self.relay(to)
        self.assertEqual((result["outcome"], result["attempts"]), ("accepted", 2))
        self.assertEqual(len(received(to)), 1)

    def test_a_full_mailbox_outlasts_the_deadline(self):
        to = self.address("full")
        result = self.relay(to, deadline=in_seconds(15))
        self.assertEqual((result["outcome"], result["reason"]["code"]), ("expired", "MAILBOX_FULL"))

    def test_a_server_that_comes_back_gets_it(self):
        stack.stop("relay")
        to = self.address()
        try:
            body = {"to": to, "subject": "Hello", "text": "Hi", "deadline": in_seconds(400)}
            job = self.client.send("countersign.jobs", "mail.relay", body)
            time.sleep(2)
        finally:
            stack.start("relay")
        self.assertEqual(self.client.wait(job, timeout=400)[1]["outcome"], "accepted")
        self.assertEqual(len(received(to)), 1)
