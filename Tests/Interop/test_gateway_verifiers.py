"""Stock verifiers take ID tokens by the keys of the gateway: google-auth, PyJWT, and Google's Admin SDK."""

import datetime
import os
import unittest
import unittest.mock
import urllib.parse

import cachecontrol
import firebase_admin
import firebase_admin.auth
import google.auth.credentials
import google.auth.transport.requests
import google.oauth2.id_token
import jwt

from gateway_client import CERTIFICATES, ISSUER, JWK_SET, PROJECT, Web, new_number

GOOGLE = "https://www.googleapis.com"
OTHER_PROJECT = "other-project"
HOUR = 3600


def altered(token):
    """The token with another signature."""
    head, body, signature = token.split(".")
    return f"{head}.{body}.{'B' if signature[0] == 'A' else 'A'}{signature[1:]}"


class VerifierTest(unittest.TestCase):
    """One user's token for all."""

    @classmethod
    def setUpClass(cls):
        cls.url = os.environ["COUNTERSIGN_GATEWAY_URL"]
        cls.number = new_number()
        answer = Web().sign_in_as(cls.number)
        cls.token, cls.user = answer["idToken"], answer["localId"]

    def require_user(self, claims):
        """The claims are the user's."""
        self.assertEqual((claims["sub"], claims["phone_number"], claims["iss"]), (self.user, self.number, ISSUER))
        self.assertEqual(claims["firebase"], {"identities": {"phone": [self.number]}, "sign_in_provider": "phone"})


class GoogleAuthTest(VerifierTest):
    """google-auth, by both addresses of keys."""

    def verify(self, token, audience=PROJECT, path=CERTIFICATES):
        request = google.auth.transport.requests.Request()
        return google.oauth2.id_token.verify_token(token, request, audience=audience, certs_url=self.url + path)

    def test_it_takes_the_token(self):
        for path in [CERTIFICATES, JWK_SET]:
            with self.subTest(path):
                self.require_user(self.verify(self.token, path=path))

    def test_it_refuses(self):
        with self.assertRaisesRegex(ValueError, "wrong audience"):
            self.verify(self.token, audience=OTHER_PROJECT)
        with self.assertRaisesRegex(ValueError, "signature"):
            self.verify(altered(self.token))
        later = datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None) + datetime.timedelta(seconds=HOUR + 60)
        with unittest.mock.patch("google.auth._helpers.utcnow", return_value=later):
            with self.assertRaisesRegex(ValueError, "Token expired"):
                self.verify(self.token)


class PyJWTTest(VerifierTest):
    """PyJWT with its client of key sets."""

    def verify(self, token, audience=PROJECT, **options):
        key = jwt.PyJWKClient(self.url + JWK_SET).get_signing_key_from_jwt(token)
        return jwt.decode(token, key, algorithms=["RS256"], audience=audience, issuer=ISSUER, **options)

    def test_it_takes_the_token(self):
        self.require_user(self.verify(self.token))

    def test_it_refuses(self):
        with self.assertRaises(jwt.InvalidAudienceError):
            self.verify(self.token, audience=OTHER_PROJECT)
        with self.assertRaises(jwt.InvalidSignatureError):
            self.verify(altered(self.token))
        # A negative leeway sets its clock forward.
        with self.assertRaises(jwt.ExpiredSignatureError):
            self.verify(self.token, leeway=-HOUR - 60, options={"verify_iat": False})


class Redirect(cachecontrol.CacheControlAdapter):
    """What a name server of one's own does: Google's host is nginx before the gateway. Tells which answers were cached."""

    def __init__(self):
        super().__init__()
        self.from_cache = []

    def send(self, request, **options):
        request.url = request.url.replace(GOOGLE, os.environ["COUNTERSIGN_GATEWAY_TLS_URL"], 1)
        request.headers["Host"] = urllib.parse.urlsplit(GOOGLE).hostname
        response = super().send(request, **{**options, "verify": os.environ["COUNTERSIGN_CA_FILE"]})
        self.from_cache.append(response.from_cache)
        return response


class AdminTest(VerifierTest):
    """The Admin SDK, whose address of keys is Google's: led to ours, as by a name server."""

    def app(self, project):
        """An app of the SDK, and what it fetches keys with."""
        app = firebase_admin.initialize_app(
            google.auth.credentials.AnonymousCredentials(), {"projectId": project}, name=f"{self.id()}-{project}")
        self.addCleanup(firebase_admin.delete_app, app)
        redirect = Redirect()
        # The one way into the session that the SDK makes for itself.
        client = firebase_admin.auth._get_client(app)
        client._token_verifier.request.session.mount(GOOGLE, redirect)
        return app, redirect

    def test_it_takes_the_token_and_keeps_the_keys(self):
        app, redirect = self.app(PROJECT)
        for _ in range(3):
            claims = firebase_admin.auth.verify_id_token(self.token, app)
            self.require_user(claims)
            self.assertEqual(claims["uid"], self.user)
        self.assertEqual(redirect.from_cache, [False, True, True])

    def test_it_refuses(self):
        other, _ = self.app(OTHER_PROJECT)
        with self.assertRaisesRegex(firebase_admin.auth.InvalidIdTokenError, "audience"):
            firebase_admin.auth.verify_id_token(self.token, other)
        app, _ = self.app(PROJECT)
        with self.assertRaises(firebase_admin.auth.InvalidIdTokenError):
            firebase_admin.auth.verify_id_token(altered(self.token), app)
        later = datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None) + datetime.timedelta(seconds=HOUR + 60)
        with unittest.mock.patch("google.auth._helpers.utcnow", return_value=later):
            with self.assertRaises(firebase_admin.auth.ExpiredIdTokenError):
                firebase_admin.auth.verify_id_token(self.token, app)


if __name__ == "__main__":
    unittest.main()
