"""An OpenID Connect provider of an inner network: HTTPS with a certificate of its own authority, and what keeps it out."""

import pathlib
import secrets
import ssl
import tempfile

from foreign_provider import CLIENT, ForeignProvider
from gateway_client import PROJECT, APIError
from google_names import DAY, issue
from own_accounts import OwnAccounts
from page_flow import CALLBACK, PageFlow, configure_provider
from process import countersign, free_port

DOMAIN = "example.firebaseapp.com"
RETURN_ADDRESS = f"https://{DOMAIN}/__/auth/handler"
ENDED = -DAY / 48
FAILURE = 1
CANNOT_BE_FETCHED = "the document of an OpenID Connect issuer cannot be fetched"


class PrivateAuthorityTest(OwnAccounts):
    def setUp(self):
        super().setUp()
        self.directory = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="countersign-")))
        self.authorities = self.directory / "authorities.pem"
        self.authorities.touch()

    def provider(self, name="localhost", life=DAY, is_trusted=True):
        """A provider at `localhost` whose certificate names a host, with an authority of its own."""
        place = self.directory / secrets.token_hex(8)
        place.mkdir()
        authority, *certificate = issue(place, [name], life)
        if is_trusted:
            self.authorities.write_text(self.authorities.read_text() + authority.read_text())
        provider = ForeignProvider((CALLBACK, RETURN_ADDRESS), f"https://localhost:{free_port()}", certificate)
        provider.start(self.addCleanup)
        provider.add_user(email=f"{secrets.token_hex(8)}@example.com", email_verified=True, name="Ada Lovelace")
        provider.context = ssl.create_default_context(cafile=authority)
        return provider

    def start_with(self, *providers, ca_file=True, more=""):
        addresses = ", ".join(f'"{provider.url.removesuffix(provider.path)}"' for provider in providers)
        trust = f'caFile: "{self.authorities}",' if ca_file else ""
        self.accounts.replace(r"allowedAddresses: \[.*\],", f"allowedAddresses: [{addresses}], {trust} {more}")
        self.start()

    def configure(self, provider, flow="code"):
        return configure_provider(self.administrator, provider.url, CLIENT, provider.secret, flow)

    def check(self, provider_id, *arguments):
        return countersign("provider", "check", provider_id, "--project", PROJECT, "--auth-domain", DOMAIN, *arguments)

    def require_kept_out(self, provider, cause):
        """With the cause in the log, a code for the client, and the same from `provider check`."""
        provider_id, before = self.configure(provider), len(self.accounts.output())
        with self.assertRaises(APIError) as caught:
            PageFlow(self.web, provider_id)
        self.assertEqual((caught.exception.status, caught.exception.word), (503, "UNAVAILABLE"))
        self.assertNotIn("certificate", str(caught.exception))
        told = [line for line in self.accounts.output()[before:].splitlines() if CANNOT_BE_FETCHED in line]
        self.assertEqual(len(told), 1, self.accounts.output()[before:])
        self.assertRegex(told[0], cause)
        self.assertIn("providers.caFile", told[0])
        return provider_id

    def require_check_fails(self, provider_id, cause, *arguments):
        checked = self.check(provider_id, *arguments)
        self.assertEqual(checked.returncode, FAILURE, checked.stdout + checked.stderr)
        self.assertRegex(checked.stdout, f"FAILED +discovery.*{cause}")
        self.assertIn("--ca-file", checked.stdout)

    def test_both_flows_and_the_check(self):
        provider = self.provider()
        self.start_with(provider)
        for flow in ["code", "idToken"]:
            with self.subTest(flow):
                provider_id = self.configure(provider, flow)
                answer = PageFlow(self.web, provider_id, oauthScope="email").consent(provider.context).sign_in()
                self.assertEqual((answer["providerId"], answer["isNewUser"]), (provider_id, True))
                self.assertEqual(answer["email"], provider.users[provider.user]["email"])
                checked = self.check(provider_id, "--ca-file", self.authorities)
                self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
                self.assertNotRegex(checked.stdout, "FAILED|skipped")
                self.require_check_fails(provider_id, "certificate")

    def test_certificates_that_are_refused(self):
        ended, foreign = self.provider(life=ENDED), self.provider("id.example.org")
        unknown = self.provider(is_trusted=False)
        self.start_with(ended, foreign, unknown)
        for provider, cause in [(ended, "certificate has expired"), (foreign, "host name|subject name"), (unknown, "issuer certificate")]:
            with self.subTest(cause):
                provider_id = self.require_kept_out(provider, cause)
                self.require_check_fails(provider_id, cause, "--ca-file", self.authorities)

    def test_without_the_authority(self):
        provider = self.provider()
        self.start_with(provider, ca_file=False)
        self.require_kept_out(provider, "issuer certificate")

    def test_the_authority_counts_at_its_addresses_alone(self):
        """It vouches for no other address, whatever network that is on."""
        inner, other = self.provider(), self.provider()
        self.start_with(inner, more='allowedNetworks: ["127.0.0.0/8", "::1/128"],')
        self.require_kept_out(other, "issuer certificate")
        self.assertTrue(PageFlow(self.web, self.configure(inner)).address.startswith(inner.url))
