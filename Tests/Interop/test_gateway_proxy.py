"""nginx before the gateway, with the file and the limits that ship: what it refuses and how, whom it believes, what it repeats.

Each test is a client of its own to the limits: an address of 127.0.0.0/8.
"""

import concurrent.futures
import contextlib
import http.client
import http.server
import itertools
import json
import tempfile
import threading
import time
import unittest
import urllib.parse
import uuid

import stack
from gateway_client import IDENTITY_TOOLKIT, JWK_SET, KEY, SECURE_TOKEN, Assertions, Web, new_number, received_code, send
from gateway_front import ORIGIN, Front, read, request
from process import free_port
from waiting import eventually

# The limits of deploy/nginx/gateway.conf.
MAX_BODY = 64 * 1024
CONNECTIONS = 100
BURST = 200
# Connections on which one client calls as fast as it can.
FLOODS = 16
REQUEST_SECONDS = 10
IDLE_SECONDS = 15
# Below the 10 s for which nginx leaves out a server that failed, unless it is told otherwise.
RETURN_SECONDS = 8
# A machine under load notices a time-out late, never early.
LATE_SECONDS = 15

SIGN_UP = f"{IDENTITY_TOOLKIT}/v1/accounts:signUp?key={KEY}"
LOOKUP = f"{IDENTITY_TOOLKIT}/v1/accounts:lookup?key={KEY}"
OLD_LOOKUP = f"/www.googleapis.com/identitytoolkit/v3/relyingparty/getAccountInfo?key={KEY}"
TOKEN = f"/securetoken.googleapis.com/v1/token?key={KEY}"
PROJECTS = f"{IDENTITY_TOOLKIT}/v1/projects?key={KEY}"
_clients = itertools.count(1)


def new_client():
    number = next(_clients)
    return f"127.0.{1 + number // 250}.{1 + number % 250}"


def ports(urls):
    return [urllib.parse.urlsplit(url).port for url in urls]


class Upstream:
    """A gateway that counts what it is sent, and may die once it has read it."""

    def __init__(self, port=0):
        self.requests = []
        self.dies = False
        self.keeps = True
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                outer.requests.append((self.command, self.path, self.headers, body))
                if outer.dies:
                    self.close_connection = True
                    return
                self.send_response(200)
                self.send_header("Content-Length", "2")
                self.send_header("Content-Type", "application/json")
                if not outer.keeps:
                    self.send_header("Connection", "close")
                self.end_headers()
                self.wfile.write(b"{}")

            do_GET = do_POST = do_DELETE = do_OPTIONS = handle_any

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class ProxyTest(Assertions, unittest.TestCase):
    def require_refusal(self, answer, status, message=None, origin=ORIGIN):
        """The answer is an error of the protocol, which a page of an origin may read, or none may."""
        self.assertEqual(answer.status, status, answer.body)
        error = answer.error()
        if message is not None:
            self.assertEqual(error.message, message)
        self.assertEqual(answer.headers.get("Access-Control-Allow-Origin"), origin)
        self.assertEqual(answer.headers.get_all("Vary"), ["Origin"])
        self.assertEqual(answer.headers.get("Cache-Control"), "no-store")
        self.assertEqual(answer.headers.get("X-Content-Type-Options"), "nosniff")
        self.assertEqual(answer.headers.get("Content-Type"), "application/json; charset=utf-8")
        if status in {429, 503}:
            self.assertIn(int(answer.headers["Retry-After"]), range(1, 11))
        else:
            self.assertNotIn("Retry-After", answer.headers)
        return error


class RefusalTest(ProxyTest):
    @classmethod
    def setUpClass(cls):
        cls.front = cls.enterClassContext(Front(*ports(stack.gateway_urls())))

    def setUp(self):
        self.client = new_client()

    def test_cannot_be_read(self):
        post = f"POST {SIGN_UP} HTTP/1.1\r\nHost: auth.localhost\r\nOrigin: {ORIGIN}\r\n"
        for status, origin, data in [
            (400, None, b"nonsense\r\n\r\n"),
            (400, None, b"GET / HTTP/1.1\r\n\r\n"),
            (400, None, b"GET /%00 HTTP/1.1\r\nHost: auth.localhost\r\n\r\n"),
            (400, None, b"GET /%zz HTTP/1.1\r\nHost: auth.localhost\r\n\r\n"),
            (400, None, b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n"),
            (400, ORIGIN, f"{post}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{{}}".encode()),
            (400, ORIGIN, f"{post}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n".encode()),
            (400, ORIGIN, f"{post}Transfer-Encoding: chunked\r\n\r\nzz\r\n".encode()),
            (501, ORIGIN, f"{post}Transfer-Encoding: gzip\r\n\r\n".encode()),
            (400, None, b"CONNECT auth.localhost:443 HTTP/1.1\r\nHost: auth.localhost\r\n\r\n"),
            (505, None, b"GET / HTTP/3.0\r\nHost: auth.localhost\r\n\r\n"),
        ]:
            with self.subTest(data=data):
                self.require_refusal(self.front.send(self.client, data), status, origin=origin)

    def test_too_long(self):
        long = "x" * 9_000
        flood = {f"X_Flood_{index}": "x" * 1_000 for index in range(40)}
        self.require_refusal(self.front.call(self.client, "GET", f"/{long}"), 414, origin=None)
        self.require_refusal(self.front.call(self.client, "GET", "/", X_Long=long), 431)
        self.require_refusal(self.front.call(self.client, "GET", "/", **flood), 431)
        body = b" " * (MAX_BODY + 1)
        for name, answer in {
            "length": self.front.call(self.client, "POST", SIGN_UP, body),
            "promised": self.front.call(self.client, "POST", SIGN_UP, b"{}", Content_Length="1000000000000"),
            "chunked": self.front.send(
                self.client, request("POST", SIGN_UP, Transfer_Encoding="chunked") + b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)),
        }.items():
            with self.subTest(name):
                self.require_refusal(answer, 413)
        # As much as may be is let through, and the gateway understands it.
        body = b'{"returnSecureToken":true}'.ljust(MAX_BODY)
        answer = self.front.call(self.client, "POST", SIGN_UP, body, Origin="http://localhost:5000")
        self.assertEqual(answer.status, 200, answer.body)

    def test_headers_that_are_let_through(self):
        """nginx refuses before the gateway has to, whose HTTP library answers headers that are too long with HTML."""
        statuses = set()
        for count in range(20, 35):
            flood = {f"X_Flood_{index}": "0" * 990 for index in range(count)}
            with self.subTest(count=count):
                answer = self.front.call(self.client, "GET", PROJECTS, Origin=None, **flood)
                statuses.add(answer.status)
                if answer.status != 200:
                    self.require_refusal(answer, 431, origin=None)
                options = [part for name, text in flood.items() for part in ["-H", f"{name}: {text}".replace("_", "-")]]
                try:
                    statuses.add(self.front.curl(self.client, PROJECTS, *options)[1].status)
                except ConnectionResetError:
                    statuses.add(None)
        self.assertEqual(statuses, {200, 431, None})

    def test_methods(self):
        answer = self.front.call(self.client, "TRACE", SIGN_UP)
        self.require_refusal(answer, 405)
        self.assertEqual(answer.headers["Allow"], "GET, HEAD, OPTIONS, POST")

    def test_plain_http(self):
        answer = self.front.send(self.client, request("POST", SIGN_UP, b"{}"), plain=True)
        self.require_refusal(answer, 400)

    def test_same_words_as_the_gateway(self):
        gateway = stack.gateway_urls()[0]
        web = Web(gateway)
        body = b" " * (MAX_BODY + 1)
        for ours, theirs in [
            (self.front.call(self.client, "GET", "/emulator/"), send(gateway, "GET", "/nowhere")),
            (self.front.call(self.client, "POST", SIGN_UP, body), send(gateway, "POST", SIGN_UP, body)),
            (self.front.call(self.client, "TRACE", SIGN_UP), send(gateway, "PUT", web.path("accounts:signUp"))),
        ]:
            self.assertEqual(ours.json(), theirs.json())
            self.assertEqual(ours.headers["Content-Type"], theirs.headers["Content-Type"])
            self.assertEqual(ours.headers["Cache-Control"], theirs.headers["Cache-Control"])

    def test_origins(self):
        for origin in [None, "null", "x" * 1_024]:
            self.require_refusal(self.front.call(self.client, "GET", "/emulator", Origin=origin), 404, origin=origin)
        for origin in ["x" * 1_025, "https://\u00e9.example"]:
            self.require_refusal(self.front.call(self.client, "GET", "/emulator", Origin=origin), 404, origin=None)

    def test_development_mode_is_not_mapped(self):
        codes = "/emulator/v1/projects/example/verificationCodes"
        host = f"127.0.0.1:{self.front.port}"
        targets = [
            codes, "/emulator", "/emulator/", f"/{codes}", f"//{codes}", f"/x/..{codes}", f"/./{codes}", codes.replace("emu", "%65mu"),
            codes.replace("/v1", "/x/../v1"), f"/x%2f..{codes}", f"/%2e{codes}", f"https://auth.localhost{codes}",
            f"http://{host}{codes}", f"https://{host}/{codes}", f"{codes}?a=/../../x", f"{codes}#/../../x",
            "/emulator/v1/projects/example/accounts",
        ]
        for target, method, name in itertools.product(targets, ["GET", "DELETE"], ["auth.localhost", "127.0.0.1", "localhost", host]):
            with self.subTest(target=target, method=method, host=name):
                answer = self.front.call(new_client(), method, target, host=name, Authorization="Bearer owner")
                self.require_refusal(answer, 404, "The requested URL was not found on this server.")
        # Were one of them mapped, the gateway would see that it was passed on.
        for target in ["/x/../EMULATOR", "/emulator;/v1/projects/example/verificationCodes", "/%2565mulator/v1/projects/example/accounts"]:
            self.assertIn(self.front.call(self.client, "GET", target, host="127.0.0.1").status, {403, 404})
        answer = self.front.call(self.client, "GET", codes, host="identitytoolkit.auth.localhost")
        self.assertEqual(answer.status, 404)

    def test_refusals_are_logged_without_queries(self):
        secret = "secret-of-a-query"
        self.front.call(self.client, "GET", f"/emulator/x?key={secret}")
        self.front.call(self.client, "POST", f"/logged?key={secret}", b" " * (MAX_BODY + 1))
        self.front.send(self.client, f"GET /bad?key={secret} HTTP/1.1\r\nHost: a b\r\n\r\n".encode())
        self.front.send(self.client, f"GET  /worse?key={secret} HTTP/1.1\r\n\r\n".encode())
        eventually("all four are logged", lambda: self.front.log().count(f" {self.client} ") >= 4, 10)
        log = self.front.log()
        for line in ['"GET /emulator/x" 404', '"POST /logged" 413', '"GET /bad" 400']:
            self.assertIn(f" {self.client} {line} ", log)
        self.assertNotIn(secret, log)
        self.assertNotIn("countersign-refusal", log)


class NameTest(ProxyTest):
    @classmethod
    def setUpClass(cls):
        cls.front = cls.enterClassContext(Front(*ports(stack.gateway_urls())))

    def setUp(self):
        self.client = new_client()

    def test_hosts_are_prefixes(self):
        """A host for each of Google's, as an app sees them that is told of nothing but names."""
        for host, path, method in [
            ("identitytoolkit.auth.localhost", f"/v1/projects?key={KEY}", "GET"),
            ("identitytoolkit.auth.localhost", f"/v1/accounts:signUp?key={KEY}", "POST"),
            ("identitytoolkit.auth.localhost", f"/v2/recaptchaConfig?key={KEY}&clientType=CLIENT_TYPE_WEB", "GET"),
            ("www.auth.localhost", f"/identitytoolkit/v3/relyingparty/getProjectConfig?key={KEY}", "GET"),
            ("www.auth.localhost", JWK_SET.removeprefix("/www.googleapis.com"), "GET"),
            ("auth.localhost", PROJECTS, "GET"),
            ("AUTH.localhost:443", PROJECTS, "GET"),
            ("IdentityToolkit.Auth.localhost", f"/v1/projects?key={KEY}", "GET"),
        ]:
            body = b"{}" if method == "POST" else b""
            with self.subTest(host=host, path=path):
                answer = self.front.call(self.client, method, path, body, host=host, Origin="http://localhost:5000")
                self.assertEqual(answer.status, 200, answer.body)
                answer.json()
        user = self.front.call(self.client, "POST", SIGN_UP, b'{"returnSecureToken":true}', Origin=None).json()
        form = urllib.parse.urlencode({"grant_type": "refresh_token", "refresh_token": user["refreshToken"]}).encode()
        answer = self.front.call(
            self.client, "POST", SECURE_TOKEN.removeprefix("/securetoken.googleapis.com") + f"?key={KEY}", form,
            host="securetoken.auth.localhost", Origin=None, Content_Type="application/x-www-form-urlencoded")
        self.assertEqual(answer.json()["user_id"], user["localId"])
        # One host's paths are not another's.
        for host in ["securetoken.auth.localhost", "www.auth.localhost", "auth.localhost"]:
            self.assertEqual(self.front.call(self.client, "GET", f"/v1/projects?key={KEY}", host=host, Origin=None).status, 404)

    def test_http2(self):
        version, answer = self.front.curl(self.client, SIGN_UP, "--json", '{"returnSecureToken":true}')
        self.assertEqual((version, answer.status), ("2", 200), answer.body)
        self.assertTrue(answer.json()["idToken"])
        with tempfile.NamedTemporaryFile() as body:
            body.write(b" " * (MAX_BODY + 1))
            body.flush()
            for status, path, options in [
                (404, "/emulator/v1/projects/example/verificationCodes", []),
                (404, "/%65mulator", ["-X", "DELETE"]),
                (405, SIGN_UP, ["-X", "TRACE"]),
                (413, SIGN_UP, ["--data-binary", f"@{body.name}"]),
                (413, SIGN_UP, ["--data-binary", f"@{body.name}", "-H", "Content-Length:"]),
            ]:
                with self.subTest(status=status, path=path):
                    version, answer = self.front.curl(self.client, path, "-H", f"Origin: {ORIGIN}", *options)
                    self.assertEqual(version, "2")
                    self.require_refusal(answer, status)

    def test_sign_in_over_http2(self):
        number = new_number()
        host = "identitytoolkit.auth.localhost"
        _, answer = self.front.curl(
            self.client, f"/v1/accounts:sendVerificationCode?key={KEY}", "--json", json.dumps({"phoneNumber": number}), host=host)
        session = answer.json()["sessionInfo"]
        version, answer = self.front.curl(
            self.client, f"/v1/accounts:signInWithPhoneNumber?key={KEY}", "--json",
            json.dumps({"sessionInfo": session, "code": received_code(number)}), host=host)
        self.assertEqual((version, answer.status), ("2", 200))
        self.require_tokens(answer.json(), Web(), "phone", number)


class SlowTest(ProxyTest):
    def test_slow_clients_are_closed(self):
        begin = request("POST", "/slow", b"{}", Content_Length="60000")
        slow = {
            "nothing": (b"", False),
            "headers": (b"POST /slow HTTP/1.1\r\nHost: auth.localhost\r\nX-Slow: ", True),
            "body": (begin, False),
        }
        with Upstream() as upstream, Front(upstream.port) as front, concurrent.futures.ThreadPoolExecutor() as threads:
            lasts = {name: threads.submit(self.last, front, *how) for name, how in slow.items() if name != "nothing"}
            lasts["nothing"] = threads.submit(self.last_without_tls, front)
            lasts["idle"] = threads.submit(self.last_idle, front)
            # Others are answered meanwhile.
            self.assertEqual(front.call(new_client(), "GET", "/").status, 200)
            for name, last in lasts.items():
                with self.subTest(name):
                    seconds, limit = last.result(timeout=60), IDLE_SECONDS if name == "idle" else REQUEST_SECONDS
                    self.assertGreater(seconds, limit - 1)
                    self.assertLess(seconds, limit + LATE_SECONDS)
            self.assertEqual([path for _, path, _, _ in upstream.requests], ["/", "/"])

    def last(self, front, begin, drips):
        """How long a connection lasts on which a request begins, and drips."""
        # nginx counts from the moment when it takes the connection.
        begun = time.monotonic()
        with front.connect(new_client()) as connection:
            connection.sendall(begin)
            connection.settimeout(0.5)
            while time.monotonic() - begun < 60:
                try:
                    if drips:
                        connection.sendall(b"x")
                    self.assertEqual(connection.recv(4_096), b"")
                    break
                except TimeoutError:
                    continue
                except OSError:  # Closed while something was sent.
                    break
            return time.monotonic() - begun

    def last_without_tls(self, front):
        """How long a connection lasts that does not even begin with TLS."""
        begun = time.monotonic()
        with front.connect(new_client(), plain=True, timeout=60) as connection:
            self.assertEqual(connection.recv(4_096), b"")
            return time.monotonic() - begun

    def last_idle(self, front):
        """How long a connection lasts on which nothing follows an answer."""
        with front.connect(new_client(), timeout=60) as connection:
            begun = time.monotonic()
            connection.sendall(request("GET", "/"))
            self.assertEqual(read(connection).status, 200)
            self.assertEqual(connection.recv(4_096), b"")
            return time.monotonic() - begun


class LimitTest(ProxyTest):
    def test_connections_of_one_client(self):
        client, other = new_client(), new_client()
        begin = request("POST", "/held", b"{}", Content_Length="60000")
        held = []

        def call():
            # What pauses is closed.
            for connection in held:
                connection.sendall(b" ")
            return front.call(client, "GET", "/")

        with Upstream() as upstream, Front(upstream.port) as front, contextlib.ExitStack() as connections:
            for number in range(CONNECTIONS):
                if number % 5 == 0 or number == CONNECTIONS - 1:
                    self.assertEqual(call().status, 200)
                held.append(connections.enter_context(front.connect(client)))
                held[-1].sendall(begin)
            answer = self.until(429, call)
            self.require_refusal(answer, 429, "TOO_MANY_ATTEMPTS_TRY_LATER")
            self.assertEqual(front.call(other, "GET", "/").status, 200)
            held.clear()
            connections.close()
            self.until(200, call)

    def test_calls_of_one_client(self):
        client, other = new_client(), new_client()
        admitted, refused = [], []
        is_over = threading.Event()

        def flood(front):
            with front.connect(client) as connection:
                while not is_over.is_set():
                    connection.sendall(request("POST", SIGN_UP, b"{}"))
                    answer = read(connection)
                    (refused if answer.status == 429 else admitted).append(answer)
                    if answer.status == 429:
                        is_over.set()

        # Without a gateway nginx answers what it admits by itself, faster than the limit however slow the machine is.
        with Front(free_port()) as front, concurrent.futures.ThreadPoolExecutor(FLOODS) as threads:
            floods = [threads.submit(flood, front) for _ in range(FLOODS)]
            if not is_over.wait(60):
                is_over.set()
                self.fail(f"{len(admitted)} calls of one client were not too many")
            for one in floods:
                one.result(timeout=60)
            self.assertGreater(len(admitted), BURST)
            self.assertEqual({answer.status for answer in admitted}, {503})
            for answer in refused:
                self.require_refusal(answer, 429, "TOO_MANY_ATTEMPTS_TRY_LATER")
            self.assertEqual(front.call(other, "POST", SIGN_UP, b"{}").status, 503)
            # Who waits as it is told to has the whole burst again.
            time.sleep(int(refused[0].headers["Retry-After"]))
            with front.connect(client) as connection:
                for _ in range(BURST):
                    connection.sendall(request("POST", SIGN_UP, b"{}"))
                    self.assertEqual(read(connection).status, 503)

    def until(self, status, call):
        return eventually(
            f"it is answered {status}", lambda: (answer := call()).status == status and answer, LATE_SECONDS, pause=0.05)


class RushTest(ProxyTest):
    """Many who wait for a service that hangs, and one who does not need it."""

    CLIENTS, SIGN_INS = 12, 92  # A client has up to 100 requests in progress.
    SECONDS = 0.2
    STALL_SECONDS = 5  # Of a busy machine. A call that waits for the coordinator has its answer after 27 s.
    RUSH_SECONDS = 30

    def test_who_does_not_need_the_coordinator_does_not_wait_for_it(self):
        gateway = stack.gateway_urls()[0]
        user = Web(gateway).anonymous()
        refresh = {"grantType": "refresh_token", "refreshToken": user["refreshToken"]}
        calls = [request("POST", LOOKUP, json.dumps({"idToken": user["idToken"]}).encode(), Origin=None),
                 request("POST", TOKEN, json.dumps(refresh).encode(), Origin=None), request("GET", JWK_SET, Origin=None)]
        before = self.coordinators("refused_total")
        with Front(*ports([gateway])) as front, contextlib.ExitStack() as connections:
            calm = self.times(front, calls)
            with stack.hanging("coordinator"), concurrent.futures.ThreadPoolExecutor(self.CLIENTS) as threads:
                rushes = [threads.submit(self.rush, front, new_client(), connections) for _ in range(self.CLIENTS)]
                eventually("one finds no place", lambda: self.coordinators("refused_total") != before, self.RUSH_SECONDS)
                times = self.times(front, calls)
                self.assertGreater(self.coordinators("in_flight"), 0, "the rush was over before the last call")
            answers = [read(connection) for one in rushes for connection in one.result()]
        # Three of four at once, beside what the machine takes anyway, and none of them behind the others.
        quarter = len(times) * 3 // 4
        self.assertLess(sorted(times)[quarter] - sorted(calm)[quarter], self.SECONDS, (times, calm))
        self.assertLess(max(times), self.STALL_SECONDS, (times, calm))
        # Who found no place was told so at once, the others when the coordinator was back or their time was over.
        self.assertEqual({answer.status for answer in answers} - {400, 503}, set())
        full = [answer for answer in answers if answer.status == 503]
        self.assertGreaterEqual(len(full), self.coordinators("refused_total") - before)
        for answer in full:
            self.require_refusal(answer, 503, "The service is currently unavailable.", origin=None)
            self.assertGreater(int(answer.headers["Retry-After"]), 0)
        self.assertLessEqual({answer.error().code for answer in answers if answer.status == 400}, {"INVALID_SESSION_INFO"})

    def coordinators(self, what):
        """How many calls that wait for the coordinator have found no place (refused_total), or have one (in_flight)."""
        lines = send(stack.gateway_health_urls()[0], "GET", "/metrics").body.decode().splitlines()
        name = f'countersign_gateway_requests_{what}{{class="coordinator"}} '
        return next(int(float(line.removeprefix(name))) for line in lines if line.startswith(name))

    def rush(self, front, client, connections):
        """Sign-ins of one client, each on a connection of its own, none of them waited for."""
        path = f"{IDENTITY_TOOLKIT}/v1/accounts:signInWithPhoneNumber?key={KEY}"
        sent = []
        for _ in range(self.SIGN_INS):
            # A session of its own: what is known of one is answered without the coordinator.
            body = json.dumps({"sessionInfo": uuid.uuid4().hex, "code": "123456"}).encode()
            sent.append(connections.enter_context(front.connect(client)))
            sent[-1].sendall(request("POST", path, body, Origin=None))
        return sent

    def times(self, front, calls):
        times = []
        with front.connect(new_client()) as connection:
            for call in calls * 8:
                begun = time.monotonic()
                connection.sendall(call)
                self.assertEqual(read(connection).status, 200)
                times.append(time.monotonic() - begun)
        return times


class ForwardingTest(ProxyTest):
    def test_clients_cannot_name_their_address(self):
        forged = {name: "10.9.8.7" for name in ["X_Forwarded_For", "X_Real_IP", "Forwarded", "X-Forwarded-For", "x_forwarded_for"]}
        forged["Forwarded"] = "for=10.9.8.7"
        forged["X_Forwarded_Proto"] = "gopher"
        client = new_client()
        twice = request("POST", SIGN_UP, b"{}").replace(b"Origin:", b"X-Forwarded-For: 10.9.8.7\r\nX-Forwarded-For: 10.9.8.6\r\nOrigin:")
        with Upstream() as upstream, Front(upstream.port) as front:
            self.assertEqual(front.call(client, "POST", SIGN_UP, b"{}", **forged).status, 200)
            self.assertEqual(front.send(client, twice).status, 200)
            version, answer = front.curl(client, SIGN_UP, "--json", "{}", "-H", "X-Forwarded-For: 10.9.8.7", "-H", "Forwarded: for=10.9.8.7")
            self.assertEqual((version, answer.status), ("2", 200))
            for _, path, headers, body in upstream.requests:
                self.assertEqual((path, body), (SIGN_UP, b"{}"))
                self.assertEqual(headers.get_all("X-Forwarded-For"), [client])
                self.assertEqual(headers.get_all("X-Forwarded-Proto"), ["https"])
                self.assertNotIn("10.9.8", str(headers))
                self.assertNotIn("X-Real-IP", headers)
                self.assertNotIn("Forwarded", headers)
            self.assertEqual(len(upstream.requests), 3)

    def test_no_gateway(self):
        client = new_client()
        for gateways in [[free_port()], [free_port(), free_port()]]:
            with Front(*gateways) as front:
                for method, body in [("POST", b"{}"), ("GET", b""), ("OPTIONS", b"")]:
                    for _ in range(3):
                        answer = front.call(client, method, SIGN_UP, body)
                        self.require_refusal(answer, 503, "The service is currently unavailable.")
                version, answer = front.curl(client, SIGN_UP, "--json", "{}", "-H", f"Origin: {ORIGIN}")
                self.assertEqual(version, "2")
                self.require_refusal(answer, 503)
                # The JavaScript SDK makes these by itself, and takes an error that it can read for the end of its user.
                for path in [LOOKUP, OLD_LOOKUP, TOKEN, TOKEN.partition("?")[0]]:
                    self.require_refusal(front.call(client, "POST", path, b"{}"), 503, origin=None)
                # A key that only looks like one of them.
                self.require_refusal(front.call(client, "POST", f"{SIGN_UP}:lookup", b"{}"), 503)

    def test_gateways_that_come_back(self):
        client = new_client()
        with Upstream() as first, Upstream() as second, Front(first.port, second.port) as front:
            first.dies = second.dies = True
            for _ in range(4):
                self.require_refusal(front.call(client, "POST", SIGN_UP, b"{}"), 503)
            first.dies = second.dies = False
            self.assertEqual(front.call(client, "POST", SIGN_UP, b"{}").status, 200)
            self.until_both(front, client, first, second)

    def test_gateways_restart_one_after_the_other(self):
        client = new_client()
        gateways = [free_port(), free_port()]
        with Front(*gateways) as front:
            for turn in range(6):
                with Upstream(gateways[turn % 2]) as upstream:
                    upstream.keeps = False
                    for _ in range(4):
                        self.assertEqual(front.call(client, "POST", SIGN_UP, b"{}").status, 200)

    def until_both(self, front, client, first, second):
        before = [len(first.requests), len(second.requests)]
        begun = time.monotonic()
        while not (len(first.requests) > before[0] and len(second.requests) > before[1]):
            front.call(client, "POST", SIGN_UP, b"{}")
            self.assertLess(time.monotonic() - begun, RETURN_SECONDS)
            time.sleep(0.05)

    def test_one_gateway_is_dead(self):
        with Upstream() as living, Front(free_port(), living.port) as front:
            client = new_client()
            for number in range(50):
                answer = front.call(client, "POST", SIGN_UP, json.dumps({"number": number}).encode())
                self.assertEqual(answer.status, 200, answer.body)
            self.assertEqual(len(living.requests), 50)

    def test_no_call_is_sent_twice(self):
        """A gateway that dies after it has read a call may have carried it out."""
        with Upstream() as first, Upstream() as second, Front(first.port, second.port) as front:
            client = new_client()
            # On new connections, then on connections that were kept.
            for when in ["new", "kept"]:
                first.requests.clear()
                second.requests.clear()
                first.dies = second.dies = True
                for number in range(4):
                    answer = front.call(client, "POST", SIGN_UP, json.dumps({"number": number}).encode())
                    self.require_refusal(answer, 503)
                bodies = [body for _, _, _, body in first.requests + second.requests]
                with self.subTest(when):
                    self.assertLessEqual({b'{"number": 0}', b'{"number": 1}'}, set(bodies))
                    self.assertEqual(len(bodies), len(set(bodies)))
                first.dies = second.dies = False
                self.until_both(front, client, first, second)
            # Were calls repeated, this would show it: reading is.
            first.dies = True
            begun = time.monotonic()
            while first.requests[-1][0] != "GET":
                self.assertEqual(front.call(client, "GET", PROJECTS).status, 200)
                self.assertLess(time.monotonic() - begun, RETURN_SECONDS)
