"""Faults planted one after the other: the first thing that `countersign doctor` says is the cause, and before and after nothing fails."""

import datetime
import json
import os
import pathlib
import re
import shutil
import signal
import ssl
import socket
import subprocess
import tempfile
import threading
import unittest

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

import broker
import postgresql
import simulator
import stack
from countersign_client import Client
from preload import library
from process import BINARIES, Process, countersign, free_port
from samples import in_seconds, new_number
from waiting import eventually

HERE = pathlib.Path(__file__).parent
PATIENCE_SECONDS = 180
# A round of the doctor, with a process that hangs, on a busy machine.
DOCTOR_SECONDS = 120
ALL_STATUSES = ["failed", "follows", "warning", "note", "skipped", "ok"]


def certificate(directory, days):
    """A server's certificate that ends so many days from now, its key, and itself as the authority: a path."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.timezone.utc)
    made = (x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
            .serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(days=100))
            .not_valid_after(now + datetime.timedelta(days=days))
            .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(key, hashes.SHA256()))
    path = pathlib.Path(directory) / f"certificate-{days}.pem"
    path.write_bytes(made.public_bytes(serialization.Encoding.PEM) + key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
    return path


class TLSServer:
    def __init__(self, path):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        self.listener = context.wrap_socket(socket.create_server(("127.0.0.1", 0)), server_side=True)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                self.listener.accept()[0].close()
            except ssl.SSLError:
                pass
            except OSError:
                if self.listener.fileno() < 0:
                    return


class DoctorTest(unittest.TestCase):
    """With an sms-worker of its own in the place of the stack's two, so that what ails it ails all SMS."""

    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory(prefix="countersign-")
        cls.addClassCleanup(directory.cleanup)
        cls.directory = pathlib.Path(directory.name)
        # Copies of configurations lead to them.
        (cls.directory / "secrets").symlink_to(stack.DIRECTORY / "secrets")
        (cls.directory / "data").mkdir()
        cls.clock = library(cls.addClassCleanup, "clock_step")
        cls.disk = library(cls.addClassCleanup, "disk_full")
        stack.stop_for_class(cls, "sms-worker-1", "sms-worker-2")

    def setUp(self):
        self.client = Client.of(self)
        self.addCleanup(simulator.clear_faults)
        # What the doctor is told beside the stack's addresses.
        self.settings = {}

    def worker(self, **variables):
        worker = Process("sms-worker")
        text = worker.file.read_text()
        lane = re.search(r'    \{\n      name: "twilio",.*?\n    \},\n', text, re.DOTALL).group(0)
        worker.file.write_text(re.sub(r"lanes: \[.*\n  \],", lambda _: f"lanes: [\n{lane}  ],", text, flags=re.DOTALL))
        worker.variables |= variables
        self.settings["COUNTERSIGN_SMS_WORKER_URLS"] = f"http://127.0.0.1:{worker.port}"
        return self.enterContext(worker)

    def healthy_worker(self, **variables):
        worker = self.worker(**variables).start()
        worker.ready()
        return worker

    def coordinator(self, **variables):
        stack.stop_for(self, "coordinator")
        coordinator = self.enterContext(Process("coordinator"))
        coordinator.variables |= variables
        coordinator.start()
        self.know_coordinators(coordinator)
        return coordinator

    def secret(self, name, text):
        path = self.directory / name
        path.touch(mode=0o600)
        path.write_text(text)
        return str(path)

    def keys(self, name, *arguments):
        made = subprocess.run([BINARIES / "countersign", "keys", *arguments], capture_output=True, text=True, check=True)
        return self.secret(name, made.stdout)

    def know_coordinators(self, *coordinators):
        urls = [f"http://127.0.0.1:{one.port}" for one in coordinators]
        self.settings |= {"COUNTERSIGN_COORDINATOR_URL": urls[0], "COUNTERSIGN_COORDINATOR_URLS": ",".join(urls)}

    def doctor(self, *options):
        done = countersign("--json", "doctor", *options, timeout=DOCTOR_SECONDS, env=os.environ | self.settings)
        self.assertEqual(done.stderr, "")
        found = json.loads(done.stdout)["findings"]
        order = [ALL_STATUSES.index("failed" if one["status"] == "follows" else one["status"]) for one in found]
        self.assertEqual(order, sorted(order), "the failures stand first")
        return found, done.returncode

    def assert_healthy(self, *options):
        """Nothing fails, as soon as what was planted before is over."""
        def failures():
            found, code = self.doctor(*options)
            return [one for one in found if one["status"] in {"failed", "follows"}] or code and f"exit code {code}"

        eventually(lambda: f"nothing fails: {failures()}", lambda: not failures(), PATIENCE_SECONDS)

    def assert_cause(self, check, detail, hint=None):
        """The first finding is the cause, and nothing else fails but what follows from it."""
        found, code = self.doctor()
        self.assertEqual(code, 1, found)
        first = found[0]
        self.assertEqual(first["status"], "failed", first)
        self.assertRegex(first["check"], check, found[:5])
        self.assertRegex(first["detail"], detail, found[:5])
        if hint:
            self.assertRegex(first["hint"], hint)
        self.assertEqual([one for one in found[1:] if one["status"] == "failed"], [])
        for one in found:
            if one["status"] == "follows":
                self.assertEqual(one["cause"], first["check"])
        return found

    def send(self, count=1):
        for _ in range(count):
            body = {"to": new_number("+49172"), "text": "Hello", "deadline": in_seconds(600), "onUnknown": "resend"}
            self.client.send("countersign.jobs", "sms.dispatch", body, type="sms.dispatch.v1")

    def wait_for_lane(self, worker, condition):
        eventually(lambda: worker.get("/runtime")[1], lambda: condition(
            json.loads(worker.get("/runtime")[1])["lanes"][0]), PATIENCE_SECONDS)

    # Healthy.

    def test_a_healthy_server_installed_by_the_pages(self):
        """Copies of all files of Config/, of which some workers are not used, and paths in the variables of units."""
        self.healthy_worker()
        copied = self.directory / "etc"
        shutil.copytree(stack.ROOT / "Config", copied)
        for name in ["PUSH", "REVOCATION", "MAIL"]:
            self.settings[f"COUNTERSIGN_{name}_WORKER_URLS"] = ""
        self.assert_healthy("--config-dir", str(copied))
        found, _ = self.doctor("--config-dir", str(copied))
        notes = [one["check"] for one in found if one["detail"].startswith("not in use: nothing answers")]
        self.assertEqual(notes, [f"process {name}-worker" for name in ["push", "revocation", "mail"]])

    def test_paths_and_check_values_are_told_over_the_socket_alone(self):
        worker = self.healthy_worker()
        told = json.loads(worker.get("/runtime")[1])
        self.assertNotIn("guarded", told)
        self.assertNotIn("secrets", worker.get("/runtime")[1])
        path = pathlib.Path(told["socket"])
        self.assertEqual(path.stat().st_mode & 0o777, 0o600)
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(path))
            guarded = json.loads(b"".join(iter(lambda: connection.recv(65536), b"")))["guarded"]
        self.assertEqual(guarded["configurationFile"], str(worker.file))
        self.assertIn("keysFile", guarded["settings"])
        self.assertEqual(len(guarded["checkValues"]), len(told["keys"]["opens"]))
        for secret in (stack.DIRECTORY / "secrets").iterdir():
            if secret.is_file() and secret.suffix != ".pem" and secret.stat().st_size > 16:
                self.assertNotIn(secret.read_text(errors="replace").strip(), json.dumps(guarded))

    # The provider.

    def test_refused_credentials(self):
        worker = self.healthy_worker()
        self.assert_healthy()
        simulator.inject(provider="twilio", fault="401", count=1000)
        self.send()
        self.wait_for_lane(worker, lambda lane: not lane["isUp"])
        self.assert_cause("^lanes of sms.dispatch", "PROVIDER_CREDENTIALS", "correct lane twilio in .*sms-worker.json5")
        simulator.clear_faults()
        self.assert_healthy()

    def test_errors_of_the_provider(self):
        worker = self.healthy_worker()
        simulator.inject(provider="twilio", fault="503", count=1000)
        self.send(3)
        self.wait_for_lane(worker, lambda lane: lane["failures"] >= 3)
        found = self.assert_cause("^lanes of sms.dispatch", "calls failed .*503", "status page")
        self.assertTrue([one for one in found if "were delayed" in one["detail"]])
        simulator.clear_faults()
        self.assert_healthy()

    def test_a_provider_that_refuses_connections(self):
        self.healthy_worker(COUNTERSIGN_LANES_0_BASE_URL=f"http://127.0.0.1:{free_port()}")
        self.assert_cause("^provider at http://127.0.0.1", "connect", "check the address")

    # Configuration.

    def test_misspelled_settings(self):
        copied = self.directory / "misspelled"
        shutil.copytree(os.environ["COUNTERSIGN_CONFIG_DIR"], copied)
        self.settings["COUNTERSIGN_CONFIG_DIR"] = str(copied)
        for right, wrong, detail in [
            ("accountSID:", "acountSID:", "acountSID: unknown key .did you mean lanes.0.accountSID"),
            ('type: "twilio"', 'type: "twillio"', "lanes.0.type: must be one of twilio"),
            (r'allowed: \["\*"\]', 'allowed: ["UK"]', "regions.allowed: .*UK is not a region's code .*did you mean GB"),
        ]:
            with self.subTest(wrong):
                worker = self.worker()
                worker.replace(right, wrong)
                shutil.copy(worker.file, copied)
                worker.start().end()
                self.assert_cause("^settings of sms-worker.json5", detail)

    def test_wrong_keys_at_the_unit(self):
        keys = self.keys("other-keys.json", "generate", "--id", "stale")
        self.healthy_worker(COUNTERSIGN_KEYS_FILE=keys)
        found = self.assert_cause("^keys of sms-worker", "seals with the key dev-1, and it runs with stale")
        self.assertIn(keys, found[0]["hint"])

    def test_wrong_token_keys(self):
        self.healthy_worker()
        # The gateway starts last, and gets the keys of the stack's accounts again.
        stack.stop_for(self, "gateway", "accounts")
        accounts = self.enterContext(Process("accounts"))
        self.settings |= {"COUNTERSIGN_ACCOUNTS_URLS": f"http://127.0.0.1:{accounts.port}", "COUNTERSIGN_GATEWAY_HEALTH_URLS": ""}
        accounts.start().ready()
        self.assert_healthy()
        self.assertEqual(accounts.stop(), 0)
        accounts.variables["COUNTERSIGN_TOKEN_KEYS_FILE"] = self.keys("other-tokens.json", "generate", "--id", "other")
        accounts.start()
        eventually("it finds no key", lambda: self.says(accounts, "can be opened"), PATIENCE_SECONDS)
        self.assert_cause("^process accounts", "no key that signs ID tokens can be opened", "the same tokenKeysFile")
        del accounts.variables["COUNTERSIGN_TOKEN_KEYS_FILE"]
        self.assertEqual(accounts.stop(), 0)
        accounts.start().ready()
        self.assert_healthy()

    @staticmethod
    def says(process, text):
        try:
            return text in process.get("/readyz")[1]
        except OSError:
            return False

    def test_regions_of_lanes(self):
        self.healthy_worker(COUNTERSIGN_LANES_0_REGIONS="US")
        self.assert_cause("^regions of sms-worker", "no lane takes all regions.*NO_ROUTE", "add a lane")

    def test_regions_of_the_worker(self):
        self.healthy_worker(COUNTERSIGN_REGIONS_ALLOWED="US")
        self.assert_cause("^regions of sms-worker", "which it refuses .REGION_NOT_ALLOWED", "regions.allowed of sms-worker")

    def test_the_pepper_of_the_only_coordinator(self):
        self.healthy_worker()
        coordinator = self.coordinator()
        coordinator.ready()
        self.assert_healthy()
        self.assertEqual(coordinator.stop(), 0)
        coordinator.variables["COUNTERSIGN_PEPPER_FILE"] = self.secret("lone-pepper", "another pepper, of the same length")
        coordinator.start().line("leaves its queues to others")
        self.assert_cause("^process coordinator", "pepperFile is not the one that .* used", "previousPepperFile")

    def test_the_pepper_of_a_second_coordinator(self):
        self.healthy_worker()
        stack.stop_for(self, "coordinator")
        cluster = postgresql.Cluster("doctor").create()
        self.addCleanup(cluster.remove)
        first, second = postgresql.coordinator(self, cluster), postgresql.coordinator(self, cluster)
        self.know_coordinators(first, second)
        self.assert_healthy()
        self.assertEqual(second.stop(), 0)
        second.variables["COUNTERSIGN_PEPPER_FILE"] = self.secret("pepper", "another pepper, of the same length")
        second.start().line("leaves its queues to others")
        found = self.assert_cause(
            f"^pepper of coordinator at http://127.0.0.1:({first.port}|{second.port})$", "differs from that of coordinator at",
            "previousPepperFile")
        self.assertIn("process coordinator", [one["check"] for one in found if one["status"] == "follows"])
        del second.variables["COUNTERSIGN_PEPPER_FILE"]
        self.assertEqual(second.stop(), 0)
        second.start().ready()
        self.assert_healthy()

    def test_keys_of_the_gateway(self):
        self.healthy_worker()
        pair = self.keys("pair.json", "generate", "--sealing", "--id", "new")
        gateway = self.enterContext(Process("gateway"))
        gateway.variables["COUNTERSIGN_ACCOUNTS_KEYS_FILE"] = self.keys("public.json", "public", pair)
        gateway.start().ready()
        self.settings["COUNTERSIGN_GATEWAY_HEALTH_URLS"] = f"http://127.0.0.1:{gateway.port}"
        self.assert_cause("^keys of gateway", "seals to the key new, which accounts at .* does not have: sign-in fails")

    # The broker.

    def test_a_wrong_password(self):
        worker = self.worker(COUNTERSIGN_BROKER_PASSWORD_FILE=self.secret("wrong", "wrong")).start()
        worker.line("refuses the user or the password")
        self.assert_cause("^process sms-worker", "refuses user 'sms-worker' or the password", "broker.passwordFile")
        self.secret("wrong", (stack.DIRECTORY / "secrets" / "broker-sms-worker").read_text())
        self.assert_healthy()

    def test_a_missing_queue(self):
        self.healthy_worker()
        broker.management("/api/queues/%2F/sms.dispatch", "DELETE")
        try:
            self.assert_cause("^topology", "queue sms.dispatch is missing", "topology apply")
        finally:
            subprocess.run([BINARIES / "countersign", "topology", "apply"], check=True, capture_output=True, timeout=180)
        self.assert_healthy()

    def test_certificates(self):
        self.healthy_worker()
        user = os.environ["COUNTERSIGN_AMQP_URL"].split("//")[1].split("@")[0]
        for days, status in [(-1, "failed"), (5, "warning")]:
            path = certificate(self.directory, days)
            server = TLSServer(path)
            self.addCleanup(server.listener.close)
            self.settings |= {
                "COUNTERSIGN_AMQP_URL": f"amqps://{user}@localhost:{server.port}/", "COUNTERSIGN_AMQP_CA_FILE": str(path)}
            found, _ = self.doctor()
            if days < 0:
                self.assertEqual(found[0]["check"], "broker, as a service")
                self.assertIn("certificate has expired", found[0]["detail"])
            ends = [one for one in found if one["check"].startswith("certificate of the broker")]
            self.assertEqual([one["status"] for one in ends], ["follows" if days < 0 else status], ends)

    # Processes and their machines.

    def test_a_stopped_worker(self):
        worker = self.healthy_worker()
        self.assertEqual(worker.stop(), 0)
        # The broker counts consumers every few seconds.
        eventually("the empty queue follows", lambda: "queue sms.dispatch" in [
            one["check"] for one in self.assert_cause("^process sms-worker", "does not answer", "start it")
            if one["status"] == "follows"], PATIENCE_SECONDS)
        worker.start().ready()
        self.assert_healthy()

    def test_a_hung_worker(self):
        worker = self.healthy_worker()
        worker.running.send_signal(signal.SIGSTOP)
        try:
            self.assert_cause("^process sms-worker", "does not answer.*timed out", "it hangs")
        finally:
            worker.running.send_signal(signal.SIGCONT)
        self.assert_healthy()

    def assert_clock(self, start):
        """A process's clock is wrong in either direction, and right again."""
        steps = self.directory / "step"
        steps.write_text("0")
        process = start(LD_PRELOAD=self.clock, CLOCK_STEP_FILE=str(steps))
        for seconds, text in [(600, "600 s ahead of"), (-600, "600 s behind")]:
            process.ready()
            process.stop()
            steps.write_text(str(seconds))
            process.start().ready()
            self.assert_cause(
                f"^clock of {process.name} at http://127.0.0.1:{process.port}$", f"{text} this machine's", "synchronize")
            steps.write_text("0")
            self.assert_healthy()

    def test_wrong_clocks_of_a_worker(self):
        self.assert_clock(self.healthy_worker)

    def test_wrong_clocks_of_a_coordinator(self):
        self.healthy_worker()
        self.assert_clock(self.coordinator)

    def test_a_full_disk(self):
        self.healthy_worker()
        full = self.directory / "full"
        coordinator = self.coordinator(LD_PRELOAD=self.disk, DISK_FULL_FILE=str(full))
        coordinator.ready()
        self.assert_healthy()
        full.touch()
        self.addCleanup(full.unlink, missing_ok=True)
        self.client.send(
            "countersign.commands", "verification.start", {"phoneNumber": "+491721234567", "app": "com.example.app"},
            type="verification.start.v1")
        eventually("it is not ready", lambda: coordinator.get("/readyz")[0] != 200, PATIENCE_SECONDS)
        self.assert_cause("^process coordinator", "no space is left")
        full.unlink()
        self.assert_healthy()

    def test_a_full_disk_of_a_worker(self):
        full = self.directory / "full-ledger"
        worker = self.worker(LD_PRELOAD=self.disk, DISK_FULL_FILE=str(full))
        worker.replace(r"ledger: \{[^}]*\}", 'ledger: { type: "sqlite", path: "../data/ledger.sqlite" }')
        worker.start().ready()
        self.assert_healthy()
        full.touch()
        self.addCleanup(full.unlink, missing_ok=True)
        self.send(5)
        eventually("it is not ready", lambda: worker.get("/readyz")[0] != 200, PATIENCE_SECONDS)
        self.assert_cause("^process sms-worker", "ledger cannot be written: no space is left")
        full.unlink()
        self.assert_healthy()
