"""The wiring of PostgreSQL: two coordinators on one database, the command line's store commands, the doctor, the pooler."""

import contextlib
import json
import os
import pathlib
import random
import re
import shutil
import sqlite3
import subprocess
import tempfile
import time

import simulator
from countersign_client import Client, Refused
from postgresql import COORDINATOR, SECRETS, WORKER, Cluster, CoordinatorsTest, coordinator
from process import BINARIES, CONFIGURATIONS, Process, countersign, free_port
from samples import new_number, wrong
from test_verification import APP
from waiting import eventually

MINIMUM = 3
FOUND, UNAVAILABLE, CONFIGURATION, BAD_INPUT = 1, 69, 78, 65
# Blocks and lifts are rows: the next command of any coordinator sees them. Twenty starts, one after the other.
LIFTED_SECONDS = 20
# Rows that take a copy some seconds.
COUNTERS = 60_000


def run(*arguments, **variables):
    done = countersign(*arguments, env=os.environ | variables)
    return done.returncode, done.stdout, done.stderr


def status_of(done):
    return [(one["check"], one["status"]) for one in json.loads(done[1])["findings"]]


class PostgreSQLTest(CoordinatorsTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cluster = Cluster("wiring").create()
        cls.addClassCleanup(cls.cluster.remove)

    def setUp(self):
        self.client = Client.of(self)

    def command(self, name, body):
        return self.client.command(name, body, timeout=180)

    def start(self, number=None):
        number = number or new_number("+49160")
        started = self.command("verification.start", {"phoneNumber": number, "app": APP})
        return started["verificationID"], simulator.code(simulator.message(number)["body"])

    def check(self, begun):
        approved = self.command("verification.check", {"verificationID": begun[0], "code": begun[1]})
        self.assertEqual(approved["app"], APP)

    def commands(self, process):
        """How many starts and checks a coordinator has answered."""
        return sum(process.metric("countersign_commands_total", command=name, code="OK") or 0
                   for name in ["verification.start", "verification.check"])


class CoordinatorsTest(PostgreSQLTest):
    def test_both_answer_and_one_goes_on_alone(self):
        pair = [coordinator(self, self.cluster) for _ in range(2)]
        begun = [self.start() for _ in range(40)]
        for one in begun[:20]:
            self.check(one)
        answered = [self.commands(process) for process in pair]
        self.assertTrue(all(answered), f"one of them answered nothing: {answered}")
        self.assertEqual([process.metric("countersign_database_session") for process in pair], [1, 1])
        self.assertTrue(all(process.metric("countersign_database_transactions_total") > 0 for process in pair))
        self.assertEqual(pair[0].stop(), 0, pair[0].output())
        for one in begun[20:30]:
            self.check(one)
        # In the place of the first, killed: the other one has what it had begun.
        pair[1].kill()
        third = coordinator(self, self.cluster)
        for one in begun[30:]:
            self.check(one)
        self.assertNotIn("ERROR", third.output())

    def test_a_lift_by_one_is_seen_by_the_other(self):
        prefix = f"+49160{random.randrange(1_000):03d}"
        numbers = iter(random.sample(range(10_000), 100))

        def sensitive():
            return coordinator(self, self.cluster, change=lambda process: process.replace(
                r"apps: \{",
                f"verification: {{ checksPerCode: 1 }},\n  conversion: {{ minimumPerPrefix: {MINIMUM} }},\n  apps: {{"))

        def start():
            return self.command("verification.start", {"phoneNumber": f"{prefix}{next(numbers):04d}", "app": APP})

        first = sensitive()
        for _ in range(MINIMUM):
            started = start()
            code = simulator.code(simulator.message(started["phoneNumber"])["body"])
            self.client.until_sent(started["verificationID"])
            self.client.refused("verification.check", {"verificationID": started["verificationID"], "code": wrong(code)})
        with self.assertRaises(Refused) as blocked:
            start()
        self.assertEqual(blocked.exception.reason, "PREFIX_BLOCKED")
        # One that has just come knows of it, and of the lift, whichever of the two carries that out.
        pair = [first, sensitive()]
        for _ in range(20):
            with self.assertRaises(Refused):
                start()
        before = [self.commands(process) for process in pair]
        code, output, errors = run("conversion", "lift", prefix)
        self.assertEqual(code, 0, output + errors)
        lifted = time.monotonic()
        for _ in range(20):
            start()
        self.assertLess(time.monotonic() - lifted, LIFTED_SECONDS)
        after = [self.commands(process) for process in pair]
        self.assertTrue(all(one < other for one, other in zip(before, after)), f"{before} {after}")

    def test_none_runs_beside_one_on_sqlite(self):
        alone = self.enterContext(Process("coordinator"))
        if "postgresql" in alone.file.read_text():
            alone.replace(r"(?<=\n)  database: \{[^}]*\}", '  database: { path: "../data/coordinator.sqlite" }')
        alone.start().ready()
        beside = self.enterContext(Process("coordinator"))
        beside.replace(r"(?<=\n)  database: \{[^}]*\}", f"  database: {self.cluster.section(COORDINATOR)}")
        beside.start()
        beside.line("another process consumes the queue exclusively")
        self.assertEqual(beside.get("/readyz")[0], 503)
        for _ in range(4):
            self.check(self.start())
        alone.stop()
        beside.ready()
        self.check(self.start())

    def test_it_waits_for_the_server_and_says_so(self):
        self.cluster.stop()
        self.addCleanup(self.cluster.start)
        process = self.enterContext(Process("coordinator"))
        process.replace(r"(?<=\n)  database: \{[^}]*\}", f"  database: {self.cluster.section(COORDINATOR)}")
        process.start()
        process.line("a server cannot be used; waiting until it can")
        status, body = process.get("/readyz")
        self.assertEqual(status, 503)
        self.assertIn("countersign store check", body)
        self.cluster.start()
        process.ready()
        # A restart under way.
        self.cluster.kill()
        eventually("it is not ready", lambda: process.get("/readyz")[0] == 503)
        self.cluster.start()
        process.ready()
        self.check(self.start())


class CopyTest(PostgreSQLTest):
    def setUp(self):
        super().setUp()
        self.database = f"copied_{random.randrange(10 ** 9)}"
        code, output, errors = run(
            "store", "create", "--url", f"postgresql://postgres@127.0.0.1:{self.cluster.port}/{self.database}",
            "--password-file", str(SECRETS / "postgresql-postgres"))
        self.assertEqual(code, 0, output + errors)
        self.section = self.cluster.section(COORDINATOR).replace("/countersign\"", f"/{self.database}\"")
        self.url = f"postgresql://countersign_{COORDINATOR}@127.0.0.1:{self.cluster.port}/{self.database}"
        self.sqlite = self.enterContext(Process("coordinator"))
        if "postgresql" in self.sqlite.file.read_text():
            self.sqlite.replace(r"(?<=\n)  database: \{[^}]*\}", '  database: { path: "../data/coordinator.sqlite" }')
        self.path = pathlib.Path(self.sqlite.directory.name) / "data" / "coordinator.sqlite"
        self.postgresql = self.enterContext(Process("coordinator"))
        self.postgresql.replace(r"(?<=\n)  database: \{[^}]*\}", f"  database: {self.section}")

    def arguments(self, source, target):
        return [
            "--json", "store", "copy", str(source), str(target), "--password-file",
            str(SECRETS / f"postgresql-{COORDINATOR}")]

    def copy(self, source=None, target=None):
        return run(*self.arguments(source or self.path, target or self.url))

    def kill(self, process):
        process.running.kill()
        process.running.wait()

    def kill_copy(self):
        """Kills a copy in the middle of a large table."""
        running = subprocess.Popen(
            [BINARIES / "countersign", *self.arguments(self.path, self.url)], cwd="/", stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            for line in running.stderr:
                if line.startswith("store_counter:"):
                    break
        finally:
            running.kill()
            running.wait()
            running.stderr.close()

    def test_live_codes_go_on_there_and_back(self):
        self.sqlite.start().ready()
        begun = [self.start() for _ in range(6)]
        self.check(begun[0])
        code, _, errors = self.copy()
        self.assertEqual((code, "a process has" in errors), (UNAVAILABLE, True), errors)
        self.kill(self.sqlite)
        with contextlib.closing(sqlite3.connect(self.path)) as database, database:
            database.executemany(
                "INSERT INTO store_counter (key, slot, count, keep) VALUES (?, ?, 1, 9e15)",
                ((b"padding", slot) for slot in range(COUNTERS)))
        self.kill_copy()
        self.postgresql.start()
        code, lines = self.postgresql.end()
        self.assertEqual(code, CONFIGURATION)
        self.assertIn("countersign store copy", lines[-1])
        code, output, errors = self.copy()
        self.assertEqual(code, 0, errors)
        self.assertGreaterEqual(json.loads(output)["store_record"]["rows"], 6)
        self.assertGreaterEqual(json.loads(output)["store_counter"]["rows"], COUNTERS)
        self.assertNotIn("store_record:", errors.split("comparing")[0], "it goes on where it was killed")
        self.postgresql.start().ready()
        for one in begun[1:4]:
            self.check(one)
        with self.assertRaises(Refused):
            self.check(begun[0])
        back = self.path.with_name("back.sqlite")
        code, _, errors = self.copy(self.url, back)
        self.assertEqual((code, "a process uses the database" in errors), (UNAVAILABLE, True), errors)
        self.assertEqual(self.postgresql.stop(), 0)
        code, _, errors = self.copy()
        self.assertEqual((code, "holds data already" in errors), (BAD_INPUT, True), errors)
        code, _, errors = self.copy(self.url, back)
        self.assertEqual(code, 0, errors)
        self.sqlite.replace(r"coordinator\.sqlite", "back.sqlite")
        self.sqlite.start().ready()
        for one in begun[4:]:
            self.check(one)

    def test_without_tables_a_coordinator_names_the_command(self):
        self.cluster.sql("CREATE DATABASE bare", "postgres")
        self.postgresql.replace(f"/{self.database}\"", "/bare\"")
        code, lines = self.postgresql.start().end()
        self.assertEqual(code, CONFIGURATION)
        self.assertIn("countersign store create", lines[-1])


class DoctorTest(PostgreSQLTest):
    def check_store(self, *arguments, port=None, user=COORDINATOR):
        return run(
            "--json", "store", "check", "--url",
            f"postgresql://countersign_{user}@127.0.0.1:{port or self.cluster.port}/countersign", "--password-file",
            str(SECRETS / f"postgresql-{user}"), *arguments)

    def test_all_is_well_and_what_is_not(self):
        self.assertEqual({one[1] for one in status_of(self.check_store())}, {"ok"})
        self.assertEqual({one[1] for one in status_of(self.check_store("--as-worker", user=WORKER))}, {"ok"})
        done = self.check_store(user=WORKER)
        self.assertEqual(done[0], FOUND)
        self.assertIn(("database: tables", "failed"), status_of(done))
        self.cluster.set_read_only(True)
        try:
            done = self.check_store()
            self.assertIn(("database", "failed"), status_of(done))
            self.assertIn("readOnly", done[1])
        finally:
            self.cluster.set_read_only(False)

    def test_the_doctor_reads_the_configuration_files(self):
        with tempfile.TemporaryDirectory(prefix="countersign-") as directory:
            for name in ["coordinator", "sms-worker"]:
                text = (CONFIGURATIONS / f"{name}.json5").read_text()
                text = re.sub(r"(?<=\n)  database: \{[^}]*\}", f"  database: {self.cluster.section(COORDINATOR)}", text)
                text = re.sub(r"(?<=\n)  ledger: \{[^}]*\}", f"  ledger: {self.cluster.section(WORKER)}", text)
                (pathlib.Path(directory) / f"{name}.json5").write_text(text.replace("../secrets", str(SECRETS)))
            findings = status_of(run("--json", "doctor", "--config-dir", directory))
            for name in ["database of coordinator", "database of sms-worker"]:
                self.assertIn((name, "ok"), findings)

    def test_a_pooler_in_transaction_mode_is_refused(self):
        if not shutil.which("pgbouncer"):
            self.fail("pgbouncer is not installed: apt-get install pgbouncer")
        directory = pathlib.Path(tempfile.mkdtemp(prefix="countersign-"))
        self.addCleanup(shutil.rmtree, directory)
        port = free_port()
        users = {name: (SECRETS / f"postgresql-{name}").read_text().strip() for name in [COORDINATOR, WORKER]}
        (directory / "users").write_text(
            "".join(f'"countersign_{name}" "{password}"\n' for name, password in users.items()))
        (directory / "pgbouncer.ini").write_text(f"""
[databases]
countersign = host=127.0.0.1 port={self.cluster.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = plain
auth_file = {directory}/users
pool_mode = transaction
default_pool_size = 4
ignore_startup_parameters = extra_float_digits,options,statement_timeout,lock_timeout,search_path,idle_in_transaction_session_timeout
""")
        wrapper = []
        if os.geteuid() == 0:
            directory.chmod(0o755)
            wrapper = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "--"]
        pooler = subprocess.Popen(
            [*wrapper, shutil.which("pgbouncer"), directory / "pgbouncer.ini"], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(pooler.wait)
        self.addCleanup(pooler.kill)
        done = eventually(
            "the pooler is reached", lambda: "cannot be reached" not in (said := self.check_store(port=port))[1] and said, 180)
        self.assertEqual(done[0], FOUND, done)
        print(f"\n  behind the pooler: {status_of(done)}", flush=True)
        process = self.enterContext(Process("coordinator"))
        section = self.cluster.section(COORDINATOR).replace(f":{self.cluster.port}/", f":{port}/")
        process.replace(r"(?<=\n)  database: \{[^}]*\}", f"  database: {section}")
        process.start()
        deadline = time.monotonic() + 20
        while process.running.poll() is None:
            try:
                self.assertEqual(process.get("/readyz")[0], 503)
            except OSError:
                pass
            if time.monotonic() > deadline:
                break
            time.sleep(0.2)
        print(f"  a coordinator behind it: {process.output().splitlines()[-1]}", flush=True)
