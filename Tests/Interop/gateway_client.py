"""A strict client of the gateway, as the stock SDKs speak the protocol: the JavaScript one's calls and the Apple one's.

Every answer is held to the protocol: Google's schema of the call, or the one form that errors have.
"""

import http.client
import itertools
import json
import os
import secrets
import ssl
import time
import urllib.parse

import jwt

import google_schemas
import simulator
import stack

PROJECT, PROJECT_NUMBER, KEY = "example", "100000000001", "fake-api-key"
ISSUER = f"https://securetoken.google.com/{PROJECT}"
IDENTITY_TOOLKIT = "/identitytoolkit.googleapis.com"
RELYING_PARTY = "/www.googleapis.com/identitytoolkit/v3/relyingparty"
SECURE_TOKEN = "/securetoken.googleapis.com/v1/token"
JWK_SET = "/www.googleapis.com/service_accounts/v1/jwk/securetoken@system.gserviceaccount.com"
CERTIFICATES = "/www.googleapis.com/robot/v1/metadata/x509/securetoken@system.gserviceaccount.com"
# The names that the Apple SDK knows the calls of v1 by.
OLD_NAMES = {
    "accounts:signUp": "signupNewUser", "accounts:sendVerificationCode": "sendVerificationCode",
    "accounts:signInWithPhoneNumber": "verifyPhoneNumber", "accounts:verifyIosClient": "verifyClient",
    "accounts:signInWithIdp": "verifyAssertion", "accounts:lookup": "getAccountInfo", "accounts:update": "setAccountInfo",
    "accounts:delete": "deleteAccount", "accounts:signInWithPassword": "verifyPassword", "accounts:createAuthUri": "createAuthUri",
    "accounts:sendOobCode": "getOobConfirmationCode", "accounts:resetPassword": "resetPassword",
    "accounts:signInWithEmailLink": "emailLinkSignin", "accounts:signInWithCustomToken": "verifyCustomToken",
    "recaptchaParams": "getRecaptchaParam", "projects": "getProjectConfig",
}
TOKENS = {"idToken", "refreshToken", "expiresIn"}
TIMEOUT = 60
# The page of a user's app that links lead to. The gateway takes those of the project's domains alone.
CONTINUE_URL = "http://localhost:5000/done?from=mail"
PASSWORD = "correct horse battery"

# Beginning with hundredths of a second: modules on one stack run one after the other.
_numbers = itertools.count(time.time_ns() // 10_000_000)


def new_number(prefix="+49162"):
    """A mobile number of the plan of Germany that no other test uses. They spread over the prefixes, which have limits."""
    return f"{prefix}{next(_numbers) * 7_654_321 % 10_000_000:07d}"


def new_email(domain="example.org"):
    """An address that no other test uses, and that no provider vouches for."""
    return f"{secrets.token_hex(8)}@{domain}"


def received_code(number, **options):
    return simulator.code(simulator.message(number, **options)["body"])


class APIError(Exception):
    def __init__(self, status, error):
        super().__init__(f"{status} {error['message']}")
        self.status = status
        self.message = error["message"]
        # Clients split it so: at both spaces (JavaScript), at the colon (Apple).
        self.code, _, self.detail = error["message"].partition(" : ")
        self.reason = error["errors"][0].get("reason")
        self.word = error.get("status")
        self.retry_after = None
        self.error = error


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        kind = self.headers.get("Content-Type", "")
        if kind.split(";")[0].strip().lower() != "application/json":
            raise AssertionError(f"an answer of type {kind}")
        value = json.loads(self.body)
        if not isinstance(value, dict):
            raise AssertionError(f"an answer that is no object: {value!r}")
        return value

    def error(self):
        answer = self.json()
        error = answer.get("error")
        if set(answer) != {"error"} or not isinstance(error, dict):
            raise AssertionError(f"{self.status} without an error: {answer}")
        unknown = set(error) - {"code", "message", "errors", "status", "details"}
        if unknown or error.get("code") != self.status or not error.get("message"):
            raise AssertionError(f"an error that breaks the format, with status {self.status}: {error}")
        entries = error.get("errors")
        if not isinstance(entries, list) or len(entries) != 1:
            raise AssertionError(f"an error without its entry: {error}")
        if entries[0].get("message") != error["message"] or set(entries[0]) != {"message", "domain", "reason"}:
            raise AssertionError(f"an entry that breaks the format: {error}")
        found = APIError(self.status, error)
        found.retry_after = self.headers.get("Retry-After")
        return found


def send(url, method, path, body=None, headers=None, timeout=TIMEOUT, address=None):
    """One request on a connection of its own.

    - `address`: the client's, of this machine, by which the front counts what one client asks.
    """
    parts = urllib.parse.urlsplit(url)
    source = (address, 0) if address else None
    if parts.scheme == "https":
        context = ssl.create_default_context(cafile=os.environ["COUNTERSIGN_CA_FILE"])
        connection = http.client.HTTPSConnection(parts.hostname, parts.port, timeout=timeout, context=context, source_address=source)
    else:
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout, source_address=source)
    try:
        connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        return Answer(response.status, response.headers, response.read())
    finally:
        connection.close()


class Client:
    # Headers of every request, and the prefix of the calls.
    headers = {}
    # See send().
    address = None

    def __init__(self, url=None, key=KEY, **headers):
        self.url = url or os.environ["COUNTERSIGN_GATEWAY_URL"]
        self.key = key
        self.headers = {**type(self).headers, **{name.replace("_", "-"): text for name, text in headers.items()}}
        self.timeout = TIMEOUT

    def path(self, call, version="v1", query=None):
        raise NotImplementedError

    def send(self, method, path, body=None, **headers):
        fields = {**self.headers, **{name.replace("_", "-"): text for name, text in headers.items()}}
        fields = {name: text for name, text in fields.items() if text is not None}
        return send(self.url, method, path, body, fields, self.timeout, self.address)

    def read(self, answer):
        if answer.status != 200:
            raise answer.error()
        return answer.json()

    def call(self, name, body=None, version="v1", method="POST", query=None, **headers):
        """A call, held to Google's schema of its answer."""
        data = None
        if method in {"POST", "PATCH"}:
            headers.setdefault("Content_Type", "application/json")
            data = json.dumps(body or {}).encode()
        answer = self.read(self.send(method, self.path(name, version, query), data, **headers))
        google_schemas.require(version, method, name, answer)
        return answer

    def get(self, name, version="v1", query=None):
        return self.call(name, version=version, method="GET", query=query)

    # --- calls ------------------------------------------------------------------------------------------------------

    def send_code(self, number, **fields):
        answer = self.call("accounts:sendVerificationCode", {"phoneNumber": number, **fields})
        if set(answer) != {"sessionInfo"}:
            raise AssertionError(f"more than a session: {sorted(answer)}")
        return answer["sessionInfo"]

    def sign_in(self, session, code, **fields):
        return self.call("accounts:signInWithPhoneNumber", {"sessionInfo": session, "code": code, **fields})

    def sign_in_with_proof(self, number, proof, **fields):
        return self.call("accounts:signInWithPhoneNumber", {"phoneNumber": number, "temporaryProof": proof, **fields})

    def sign_in_as(self, number, count=1, **fields):
        """A whole sign-in by SMS, which is the number's `count`th."""
        session = self.send_code(number)
        return self.sign_in(session, received_code(number, count=count), **fields)

    def anonymous(self):
        return self.call("accounts:signUp", {"returnSecureToken": True})

    # --- passwords, links of mails, custom tokens -------------------------------------------------------------------

    def sign_up(self, email, password=PASSWORD, **fields):
        """A new account, or with `idToken` a password for one that stands."""
        return self.call("accounts:signUp", {"email": email, "password": password, "returnSecureToken": True, **fields})

    def sign_in_with_password(self, email, password=PASSWORD, **fields):
        body = {"email": email, "password": password, "returnSecureToken": True, **fields}
        return self.call("accounts:signInWithPassword", body)

    def methods_of(self, email):
        return self.call("accounts:createAuthUri", {"identifier": email, "continueUri": "http://localhost:5000"})

    def send_link(self, kind, **fields):
        """Has a link mailed: `PASSWORD_RESET` and the like. The answer names the address, and no code."""
        answer = self.call("accounts:sendOobCode", {"requestType": kind, **fields})
        if set(answer) - {"kind"} != {"email"}:
            raise AssertionError(f"more than an address: {sorted(answer)}")
        return answer["email"]

    def send_sign_in_link(self, email, **fields):
        return self.send_link("EMAIL_SIGNIN", **{"email": email, "continueUrl": CONTINUE_URL, "canHandleCodeInApp": True, **fields})

    def look_at_link(self, code):
        return self.call("accounts:resetPassword", {"oobCode": code})

    def reset_password(self, code, password):
        return self.call("accounts:resetPassword", {"oobCode": code, "newPassword": password})

    def apply_link(self, code):
        return self.call("accounts:update", {"oobCode": code})

    def sign_in_with_link(self, email, code, **fields):
        return self.call("accounts:signInWithEmailLink", {"email": email, "oobCode": code, **fields})

    def sign_in_with_custom_token(self, token, **fields):
        return self.call("accounts:signInWithCustomToken", {"token": token, "returnSecureToken": True, **fields})

    # --- identity providers -----------------------------------------------------------------------------------------

    # What a sign-in by an identity provider has beside the credential.
    assertion = {"requestUri": "http://localhost", "returnSecureToken": True}

    def post_body(self, form):
        raise NotImplementedError

    def sign_in_with_idp(self, provider, id_token=None, access_token=None, nonce=None, user=None, **fields):
        """With a provider's credential; with the field `idToken` links it."""
        form = {"providerId": provider, "id_token": id_token, "access_token": access_token, "nonce": nonce,
                "user": user and json.dumps(user)}
        body = self.post_body({name: text for name, text in form.items() if text is not None})
        return self.call("accounts:signInWithIdp", {**self.assertion, "postBody": body, **fields})

    def sign_in_with_pending_token(self, token, **fields):
        return self.call("accounts:signInWithIdp", {**self.assertion, "pendingToken": token, **fields})

    def revoke_token(self, id_token, token, kind="CODE", provider="apple.com"):
        answer = self.call(
            "accounts:revokeToken", {"providerId": provider, "tokenType": kind, "token": token, "idToken": id_token}, version="v2")
        if answer:
            raise AssertionError(f"more than nothing: {sorted(answer)}")

    def lookup(self, id_token):
        users = self.call("accounts:lookup", {"idToken": id_token}).get("users")
        if not isinstance(users, list) or len(users) != 1:
            raise AssertionError("the Apple SDK needs exactly one user")
        return users[0]

    def update(self, id_token, **fields):
        return self.call("accounts:update", {"idToken": id_token, **fields})

    def delete(self, id_token):
        return self.call("accounts:delete", {"idToken": id_token})

    def token_request(self, refresh_token):
        raise NotImplementedError

    def refresh(self, refresh_token):
        body, kind = self.token_request(refresh_token)
        return self.exchange(body, kind)

    def exchange(self, body, kind):
        answer = self.read(self.send("POST", f"{SECURE_TOKEN}?key={self.key}", body, Content_Type=kind))
        expected = {"access_token", "id_token", "refresh_token", "expires_in", "token_type", "user_id", "project_id"}
        if set(answer) != expected or not all(isinstance(text, str) for text in answer.values()):
            raise AssertionError(f"an answer with other fields: { {name: type(value).__name__ for name, value in answer.items()} }")
        return answer

    # --- keys -------------------------------------------------------------------------------------------------------

    def keys(self):
        return self.keys_of(send(self.url, "GET", JWK_SET))

    def keys_of(self, answer):
        return {entry["kid"]: jwt.PyJWK(entry) for entry in self.read(answer)["keys"]}

    def claims(self, id_token):
        """The claims of an ID token, after all that a stock verifier checks."""
        header = jwt.get_unverified_header(id_token)
        if header.get("alg") != "RS256" or not header.get("kid"):
            raise AssertionError(f"a header that no verifier takes: {header}")
        return jwt.decode(
            id_token, self.keys()[header["kid"]].key, algorithms=["RS256"], audience=PROJECT, issuer=ISSUER,
            options={"require": ["iss", "aud", "sub", "iat", "exp", "auth_time"]})


class Web(Client):
    """The JavaScript SDK, `connectAuthEmulator` or a host of one's own: names of v1, refreshes by form."""

    headers = {
        "Origin": "http://localhost:5000", "Referer": "http://localhost:5000/", "Accept": "*/*",
        "User-Agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36",
        "X-Client-Version": "Chrome/JsCore/11.0.2/FirebaseCore-web",
        "X-Firebase-Client": "eyJ2ZXJzaW9uIjoyLCJoZWFydGJlYXRzIjpbXX0",
    }

    def path(self, call, version="v1", query=None):
        return f"{IDENTITY_TOOLKIT}/{version}/{call}?{urllib.parse.urlencode({'key': self.key, **(query or {})})}"

    def send_code(self, number, **fields):
        return super().send_code(number, **{"clientType": "CLIENT_TYPE_WEB", **fields})

    def post_body(self, form):
        return "&" + urllib.parse.urlencode(form)

    def token_request(self, refresh_token):
        form = {"grant_type": "refresh_token", "refresh_token": refresh_token}
        return urllib.parse.urlencode(form), "application/x-www-form-urlencoded"


class Apple(Client):
    """The Apple SDK: the old names, the bundle ID in a header, refreshes by JSON."""

    headers = {
        "X-Ios-Bundle-Identifier": "com.example.app", "X-Client-Version": "iOS/FirebaseSDK/11.5.0/FirebaseCore-iOS",
        "User-Agent": "FirebaseAuth.iOS/11.5.0 com.example.app/1.0 iPhone/17.5 hw/iPhone14_5",
        "Accept-Language": "en", "Accept": "*/*",
    }
    assertion = {**Client.assertion, "returnIdpCredential": True, "autoCreate": True}

    def __init__(self, app="com.example.app", **options):
        super().__init__(**{"X_Ios_Bundle_Identifier": app, **options})

    def path(self, call, version="v1", query=None):
        text = urllib.parse.urlencode({"key": self.key, **(query or {})})
        if version == "v1":
            return f"{RELYING_PARTY}/{OLD_NAMES[call]}?{text}"
        return f"{IDENTITY_TOOLKIT}/{version}/{call}?{text}"

    def send_code(self, number, **fields):
        return super().send_code(number, **{"clientType": "CLIENT_TYPE_IOS", **fields})

    def post_body(self, form):
        # The SDK does not escape it.
        return "&".join(f"{name}={text}" for name, text in form.items())

    def revoke_token(self, id_token, token, kind="3", **options):
        return super().revoke_token(id_token, token, kind, **options)

    def token_request(self, refresh_token):
        return json.dumps({"grantType": "refresh_token", "refreshToken": refresh_token}), "application/json"


class Administrator(Client):
    """A program that administers the project's users: with an access token, or as the emulator's owner. No API key."""

    def __init__(self, bearer="owner", **options):
        super().__init__(**{"key": None, "Authorization": f"Bearer {bearer}", **options})

    def path(self, call, version="v1", query=None):
        text = urllib.parse.urlencode(query or {})
        return f"{IDENTITY_TOOLKIT}/{version}/{call.format(projectsId=PROJECT)}" + (f"?{text}" if text else "")

    def call(self, name, body=None, version="v1", method="POST", query=None, **headers):
        """A call of the project: `/accounts:lookup`."""
        return super().call("projects/{projectsId}" + name, body, version, method, query, **headers)

    def create(self, **fields):
        return self.call("/accounts", fields)["localId"]

    def find(self, **selection):
        return self.call("/accounts:lookup", selection).get("users", [])

    def user(self, local_id):
        users = self.find(localId=[local_id])
        if len(users) != 1:
            raise AssertionError(f"{len(users)} users have one ID")
        return users[0]

    def change(self, local_id, **fields):
        return self.call("/accounts:update", {"localId": local_id, **fields})

    def remove(self, local_id):
        return self.call("/accounts:delete", {"localId": local_id})

    def import_users(self, users, **hash_parameters):
        return self.call("/accounts:batchCreate", {"users": users, **hash_parameters}).get("error", [])

    def config(self, **settings):
        """Changes the project's settings by their Google names, and returns those that hold."""
        if not settings:
            return self.call("/config", version="v2", method="GET")
        return self.call("/config", settings, version="v2", method="PATCH", query={"updateMask": ",".join(settings)})

    def protect_addresses(self, is_protected):
        return self.config(emailPrivacyConfig={"enableImprovedEmailPrivacy": is_protected})


class Assertions:
    def refused(self, code, call, *arguments, status=400, **fields):
        with self.assertRaises(APIError) as caught:
            call(*arguments, **fields)
        error = caught.exception
        self.assertEqual((error.status, error.code), (status, code), error)
        return error

    def require_tokens(self, answer, client, provider, number=None, age=60, identities=None):
        self.assertLessEqual(TOKENS, set(answer))
        self.assertEqual(answer["expiresIn"], "3600")
        return self.require_claims(client, answer["idToken"], provider, number, answer.get("localId"), age, identities)

    def require_claims(self, client, id_token, provider, number=None, local_id=None, age=60, identities=None):
        claims = client.claims(id_token)
        self.assertEqual(claims["sub"], claims["user_id"])
        self.assertLessEqual(len(claims["sub"]), 128)
        self.assertEqual(claims["exp"] - claims["iat"], 3600)
        self.assertLessEqual(claims["auth_time"], claims["iat"])
        self.assertLess(abs(claims["iat"] - time.time()), age)
        identities = {**({"phone": [number]} if number else {}), **(identities or {})}
        self.assertEqual(claims["firebase"]["sign_in_provider"], provider)
        self.assertEqual(claims["firebase"]["identities"], identities)
        self.assertEqual(claims.get("phone_number"), number)
        self.assertEqual(claims.get("provider_id"), "anonymous" if provider == "anonymous" else None)
        if local_id is not None:
            self.assertEqual(claims["sub"], local_id)
        return claims

    def require_identity(self, client, answer, provider, subject, is_new=False):
        """The account of a sign-in by an identity provider."""
        self.assertLessEqual(TOKENS | {"localId", "rawUserInfo"}, set(answer))
        self.assertEqual((answer["providerId"], answer["federatedId"]), (provider, subject))
        self.assertEqual(answer.get("isNewUser"), True if is_new else None)
        self.assertFalse({"needConfirmation", "errorMessage"} & set(answer))
        claims = client.claims(answer["idToken"])
        self.assertEqual(claims["firebase"]["sign_in_provider"], provider)
        self.assertEqual(claims["firebase"]["identities"][provider], [subject])
        return answer["localId"]

    def restart(self, *names):
        try:
            for name in names:
                stack.kill(name)
        finally:
            for name in names:
                stack.start(name)
