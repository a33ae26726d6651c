"""Verifiers take ID tokens by the keys of the gateway: google-auth, PyJWT, Google's Admin SDK, and those that
docs/verifying-tokens.md shows, which refuse everything else."""

import base64
import datetime
import hmac
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
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
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from gateway_client import CERTIFICATES, ISSUER, JWK_SET, PROJECT, Web, new_number
from local_server import Handler, Server

GOOGLE = "https://www.googleapis.com"
OTHER_PROJECT = "other-project"
HOUR = 3600
PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/verifying-tokens.md"
# The gateway of the page.
EXAMPLE = "https://auth.example.com"


def altered(token):
    head, body, signature = token.split(".")
    return f"{head}.{body}.{'B' if signature[0] == 'A' else 'A'}{signature[1:]}"


class VerifierTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.url = os.environ["COUNTERSIGN_GATEWAY_URL"]
        cls.number = new_number()
        answer = Web().sign_in_as(cls.number)
        cls.token, cls.user = answer["idToken"], answer["localId"]

    def require_user(self, claims):
        self.assertEqual((claims["sub"], claims["phone_number"], claims["iss"]), (self.user, self.number, ISSUER))
        self.assertEqual(claims["firebase"], {"identities": {"phone": [self.number]}, "sign_in_provider": "phone"})


class GoogleAuthTest(VerifierTest):
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

    def test_the_variable_of_emulators_switches_the_check_off(self):
        """What the pages warn of: a token that anybody wrote is taken."""
        now = int(time.time())
        forged = jwt.encode(
            {"iss": ISSUER, "aud": PROJECT, "sub": "victim", "iat": now, "auth_time": now, "exp": now + HOUR},
            "the attacker's secret, which is long enough", algorithm="HS256", headers={"kid": "x"})
        app, _ = self.app(PROJECT)
        with self.assertRaises(firebase_admin.auth.InvalidIdTokenError):
            firebase_admin.auth.verify_id_token(forged, app)
        with unittest.mock.patch.dict(os.environ, FIREBASE_AUTH_EMULATOR_HOST="127.0.0.1:1"):
            app = firebase_admin.initialize_app(options={"projectId": PROJECT}, name=self.id())
            self.addCleanup(firebase_admin.delete_app, app)
            self.assertEqual(firebase_admin.auth.verify_id_token(forged, app)["sub"], "victim")


class Page:
    """A verifier of docs/verifying-tokens.md, as it stands there, run by its language on a list of tokens."""

    def __init__(self, language, command, name, head="", tail=""):
        self.language, self.command, self.name, self.head, self.tail = language, command, name, head, tail

    def run(self, url, tokens):
        """For each token its subject, or None where the verifier refuses it."""
        text = re.findall(rf"^```{self.language}\n(.*?)^```", PAGE.read_text(), re.M | re.S)
        if len(text) != 1:
            raise AssertionError(f"{len(text)} verifiers in {self.language}")
        if f'"{PROJECT}"' not in text[0].replace("'", '"') or text[0].count(EXAMPLE) != 1:
            raise AssertionError(f"the verifier in {self.language} names another project or gateway")
        with tempfile.TemporaryDirectory(prefix="countersign-") as directory:
            path = pathlib.Path(directory) / self.name
            path.write_text(self.head + text[0].replace(EXAMPLE, url) + self.tail)
            done = subprocess.run(
                [*self.command, path], input=json.dumps(tokens), capture_output=True, text=True, timeout=120, cwd=directory)
        if done.returncode != 0:
            raise AssertionError(f"the verifier in {self.language}: {done.stdout}{done.stderr}")
        return json.loads(done.stdout)


PAGES = [
    Page("python", [sys.executable], "verify.py", tail="""
import sys
def subject(token):
    try:
        return verify(token)["sub"]
    except Exception:
        return None
print(json.dumps([subject(token) for token in json.load(sys.stdin)]))
"""),
    Page("js", ["node"], "verify.mjs", tail="""
import { readFileSync } from "node:fs";
const subjects = [];
for (const token of JSON.parse(readFileSync(0, "utf8")))
  subjects.push(await verify(token).then((claims) => claims.sub, () => null));
console.log(JSON.stringify(subjects));
"""),
    Page("php", ["php", "-d", "apc.enable_cli=1", "-d", "display_errors=stderr"], "verify.php", head="<?php\n", tail="""
echo json_encode(array_map(function ($token) {
    try {
        return verify($token)['sub'];
    } catch (Throwable) {
        return null;
    }
}, json_decode(stream_get_contents(STDIN), true)));
"""),
    Page("java", ["java", "-cp", ":".join(f"/usr/share/java/jackson-{name}.jar" for name in ["core", "databind", "annotations"])],
         "Verify.java", head="""
import com.fasterxml.jackson.core.type.TypeReference; import com.fasterxml.jackson.databind.*;
import java.io.ByteArrayInputStream; import java.net.URI; import java.net.http.*; import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets; import java.security.*; import java.security.cert.CertificateFactory;
import java.time.Duration; import java.util.*; import java.util.regex.Pattern;
class Verify {
""", tail="""
    static String subject(String token) {
        try { return verify(token).path("sub").asText(); } catch (Exception error) { return null; }
    }
    public static void main(String[] arguments) throws Exception {
        var subjects = new ArrayList<String>();
        for (String token : JSON.readValue(System.in, String[].class)) subjects.add(subject(token));
        System.out.println(JSON.writeValueAsString(subjects));
    }
}
"""),
]
# Whose tools are too large to be installed for this alone: run where they are there, when this names them ("go").
OPTIONAL = [
    Page("go", ["go", "run"], "verify.go", head="""package main
import ("crypto/x509"; "encoding/base64"; "encoding/json"; "encoding/pem"; "errors"; "net/http"; "os"; "regexp"; "strconv"; "strings"
"sync"; "time")
""", tail="""
func main() {
	var tokens []string
	var subjects []any
	if err := json.NewDecoder(os.Stdin).Decode(&tokens); err != nil {
		panic(err)
	}
	for _, token := range tokens {
		if claims, err := verify(token); err != nil {
			subjects = append(subjects, nil)
		} else {
			subjects = append(subjects, claims.Sub)
		}
	}
	json.NewEncoder(os.Stdout).Encode(subjects)
}
"""),
]
PAGES += [page for page in OPTIONAL if page.language in os.environ.get("COUNTERSIGN_VERIFIERS", "").split(",")]


class Keys(Handler):
    """A gateway of the test's own key: both addresses of keys, and how often they were asked for."""

    def do_GET(self):
        self.server.asked += 1
        body = json.dumps(self.server.answers[self.path]).encode()
        self.answer(200, body, Cache_Control="public, max-age=3600, must-revalidate, no-transform")


def certificate(key):
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test")])
    now = datetime.datetime.now(datetime.timezone.utc)
    built = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(1)
    built = built.not_valid_before(now - datetime.timedelta(days=1)).not_valid_after(now + datetime.timedelta(days=1))
    return built.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()


class PageTest(VerifierTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.key, cls.other = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2))
        cls.server = Server(Keys).start(cls.addClassCleanup)
        jwk = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(cls.key.public_key()))
        cls.pem = certificate(cls.key)
        cls.server.answers = {
            JWK_SET: {"keys": [{name: jwk[name] for name in ["kty", "n", "e"]} | {"alg": "RS256", "use": "sig", "kid": "k1"}]},
            CERTIFICATES: {"k1": cls.pem}}

    def made(self, key=None, algorithm="RS256", kid="k1", **changes):
        """A token like the gateway's, with changed claims; None leaves one out."""
        now = int(time.time())
        claims = {"iss": ISSUER, "aud": PROJECT, "sub": "user-1", "user_id": "user-1", "iat": now - 10, "exp": now + HOUR,
                  "auth_time": now - 10, "firebase": {"identities": {}, "sign_in_provider": "phone"}, **changes}
        claims = {name: value for name, value in claims.items() if value is not None}
        return jwt.encode(claims, key or self.key, algorithm=algorithm, headers={"kid": kid})

    def signed_by_the_certificate(self):
        """HS256 with the public key as the secret, which a careless verifier takes; PyJWT does not make it."""
        parts = [base64url({"alg": "HS256", "kid": "k1", "typ": "JWT"}), self.made().split(".")[1]]
        code = hmac.new(self.pem.encode(), ".".join(parts).encode(), "sha256").digest()
        return ".".join([*parts, base64.urlsafe_b64encode(code).rstrip(b"=").decode()])

    def test_they_take_the_gateways_token_and_no_altered_one(self):
        foreign = self.made()
        for page in PAGES:
            with self.subTest(page.language):
                self.assertEqual(
                    page.run(self.url, [self.token, altered(self.token), foreign, self.token]), [self.user, None, None, self.user])

    def test_they_refuse_what_is_forged_expired_or_foreign(self):
        now = int(time.time())
        head, body, signature = self.made().split(".")
        bad = {
            "another key under our name": self.made(self.other), "another name": self.made(kid="k2"), "no name": self.made(kid=""),
            "no signature": f"{head}.{body}.", "none": jwt.encode(
                jwt.decode(self.made(), options={"verify_signature": False}), None, algorithm="none", headers={"kid": "k1"}),
            "HS256": self.signed_by_the_certificate(), "another algorithm": self.made(algorithm="RS512"),
            "other claims": f"{head}.{self.made(sub='victim').split('.')[1]}.{signature}", "altered": altered(self.made()),
            "expired": self.made(iat=now - 2 * HOUR, auth_time=now - 2 * HOUR, exp=now - 120), "never expires": self.made(exp=None),
            "of the future": self.made(iat=now + HOUR, exp=now + 2 * HOUR), "another project": self.made(aud=OTHER_PROJECT),
            "another issuer": self.made(iss=f"https://securetoken.google.com/{OTHER_PROJECT}"),
            "a session cookie": self.made(iss=f"https://session.firebase.google.com/{PROJECT}"),
            "nobody": self.made(sub=""), "no subject": self.made(sub=None), "too long": self.made(sub="u" * 129),
            "four parts": self.made() + ".x", "two parts": f"{head}.{body}", "nothing": "", "no JSON": "a.b.c",
        }
        good = [self.made(), self.made(sub="u" * 128), self.made()]
        url = f"http://127.0.0.1:{self.server.server_port}"
        for page in PAGES:
            with self.subTest(page.language):
                self.server.asked = 0
                found = page.run(url, [*good, *bad.values(), good[0]])
                self.assertEqual(found[:3] + found[-1:], ["user-1", "u" * 128, "user-1", "user-1"])
                self.assertEqual({name: subject for name, subject in zip(bad, found[3:-1]) if subject is not None}, {})
                # Unknown names make nobody fetch the keys more often.
                self.assertEqual(self.server.asked, 1)


def base64url(value):
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()
