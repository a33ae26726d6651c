#!/usr/bin/env python3
"""A mail server for development and tests: takes mail as Apple's private relay does, and keeps it in a Maildir.

Mail to a relay domain is taken only when the envelope sender's domain is registered and a DKIM signature for the domain of From
verifies (dkimpy); the public keys come from a file in place of DNS. Mail to other domains is taken as it is. SPF cannot be looked at
on one machine. Mail may be submitted over STARTTLS with a password only, when there are a certificate and an account.

The local part of a recipient, up to a "+", asks for trouble:
  gone       550 5.1.1 at RCPT                        inactive   550 5.1.1 after the final dot
  full       452 4.2.2 at RCPT                        throttled  421 4.7.1 at RCPT, and the connection ends
  busy       451 4.3.0 at RCPT, once: then it is taken
  slow       451 4.3.2 at RCPT, "try again in 40 seconds"
  drop       takes the mail and ends the connection without a reply
  lose       ends the connection after DATA, without taking the mail
"""

import argparse
import asyncio
import email
import email.policy
import email.utils
import json
import mailbox
import os
import pathlib
import signal
import ssl
import sys
import urllib.request

import dkim
from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword

MAX_MESSAGE_BYTES = 10 * 1024 * 1024
RELAY_DOMAINS = {"privaterelay.appleid.com", "private.icloud.com"}


def domain(address):
    return address.rpartition("@")[2].lower()


class Keys:
    """The public keys: a JSON file from names to TXT records, read again when it has changed."""

    def __init__(self, path):
        self.path, self.stamp, self.records = path, None, {}

    def __call__(self, name, timeout=5):
        stamp = os.stat(self.path).st_mtime_ns
        if stamp != self.stamp:
            self.stamp, self.records = stamp, json.loads(self.path.read_text())
        return self.records.get(name.decode().rstrip(".").lower(), "").encode()


class Relay:
    """What aiosmtpd calls at each command."""

    def __init__(self, maildir, keys, registered, told):
        self.maildir, self.keys, self.registered, self.told = maildir, keys, registered, told
        self.busy = set()

    async def handle_RCPT(self, server, session, envelope, address, options):
        word = address.partition("@")[0].partition("+")[0]
        if word == "gone":
            return f"550 5.1.1 <{address}>: user not found"
        if word == "full":
            return "452 4.2.2 user is over quota"
        if word == "slow":
            return "451 4.3.2 busy, try again in 40 seconds"
        if word == "busy" and address not in self.busy:
            self.busy.add(address)
            return "451 4.3.0 not now"
        if word == "throttled":
            await server.push("421 4.7.1 deferred due to excessive volume")
            server.transport.close()
            return "421 4.7.1 deferred due to excessive volume"
        envelope.rcpt_tos.append(address)
        return "250 2.1.5 Ok"

    async def handle_DATA(self, server, session, envelope):
        recipient = envelope.rcpt_tos[0]
        word = recipient.partition("@")[0].partition("+")[0]
        if word == "lose":
            server.transport.abort()
            return ""
        if word == "inactive":
            return "550 5.1.1 inactive email address"
        if domain(recipient) in RELAY_DOMAINS:
            problem = self.problem(envelope)
            if problem:
                return f"554 5.7.1 [HME1] This message was blocked for failing both SPF and DKIM authentication checks ({problem})"
        name = self.keep(envelope, recipient)
        if self.told:
            await asyncio.to_thread(self.tell, envelope, recipient)
        if word == "drop":
            server.transport.abort()
            return ""
        return f"250 2.0.0 Ok: queued as {name}"

    def problem(self, envelope):
        """Why the relay drops a message; None when it does not."""
        if domain(envelope.mail_from) not in self.registered and envelope.mail_from.lower() not in self.registered:
            return "the envelope sender is not registered"
        message = email.message_from_bytes(envelope.content, policy=email.policy.SMTP)
        _, sender = email.utils.parseaddr(str(message["From"]))
        if domain(sender) not in self.registered and sender.lower() not in self.registered:
            return "From is not registered"
        check = dkim.DKIM(envelope.content)
        for index in range(len(message.get_all("DKIM-Signature", []))):
            try:
                if check.verify(idx=index, dnsfunc=self.keys) and check.domain.decode().lower() == domain(sender):
                    return None
            except dkim.DKIMException:
                continue
        return "no signature for the domain of From verifies"

    def tell(self, envelope, recipient):
        """Tells the simulator, where the development gateway looks for links."""
        message = email.message_from_bytes(envelope.content, policy=email.policy.default)
        part = message.get_body(("plain",))
        body = json.dumps({"to": recipient, "body": part.get_content() if part else ""}).encode()
        request = urllib.request.Request(f"{self.told}/control/mails", body, {"Content-Type": "application/json"})
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=5):
                pass
        except OSError as error:
            print(f"the simulator was not told of a mail: {error}", file=sys.stderr)

    def keep(self, envelope, recipient):
        head = f"Return-Path: <{envelope.mail_from}>\r\nDelivered-To: {recipient}\r\n"
        content = head.encode() + envelope.content
        return self.maildir.add(content.replace(b"\r\n", b"\n")).partition(".")[2] or "kept"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--port", type=int, required=True, help="on 127.0.0.1; 0 for any, which is printed")
    parser.add_argument("--maildir", type=pathlib.Path, required=True)
    parser.add_argument("--keys", type=pathlib.Path, required=True, help="JSON: names to TXT records")
    parser.add_argument("--registered", action="append", default=[], help="a registered domain or address")
    parser.add_argument("--certificate", type=pathlib.Path, help="offers STARTTLS, and takes mail only over it")
    parser.add_argument("--certificate-key", type=pathlib.Path)
    parser.add_argument("--implicit-tls", action="store_true", help="TLS from the first byte in place of STARTTLS")
    parser.add_argument("--user", help="takes mail only with this account")
    parser.add_argument("--password-file", type=pathlib.Path)
    parser.add_argument("--no-smtputf8", action="store_true")
    parser.add_argument("--simulator", help="address of the simulator, which is told of each mail")
    return parser.parse_args()


def authenticator(options):
    password = options.password_file.read_text().strip().encode()

    def check(server, session, envelope, mechanism, data):
        good = isinstance(data, LoginPassword) and data.login == options.user.encode() and data.password == password
        return AuthResult(success=good, handled=True, message=None if good else "535 5.7.8 Authentication failed")

    return check


async def main():
    options = arguments()
    options.maildir.parent.mkdir(parents=True, exist_ok=True)
    handler = Relay(
        mailbox.Maildir(options.maildir, create=True), Keys(options.keys), {name.lower() for name in options.registered},
        options.simulator)
    context = None
    if options.certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(options.certificate, options.certificate_key)
    starttls = context if not options.implicit_tls else None
    settings = {
        "hostname": "localhost", "enable_SMTPUTF8": not options.no_smtputf8, "data_size_limit": MAX_MESSAGE_BYTES,
        "tls_context": starttls, "require_starttls": starttls is not None, "ident": "Countersign development relay",
    }
    if options.user:
        settings |= {
            "authenticator": authenticator(options), "auth_required": True,
            "auth_require_tls": starttls is not None,
        }
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: SMTP(handler, loop=loop, **settings), "127.0.0.1", options.port,
        ssl=context if options.implicit_tls else None)
    print(f"listening on 127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    await stop.wait()
    server.close()


asyncio.run(main())
