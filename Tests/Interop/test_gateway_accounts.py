"""Accounts, sessions and keys over HTTP, and all that is the same for every call: API keys, CORS, errors, limits."""

import base64
import concurrent.futures
import datetime
import hashlib
import hmac
import json
import os
import re
import secrets
import socket
import time
import unittest
import urllib.parse
import urllib.request

import cryptography.x509
import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

import google_schemas
import records
import simulator
import stack
from gateway_client import (
    CERTIFICATES, ISSUER, JWK_SET, PROJECT, PROJECT_NUMBER, TOKENS, Administrator, APIError, Apple, Assertions, Web, new_email, new_number,
    received_code, send)
from identities import APP, ApplePerson, GooglePerson
from mailbox_of_relay import link
from own_accounts import OwnAccounts
from process import Process, countersign, free_port
from waiting import eventually

# Within so long an event has reached the gateway and processes have read what another one has stored; alone, a gateway asks once a
# minute.
EVENT_SECONDS = 20
LOCAL_ID = re.compile(r"[0-9A-Za-z]{28}")
MAX_BODY = 64 * 1024
# How long the gateway waits for a request to arrive, and what a loaded machine may add.
REQUEST_SECONDS = 15
CLOSED_SECONDS = REQUEST_SECONDS + 15


class AccountTest(Assertions, unittest.TestCase):
    def setUp(self):
        self.web, self.apple = Web(), Apple()

    @property
    def clients(self):
        for client in [self.web, self.apple]:
            with self.subTest(type(client).__name__):
                yield client


class AnonymousTest(AccountTest):
    def test_an_account_with_a_session(self):
        for client in self.clients:
            answer = client.anonymous()
            self.assertEqual(set(answer) - {"kind"}, TOKENS | {"localId"})
            self.assertRegex(answer["localId"], LOCAL_ID)
            self.require_tokens(answer, client, "anonymous")
            self.assertNotEqual(client.anonymous()["localId"], answer["localId"])

    def test_lookup(self):
        before = int(time.time() * 1000)
        for client in self.clients:
            answer = client.anonymous()
            user = client.lookup(answer["idToken"])
            self.assertEqual(user["localId"], answer["localId"])
            for field in ["createdAt", "lastLoginAt"]:
                self.assertTrue(before - 5_000 <= int(user[field]) <= time.time() * 1000 + 5_000, field)
            self.assertLessEqual(abs(int(user["validSince"]) - before // 1000), 60)
            self.assertFalse(set(user) & {"email", "phoneNumber", "displayName", "photoUrl", "passwordHash", "mfaInfo"})
            self.assertEqual(user.get("providerUserInfo", []), [])
            self.assertIs(user.get("disabled", False), False)


class UpdateTest(AccountTest):
    def test_name_and_photo(self):
        for client in self.clients:
            user = client.anonymous()
            answer = client.update(
                user["idToken"], displayName="Ada \u00c5 \U0001f98a", photoUrl="https://example.org/a.png", returnSecureToken=True)
            self.assertEqual((answer["localId"], answer["displayName"], answer["photoUrl"]), (
                user["localId"], "Ada \u00c5 \U0001f98a", "https://example.org/a.png"))
            # Neither of the tokens: a profile is no sign-in. The SDKs keep theirs, and the next refresh has the claims.
            self.assertEqual(set(answer) - {"kind"}, {"localId", "displayName", "photoUrl"})
            claims = client.claims(client.refresh(user["refreshToken"])["id_token"])
            self.assertEqual((claims["name"], claims["picture"]), ("Ada \u00c5 \U0001f98a", "https://example.org/a.png"))
            self.assertEqual(claims["auth_time"], client.claims(user["idToken"])["auth_time"])
            found = client.lookup(user["idToken"])
            self.assertEqual((found["displayName"], found["photoUrl"]), ("Ada \u00c5 \U0001f98a", "https://example.org/a.png"))
            # What is not named stays.
            client.update(user["idToken"], displayName="Grace")
            found = client.lookup(user["idToken"])
            self.assertEqual((found["displayName"], found["photoUrl"]), ("Grace", "https://example.org/a.png"))

    def test_attributes_are_deleted_by_name_and_by_number(self):
        words = google_schemas.document("v1")["schemas"]["GoogleCloudIdentitytoolkitV1SetAccountInfoRequest"]["properties"][
            "deleteAttribute"]["items"]["enum"]
        for names in [["DISPLAY_NAME", "PHOTO_URL"], [words.index("DISPLAY_NAME"), str(words.index("PHOTO_URL"))]]:
            with self.subTest(names=names):
                user = self.web.anonymous()
                self.web.update(user["idToken"], displayName="Ada", photoUrl="https://example.org/a.png")
                answer = self.web.update(user["idToken"], deleteAttribute=names)
                self.assertFalse(set(answer) & {"displayName", "photoUrl"})
                self.assertFalse(set(self.web.lookup(user["idToken"])) & {"displayName", "photoUrl"})

    def test_empty_values_delete(self):
        """As the JavaScript SDK sends them for null."""
        user = self.web.anonymous()
        self.web.update(user["idToken"], displayName="Ada", photoUrl="https://example.org/a.png")
        self.web.update(user["idToken"], displayName="", photoUrl="", deleteAttribute=[])
        self.assertFalse(set(self.web.lookup(user["idToken"])) & {"displayName", "photoUrl"})

    def test_texts_that_would_deceive_or_run(self):
        user = self.web.anonymous()
        for fields in [{"displayName": "Ada \u202egnp.exe"}, {"displayName": "Ada\x7f"}, {"displayName": "\u2066Ada"},
                       {"photoUrl": "javascript:alert(1)"}, {"photoUrl": "data:text/html,x"}, {"photoUrl": "a.png"}]:
            with self.subTest(fields=fields):
                with self.assertRaises(APIError) as caught:
                    self.web.update(user["idToken"], **fields)
                self.assertEqual(caught.exception.status, 400)
        self.assertFalse(set(self.web.lookup(user["idToken"])) & {"displayName", "photoUrl"})

    def test_values_that_are_too_long_or_of_another_type(self):
        user = self.web.anonymous()
        for fields in [{"displayName": "n" * 10_000}, {"photoUrl": "https://example.org/" + "p" * 10_000}]:
            with self.assertRaises(APIError) as caught:
                self.web.update(user["idToken"], **fields)
            self.assertEqual(caught.exception.status, 400)
        for fields in [{"displayName": 5}, {"displayName": ["x"]}, {"deleteAttribute": "DISPLAY_NAME"}, {"deleteAttribute": ["X"]}]:
            with self.subTest(fields=fields):
                error = self.refused_body(self.web.path("accounts:update"), json.dumps({"idToken": user["idToken"], **fields}).encode())
                self.assertEqual(error.reason, "parseError")
        self.assertNotIn("displayName", self.web.lookup(user["idToken"]))

    def refused_body(self, path, body):
        answer = self.web.send("POST", path, body, Content_Type="application/json")
        self.assertEqual(answer.status, 400)
        return answer.error()


class DeleteTest(AccountTest):
    def test_nothing_of_it_is_good_any_more(self):
        for client in self.clients:
            number = new_number()
            user = client.sign_in_as(number)
            self.assertEqual(set(client.delete(user["idToken"])) - {"kind"}, set())
            self.refused("USER_NOT_FOUND", client.lookup, user["idToken"])
            self.refused("USER_NOT_FOUND", client.update, user["idToken"], displayName="x")
            self.refused("USER_NOT_FOUND", client.delete, user["idToken"])
            self.refused("USER_NOT_FOUND", client.refresh, user["refreshToken"])
            # The number is free.
            again = client.sign_in_as(number, count=2)
            self.assertIs(again["isNewUser"], True)
            self.assertNotEqual(again["localId"], user["localId"])
            self.refused("USER_NOT_FOUND", client.lookup, user["idToken"])


class AppleSDKTest(AccountTest):
    """Sign in with Apple as the Apple SDK does it: names of v3 with its headers, and the form as it is."""

    def test_a_user_from_the_first_sign_in_to_the_deletion(self):
        person = ApplePerson()
        name = {"name": {"firstName": "Ada", "lastName": "King"}}
        user = self.apple.sign_in_with_idp("apple.com", **person.form(), user=name)
        self.assertEqual((user["isNewUser"], user["federatedId"], user["displayName"]), (True, person.subject, "Ada King"))
        self.require_tokens(user, self.apple, "apple.com", identities={"apple.com": [person.subject]})
        # A name comes once, and stays.
        again = self.apple.sign_in_with_idp("apple.com", **person.form(), autoCreate=False)
        self.assertEqual(again["localId"], user["localId"])
        self.assertNotIn("isNewUser", again)
        found = self.apple.lookup(again["idToken"])
        self.assertEqual(found["displayName"], "Ada King")
        self.assertEqual([(entry["providerId"], entry["rawId"]) for entry in found["providerUserInfo"]], [("apple.com", person.subject)])
        self.apple.revoke_token(again["idToken"], simulator.authorization_code(APP, subject=person.subject))
        self.apple.delete(again["idToken"])
        self.refused("USER_NOT_FOUND", self.apple.lookup, user["idToken"])

    def test_a_refused_link_carries_what_signs_in(self):
        person, number = ApplePerson(), new_number()
        owner = self.apple.sign_in_with_idp("apple.com", **person.form())
        user = self.apple.sign_in_as(number)
        refused = self.apple.sign_in_with_idp("apple.com", **person.form(), idToken=user["idToken"])
        self.assertEqual(refused["errorMessage"].split(" : ")[0], "FEDERATED_USER_ID_ALREADY_LINKED")
        self.assertLessEqual({"providerId", "oauthIdToken", "pendingToken"}, set(refused))
        self.assertFalse({"localId", *TOKENS} & set(refused))
        merged = self.apple.sign_in_with_pending_token(refused["pendingToken"])
        self.assertEqual(merged["localId"], owner["localId"])
        self.refused("INVALID_PENDING_TOKEN", self.apple.sign_in_with_pending_token, refused["pendingToken"])
        self.assertEqual(self.apple.lookup(user["idToken"])["phoneNumber"], number)

    def test_a_number_is_linked_and_apple_unlinked(self):
        person, number = ApplePerson(), new_number()
        user = self.apple.sign_in_with_idp("apple.com", **person.form())
        linked = self.apple.sign_in_as(number, idToken=user["idToken"])
        self.assertEqual(linked["localId"], user["localId"])
        answer = self.apple.update(linked["idToken"], deleteProvider=["apple.com"])
        self.assertEqual([entry["providerId"] for entry in answer["providerUserInfo"]], ["phone"])
        self.assertFalse(TOKENS & set(answer))
        # Refused with 200, since the credential counts once.
        refused = self.apple.sign_in_with_idp("apple.com", **person.form(), autoCreate=False)
        self.assertEqual(refused["errorMessage"], "USER_NOT_FOUND")
        self.assertEqual(self.apple.sign_in_as(number, count=2)["localId"], user["localId"])


class EndedTest(AccountTest):
    """Accounts and sessions that an administrator has ended, who has no call for it yet."""

    # Tags of fields in the records of accounts.
    VALID_SINCE, DISABLED = 6, 13

    def record(self, user):
        """ID of the account's record, which that of each session begins with."""
        return self.web.claims(user["idToken"])["sid"][:43]

    def test_disabled_account(self):
        for client in self.clients:
            number = new_number()
            user = client.sign_in_as(number)
            records.set_flag("account", self.record(user), self.DISABLED, "accounts")
            for call in [client.lookup, client.update, client.delete]:
                self.refused("USER_DISABLED", call, user["idToken"])
            self.refused("USER_DISABLED", client.refresh, user["refreshToken"])
            session = client.send_code(number)
            self.refused("USER_DISABLED", client.sign_in, session, received_code(number, count=2))

    def test_sessions_from_before(self):
        """What comes after a sign-in of now is good again."""
        number = new_number()
        user = self.web.sign_in_as(number)
        time.sleep(1.1)
        records.set_time("account", self.record(user), self.VALID_SINCE, int(time.time()) * 1000, "accounts")
        for client in self.clients:
            for call in [client.lookup, client.update, client.delete]:
                self.refused("TOKEN_EXPIRED", call, user["idToken"])
            self.refused("TOKEN_EXPIRED", client.refresh, user["refreshToken"])
        again = self.web.sign_in_as(number, count=2)
        self.assertEqual(again["localId"], user["localId"])
        self.assertEqual(self.web.lookup(again["idToken"])["phoneNumber"], number)
        self.assertEqual(self.web.refresh(again["refreshToken"])["user_id"], user["localId"])


class IDTokenTest(AccountTest):
    CALLS = ["accounts:lookup", "accounts:update", "accounts:delete"]

    def refused_everywhere(self, code, id_token):
        for client in self.clients:
            for call in self.CALLS:
                self.refused(code, client.call, call, {"idToken": id_token})
        number = new_number()
        session = self.web.send_code(number)
        self.refused(code, self.web.sign_in, session, received_code(number), idToken=id_token)

    def test_signed_by_another_key(self):
        user = self.web.anonymous()
        claims = jwt.decode(user["idToken"], options={"verify_signature": False})
        header = jwt.get_unverified_header(user["idToken"])
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.refused_everywhere("INVALID_ID_TOKEN", jwt.encode(claims, key, "RS256", {"kid": header["kid"]}))
        public = self.web.keys()[header["kid"]].key.public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        forged = [
            jwt.encode(claims, None, "none", {"kid": header["kid"]}),
            self.by_hmac(claims, header["kid"], public),
            jwt.encode(claims, key, "RS256", {"kid": "unknown"}),
            jwt.encode(claims, key, "RS256"),
            "a.b.c", "..", "x", "é", user["idToken"] + "x", user["idToken"].rsplit(".", 1)[0] + ".", "e" * 20_000,
        ]
        for token in forged:
            with self.subTest(token[:40]):
                self.refused("INVALID_ID_TOKEN", self.web.lookup, token)
        # One letter of claims and of signature, in turn.
        for part in [1, 2]:
            parts = user["idToken"].split(".")
            parts[part] = parts[part][:10] + ("A" if parts[part][10] != "A" else "B") + parts[part][11:]
            self.refused("INVALID_ID_TOKEN", self.web.lookup, ".".join(parts))
        self.assertEqual(self.web.lookup(user["idToken"])["localId"], user["localId"])

    @staticmethod
    def by_hmac(claims, kid, public):
        """The public key taken for a secret, which PyJWT refuses to do."""
        def text(value):
            return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()
        signed = text({"alg": "HS256", "kid": kid, "typ": "JWT"}) + "." + text(claims)
        mac = hmac.new(public, signed.encode(), hashlib.sha256).digest()
        return signed + "." + base64.urlsafe_b64encode(mac).rstrip(b"=").decode()


class RefreshTest(AccountTest):
    def test_in_every_form(self):
        user = self.web.sign_in_as(new_number())
        claims = self.web.claims(user["idToken"])
        token = user["refreshToken"]
        bodies = {
            "form": (urllib.parse.urlencode({"grant_type": "refresh_token", "refresh_token": token}), "application/x-www-form-urlencoded"),
            "snake_case": (json.dumps({"grant_type": "refresh_token", "refresh_token": token}), "application/json"),
            "camelCase": (json.dumps({"grantType": "refresh_token", "refreshToken": token}), "application/json"),
            "with charset": (json.dumps({"grantType": "refresh_token", "refreshToken": token}), "application/json; charset=utf-8"),
        }
        for name, (body, kind) in bodies.items():
            with self.subTest(name):
                answer = self.web.exchange(body, kind)
                self.assertEqual(answer["access_token"], answer["id_token"])
                self.assertEqual(answer["refresh_token"], token)
                self.assertEqual((answer["expires_in"], answer["token_type"]), ("3600", "Bearer"))
                self.assertEqual((answer["user_id"], answer["project_id"]), (user["localId"], PROJECT_NUMBER))
                fresh = self.require_claims(self.web, answer["id_token"], "phone", claims["phone_number"], user["localId"])
                self.assertEqual((fresh["auth_time"], fresh.get("sid")), (claims["auth_time"], claims.get("sid")))
                self.assertEqual(self.web.lookup(answer["id_token"])["localId"], user["localId"])

    def test_new_tokens_show_the_profile_of_now(self):
        user = self.web.anonymous()
        self.web.update(user["idToken"], displayName="Ada")
        self.assertEqual(self.web.claims(self.web.refresh(user["refreshToken"])["id_token"])["name"], "Ada")

    def test_what_is_wrong_is_told(self):
        token = self.web.anonymous()["refreshToken"]
        form = "application/x-www-form-urlencoded"
        for fields, code in [
            ({"refresh_token": token}, "MISSING_GRANT_TYPE"), ({"grant_type": "password", "refresh_token": token}, "INVALID_GRANT_TYPE"),
            ({"grant_type": "refresh_token"}, "MISSING_REFRESH_TOKEN"),
            ({"grant_type": "refresh_token", "refresh_token": ""}, "MISSING_REFRESH_TOKEN"),
        ]:
            self.refused(code, self.web.exchange, urllib.parse.urlencode(fields), form)
            self.refused(code, self.web.exchange, json.dumps(fields), "application/json")
        self.refused("MISSING_GRANT_TYPE", self.web.exchange, "", form)

    def test_tokens_that_are_none(self):
        one, other = self.web.anonymous()["refreshToken"], self.web.anonymous()["refreshToken"]
        parts = one.split(".")
        self.assertEqual(len(parts), 3)
        forged = ["x", "..", "a.b.c", "é", "r" * 10_000, one + "x", one[:-1], ".".join(other.split(".")[:2] + parts[2:])]
        for place in range(3):
            changed = list(parts)
            changed[place] = changed[place][:-2] + ("A" if changed[place][-2] != "A" else "B") + changed[place][-1]
            forged.append(".".join(changed))
        for token in forged:
            with self.subTest(token[:20]):
                self.refused("INVALID_REFRESH_TOKEN", self.web.refresh, token)
                self.refused("INVALID_REFRESH_TOKEN", self.apple.refresh, token)
        self.web.refresh(one)


class KeysTest(AccountTest):
    def get(self, path):
        answer = send(self.web.url, "GET", path)
        self.assertEqual(answer.status, 200)
        age = re.search(r"max-age=([0-9]+)", answer.headers["Cache-Control"])
        self.assertIn("public", answer.headers["Cache-Control"])
        self.assertGreaterEqual(int(age.group(1)), 60)
        self.assertLessEqual(int(age.group(1)), 3600)
        return answer.json()

    def test_both_forms_verify_the_same_token(self):
        token = self.web.anonymous()["idToken"]
        kid = jwt.get_unverified_header(token)["kid"]
        jwks, certificates = self.get(JWK_SET), self.get(CERTIFICATES)
        self.assertEqual(set(jwks), {"keys"})
        self.assertEqual({entry["kid"] for entry in jwks["keys"]}, set(certificates))
        self.assertIn(kid, certificates)
        now = datetime.datetime.now(datetime.timezone.utc)
        for entry in jwks["keys"]:
            self.assertEqual((entry["kty"], entry["alg"], entry["use"]), ("RSA", "RS256", "sig"))
            self.assertEqual(set(entry), {"kty", "alg", "use", "kid", "n", "e"})
            key = jwt.PyJWK(entry).key
            self.assertEqual(key.key_size, 2048)
            certificate = cryptography.x509.load_pem_x509_certificate(certificates[entry["kid"]].encode())
            self.assertEqual(certificate.public_key().public_numbers(), key.public_numbers())
            self.assertTrue(certificate.not_valid_before_utc <= now < certificate.not_valid_after_utc)
            certificate.verify_directly_issued_by(certificate)
        from_certificate = cryptography.x509.load_pem_x509_certificate(certificates[kid].encode()).public_key()
        for key in [from_certificate, jwt.PyJWKSet.from_dict(jwks)[kid].key]:
            claims = jwt.decode(token, key, algorithms=["RS256"], audience=PROJECT, issuer=ISSUER)
            self.assertEqual(claims["firebase"]["sign_in_provider"], "anonymous")
            with self.assertRaises(jwt.InvalidSignatureError):
                jwt.decode(token[:-6] + ("AAAAAA" if token[-6:] != "AAAAAA" else "BBBBBB"), key, algorithms=["RS256"], audience=PROJECT)

    def test_they_need_no_key_and_hold_nothing_secret(self):
        for path in [JWK_SET, CERTIFICATES]:
            text = send(self.web.url, "GET", path).body.decode()
            for part in ['"d"', '"p"', '"q"', "PRIVATE"]:
                self.assertNotIn(part, text)

    def test_they_are_the_same_after_a_restart(self):
        """Otherwise every session would end with a deployment."""
        token = self.web.anonymous()["idToken"]
        before = self.get(JWK_SET)
        self.restart("accounts", "gateway")
        self.assertEqual(self.get(JWK_SET), before)
        self.assertIn("localId", self.web.lookup(token))

    @staticmethod
    def rotate(*options):
        done = countersign("--json", "--timeout", "50s", "keys", "rotate", *options)
        if done.returncode:
            raise AssertionError(f"keys rotate ended with {done.returncode}: {done.stderr}")
        return json.loads(done.stdout)["key"]

    def wait_for_keys(self, *wanted):
        """Every gateway shows these, long before it asks by itself."""
        for url in stack.gateway_urls():
            eventually(f"{url} shows {wanted}", lambda url=url: set(Web(url).keys()) == set(wanted), EVENT_SECONDS)

    def wait_for_signers(self, begun, rotated):
        """Every process of accounts signs with a key that is younger than the first time, soon after the second one."""
        for url in stack.accounts_urls():
            while True:
                with urllib.request.urlopen(url + "/metrics", timeout=20) as response:
                    page = response.read().decode()
                pattern = r'^countersign_signing_key_age_seconds\{purpose="id_tokens"\} (\S+)$'
                age = float(re.search(pattern, page, re.MULTILINE).group(1))
                now = time.monotonic()
                if age < now - begun:
                    break
                self.assertLess(now - rotated, EVENT_SECONDS)
                time.sleep(0.1)

    def withdraw(self):
        """A new key instead of all others, that the whole stack has."""
        begun = time.monotonic()
        new = self.rotate("--withdraw")
        rotated = time.monotonic()
        self.wait_for_keys(new)
        self.wait_for_signers(begun, rotated)
        return new

    def test_a_rotation_is_seen_at_once(self):
        # A next key that was made before would be found instead of a new one.
        self.withdraw()
        token = self.web.anonymous()["idToken"]
        old = set(self.web.keys())
        new = self.rotate()
        self.assertNotIn(new, old)
        self.wait_for_keys(*old, new)
        # It signs when every verifier has it.
        self.assertNotEqual(jwt.get_unverified_header(self.web.anonymous()["idToken"])["kid"], new)
        self.assertIn("localId", self.web.lookup(token))

    def test_a_withdrawn_key_verifies_nothing_and_sessions_go_on(self):
        user = self.web.anonymous()
        new = self.withdraw()
        self.refused("INVALID_ID_TOKEN", self.web.lookup, user["idToken"])
        fresh = self.web.refresh(user["refreshToken"])["id_token"]
        self.assertEqual(jwt.get_unverified_header(fresh)["kid"], new)
        self.require_claims(self.web, fresh, "anonymous", local_id=user["localId"])
        self.assertEqual(self.web.lookup(fresh)["localId"], user["localId"])


class CommonTest(AccountTest):
    def refused_request(self, method, path, body=b"{}", **headers):
        answer = send(self.web.url, method, path, body, {"Content-Type": "application/json", **headers})
        self.assertGreaterEqual(answer.status, 400)
        return answer.error()

    def test_other_methods(self):
        for method, path in [("GET", self.web.path("accounts:lookup")), ("DELETE", self.web.path("accounts:lookup")),
                             ("PUT", self.web.path("accounts:signUp")), ("POST", JWK_SET)]:
            with self.subTest(method=method, path=path):
                self.assertIn(self.refused_request(method, path).status, {404, 405})

    def test_bodies_that_are_no_json(self):
        path = self.web.path("accounts:lookup")
        for body in [b"{", b"[]", b'"x"', b"null", b"nonsense", b'{"idToken": }', b'{"idToken": "\xff"}', b'{"a": 1}{"b": 2}',
                     b'{"idToken": "\\ud800"}', b'{"x":' * 1000 + b"1" + b"}" * 1000, b'{"x": [' + b"[" * 5000 + b"]" * 5000 + b"]}",
                     b'{"idToken": 5}', b'{"idToken": {"a": 1}}', b'{"idToken": ["x"]}', b'{"idToken": true}', b"\x00", b"{}\x00"]:
            with self.subTest(body[:30]):
                error = self.refused_request("POST", path, body)
                self.assertEqual((error.status, error.word, error.reason), (400, "INVALID_ARGUMENT", "parseError"))
                self.assertTrue(error.message.startswith("Invalid JSON payload received. "), error.message)

    def test_errors_repeat_nothing(self):
        secret = "s3cret-token-of-a-user"
        for body in [f'{{"idToken": {{"{secret}": 1}}}}', f'{{"idToken": "{secret}"}}', f"{secret}", f'{{"{secret}": }}']:
            self.assertNotIn(secret, self.refused_request("POST", self.web.path("accounts:lookup"), body.encode()).message)

    def test_bodies_that_are_too_large(self):
        """They are refused, whether they say so beforehand or not, and the gateway goes on."""
        path = self.web.path("accounts:lookup")
        for body in [b'{"idToken": "' + b"x" * MAX_BODY + b'"}', b" " * (4 * 1024 * 1024)]:
            answer = self.sent_in_full_or_cut(path, body)
            if answer is not None:
                self.assertEqual(answer.status, 413)
                answer.error()
        url = urllib.parse.urlsplit(self.web.url)
        with socket.create_connection((url.hostname, url.port), timeout=CLOSED_SECONDS) as connection:
            connection.sendall(f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000000\r\n\r\n".encode())
            self.require_refused(connection)
        self.assertIn("localId", self.web.anonymous())

    def sent_in_full_or_cut(self, path, body):
        """The answer; `None` where the gateway has ended the connection before it had the body."""
        try:
            return send(self.web.url, "POST", path, body, {"Content-Type": "application/json"})
        except (BrokenPipeError, ConnectionResetError):
            return None

    def require_refused(self, connection):
        """The connection ends, with an answer of the class 4xx or without."""
        data = self.read_to_the_end(connection)
        self.assertTrue(not data or re.match(rb"HTTP/1\.[01] 4[0-9][0-9] ", data), data[:100])

    def read_to_the_end(self, connection):
        """All that comes until the gateway closes the connection, which it has to within the bound."""
        connection.settimeout(CLOSED_SECONDS)
        deadline, data = time.monotonic() + CLOSED_SECONDS, b""
        while True:
            self.assertLess(time.monotonic(), deadline, "the connection is still open")
            try:
                part = connection.recv(65536)
            except ConnectionResetError:
                return data
            if not part:
                return data
            data += part

    def test_requests_that_are_none_end(self):
        head = f"POST {self.web.path('accounts:signUp')} HTTP/1.1\r\nHost: localhost\r\n"
        broken = [
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 500, b"nonsense\r\n\r\n", b"GET\r\n\r\n",
            (head + "Content-Length: -5\r\n\r\n").encode(), (head + "Content-Length: x\r\n\r\n{}").encode(),
            (head + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}x").encode(),
            (head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n").encode(),
            (head + "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n{}").encode(),
            (head + "X-Padding: " + "p" * 100_000 + "\r\n\r\n").encode(),
            (f"POST /{'p' * 100_000} HTTP/1.1\r\nHost: localhost\r\n\r\n").encode(),
        ]
        url = urllib.parse.urlsplit(self.web.url)

        def attempt(data):
            with socket.create_connection((url.hostname, url.port), timeout=CLOSED_SECONDS) as connection:
                try:
                    connection.sendall(data)
                    connection.shutdown(socket.SHUT_WR)
                except OSError:
                    # It has ended it already.
                    pass
                return self.read_to_the_end(connection)

        with concurrent.futures.ThreadPoolExecutor(len(broken)) as pool:
            for data, answer in zip(broken, pool.map(attempt, broken)):
                with self.subTest(data[:80]):
                    self.assertNotIn(b" 200 ", answer.split(b"\r\n")[0])
                    self.assertNotIn(b"idToken", answer)
        self.assertIn("localId", self.web.anonymous())

    def test_requests_that_do_not_arrive_end(self):
        """However slowly something comes, the connection is closed within the bound, and others are served meanwhile."""
        head = f"POST {self.web.path('accounts:signUp')} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n".encode()
        slow = {
            "one byte of the line": (b"P", b""), "half of the headers": (head, b""), "headers byte by byte": (head, b"X"),
            "no body": (head + b"Content-Length: 1000\r\n\r\n", b""), "body byte by byte": (head + b"Content-Length: 1000\r\n\r\n", b" "),
        }
        url = urllib.parse.urlsplit(self.web.url)

        def attempt(first, drip):
            begun = time.monotonic()
            with socket.create_connection((url.hostname, url.port), timeout=1) as connection:
                connection.sendall(first)
                while time.monotonic() - begun < CLOSED_SECONDS:
                    try:
                        if drip:
                            connection.sendall(drip)
                        if not connection.recv(65536):
                            return time.monotonic() - begun
                    except TimeoutError:
                        continue
                    except OSError:
                        return time.monotonic() - begun
            return None

        with concurrent.futures.ThreadPoolExecutor(len(slow)) as pool:
            ends = {name: pool.submit(attempt, *parts) for name, parts in slow.items()}
            while not all(end.done() for end in ends.values()):
                self.assertIn("localId", self.web.anonymous())
                time.sleep(1)
        for name, end in ends.items():
            with self.subTest(name):
                self.assertIsNotNone(end.result(), "the connection is still open")
                self.assertGreater(end.result(), 1, "it was not waited for")


class OffTest(OwnAccounts):
    """Ways to sign in that are off, for accounts that they have made too."""

    def test_custom_tokens_that_are_off(self):
        def token(uid):
            issuer, now = "firebase-auth-emulator@example.com", int(time.time())
            claims = {"iss": issuer, "sub": issuer, "uid": uid, "iat": now, "exp": now + 3600,
                      "aud": "https://identitytoolkit.googleapis.com/google.identity.identitytoolkit.v1.IdentityToolkit"}
            return jwt.encode(claims, None, "none")
        self.start()
        known, other = (f"custom-{secrets.token_hex(8)}" for _ in range(2))
        user = self.web.sign_in_with_custom_token(token(known))
        self.set_methods(custom=False, anonymous=True)
        self.switched_off([self.web.sign_in_with_custom_token, token(known)])
        self.refused("OPERATION_NOT_ALLOWED", self.web.sign_in_with_custom_token, token(other))
        self.assertEqual(self.administrator.find(localId=[other]), [])
        # Who is signed in stays it.
        self.assertEqual(self.web.refresh(user["refreshToken"])["user_id"], known)

    def test_links_that_are_off_for_an_account_that_stands(self):
        self.start()
        email, anonymous = new_email(), self.web.anonymous()
        self.web.send_sign_in_link(email)
        user = self.web.sign_in_with_link(email, link(email).code)
        self.web.send_sign_in_link(email)
        sent = link(email, count=2)
        self.set_methods(emailLink=False, anonymous=True)
        self.switched_off([self.web.send_sign_in_link, email], [self.web.sign_in_with_link, email, sent.code])
        self.refused("OPERATION_NOT_ALLOWED", self.web.sign_in_with_link, email, sent.code, idToken=anonymous["idToken"])
        self.assertEqual(self.web.refresh(user["refreshToken"])["user_id"], user["localId"])


class DuplicatesTest(AccountTest):
    """`signIn.allowDuplicateEmails`, as administrators and tests set it."""

    CONFIG = f"/emulator/v1/projects/{PROJECT}/config"

    def setUp(self):
        super().setUp()
        self.administrator = Administrator()
        self.addCleanup(self.set_as_administrator, False)

    def set_as_administrator(self, are_allowed):
        return self.administrator.config(signIn={"allowDuplicateEmails": are_allowed})

    def set_as_test(self, are_allowed):
        body = json.dumps({"signIn": {"allowDuplicateEmails": are_allowed}})
        return self.web.read(send(self.web.url, "PATCH", self.CONFIG, body, {"Content-Type": "application/json"}))

    def test_two_accounts_have_one_address(self):
        for change in [self.set_as_administrator, self.set_as_test]:
            with self.subTest(change.__name__):
                email = new_email("gmail.com")
                self.assertEqual(change(True)["signIn"], {"allowDuplicateEmails": True})
                self.assertEqual(self.administrator.config()["signIn"], {"allowDuplicateEmails": True})
                people = [GooglePerson(email=email), ApplePerson(email=email)]
                users = [person.sign_in(self.web)["localId"] for person in people]
                self.addCleanup(self.administrator.call, "/accounts:batchDelete", {"localIds": users, "force": True})
                self.assertNotEqual(*users)
                refusal = self.refused("OPERATION_NOT_ALLOWED", change, False)
                # Which accounts an administrator has to look at.
                for user in users:
                    self.assertIn(user, refusal.detail)
                self.assertEqual(self.administrator.config()["signIn"], {"allowDuplicateEmails": True})
                self.administrator.remove(users[1])
                self.assertEqual(change(False)["signIn"], {"allowDuplicateEmails": False})
                # The address is the first one's alone again.
                self.assertEqual(people[1].sign_in(self.web)["localId"], users[0])
                self.refused("EMAIL_EXISTS", self.web.sign_up, email)

    def test_a_test_sees_the_settings(self):
        found = self.web.read(send(self.web.url, "GET", self.CONFIG))
        self.assertEqual(found, {"signIn": {"allowDuplicateEmails": False}, "emailPrivacyConfig": {"enableImprovedEmailPrivacy": True}})


class DevelopmentTest(AccountTest):
    CODES = f"/emulator/v1/projects/{PROJECT}/verificationCodes"
    ACCOUNTS = f"/emulator/v1/projects/{PROJECT}/accounts"

    def test_codes(self):
        # Asked at once, as tests do that were written for the emulator: the SMS is on its way.
        for _ in range(5):
            number = new_number()
            session = self.web.send_code(number)
            answer = self.web.read(send(self.web.url, "GET", self.CODES, headers={"Authorization": "bEArEr OWNER"}))
            found = [entry for entry in answer["verificationCodes"] if entry["phoneNumber"] == number]
            self.assertEqual(len(found), 1)
            self.assertEqual(found[0]["sessionInfo"], session)
            self.assertEqual(self.web.sign_in(session, found[0]["code"])["phoneNumber"], number)

    def test_ready(self):
        self.assertEqual(self.web.read(send(self.web.url, "GET", "/")), {"authEmulator": {"ready": True}})

    def test_reset(self):
        number = new_number()
        user = self.web.sign_in_as(number)
        self.web.read(send(self.web.url, "DELETE", self.ACCOUNTS, headers={"Authorization": "Bearer owner"}))
        self.refused("USER_NOT_FOUND", self.web.lookup, user["idToken"])
        self.refused("USER_NOT_FOUND", self.web.refresh, user["refreshToken"])
        # The limits of the number are empty, too.
        for count in range(2, 7):
            answer = self.web.sign_in_as(number, count=count)
            self.assertIs(answer.get("isNewUser", False), count == 2)

    def test_reset_ends_with_the_last_erasure(self):
        users = [self.web.sign_in_as(new_number()) for _ in range(5)]
        for user in users[:3]:
            self.web.delete(user["idToken"])
        self.web.read(send(self.web.url, "DELETE", self.ACCOUNTS))
        self.assertEqual(stack.records("erasure", "accounts"), 0)

    def test_reset_ends_live_verifications(self):
        """A test that sends a code and enters none leaves nothing to the next one."""
        number = new_number()
        sessions = []
        for count in [1, 2]:
            sessions.append(self.web.send_code(number))
            received_code(number, count=count)
            self.web.read(send(self.web.url, "DELETE", self.ACCOUNTS))
        self.assertNotEqual(*sessions)
        self.refused("INVALID_SESSION_INFO", self.web.sign_in, sessions[1], received_code(number, count=2))

    def test_front_with_tls(self):
        front = os.environ["COUNTERSIGN_GATEWAY_TLS_URL"]
        for client in [Web(front), Apple(url=front)]:
            number = new_number()
            answer = client.sign_in_as(number)
            self.require_tokens(answer, client, "phone", number)
            self.assertEqual(client.refresh(answer["refreshToken"])["user_id"], answer["localId"])
        for path in [self.CODES, "/emulator/"]:
            self.assertEqual(send(front, "GET", path).status, 404)


class OutageTest(AccountTest):
    """What is away is told, in time, and what needs nothing of it is answered."""

    def test_without_a_broker(self):
        with Process("gateway") as gateway:
            gateway.replace(r"(?<=127\.0\.0\.1:)[0-9]+(?=/\")", str(free_port()))
            gateway.start()
            self.wait_for_port(gateway)
            client = Web(f"http://127.0.0.1:{gateway.listen_port}")
            begun = time.monotonic()
            error = self.refused_with(client, 503)
            # Sooner than a call that may still be answered ends.
            self.assertLess(time.monotonic() - begun, 20)
            self.assertEqual(error.word, "UNAVAILABLE")
            self.assertEqual(send(client.url, "POST", "/nowhere", b"{}").status, 404)
            self.assertEqual(send(client.url, "POST", client.path("accounts:signInWithGameCenter"), b"{}").status, 501)
            self.assertEqual(client.get("projects")["projectId"], PROJECT_NUMBER)
            self.assertEqual(send(client.url, "GET", JWK_SET).status, 503)

    def wait_for_port(self, process):
        deadline = time.monotonic() + 120
        while True:
            try:
                socket.create_connection(("127.0.0.1", process.listen_port), timeout=5).close()
                return
            except OSError:
                self.assertIsNone(process.running.poll(), process.output())
                self.assertLess(time.monotonic(), deadline, process.output())
                time.sleep(0.1)

    def refused_with(self, client, status):
        with self.assertRaises(APIError) as caught:
            client.anonymous()
        self.assertEqual(caught.exception.status, status)
        return caught.exception

    def test_without_accounts(self):
        user = self.web.anonymous()
        self.addCleanup(stack.start, "accounts")
        stack.stop("accounts")
        self.assertEqual(self.refused_with(self.web, 503).word, "UNAVAILABLE")
        stack.start("accounts")
        self.assertEqual(self.web.lookup(user["idToken"])["localId"], user["localId"])
