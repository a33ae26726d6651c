"""Links of mails over HTTP: what is mailed, what a link does, and that it counts once, in time, and for its own account.

What an app is promised, and the test that shows it over HTTP:
all four mails, in the app's language, to relay addresses too, and to no hostile page: SendTest
what each link does: VerifyTest, ResetTest, ChangeTest, SignInTest
opened twice, late, by another account, by a scanner: OnceTest, PageTest
a stranger learns nothing about addresses, by text or by time: SendTest, TimingTest
ways to sign in that are off: OffTest
each mail sent once or told as unknown, each link spent once: KillTest
"""

import collections
import concurrent.futures
import html.parser
import http.client
import itertools
import time
import unittest
import urllib.parse

import mailbox_of_relay
import records
import stack
import timings
from gateway_client import (
    CONTINUE_URL, KEY, PASSWORD, PROJECT, TOKENS, Administrator, APIError, Apple, Assertions, Web, new_email, new_number, received_code,
    send)
from identities import GooglePerson
from mailbox_of_relay import link
from own_accounts import OwnAccounts
from waiting import eventually

OTHER_PASSWORD = "another horse battery"
CODES = f"/emulator/v1/projects/{PROJECT}/oobCodes"
MODES = {"PASSWORD_RESET": "resetPassword", "EMAIL_SIGNIN": "signIn", "VERIFY_EMAIL": "verifyEmail",
         "VERIFY_AND_CHANGE_EMAIL": "verifyAndChangeEmail", "RECOVER_EMAIL": "recoverEmail"}
SENDER = "hello@example.com"
# Tag of a ticket's field.
EXPIRES_AT = 4
TIMED = 40
# Of the limits that ship: mails to one address within an hour.
MAILS = 5
UNDER_KILLS = 24
KILL_SECONDS = 300
AWAY = (OSError, http.client.HTTPException)


class MailTest(Assertions, unittest.TestCase):
    def setUp(self):
        self.web, self.apple, self.administrator = Web(), Apple(), Administrator()

    def user(self, email=None):
        return self.web.sign_up(email or new_email())

    def invalid(self, call, *arguments, **fields):
        return self.refused("INVALID_OOB_CODE", call, *arguments, **fields)

    def cannot_sign_in(self, email, password=PASSWORD):
        self.refused("INVALID_LOGIN_CREDENTIALS", self.web.sign_in_with_password, email, password)

    def is_verified(self, user):
        return self.web.lookup(user["idToken"]).get("emailVerified", False)

    def reset_link(self, email, count=1):
        self.web.send_link("PASSWORD_RESET", email=email)
        return link(email, count=count)

    def sign_in_link(self, email, count=1):
        self.web.send_sign_in_link(email)
        return link(email, count=count)

    def verify_link(self, user):
        self.web.send_link("VERIFY_EMAIL", idToken=user["idToken"])
        return link(user["email"])

    def change_link(self, user, email):
        self.web.send_link("VERIFY_AND_CHANGE_EMAIL", idToken=user["idToken"], newEmail=email)
        return link(email)

    def recover_link(self, user):
        """The link that takes a change of the address back, and the user with the new one."""
        self.web.apply_link(self.verify_link(user).code)
        email = new_email()
        self.web.apply_link(self.change_link(user, email).code)
        return link(user["email"], count=2), {**user, "email": email}

    def link_of(self, kind):
        """A link, the call that spends it, and the user, whose address is the one before that."""
        user = self.user()
        if kind == "PASSWORD_RESET":
            found = self.reset_link(user["email"])
            return found, lambda password=OTHER_PASSWORD: self.web.reset_password(found.code, password), user
        if kind == "EMAIL_SIGNIN":
            found = self.sign_in_link(user["email"])
            return found, lambda: self.web.sign_in_with_link(user["email"], found.code), user
        if kind == "RECOVER_EMAIL":
            found, user = self.recover_link(user)
        else:
            found = self.verify_link(user) if kind == "VERIFY_EMAIL" else self.change_link(user, new_email())
        return found, lambda: self.web.apply_link(found.code), user

    def each_link(self):
        """A link of each kind: the kind, the link, the call that spends it, and the user."""
        for kind in MODES:
            yield kind, *self.link_of(kind)


class SendTest(MailTest):
    def shown(self, code):
        """What the development gateway shows of a code."""
        return [entry for entry in self.web.read(send(self.web.url, "GET", CODES))["oobCodes"] if entry["oobCode"] == code]

    def test_each_mail_and_what_development_shows_of_it(self):
        for kind, found, _, user in self.each_link():
            self.assertEqual(found.mode, MODES[kind])
            self.assertEqual(found.query["apiKey"], KEY)
            shown = eventually("the code is shown", lambda found=found: self.shown(found.code))
            self.assertEqual([(entry["requestType"], entry["oobLink"]) for entry in shown], [(kind, found.url)])
            if kind != "VERIFY_AND_CHANGE_EMAIL":
                self.assertEqual(shown[0]["newEmail" if kind == "RECOVER_EMAIL" else "email"], user["email"])

    def test_the_apple_sdk_sends_them_too(self):
        email = new_email()
        self.apple.send_sign_in_link(email, iOSBundleId="com.example.app")
        answer = self.apple.sign_in_with_link(email, link(email).code)
        self.assertIs(answer["isNewUser"], True)

    def test_sender_and_language(self):
        subjects = set()
        for language in ["en", "de", "pt-BR", "ar"]:
            user = self.user()
            client = Web(X_Firebase_Locale=language)
            client.send_link("PASSWORD_RESET", email=user["email"])
            mail = mailbox_of_relay.message(user["email"])
            subjects.add(str(mail["Subject"]))
            self.assertIn(SENDER, str(mail["From"]))
            self.assertEqual(link(user["email"]).query["lang"], language)
        self.assertEqual(len(subjects), 4)

    def test_a_page_to_go_on_to(self):
        email = self.user()["email"]
        self.web.send_link("PASSWORD_RESET", email=email, continueUrl=CONTINUE_URL)
        self.assertEqual(link(email).query["continueUrl"], CONTINUE_URL)
        # An app that opens it gets the parameters itself, beside its own.
        self.web.send_link("PASSWORD_RESET", email=email, continueUrl=CONTINUE_URL, canHandleCodeInApp=True)
        found = link(email, count=2)
        self.assertTrue(found.url.startswith("http://localhost:5000/done?"), found.url)
        self.assertEqual(found.query["from"], "mail")

    def test_hostile_pages_are_in_no_mail(self):
        user = self.user()
        for url in ["https://evil.example/", "http://evil.example/", "javascript:alert(1)", "data:text/html,x", "//evil.example/",
                    "https://localhost@evil.example/", "https://localhost.evil.example/", "https://evil.example#localhost",
                    "https://evil.example\\@localhost/", "localhost", "https://", "https://localhost\r\nBcc: x@evil.example", " ",
                    "https://example.firebaseapp.com.evil.example/"]:
            with self.subTest(url):
                with self.assertRaises(APIError) as caught:
                    self.web.send_link("PASSWORD_RESET", email=user["email"], continueUrl=url)
                self.assertEqual(caught.exception.status, 400)
                self.assertIn(caught.exception.code, {"INVALID_CONTINUE_URI", "UNAUTHORIZED_DOMAIN"})
        self.reset_link(user["email"])
        self.assertEqual(len(mailbox_of_relay.messages(user["email"])), 1)

    def test_nobody_is_told_which_addresses_have_an_account(self):
        user, stranger = self.user(), new_email()
        for email in [user["email"], stranger]:
            self.assertEqual(self.web.send_link("PASSWORD_RESET", email=email), email)
        link(user["email"])
        # One that was asked for later has arrived.
        other = self.user()
        self.reset_link(other["email"])
        self.assertEqual(mailbox_of_relay.messages(stranger), [])
        self.addCleanup(self.administrator.protect_addresses, True)
        self.administrator.protect_addresses(False)
        self.refused("EMAIL_NOT_FOUND", self.web.send_link, "PASSWORD_RESET", email=stranger)

    def test_what_is_missing_is_told(self):
        user = self.user()
        for fields, code in [
            ({}, "MISSING_REQ_TYPE"), ({"requestType": "PASSWORD_RESET"}, "MISSING_EMAIL"),
            ({"requestType": "PASSWORD_RESET", "email": "ada"}, "INVALID_EMAIL"), ({"requestType": "EMAIL_SIGNIN"}, "MISSING_EMAIL"),
            ({"requestType": "VERIFY_EMAIL"}, "MISSING_ID_TOKEN"), ({"requestType": "VERIFY_EMAIL", "idToken": "x"}, "INVALID_ID_TOKEN"),
            ({"requestType": "VERIFY_AND_CHANGE_EMAIL", "idToken": user["idToken"]}, "MISSING_NEW_EMAIL"),
            ({"requestType": "VERIFY_AND_CHANGE_EMAIL", "idToken": user["idToken"], "newEmail": "ada"}, "INVALID_EMAIL"),
            ({"requestType": "RECOVER_EMAIL", "email": user["email"]}, "INVALID_REQ_TYPE"),
        ]:
            with self.subTest(fields=fields):
                self.refused(code, self.web.call, "accounts:sendOobCode", fields)
        for code in ["", "made-up", "é", "x" * 5000]:
            refusal = "INVALID_OOB_CODE" if code else "MISSING_OOB_CODE"
            for call in [self.web.look_at_link, lambda code: self.web.reset_password(code, OTHER_PASSWORD),
                         lambda code: self.web.sign_in_with_link("ada@example.org", code)]:
                self.refused(refusal, call, code)
            if code:
                self.refused(refusal, self.web.apply_link, code)

    def test_links_are_for_administrators_alone(self):
        """Nobody else gets the code in the answer."""
        user = self.user()
        body = {"requestType": "PASSWORD_RESET", "email": user["email"], "returnOobLink": True}
        with self.assertRaises(APIError) as caught:
            self.web.call("accounts:sendOobCode", body)
        self.assertIn(caught.exception.code, {"INSUFFICIENT_PERMISSION", "INVALID_REQ_TYPE"})
        answer = self.administrator.call("/accounts:sendOobCode", body)
        given = mailbox_of_relay.Link(answer["oobLink"])
        self.assertEqual((given.code, given.mode), (answer["oobCode"], "resetPassword"))
        self.web.reset_password(given.code, OTHER_PASSWORD)
        # It was in no mail.
        self.assertEqual(mailbox_of_relay.messages(user["email"]), [])

    def test_relay_addresses_are_reached(self):
        for domain in ["privaterelay.appleid.com", "private.icloud.com"]:
            email = new_email(domain)
            self.assertEqual(self.web.sign_in_with_link(email, self.sign_in_link(email).code)["email"], email)


class TimingTest(MailTest):
    def measure(self):
        known, unknown = [], []
        for _ in range(TIMED):
            for samples in [known, unknown]:
                # Before both, so that the mail of the call before is gone from a machine of few cores.
                email = new_email()
                self.administrator.create(email=email, password=PASSWORD)
                asked = email if samples is known else new_email()
                samples.append(timings.seconds(lambda asked=asked: self.web.send_link("PASSWORD_RESET", email=asked)))
        return known, unknown

    def test_a_mail_that_is_not_sent_takes_as_long_as_one_that_is(self):
        timings.require_same(self, self.measure)


class VerifyTest(MailTest):
    def test_an_address_is_proven(self):
        user = self.user()
        self.assertIs(self.is_verified(user), False)
        found = self.verify_link(user)
        looked = self.web.look_at_link(found.code)
        self.assertEqual((looked["requestType"], looked["email"]), ("VERIFY_EMAIL", user["email"]))
        self.assertIs(self.is_verified(user), False)
        answer = self.web.apply_link(found.code)
        self.assertEqual((answer["localId"], answer["email"], answer["emailVerified"]), (user["localId"], user["email"], True))
        self.assertFalse(TOKENS & set(answer))
        claims = self.web.claims(self.web.refresh(user["refreshToken"])["id_token"])
        self.assertIs(claims["email_verified"], True)

    def test_a_link_proves_the_address_that_it_was_sent_to(self):
        user, email = self.user(), new_email()
        found = self.verify_link(user)
        self.administrator.change(user["localId"], email=email)
        self.invalid(self.web.apply_link, found.code)
        self.assertIs(self.administrator.user(user["localId"]).get("emailVerified", False), False)


class ResetTest(MailTest):
    def test_a_password_is_set_anew(self):
        for client in [self.web, self.apple]:
            user = self.user()
            found = self.reset_link(user["email"])
            for _ in range(3):
                looked = client.look_at_link(found.code)
                self.assertEqual((looked["requestType"], looked["email"]), ("PASSWORD_RESET", user["email"]))
            self.refused("WEAK_PASSWORD", client.reset_password, found.code, "12345")
            answer = client.reset_password(found.code, OTHER_PASSWORD)
            self.assertEqual((answer["requestType"], answer["email"]), ("PASSWORD_RESET", user["email"]))
            self.cannot_sign_in(user["email"])
            self.refused("TOKEN_EXPIRED", client.refresh, user["refreshToken"])
            again = client.sign_in_with_password(user["email"], OTHER_PASSWORD)
            self.assertEqual(again["localId"], user["localId"])
            # Who has the mail has the address.
            self.assertIs(self.is_verified(again), True)

    def test_a_change_since_voids_a_link(self):
        user = self.user()
        first, second = self.reset_link(user["email"]), self.reset_link(user["email"], count=2)
        self.assertNotEqual(first.code, second.code)
        # Mails arrive in any order.
        self.web.reset_password(first.code, OTHER_PASSWORD)
        self.invalid(self.web.reset_password, second.code, PASSWORD)
        self.cannot_sign_in(user["email"])

    def test_who_has_no_password_gets_one(self):
        email = new_email("gmail.com")
        google = GooglePerson(email=email, emailVerified=True)
        user = google.sign_in(self.web)
        self.web.send_link("PASSWORD_RESET", email=email)
        found = link(email)
        self.web.reset_password(found.code, OTHER_PASSWORD)
        self.assertEqual(self.web.sign_in_with_password(email, OTHER_PASSWORD)["localId"], user["localId"])
        self.assertEqual(google.sign_in(self.web)["localId"], user["localId"])


class ChangeTest(MailTest):
    def test_an_address_is_changed_and_taken_back(self):
        user, email = self.user(), new_email()
        self.web.apply_link(self.verify_link(user).code)
        other = self.web.sign_in_with_password(user["email"])
        found = self.change_link(user, email)
        looked = self.web.look_at_link(found.code)
        self.assertEqual((looked["requestType"], looked["email"], looked["newEmail"]), ("VERIFY_AND_CHANGE_EMAIL", user["email"], email))
        self.assertEqual(self.web.lookup(user["idToken"])["email"], user["email"])
        answer = self.web.apply_link(found.code)
        self.assertEqual((answer["localId"], answer["email"], answer["emailVerified"]), (user["localId"], email, True))
        self.cannot_sign_in(user["email"])
        again = self.web.sign_in_with_password(email)
        self.assertEqual(again["localId"], user["localId"])
        self.refused("TOKEN_EXPIRED", self.web.refresh, other["refreshToken"])
        # The old address, which had the verification before, is told and can take it back, once.
        back = link(user["email"], count=2)
        self.assertEqual(back.mode, "recoverEmail")
        looked = self.web.look_at_link(back.code)
        self.assertEqual((looked["requestType"], looked["email"]), ("RECOVER_EMAIL", user["email"]))
        answer = self.web.apply_link(back.code)
        self.assertEqual((answer["localId"], answer["email"]), (user["localId"], user["email"]))
        self.cannot_sign_in(email)
        self.refused("TOKEN_EXPIRED", self.web.refresh, again["refreshToken"])
        self.assertEqual(self.web.sign_in_with_password(user["email"])["localId"], user["localId"])
        self.invalid(self.web.apply_link, back.code)

    def test_an_address_that_was_taken_since(self):
        user, email = self.user(), new_email()
        found = self.change_link(user, email)
        self.web.sign_up(email)
        self.refused("EMAIL_EXISTS", self.web.apply_link, found.code)
        self.assertEqual(self.web.sign_in_with_password(user["email"])["localId"], user["localId"])

    def test_an_address_of_another_account(self):
        """It is answered as any other where addresses are protected, and its owner has no mail of it."""
        user, owner = self.user(), self.user()
        self.web.send_link("VERIFY_AND_CHANGE_EMAIL", idToken=user["idToken"], newEmail=owner["email"])
        # One that was asked for later has arrived.
        self.change_link(user, new_email())
        self.assertEqual(mailbox_of_relay.messages(owner["email"]), [])
        self.addCleanup(self.administrator.protect_addresses, True)
        self.administrator.protect_addresses(False)
        self.refused("EMAIL_EXISTS", self.web.send_link, "VERIFY_AND_CHANGE_EMAIL", idToken=user["idToken"], newEmail=owner["email"])


class SignInTest(MailTest):
    def require_signed_in(self, answer, email, local_id=None):
        claims = self.require_tokens(answer, self.web, "password", identities={"email": [email]})
        self.assertIs(claims["email_verified"], True)
        if local_id is not None:
            self.assertEqual(answer["localId"], local_id)

    def test_a_new_user_and_the_same_again(self):
        email = new_email()
        answer = self.web.sign_in_with_link(email, self.sign_in_link(email).code)
        self.assertEqual((answer["email"], answer["isNewUser"]), (email, True))
        self.require_signed_in(answer, email)
        found = self.web.lookup(answer["idToken"])
        self.assertIs(found["emailLinkSignin"], True)
        self.assertNotIn("passwordHash", found)
        again = self.web.sign_in_with_link(email.upper(), self.sign_in_link(email, count=2).code)
        self.assertFalse(again.get("isNewUser"))
        self.require_signed_in(again, email, answer["localId"])

    def test_a_link_is_for_its_own_address(self):
        email = new_email()
        found = self.sign_in_link(email)
        error = self.refused("INVALID_EMAIL", self.web.sign_in_with_link, new_email(), found.code)
        self.assertEqual(error.detail, "The email provided does not match the sign-in email address.")
        self.refused("MISSING_EMAIL", self.web.call, "accounts:signInWithEmailLink", {"oobCode": found.code})
        # Nothing of it was spent.
        self.web.sign_in_with_link(email, found.code)

    def test_an_anonymous_user_gets_an_address(self):
        user, email = self.web.anonymous(), new_email()
        answer = self.web.sign_in_with_link(email, self.sign_in_link(email).code, idToken=user["idToken"])
        self.require_signed_in(answer, email, user["localId"])
        self.require_signed_in(self.web.sign_in_with_link(email, self.sign_in_link(email, count=2).code), email, user["localId"])

    def test_another_account_gets_nothing(self):
        owner, user = self.user(), self.web.anonymous()
        found = self.sign_in_link(owner["email"])
        self.refused("EMAIL_EXISTS", self.web.sign_in_with_link, owner["email"], found.code, idToken=user["idToken"])
        self.assertNotIn("email", self.web.lookup(user["idToken"]))

    def test_who_made_the_account_without_the_address_loses_it(self):
        early, number = self.user(), new_number()
        session = self.web.send_code(number)
        self.web.sign_in(session, received_code(number), idToken=early["idToken"])
        answer = self.web.sign_in_with_link(early["email"], self.sign_in_link(early["email"]).code)
        self.assertEqual(answer["localId"], early["localId"])
        self.cannot_sign_in(early["email"])
        self.refused("TOKEN_EXPIRED", self.web.refresh, early["refreshToken"])
        self.assertNotEqual(self.web.sign_in_as(number, count=2)["localId"], early["localId"])

    def test_a_proven_address_keeps_its_password(self):
        user = self.user()
        self.web.apply_link(self.verify_link(user).code)
        answer = self.web.sign_in_with_link(user["email"], self.sign_in_link(user["email"], count=2).code)
        self.require_signed_in(answer, user["email"], user["localId"])
        self.assertEqual(self.web.sign_in_with_password(user["email"])["localId"], user["localId"])

    def test_a_disabled_account(self):
        user = self.user()
        found = self.sign_in_link(user["email"])
        self.administrator.change(user["localId"], disableUser=True)
        self.refused("USER_DISABLED", self.web.sign_in_with_link, user["email"], found.code)


class OnceTest(MailTest):
    def test_opened_twice(self):
        for _, _, spend, _ in self.each_link():
            spend()
            self.invalid(spend)

    def test_opened_by_several_at_once(self):
        for _, _, spend, _ in self.each_link():
            with concurrent.futures.ThreadPoolExecutor(6) as pool:
                calls = [pool.submit(spend) for _ in range(6)]
                errors = [call.exception() for call in calls]
            self.assertEqual(errors.count(None), 1, errors)
            self.assertEqual({error.code for error in errors if error}, {"INVALID_OOB_CODE"})

    def test_opened_late(self):
        before = records.identifiers("ticket", "accounts")
        for kind, found, spend, user in self.each_link():
            for ticket in records.identifiers("ticket", "accounts") - before:
                records.set_time("ticket", ticket, EXPIRES_AT, int(time.time() * 1000) - 1000, "accounts")
            before = records.identifiers("ticket", "accounts")
            for call in [lambda found=found: self.web.look_at_link(found.code), spend]:
                with self.subTest(kind):
                    self.refused("EXPIRED_OOB_CODE", call)
            self.assertEqual(self.web.sign_in_with_password(user["email"])["localId"], user["localId"])

    def test_opened_by_a_scanner(self):
        for _, found, spend, _ in self.each_link():
            parts = urllib.parse.urlsplit(found.url)
            for path in ["/__/auth/action", parts.path]:
                for method in ["GET", "HEAD"] * 10:
                    send(self.web.url, method, f"{path}?{parts.query}")
            self.web.look_at_link(found.code)
            spend()

    def test_links_do_nothing_else(self):
        """A code of one purpose is none for another."""
        for kind, found, spend, user in self.each_link():
            others = [lambda: self.web.reset_password(found.code, "a third battery"), lambda: self.web.apply_link(found.code),
                      lambda: self.web.sign_in_with_link(user["email"], found.code)]
            del others[{"PASSWORD_RESET": 0, "EMAIL_SIGNIN": 2}.get(kind, 1)]
            for call in others:
                self.invalid(call)
            spend()

    def test_links_of_another_account(self):
        """What a link does is done to the account that it was made for, whoever opens it."""
        other = self.user()
        for _, _, spend, user in self.each_link():
            spend()
            self.assertEqual(self.web.sign_in_with_password(other["email"])["localId"], other["localId"])
            self.assertIs(self.is_verified(other), False)
            self.assertNotEqual(user["localId"], other["localId"])

    def test_links_of_a_deleted_account(self):
        for _, _, spend, user in self.each_link():
            self.administrator.remove(user["localId"])
            self.invalid(spend)


class Form(html.parser.HTMLParser):
    """The form of a page, with its fields."""

    def __init__(self, text):
        super().__init__()
        self.fields, self.action, self.method, self.scripts, self.passwords = {}, None, None, 0, []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        if tag == "form":
            self.action, self.method = found.get("action", ""), found.get("method", "get").lower()
        elif tag == "script":
            self.scripts += 1
        elif tag == "input" and found.get("name"):
            self.fields[found["name"]] = found.get("value", "")
            if found.get("type") == "password":
                self.passwords.append(found["name"])


class PageTest(MailTest):
    """The page that a link opens, without any script."""

    def open(self, found, query=None):
        parts = urllib.parse.urlsplit(found.url)
        path = parts.path if parts.path.endswith("/action") else "/__/auth/action"
        answer = send(self.web.url, "GET", f"{path}?{query or parts.query}")
        self.assertTrue(answer.headers["Content-Type"].startswith("text/html"), answer.headers["Content-Type"])
        self.assertIn("default-src 'none'", answer.headers["Content-Security-Policy"])
        self.assertNotIn("unsafe-inline", answer.headers["Content-Security-Policy"])
        self.assertIn("no-store", answer.headers["Cache-Control"])
        self.assertEqual(answer.headers["Referrer-Policy"], "no-referrer")
        return path, parts.query, answer

    def submit(self, found, **fields):
        path, query, answer = self.open(found)
        self.assertEqual(answer.status, 200)
        form = Form(answer.body.decode())
        self.assertEqual((form.method, form.scripts), ("post", 0))
        target = urllib.parse.urljoin(f"{path}?{query}", form.action) if form.action else f"{path}?{query}"
        target = urllib.parse.urlsplit(target)
        values = {**form.fields, **dict.fromkeys(form.passwords, OTHER_PASSWORD), **fields}
        return send(self.web.url, "POST", target.path + (f"?{target.query}" if target.query else ""), urllib.parse.urlencode(values),
                    {"Content-Type": "application/x-www-form-urlencoded"})

    def test_a_user_opens_and_confirms(self):
        for kind, found, spend, user in self.each_link():
            if kind == "EMAIL_SIGNIN":
                # The app's page opens it.
                self.assertTrue(found.url.startswith("http://localhost:5000/done?"), found.url)
                continue
            self.open(found)
            self.assertEqual(self.submit(found).status, 200)
            self.invalid(spend)
            if kind == "PASSWORD_RESET":
                self.assertEqual(self.web.sign_in_with_password(user["email"], OTHER_PASSWORD)["localId"], user["localId"])
            elif kind == "VERIFY_EMAIL":
                self.assertIs(self.is_verified(user), True)
            else:
                self.assertNotEqual(self.administrator.user(user["localId"])["email"], user["email"])

    def test_a_password_that_is_weak_is_asked_for_again(self):
        user = self.user()
        found = self.reset_link(user["email"])
        answer = self.submit(found, **dict.fromkeys(Form(self.open(found)[2].body.decode()).passwords, "12345"))
        self.assertIn(answer.status, {200, 400})
        self.assertTrue(Form(answer.body.decode()).passwords)
        self.assertEqual(self.submit(found).status, 200)
        self.assertEqual(self.web.sign_in_with_password(user["email"], OTHER_PASSWORD)["localId"], user["localId"])

    def test_a_link_that_was_used(self):
        user = self.user()
        found = self.verify_link(user)
        self.web.apply_link(found.code)
        _, _, answer = self.open(found)
        self.assertIsNone(Form(answer.body.decode()).method)

    def test_hostile_parameters(self):
        user = self.user()
        found = self.verify_link(user)
        evil = "https://evil.example/"
        script = "\"><script>alert(1)</script>"
        for name in ["continueUrl", "lang", "apiKey", "mode", "oobCode", "languageCode", "tenantId"]:
            for text in [evil, script, "javascript:alert(1)"]:
                with self.subTest(name=name, text=text):
                    _, _, answer = self.open(found, urllib.parse.urlencode({**found.query, name: text}))
                    body = answer.body.decode()
                    self.assertNotIn("<script", body)
                    self.assertNotIn(f'href="{evil}', body)
                    self.assertNotIn('href="javascript:', body)
        # It went on being good.
        self.web.apply_link(found.code)


class OffTest(OwnAccounts):
    def test_links_that_are_off(self):
        self.start()
        email, user = new_email(), self.web.anonymous()
        self.web.send_sign_in_link(email)
        found = link(email)
        self.set_methods(password=True, anonymous=True, emailLink=False)
        self.switched_off([self.web.send_sign_in_link, new_email()], [self.web.sign_in_with_link, email, found.code])
        with self.assertRaises(APIError) as caught:
            self.web.sign_in_with_link(email, found.code, idToken=user["idToken"])
        self.assertEqual(caught.exception.code, "OPERATION_NOT_ALLOWED")
        # Passwords have a switch of their own.
        other = self.web.sign_up(new_email())
        self.web.send_link("PASSWORD_RESET", email=other["email"])
        self.web.reset_password(link(other["email"]).code, OTHER_PASSWORD)

    def test_mails_to_an_address_are_limited(self):
        self.limit("")
        self.start()
        email = new_email()
        self.web.sign_up(email)
        for _ in range(MAILS):
            self.web.send_link("PASSWORD_RESET", email=email)
        for call in [self.web.send_sign_in_link, lambda email: self.web.send_link("PASSWORD_RESET", email=email)]:
            self.assertGreaterEqual(int(self.refused("TOO_MANY_ATTEMPTS_TRY_LATER", call, email).retry_after), 1)
        # A stranger's address is answered alike.
        stranger = new_email()
        for _ in range(MAILS):
            self.web.send_link("PASSWORD_RESET", email=stranger)
        self.refused("TOO_MANY_ATTEMPTS_TRY_LATER", self.web.send_link, "PASSWORD_RESET", email=stranger)
        self.web.send_sign_in_link(new_email())


class KillTest(MailTest):
    def patiently(self, call, *arguments, **fields):
        """The answer of a call, and how often it was made until there was one."""
        deadline = time.monotonic() + KILL_SECONDS
        for count in range(1, 1000):
            try:
                return call(*arguments, **fields), count
            except AWAY:
                pass
            except APIError as error:
                if error.status not in {500, 503}:
                    return error, count
            if time.monotonic() > deadline:
                break
            time.sleep(0.3)
        raise TimeoutError("a call is not answered")

    def under_kills(self, work, *names):
        """Calls `work` for each number, while processes are killed in turn."""
        for name in names:
            self.addCleanup(stack.start, name)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            calls = [pool.submit(work, number) for number in range(UNDER_KILLS)]
            while not all(call.done() for call in calls):
                self.restart(*names)
                time.sleep(0.5)
            return [call.result() for call in calls]

    def test_each_mail_is_sent_once_or_told_as_unknown(self):
        users = [self.user() for _ in range(UNDER_KILLS)]
        unknown = stack.ledger_unknown_calls("mail")
        asked = self.under_kills(
            lambda number: self.patiently(self.web.send_link, "PASSWORD_RESET", email=users[number]["email"]), "accounts", "mail-worker")
        self.assertEqual([answer for answer, _ in asked if isinstance(answer, APIError)], [])

        def missing():
            lost = stack.ledger_unknown_calls("mail") - unknown
            return max(0, sum(not mailbox_of_relay.messages(user["email"]) for user in users) - lost)
        eventually(lambda: f"{missing()} mails are missing", lambda: missing() == 0, KILL_SECONDS)
        sent = collections.Counter()
        for user, (_, count) in zip(users, asked):
            mails = mailbox_of_relay.messages(user["email"])
            # Who asks again gets another, with another code.
            self.assertLessEqual(len(mails), count)
            codes = [found.code for found in mailbox_of_relay.links(user["email"])]
            self.assertEqual(len(set(codes)), len(codes), "a mail was sent twice")
            sent[len(mails)] += 1
        print(f"\n  {UNDER_KILLS} mails; addresses by the mails that they got: {dict(sent)}", flush=True)

    def test_each_link_is_spent_once(self):
        """By two callers each, who go on until there is an answer."""
        kinds = [kind for kind, _ in zip(itertools.cycle(MODES), range(UNDER_KILLS))]
        links = [self.link_of(kind) for kind in kinds]
        before = records.identifiers("session", "accounts")

        def spend(number):
            passwords = [[f"password {number} of {turn}"] if kinds[number] == "PASSWORD_RESET" else [] for turn in range(2)]
            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                calls = [pool.submit(self.patiently, links[number][1], *password) for password in passwords]
                return passwords, [call.result()[0] for call in calls]

        spent = self.under_kills(spend, "accounts")
        # A link that signed in twice would have begun two sessions. No other begins one.
        self.assertEqual(len(records.identifiers("session", "accounts") - before), kinds.count("EMAIL_SIGNIN"))
        for kind, (_, again, user), (passwords, answers) in zip(kinds, links, spent):
            with self.subTest(kind):
                good = [password for password, answer in zip(passwords, answers) if not isinstance(answer, APIError)]
                # A lost answer leaves both callers without the news.
                self.assertLessEqual(len(good), 1)
                self.assertEqual({answer.code for answer in answers if isinstance(answer, APIError)}, {"INVALID_OOB_CODE"})
                self.invalid(again)
                self.require_effect(kind, user)
                if kind == "PASSWORD_RESET":
                    working = [password for password in passwords if self.signs_in(user["email"], *password)]
                    self.assertEqual(len(working), 1)
                    self.assertIn(good, [[], working])

    def require_effect(self, kind, user):
        """A reset is seen at the password, a sign-in at its session."""
        shown = self.administrator.user(user["localId"])
        if kind == "VERIFY_EMAIL":
            self.assertIs(shown["emailVerified"], True)
        elif kind in {"VERIFY_AND_CHANGE_EMAIL", "RECOVER_EMAIL"}:
            self.assertNotEqual(shown["email"], user["email"])

    def signs_in(self, email, password):
        try:
            self.web.sign_in_with_password(email, password)
        except APIError as error:
            self.assertEqual(error.code, "INVALID_LOGIN_CREDENTIALS")
            return False
        return True
