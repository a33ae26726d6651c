"""Messages as somebody would send them who wants the processes to fail: each one made from a seed, so that a run can be repeated.

Every message is a good one of its queue, changed in a few places: bytes of the body, values of its fields, properties, headers.
"""

import base64
import copy
import datetime
import hashlib
import json
import random
import struct

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

import asyncapi_rules
import contract
import stack
from process import CONFIGURATIONS
from samples import in_seconds

MARK = "x-hostile"
TEXT_255 = "x" * 255
# Most of these stand for one rule that a decoder or a database could forget.
ODD_VALUES = [
    None, True, False, 0, -1, 1.5, 1e308, -1e-308, 2**31, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), 2**64, 10**400, "", " ",
    "\0", "a\0b", "\n", "\r\nX: y", "\u202e", "\ufeff", "\ufffd", "\U0001f512" * 300, "é" * 128, "x" * 255, "x" * 256,
    "x" * 5_000, "null", "true", "../../../etc/passwd", "'; DROP TABLE verification; --", "%s%n", "{}", "[]", [], {}, [[]],
    [None], {"a": {"b": {"c": {}}}}, {"": ""}, ["x"] * 1_000, "9999-12-31T23:59:59Z", "0000-01-01T00:00:00Z",
    "2026-02-30T25:61:61Z", "1e999", "+" + "9" * 300, "+14155550123", "tel:+14155550123", "٠١٢٣٤٥", "1.2.3.4",
    "::ffff:1.2.3.4", "user@example.com", "a@b@c", "xn--", "https://example.com/\r\n", "javascript:alert(1)", "en-US-x-" + "a" * 99,
]
NOT_UTF8 = [b"\xff", b"\xff" * 86, b"\xff" * 255, b"a" * 254 + b"\xff", ("é" * 128).encode()[:255], b"\xc0\x80",
            b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"abc\xfe\xff"]
CONTROL = [b"a\0b", b"\n", b"\x1b[2J", b"a\x7f", "a\u0085b".encode()]


class Properties:
    """The properties of a message with any bytes whatever; in the place of pika's own, which takes text only."""

    INDEX = 60
    FLAGS = {
        "content_type": 15, "content_encoding": 14, "headers": 13, "delivery_mode": 12, "priority": 11, "correlation_id": 10,
        "reply_to": 9, "expiration": 8, "message_id": 7, "timestamp": 6, "type": 5, "user_id": 4, "app_id": 3,
    }

    def __init__(self, fields):
        self.fields = fields

    def encode(self):
        flags, pieces = 0, []
        for name, bit in self.FLAGS.items():
            value = self.fields.get(name)
            if value is None:
                continue
            flags |= 1 << bit
            if name == "headers":
                pieces.append(table(value))
            elif name in ("delivery_mode", "priority"):
                pieces.append(struct.pack(">B", value))
            elif name == "timestamp":
                pieces.append(struct.pack(">Q", value))
            else:
                text = value if isinstance(value, bytes) else value.encode()
                pieces.append(struct.pack(">B", len(text)) + text)
        return [struct.pack(">H", flags)] + pieces


class Raw:
    def __init__(self, kind, data):
        self.encoded = kind + data


def long_string(data):
    return Raw(b"S", struct.pack(">I", len(data)) + data)


def table(fields):
    pieces = []
    for name, value in fields.items():
        key = name if isinstance(name, bytes) else name.encode()
        pieces.append(struct.pack(">B", len(key)) + key + field(value))
    data = b"".join(pieces)
    return struct.pack(">I", len(data)) + data


def field(value):
    if isinstance(value, Raw):
        return value.encoded
    if value is None:
        return b"V"
    if isinstance(value, bool):
        return b"t" + struct.pack(">B", value)
    if isinstance(value, int):
        return b"l" + struct.pack(">q", value)
    if isinstance(value, float):
        return b"d" + struct.pack(">d", value)
    if isinstance(value, str):
        return long_string(value.encode()).encoded
    if isinstance(value, bytes):
        return b"x" + struct.pack(">I", len(value)) + value
    if isinstance(value, dict):
        return b"F" + table(value)
    data = b"".join(field(element) for element in value)
    return b"A" + struct.pack(">I", len(data)) + data


def nested_header(depth):
    value = None
    for _ in range(depth):
        value = {"a": value} if depth % 2 else [value]
    return value


class Message:
    def __init__(self, number, queue, exchange, key, body, fields):
        self.number, self.queue, self.exchange, self.key, self.body, self.fields = number, queue, exchange, key, body, fields
        # Whether whoever reads it has to find it wrong: then it must be told or buried.
        self.is_wrong = False
        # Whether the sender can be told.
        self.is_answerable = True
        self.changes = []
        self.spoilt = set()

    def describe(self):
        return f"#{self.number} {self.queue} {self.changes} {self.fields} {self.body[:200]!r}"


def encoded(value):
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def sealed(header):
    """Text in the form of a sealed one; nobody can open it."""
    return ".".join([encoded(header), "", encoded(b"i" * 12), encoded(b"c" * 6), encoded(b"t" * 16)])


class Seals:
    """Seals texts to accounts (RFC 7516, ECDH-ES and A256GCM), all with the key that one ephemeral key agrees on."""

    def __init__(self, ephemeral):
        to = json.loads((CONFIGURATIONS.parent / "secrets" / "accounts-public-keys.json").read_text())["keys"][0]
        x, y = (int.from_bytes(base64.urlsafe_b64decode(to[name] + "=")) for name in "xy")
        own = ec.derive_private_key(ephemeral, ec.SECP256R1())
        agreed = own.exchange(ec.ECDH(), ec.EllipticCurvePublicNumbers(x, y, ec.SECP256R1()).public_key())
        derived = struct.pack(">I", 1) + agreed + struct.pack(">I7sIII", 7, b"A256GCM", 0, 0, 256)
        self.cipher = AESGCM(hashlib.sha256(derived).digest())
        point = own.public_key().public_numbers()
        self.key = {"kty": "EC", "crv": "P-256", "x": encoded(point.x.to_bytes(32)), "y": encoded(point.y.to_bytes(32))}
        self.header = {"alg": "ECDH-ES", "enc": "A256GCM", "kid": to["kid"], "epk": self.key, "recipient": "accounts"}

    def seal(self, text, iv, **header):
        protected = encoded(json.dumps(self.header | header).encode())
        secret = self.cipher.encrypt(iv, text, protected.encode())
        return ".".join([protected, "", encoded(iv), encoded(secret[:-16]), encoded(secret[-16:])])


class Generator:
    """Makes messages. The same seed, queues and reply queue make the same ones, times and run apart."""

    # The coordinator looks into results of its own jobs only, which it knows by their IDs.
    OWN_JOBS = {
        "push.verify.result.v1": "push", "recaptcha.assess.result.v1": "captcha", "apple.revoke.result.v1": "revoke",
        "mail.relay.result.v1": "notice"}
    # Schemas of the JSON texts that are sealed as a field of a command to accounts. The others are words.
    SEALED = {
        "credential": ["PasswordCredential", "IDPCredential", "MailLinkCredential"], "addresses": ["MailLinkAddresses"],
        "user": ["UserFields"], "selection": ["AccountSelection"], "batch": ["UserBatch"], "request": ["PageRequest"],
        "fields": ["OpenIDFields"]}
    WORDS = ["v" * 32, "com.example.app", "nobody@hostile.example", "+4915112345678", "correct horse battery", "oidc.hostile"]
    # They change a project, for the modules behind this one too: theirs does not exist.
    SETTINGS = {"account.settings", "account.setProvider", "account.setServiceAccount"}
    # Records of accounts that wait for replies of the coordinator, and the types of these.
    WAITING = ["phoneCheck", "phoneStart", "verificationCall", "revocation", "grantRevocation", "erasure"]
    REPLIES = ["VerificationStarted", "VerificationApproved", "VerificationStatus", "VerificationCanceled", "OperationStarted",
               "OperationStatus", "NumberForgotten", "ErrorReply"]

    def __init__(self, seed, queues, reply_queues, run):
        """- `reply_queues`: the sender's, and one that commands to accounts name which come from the gateway's user."""
        self.random = random.Random(seed)
        self.queues, self.reply_queues, self.run = queues, reply_queues, run
        self.number = 0
        self.seals = Seals(self.random.randrange(1, 2**255))
        bindings = json.loads((stack.ROOT / "Config/rabbitmq/definitions.json").read_text())["bindings"]
        self.commands = {queue: [one["routing_key"] for one in bindings if one["source"] == "countersign.commands"
                                 and one["destination"] == queue] for queue in queues}

    def next(self):
        number = self.number
        self.number += 1
        queue = self.random.choice(self.queues)
        identifier = f"{self.run}.{number}"
        exchange, key, kind, body = self.good(queue, identifier)
        message = Message(number, queue, exchange, key, b"", {
            "content_type": "application/json", "delivery_mode": 2, "message_id": identifier, "correlation_id": identifier,
            "reply_to": self.reply_queues[0], "timestamp": int(datetime.datetime.now().timestamp()), "type": kind,
            "app_id": "hostile", "user_id": "operator", "headers": {MARK: number}})
        if queue == "coordinator.results":
            job = f"{identifier}.{self.OWN_JOBS.get(kind, 'sms')}.1"
            message.fields["message_id"], body["jobID"] = job + ".result", job
            del message.fields["reply_to"]
            # As redriven: the operator's word about whose job it was is believed.
            message.fields["headers"]["x-sender"] = "coordinator"
            message.is_answerable = False
        elif queue in ("accounts.replies", "webhook.events"):
            if queue == "accounts.replies":
                message.fields["correlation_id"] = f"{self.random.choice(self.WAITING)}/{identifier}"
            del message.fields["reply_to"]
            message.fields["headers"]["x-sender"] = "coordinator"
            message.is_answerable = False
        elif queue == "accounts.commands" and self.random.random() < 0.5:
            message.fields["reply_to"], message.fields["headers"]["x-sender"] = self.reply_queues[1], "gateway"
        for _ in range(self.random.choice([0, 1, 1, 2, 3])):
            body = self.change_values(message, body)
        message.body = json.dumps(body, ensure_ascii=self.random.random() < 0.5).encode(errors="surrogatepass")
        # One in a few is good as it is; the others have a body or an envelope that is not.
        if self.random.random() < 0.4:
            self.change_bytes(message)
        if self.random.random() < 0.4:
            self.change_envelope(message)
        return message

    # Good messages

    def good(self, queue, identifier):
        if queue == "accounts.replies":
            return self.described("", queue, "replies", identifier)
        if queue == "webhook.events":
            events = [name for name in contract.DOCUMENT["channels"] if name.startswith("event.")]
            channel = self.random.choice(events)
            return self.described("countersign.events", channel.removeprefix("event."), channel, identifier)
        if self.commands[queue] and (queue != "coordinator.commands" or self.random.random() < 0.5):
            name = self.random.choice(self.commands[queue])
            return self.described("countersign.commands", name, f"command.{name}", identifier)
        deadline = in_seconds(20)
        number = f"+4915{self.random.choice([10, 11, 12])}{self.random.randrange(1_000_000, 9_999_999)}"
        secret = self.random.choice(["482913", sealed(b'{"alg":"dir","enc":"A256GCM","kid":"dev-1"}')])
        if queue == "coordinator.commands":
            name, body = self.random.choice([
                # Few numbers: the limits of a number are to be met as well.
                ("verification.start", {"phoneNumber": f"+49151100000{self.random.randrange(8)}0", "app": "com.example.app"}),
                ("verification.start", {"phoneNumber": number, "app": "com.example.recaptcha", "languageCode": "de",
                                        "proof": {"recaptchaToken": "t" * 40}, "client": {"ip": "192.0.2.7"}}),
                ("verification.start", {"phoneNumber": number, "app": "com.example.push",
                                        "proof": {"receipt": "r" * 32, "secret": "s" * 40}}),
                ("verification.check", {"verificationID": "v" * 32, "code": "123456"}),
                ("verification.check", {"verificationID": "v" * 32, "code": secret}),
                ("verification.status", {"verificationID": "v" * 32}),
                ("verification.cancel", {"verificationID": "v" * 32}),
                ("app.verify", {"app": "com.example.push", "deviceToken": "ab" * 32, "environment": "production"}),
                ("revocation.start", {"app": "com.example.app", "authorizationCode": secret}),
                ("operation.status", {"operationID": "o" * 32}),
                ("conversion.list", {"limit": 10}), ("conversion.lift", {"key": "+4915110"})])
            return "countersign.commands", name, f"{name}.v1", body
        if queue == "coordinator.results":
            return self.result()
        body = {
            "sms.dispatch": {"to": number, "text": "Your table is ready.", "onUnknown": "report"},
            "sms.bulk": {"to": number, "template": "verification-code", "languageCode": "en", "app": "Example",
                         "variables": {"code": secret}},
            "push.verify": {"app": "com.example.app", "deviceToken": "cd" * 32, "environment": "production",
                            "receipt": "r" * 32, "secret": secret},
            "recaptcha.assess": {"app": "com.example.recaptcha", "token": secret, "expectedAction": "verify",
                                 "client": {"ip": "192.0.2.7"}, "phoneNumber": number},
            "apple.revoke": {"app": "com.example.app", self.random.choice(
                ["refreshToken", "accessToken", "authorizationCode"]): secret},
            "mail.relay": {"to": "nobody@hostile.example", "subject": "Hello", "text": "Good day."},
            "mail.forget": {"addresses": ["nobody@hostile.example"], "knownBefore": in_seconds(-60)},
        }[queue]
        kind = "sms.dispatch" if queue == "sms.bulk" else queue
        return "countersign.jobs", queue, f"{kind}.v1", {**body, "deadline": deadline}

    def described(self, exchange, key, channel, identifier):
        """One of a channel, as its schema has it."""
        messages = contract.DOCUMENT["channels"][channel]["messages"]
        message = messages[self.random.choice(self.REPLIES if channel == "replies" else list(messages))]
        while "$ref" in message:
            message = asyncapi_rules.resolved(contract.DOCUMENT, message)
        body = self.sample(message["payload"])
        if key in self.SETTINGS:
            body["project"] = "hostile"
        header = {"messageType": message["name"], "messageID": identifier}
        if "replyKey" in body:
            header |= {"bound": "replyKey", "replyKey": encoded(hashlib.sha256(body["replyKey"].encode()).digest())}
        return exchange, key, message["name"], self.with_seals(body, header)

    def with_seals(self, value, header):
        if isinstance(value, bytes):
            return self.seals.seal(value, self.random.randbytes(12), **header)
        if isinstance(value, dict):
            return {name: self.with_seals(part, header) for name, part in value.items()}
        return value

    def sample(self, schema, name=""):
        """A value of a schema. What is to be sealed is bytes."""
        if "$ref" in schema:
            if schema["$ref"].endswith("/SealedSecret"):
                return self.sealed_text(name)
            if schema["$ref"].endswith("/ReplyKey"):
                return json.dumps(self.seals.key | {"kid": "hostile"})
            return self.sample(asyncapi_rules.resolved(contract.DOCUMENT, schema), name)
        for word in ("enum", "examples"):
            if word in schema:
                return copy.deepcopy(self.random.choice(schema[word]))
        kind = schema.get("type")
        if kind == "object":
            required = schema.get("required", [])
            return {name: self.sample(part, name) for name, part in schema.get("properties", {}).items()
                    if name in required or self.random.random() < 0.5}
        if kind == "array":
            return [self.sample(schema["items"], name) for _ in range(self.random.randrange(3))]
        if kind == "string":
            return in_seconds(self.random.choice([-3600, 60])) if schema.get("format") == "date-time" else self.random.choice(self.WORDS)
        return self.random.random() < 0.5 if kind == "boolean" else self.random.choice([1, 10, 200])

    def sealed_text(self, name):
        if name not in self.SEALED:
            return self.random.choice(self.WORDS).encode()
        inner = Message(0, "", "", "", b"", {})
        value = self.sample({"$ref": f"#/components/schemas/{self.random.choice(self.SEALED[name])}"})
        for _ in range(self.random.choice([0, 0, 1, 2])):
            value = self.change_values(inner, value)
        inner.body = json.dumps(value).encode(errors="surrogatepass")
        if self.random.random() < 0.2:
            self.change_bytes(inner)
        return inner.body[:60_000]

    def result(self):
        if self.random.random() < 0.2:
            return "countersign.results", "sms.delivery.delivered", "sms.delivery.result.v1", {
                "state": "delivered", "lane": "twilio", "at": in_seconds(0), "jobID": "v.x.sms.1", "reference": "SM1"}
        job = self.random.choice(["sms.dispatch", "push.verify", "recaptcha.assess", "apple.revoke", "mail.relay"])
        outcome = self.random.choice(["accepted", "refused", "expired", "unknown"])
        return "countersign.results", f"{job}.{outcome}", f"{job}.result.v1", {
            "jobID": "", "outcome": outcome, "attempts": 1, "lane": "twilio", "reference": "SM1", "startedAt": in_seconds(-1),
            "finishedAt": in_seconds(0), "reason": {"code": "X", "detail": "d", "providerCode": "1"}, "segments": 1,
            "encoding": "gsm7"}

    # Changes of values

    def change_values(self, message, body):
        body = copy.deepcopy(body)
        if not isinstance(body, dict) or not body:
            return body
        name = self.random.choice(sorted(body))
        target = body
        if isinstance(body[name], dict) and body[name] and self.random.random() < 0.7:
            target, name = body[name], self.random.choice(sorted(body[name]))
        way = self.random.randrange(6)
        message.changes.append(f"value {name} {way}")
        if way == 0:
            del target[name]
        elif way == 1:
            target[self.random.choice(["extra", "", "__proto__", "é" * 99, name.upper()])] = self.random.choice(ODD_VALUES)
        elif way == 2:
            # A sealed text that is cut, or whose header is what ends a decoder.
            text = sealed(self.random.choice([b"[" * 513, b'{"alg":"dir","x":' + b"[" * 512, b"\xff\xfe{\0}\0", b"{}"]))
            target[name] = text[:self.random.choice([len(text), 10, len(text) // 2])]
        else:
            target[name] = self.random.choice(ODD_VALUES)
        return body

    # Changes of bytes

    def change_bytes(self, message):
        body, choose = message.body, self.random
        way = choose.randrange(14)
        message.changes.append(f"bytes {way}")
        if way == 0:
            opener = choose.choice([b"[", b'{"a":', b"[{\"\":", b" [\n"])
            body = opener * choose.choice([33, 100, 511, 512, 513, 514, 1_000, 9_000])
        elif way == 1:
            body = body[:-1] + b',"x":' + b"[" * choose.choice([32, 511, 512, 513, 2_000])
        elif way == 2:
            depth = choose.choice([32, 40, 512, 3_000])
            body = body[:-1] + b',"x":' + b"[" * depth + b"]" * depth + b"}"
        elif way == 3:
            text = body.decode(errors="replace")
            body = text.encode(choose.choice(["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-8-sig"]))
        elif way == 4:
            at = choose.randrange(len(body) + 1)
            body = body[:at] + b"\0" + body[at:]
        elif way == 5:
            at = choose.randrange(len(body) + 1)
            body = body[:at] + choose.choice(NOT_UTF8) + body[at:]
        elif way == 6:
            body = choose.choice([b"", b" ", b"null", b"[]", b'"text"', b"1", b"nan", b"{", b"}", b"{}", b"\xef\xbb\xbf"])
        elif way == 7:
            body = b" " * choose.choice([65_537, 80_000, 200_000]) + body
        else:
            return self.change_some_bytes(message, way)
        message.body = body
        # Such a field makes 33 levels of 32, and nothing at all is enough for a list.
        message.is_wrong = body != b"{}"
        return None

    def change_some_bytes(self, message, way):
        """Whether these are wrong depends on the place."""
        body, choose = message.body, self.random
        if way == 8:
            body = body[:choose.randrange(len(body) + 1)]
        elif way == 9:
            body = bytearray(body)
            for _ in range(choose.randrange(1, 6)):
                if body:
                    body[choose.randrange(len(body))] = choose.randrange(256)
            body = bytes(body)
        elif way == 10:
            name = choose.choice(["app", "to", "deadline", "phoneNumber", "jobID", "x"])
            body = body[:-1] + f',"{name}":"a","{name}":"b"'.encode() + b"}"
        elif way == 11:
            number = choose.choice(["1e400", "-1e400", "9" * 500, "0." + "0" * 500 + "1", "-0", "1E+2", "01", "+1", "0x10", "NaN"])
            body = body[:-1] + f',"limit":{number},"attempts":{number}'.encode() + b"}"
        elif way == 12:
            escape = choose.choice([r"\ud800", r"\udc00\ud800", r"\u0000", r"\x41", r"\u12", r"\u123\"", "\\"])
            body = body[:-1] + b',"app":"' + escape.encode() + b'","x":' + choose.choice([b"1", b"[" * 513]) + b"}"
        else:
            body = choose.choice([b"// c\n", b"/*", b"'", b"\x0c"]) + body + choose.choice([b",", b"//", b"\n\n", b"{}"])
        message.body = body

    # Changes of the envelope

    def change_envelope(self, message):
        for _ in range(self.random.choice([1, 1, 2])):
            self.random.choice([self.spoil_text, self.change_text, self.change_headers, self.change_rest])(message)

    def spoil_text(self, message):
        """A property that the contract does not allow."""
        name = self.random.choice(["message_id", "correlation_id", "reply_to", "type", "content_type", "app_id", "content_encoding"])
        if name == "reply_to" and not message.is_answerable:
            return
        values = NOT_UTF8 if name in ("type", "content_type", "content_encoding") else NOT_UTF8 + CONTROL
        message.fields[name] = self.random.choice(values)
        message.changes.append(f"spoilt {name}")
        message.spoilt.add(name)
        message.is_wrong = True
        if name == "reply_to":
            message.is_answerable = False

    def change_text(self, message):
        name, values = self.random.choice([
            ("message_id", [None, "", TEXT_255, "é" * 127, "x" * 249, " ", "../x"]),
            ("correlation_id", [None, "", TEXT_255, "\U0001f512" * 63]),
            ("type", [None, "", TEXT_255, "sms", "sms.dispatch.v2", "verification.start.v0", ".v1", "error.v1", "a" * 250 + ".v1",
                      "verification.start.v99999999999999999999"]),
            ("content_type", [None, "", "text/plain", "application/json; charset=utf-16", "APPLICATION/JSON", TEXT_255]),
            ("content_encoding", ["gzip", "UTF-8", "identity", "", TEXT_255]),
            ("app_id", [None, "", TEXT_255])])
        value = self.random.choice(values)
        if name in message.spoilt:
            return
        if name == "message_id" and value:
            # Still one of its own: the same twice is one message.
            value = f"{self.run}.{message.number}.{value}"
            while len(value.encode()) > 255:
                value = value[:-1]
        message.fields[name] = value
        message.changes.append(f"{name} {str(value)[:20]!r}")
        if name == "message_id" and message.queue == "coordinator.results":
            # Now it is nobody's, and its body is not looked into.
            message.is_wrong = bool(message.spoilt)

    def change_headers(self, message):
        headers = message.fields["headers"]
        number = [0, 1, 2, -1, 2**63 - 1, -(2**63), 1.5, "2", b"2", None, True, [], {}, Raw(b"T", struct.pack(">Q", 2**64 - 1)),
                  Raw(b"D", struct.pack(">Bi", 255, 1)), Raw(b"L", struct.pack(">q", -1)), Raw(b"f", struct.pack(">f", 1e38))]
        text = [None, "", "x" * 20_000, "a\0b", "a\nb", b"\xff", long_string(b"\xff" * 300), 7, [], {}, "é" * 128]
        name, values = self.random.choice([
            ("x-attempt", number), ("x-first-attempt-at", text + ["2026-07-01T12:00:00Z", Raw(b"T", struct.pack(">Q", 2**64 - 1))]),
            ("x-last-error", text), ("x-causation-id", text), ("x-job-id", text), ("x-not-before", number), ("x-unknown-calls", number),
            ("x-failed-claims", text + ["1 2", "9" * 40]),
            ("traceparent", text + ["00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "ff-" + "0" * 60]),
            ("x-dead-reason", text), ("deep", [nested_header(depth) for depth in (3, 14, 15, 16, 17, 60)]),
            (b"\xff" * 40, [1]), (b"\xc3" * 255, [1]), ("long", ["x" * 30_000, "x" * 60_000, b"\0" * 70_000]),
            ("many", [{f"k{index}": index for index in range(2_000)}])])
        # At most what fits into one frame.
        if len(table(headers)) < 20_000:
            headers[name] = self.random.choice(values)
            message.changes.append(f"header {name}")

    def change_rest(self, message):
        name, values = self.random.choice([
            ("timestamp", [None, 0, 1, 2**31, 2**53, 2**63 - 1, 2**63, 2**64 - 1]), ("priority", [0, 9, 255]),
            ("delivery_mode", [None, 1, 2]), ("user_id", ["operator"])])
        message.fields[name] = self.random.choice(values)
        message.changes.append(f"{name} {message.fields[name]}")
        if name == "timestamp" and self.random.random() < 0.1 and message.is_answerable:
            # Nobody to be told.
            del message.fields["reply_to"]
            message.is_answerable = False
