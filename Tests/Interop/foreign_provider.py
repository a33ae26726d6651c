"""An OpenID provider that somebody else wrote: pyop, of Identity Python, behind the thin server that it leaves to others."""

import json
import logging
import os
import secrets
import ssl
import urllib.parse

from Cryptodome.PublicKey import RSA
from jwkest.jwk import RSAKey
from pyop.authz_state import AuthorizationState
from pyop.exceptions import BearerTokenError, InvalidAuthenticationRequest, OAuthError
from pyop.provider import Provider
from pyop.subject_identifier import HashBasedSubjectIdentifierFactory
from pyop.userinfo import Userinfo
from pyop.util import should_fragment_encode

from local_server import Handler, Server
from page_flow import CALLBACK

CLIENT = "countersign"


class ProviderHandler(Handler):
    # Another test has another provider at this address.
    protocol_version = "HTTP/1.0"

    def do_GET(self):
        parts = urllib.parse.urlsplit(self.path)
        provider = self.server.provider
        match parts.path.removeprefix(self.server.path):
            case "/.well-known/openid-configuration":
                self.answer(200, provider.provider_configuration.to_json().encode())
            case "/keys":
                self.answer(200, self.server.keys())
            case "/authorize":
                self.authorize(parts.query)
            case "/userinfo":
                self.guarded(lambda: provider.handle_userinfo_request(parts.query, self.headers), 401)
            case _:
                self.answer(404)

    def do_POST(self):
        body = self.body().decode()
        if self.path == self.server.path + "/token":
            self.guarded(lambda: self.server.provider.handle_token_request(body, self.headers), 400)
        else:
            self.answer(404)

    def authorize(self, query):
        try:
            request = self.server.provider.parse_authentication_request(query)
        except InvalidAuthenticationRequest as error:
            address = error.to_error_url()
            self.answer(302 if address else 400, str(error).encode(), **({"Location": address} if address else {}))
            return
        response = self.server.provider.authorize(request, self.server.user)
        self.answer(302, Location=response.request(request["redirect_uri"], should_fragment_encode(request)))

    def guarded(self, call, status):
        try:
            self.answer(200, call().to_json().encode())
        except (OAuthError, BearerTokenError) as error:
            self.answer(status, f'{{"error": "{getattr(error, "oauth_error", "invalid_token")}"}}'.encode())


class ForeignProvider(Server):
    """Its user consents at once; `user` is who that is."""

    def __init__(self, redirect_uris=(CALLBACK,), url=None, certificate=None):
        """With a certificate, files of it and of its key, it speaks HTTPS alone."""
        place = urllib.parse.urlsplit(url or os.environ["COUNTERSIGN_STACK_PROVIDER_URL"])
        super().__init__(ProviderHandler, place.port)
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            # The handshake is made by the thread of the connection: one that is refused holds up no other.
            self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        for name in ["pyop", "oic", "jwkest"]:
            logging.getLogger(name).setLevel(logging.CRITICAL)
        # What was there before is remembered for a while.
        self.path = f"/{secrets.token_hex(8)}"
        self.url, self.secret = place.geturl() + self.path, secrets.token_urlsafe(24)
        self.user, self.users = None, {}
        self.key = RSAKey(key=RSA.generate(2048), alg="RS256", use="sig", kid=secrets.token_hex(8))
        clients = {CLIENT: {
            "client_id": CLIENT, "client_secret": self.secret, "redirect_uris": list(redirect_uris), "subject_type": "public",
            "response_types": ["code", "id_token", "id_token token"], "token_endpoint_auth_method": "client_secret_basic"}}
        self.provider = Provider(
            self.key, self.configuration(), AuthorizationState(HashBasedSubjectIdentifierFactory(secrets.token_hex(8))), clients,
            Userinfo(self.users))
        # It takes issuers of https alone, and needs no certificate for them.
        self.provider.configuration_information["issuer"] = self.url

    def configuration(self):
        return {
            "issuer": self.url.replace("http:", "https:"), "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token", "userinfo_endpoint": f"{self.url}/userinfo", "jwks_uri": f"{self.url}/keys",
            "scopes_supported": ["openid", "email", "profile"], "subject_types_supported": ["public"],
            "response_types_supported": ["code", "id_token", "id_token token"], "response_modes_supported": ["query", "fragment"],
            "grant_types_supported": ["authorization_code", "implicit"], "id_token_signing_alg_values_supported": ["RS256"],
            "token_endpoint_auth_methods_supported": ["client_secret_basic"]}

    def keys(self):
        return json.dumps(self.provider.jwks).encode()

    def add_user(self, **profile):
        """Somebody with these claims, who consents from now on. The subject is the provider's own affair."""
        self.user = secrets.token_hex(8)
        self.users[self.user] = profile
