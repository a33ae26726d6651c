"""Google's host names on this machine, for libraries that know no other: nginx before the gateways with a certificate for them, of an
authority of the tests' own, and a way there. A program goes it by its environment."""

import contextlib
import datetime
import pathlib
import socket
import socketserver
import tempfile
import threading
import urllib.parse

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

import stack
from gateway_front import Front

HOSTS = ["identitytoolkit.googleapis.com", "securetoken.googleapis.com", "www.googleapis.com", "oauth2.googleapis.com"]
LINE_BYTES = 8192
DAY = datetime.timedelta(days=1)


def _name(text):
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])


def _certificate(name, key, issuer, issuer_key, *extensions, life=DAY):
    now = datetime.datetime.now(datetime.timezone.utc)
    built = (x509.CertificateBuilder().subject_name(name).issuer_name(issuer).public_key(key.public_key())
             .serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(hours=1))
             .not_valid_after(now + life))
    for extension, is_critical in extensions:
        built = built.add_extension(extension, is_critical)
    return built.sign(issuer_key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def issue(directory, hosts, life=DAY):
    """Writes an authority, and a certificate of it with its key: their files. The authority's own key is not kept.

    A certificate of a negative life has ended, of up to an hour."""
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority = _name("authority of a test")
    usage = x509.KeyUsage(False, False, False, False, False, True, False, False, False)
    identifier = x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key())
    files = {
        "authority.pem": _certificate(
            authority, authority_key, authority, authority_key, (x509.BasicConstraints(True, None), True), (usage, True),
            (identifier, False)),
        "certificate.pem": _certificate(
            _name(hosts[0]), key, authority, authority_key, (x509.SubjectAlternativeName(map(x509.DNSName, hosts)), False),
            (x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), False),
            (x509.ExtendedKeyUsage([x509.ExtendedKeyUsageOID.SERVER_AUTH]), False), life=life),
        "key.pem": key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
    }
    for name, data in files.items():
        (pathlib.Path(directory) / name).write_bytes(data)
    return [pathlib.Path(directory) / name for name in files]


class Tunnel(socketserver.ThreadingTCPServer):
    """A proxy that leads every connection to Google's names to one port, and refuses the rest."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, port):
        super().__init__(("127.0.0.1", 0), TunnelHandler)
        self.port = port
        self.asked = set()
        threading.Thread(target=self.serve_forever, daemon=True).start()


class TunnelHandler(socketserver.StreamRequestHandler):
    rbufsize = 0

    def handle(self):
        method, target, _ = self.rfile.readline(LINE_BYTES).decode().split(" ", 2)
        while self.rfile.readline(LINE_BYTES).strip():
            pass
        host = target.rpartition(":")[0]
        self.server.asked.add(host)
        if method != "CONNECT" or host not in HOSTS:
            self.wfile.write(b"HTTP/1.1 403 Forbidden\r\n\r\n")
            return
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=30) as connection:
            connection.settimeout(None)
            self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
            back = threading.Thread(target=self.copy, args=(connection, self.connection), daemon=True)
            back.start()
            self.copy(self.connection, connection)
            back.join(timeout=60)

    @staticmethod
    def copy(source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)


class GoogleNames:
    """Serves until the cleanup of a test's class. `environment` leads a program there; `asked` has the names that were wanted."""

    def __init__(self, add_cleanup):
        directory = tempfile.TemporaryDirectory(prefix="countersign-")
        add_cleanup(directory.cleanup)
        self.authority, certificate, key = issue(directory.name, HOSTS)
        front = Front(*[urllib.parse.urlsplit(url).port for url in stack.gateway_urls()], names=(HOSTS, certificate, key))
        front.__enter__()
        add_cleanup(front.__exit__)
        tunnel = Tunnel(front.port)
        add_cleanup(tunnel.server_close)
        add_cleanup(tunnel.shutdown)
        self.asked = tunnel.asked
        proxy = f"http://127.0.0.1:{tunnel.server_address[1]}"
        # In both spellings: libraries differ in which one goes first.
        self.environment = {
            "HTTPS_PROXY": proxy, "https_proxy": proxy, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1",
            "REQUESTS_CA_BUNDLE": str(self.authority),
        }
