"""One process with a configuration of its own, beside the stack: what it says, how it ends."""

import contextlib
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
import uuid

CONFIGURATIONS = pathlib.Path(os.environ["COUNTERSIGN_CONFIG_DIR"])
BINARIES = pathlib.Path(os.environ["COUNTERSIGN_BIN"])
END_SECONDS = 60
READY_SECONDS = 180
# Not those that the system gives to connections (net.ipv4.ip_local_port_range): a process gets its port once more after a restart.
PORTS = range(20_000, 32_000)
GIVEN_PORTS = set()
DATABASE = re.compile(r"(postgresql://\w+@[^/]*/)(\w+)")


def names():
    return sorted(path.stem for path in CONFIGURATIONS.glob("*.json5") if (BINARIES / path.stem).exists())


def free_port():
    """A port that nobody listens on, and that was given to no one else here; other runs choose at random, too."""
    while True:
        port = random.choice(PORTS)
        with socket.socket() as listener:
            try:
                listener.bind(("127.0.0.1", port))
            except OSError:
                continue
        if port not in GIVEN_PORTS:
            GIVEN_PORTS.add(port)
            return port


def own_database(configuration):
    """The configuration with an empty PostgreSQL database in the place of the stack's, if it names one."""
    if not DATABASE.search(configuration):
        return configuration
    name = f"test_{uuid.uuid4().hex[:12]}"
    # Its tables belong to another role.
    own = re.search(r"(countersign_(?:accounts|webhooks))@", configuration)
    options = ["--for-accounts", "--accounts", own.group(1)] if own else []
    admin = os.environ["COUNTERSIGN_STACK_DATABASE_URL"].rsplit("/", 1)[0]
    subprocess.run(
        [BINARIES / "countersign", "store", "create", *options, "--url", f"{admin}/{name}",
         "--password-file", os.environ["COUNTERSIGN_STACK_DATABASE_PASSWORD_FILE"]],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=180, check=True)
    return DATABASE.sub(rf"\g<1>{name}", configuration)


def countersign(*arguments, timeout=180, **options):
    """Runs the command line, away from the files of the stack unless its variables name them."""
    return subprocess.run(
        [BINARIES / "countersign", *arguments], cwd="/", stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=timeout, check=False, **options)


class Process:
    """A process whose configuration can be spoilt before it is started. Ends with the `with` block, whatever happens."""

    def __init__(self, name):
        self.name = name
        self.directory = tempfile.TemporaryDirectory(prefix="countersign-")
        root = pathlib.Path(self.directory.name)
        for part in ["config", "data", "run"]:
            (root / part).mkdir()
        # Relative paths of the configuration lead to the stack's secrets, and to data of its own.
        (root / "secrets").symlink_to(CONFIGURATIONS.parent / "secrets")
        self.file = root / "config" / f"{name}.json5"
        self.file.write_text(own_database((CONFIGURATIONS / self.file.name).read_text()))
        self.log = root / "log"
        self.port = free_port()
        self.variables = {}
        if name == "simulator":
            # The stack's own has that port.
            self.variables["COUNTERSIGN_SMPP_PORT"] = str(free_port())
        if name == "sms-worker":
            self.receipts_port = free_port()
            self.variables["COUNTERSIGN_RECEIPTS_PORT"] = str(self.receipts_port)
        if name in {"accounts", "coordinator", "gateway"}:
            (root / "config" / "projects").mkdir()
            self.projects = root / "config" / "projects" / "example.json5"
            self.projects.write_text((CONFIGURATIONS / "projects" / "example.json5").read_text())
        if name == "gateway":
            self.listen_port = free_port()
            self.variables["COUNTERSIGN_LISTEN_PORT"] = str(self.listen_port)
        self.arguments = ["--config", str(self.file)]
        # A program that starts it in its own place, with that one's arguments.
        self.wrapper = []
        self.running = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # In order: what a kill leaves unacknowledged would come to the next test's process.
        if self.running and self.running.poll() is None:
            self.running.terminate()
            try:
                self.running.wait(timeout=END_SECONDS)
            except subprocess.TimeoutExpired:
                self.running.kill()
                self.running.wait()
        self.directory.cleanup()

    def replace(self, pattern, text):
        """Changes the configuration; the pattern must be there."""
        changed, count = re.subn(pattern, text, self.file.read_text(), count=1)
        if count != 1:
            raise ValueError(f"{self.file.name} has no {pattern}")
        self.file.write_text(changed)

    def use_password(self, text, mode=0o600):
        """Puts a password in a file of its own in the place of the first one that the configuration names."""
        password = self.file.parent / "password"
        password.write_text(text)
        password.chmod(mode)
        self.replace(r'passwordFile: "[^"]+"', f'passwordFile: "{password}"')

    def replace_lanes(self, lanes):
        """Puts lanes, with the end of the file, in the place of all."""
        self.file.write_text(re.sub(r"\n *lanes: \[.*", lambda _: lanes, self.file.read_text(), flags=re.DOTALL))

    def lead_twilio_to(self, port, more=""):
        """Has the lane of Twilio call a server of the test's own."""
        self.replace(
            r'(?<=type: "twilio",\n      concurrency: 64,\n      baseURL: )"[^"]*"', f'"http://127.0.0.1:{port}"{more}')

    def replace_limits(self, limits):
        """Puts limits in the place of the first ones of the section, which the stack sets for load tests."""
        text = self.file.read_text()
        begin, end = text.index("limits: {"), text.index("}", text.index("limits: {"))
        self.file.write_text(text[:begin] + "limits: {" + limits + "\n  " + text[end:])

    def database(self):
        """The name of its PostgreSQL database; `None` where it has files."""
        found = DATABASE.search(self.file.read_text())
        return found and found.group(2)

    def start(self):
        """Starts it, with no variable of the tests' own stack."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("COUNTERSIGN_")}
        environment |= {"COUNTERSIGN_HTTP_PORT": str(self.port), **self.variables}
        with open(self.log, "wb") as log:
            self.running = subprocess.Popen(
                [*self.wrapper, BINARIES / self.name, *self.arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=environment)
        return self

    def metric(self, name, **labels):
        """The value of a series; `None` where there is no such series."""
        wanted = ",".join(f'{label}="{value}"' for label, value in labels.items())
        series = f"{name}{{{wanted}}}" if labels else name
        for line in self.get("/metrics")[1].splitlines():
            if line.startswith(f"{series} "):
                return float(line.split()[-1])
        return None

    def output(self):
        return self.log.read_text()

    def end(self):
        code = self.running.wait(timeout=END_SECONDS)
        return code, self.output().splitlines()

    def stop(self):
        self.running.send_signal(signal.SIGTERM)
        return self.running.wait(timeout=END_SECONDS)

    def _alive_until(self, condition, problem, timeout):
        deadline = time.monotonic() + timeout
        while not (found := condition()):
            if self.running.poll() is not None:
                raise RuntimeError(f"{self.name} ended: {self.output()}")
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self.name} {problem} within {timeout} s: {self.output()}")
            time.sleep(0.05)
        return found

    def line(self, text, timeout=READY_SECONDS):
        return self._alive_until(
            lambda: next((line for line in self.output().splitlines() if text in line), None), f"did not say \"{text}\"", timeout)

    def ready(self, timeout=READY_SECONDS):
        def is_ready():
            with contextlib.suppress(OSError):
                return self.get("/readyz")[0] == 200

        self._alive_until(is_ready, "was not ready", timeout)
        return self

    def get(self, path):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=30) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
