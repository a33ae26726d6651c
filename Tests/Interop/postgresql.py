"""A PostgreSQL server of the tests' own, what can happen to it, and the processes that use it."""

import atexit
import os
import pathlib
import shutil
import signal
import subprocess
import threading
import time
import unittest

import stack
from preload import library
from process import BINARIES, Process, countersign, free_port
from waiting import eventually

DATABASE = "countersign"
CONTROL = stack.ROOT / "deploy/lib/postgresql-ctl"
SECRETS = stack.DIRECTORY / "secrets"
# The logs of the server and of the processes, kept for whoever looks for the cause of a failure.
LOGS = stack.DIRECTORY / "log" / "postgresql"
# Roles of the processes; the stack makes their passwords.
COORDINATOR, WORKER = "coordinator", "worker"
COORDINATORS = ["coordinator", "coordinator-1", "coordinator-2"]
# How long the last messages may take to be published after an accident.
SETTLE_SECONDS = 90

# Whether the long runs are wanted.
IS_LONG = os.environ.get("COUNTERSIGN_TEST_ALL") == "1"


def size(short, long):
    """A figure for this run."""
    return long if IS_LONG else short


# Full after some verifications, and large enough for all of them and for a recovery; the log of changes takes 64 MiB of it.
SMALL_DISK_MEGABYTES = size(200, 1000)


class CoordinatorsTest(unittest.TestCase):
    """Tests with coordinators of their own, in the place of the stack's."""

    @classmethod
    def setUpClass(cls):
        stack.require_all_ready()
        for name in COORDINATORS:
            if (stack.DIRECTORY / "pid" / f"{name}.pid").exists():
                stack.stop_for_class(cls, name)

    def require_settled(self, cluster, load, unknown=0):
        """Nothing of a load is lost, each of its verifications is in the database once, and nothing is left to be published."""
        load.verify(self, unknown)
        self.assertEqual(cluster.records("verification"), load.count)
        eventually(lambda: f"all is published: {cluster.unpublished()}", lambda: not cluster.unpublished(), SETTLE_SECONDS)


class Cluster:
    """A server with a directory, a port and passwords of its own. Durable as it is in production."""

    def __init__(self, name="faults"):
        self.directory = stack.DIRECTORY / f"postgresql-{name}"
        self.port = free_port()
        self.variables = {}
        # A program that runs the server's own in a place of their own.
        self.wrapper = []
        self._remove()
        self.directory.mkdir(parents=True)
        atexit.register(self.remove)

    def _control(self, *arguments, text=None, check=True):
        done = subprocess.run(
            [*self.wrapper, CONTROL, self.directory, str(self.port), SECRETS, *arguments], input=text or "",
            capture_output=True, text=True, timeout=300, check=False, env=os.environ | self.variables)
        if check and done.returncode:
            raise RuntimeError(f"postgresql-ctl {' '.join(arguments)}: {done.stdout}{done.stderr}")
        return done.stdout.strip()

    def create(self):
        self.start()
        done = subprocess.run(
            [*self.wrapper, BINARIES / "countersign", "store", "create", "--url",
             f"postgresql://postgres@127.0.0.1:{self.port}/{DATABASE}",
             "--password-file", SECRETS / "postgresql-postgres",
             "--coordinator-password-file", SECRETS / f"postgresql-{COORDINATOR}",
             "--worker-password-file", SECRETS / f"postgresql-{WORKER}"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=180, check=False)
        if done.returncode:
            raise RuntimeError(f"countersign store create: {done.stdout}{done.stderr}")
        return self

    def create_accounts(self, database, role="accounts"):
        """Makes another database, with the tables of accounts, and of webhook-worker too."""
        done = countersign(
            "store", "create", "--for-accounts", "--url", f"postgresql://postgres@127.0.0.1:{self.port}/{database}",
            "--password-file", SECRETS / "postgresql-postgres", "--accounts", f"countersign_{role}",
            "--accounts-password-file", SECRETS / f"postgresql-{role}")
        if done.returncode:
            raise RuntimeError(done.stdout + done.stderr)

    def url(self, user):
        return f"postgresql://{user}@127.0.0.1:{self.port}/{DATABASE}"

    def section(self, role, user=None):
        """The section of a configuration for a role; for another user with its password, where one is named."""
        return (f'{{ type: "postgresql", url: "{self.url(user or "countersign_" + role)}", '
                f'passwordFile: "{SECRETS}/postgresql-{role}" }}')

    def start(self):
        self._control("start")

    def follow(self, other):
        self._control("copy", str(other.port))
        self.start()

    def stop(self):
        """Stops it in order, without waiting for its clients."""
        self._control("stop")

    def kill(self):
        self._control("kill")

    def sql(self, statements, database=DATABASE, check=True):
        """Runs statements as the superuser: what they select, a row a line."""
        return self._control("sql", database, text=statements, check=check)

    def end_connections(self):
        return int(self.sql(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename LIKE 'countersign%'", "postgres"))

    def connections(self):
        return int(self.sql("SELECT count(*) FROM pg_stat_activity WHERE usename LIKE 'countersign%'", "postgres"))

    def unknown_calls(self):
        """How many calls of a provider began, by the workers on it, and nobody knows how they ended."""
        return int(self.sql(f"SELECT COALESCE(SUM(unknown_calls), 0) FROM {DATABASE}.ledger_job"))

    def unpublished(self):
        """Messages stored and not published: type, number, owner and whether it lives, next attempt, attempts."""
        return self.sql(f"""
            SELECT o.type, o.number, o.owner, w.number IS NOT NULL AS is_known, EXISTS (
                SELECT FROM pg_locks l WHERE l.locktype = 'advisory' AND l.objsubid = 2 AND l.objid::bigint = o.owner) AS lives,
              o.retry, o.hold IS NOT NULL AS is_held, o.tries
            FROM {DATABASE}.store_outbox o LEFT JOIN {DATABASE}.store_owner w ON w.number = o.owner ORDER BY o.number LIMIT 10""")

    def records(self, kind):
        return int(self.sql(f"SELECT count(*) FROM {DATABASE}.store_record WHERE kind = '{kind}'"))

    def set_read_only(self, is_on):
        """Makes transactions read-only, as on a server that has become a standby's."""
        self.sql(f"ALTER SYSTEM SET default_transaction_read_only = {'on' if is_on else 'off'}", "postgres")
        self.sql("SELECT pg_reload_conf()", "postgres")

    def runs(self):
        """Whether the server runs: one whose log of changes has no room ends by itself."""
        path = self.directory / "postgresql.pid"
        return path.exists() and pathlib.Path(f"/proc/{path.read_text().split()[0]}").exists()

    def _remove(self):
        if (self.directory / "data").exists():
            self._control("stop", check=False)
        log = self.directory / "log" / "postgresql.log"
        if log.exists():
            LOGS.mkdir(parents=True, exist_ok=True)
            shutil.copy(log, LOGS / f"server-{self.port}.log")
        shutil.rmtree(self.directory, ignore_errors=True)

    def remove(self):
        atexit.unregister(self.remove)
        self._remove()


class Pair(Cluster):
    """A server, and a standby that has each commit before it is answered."""

    def __init__(self, name="primary"):
        super().__init__(name)
        self.standby = Cluster(f"{name}-standby")

    def add_standby(self):
        """Makes the standby, and waits for it at each commit from now on."""
        self.standby.follow(self)
        self.sql("ALTER SYSTEM SET synchronous_standby_names = '*'", "postgres")
        self.sql("SELECT pg_reload_conf()", "postgres")
        # Commits wait for the standby once the server's processes have read that, one after the other.
        self._replicated("sync_state = 'sync'", "the standby is synchronous")
        time.sleep(1)
        position = self.sql("SELECT pg_current_wal_lsn()", "postgres").strip()
        self._replicated(f"flush_lsn >= '{position}'", "the standby has what was committed before")

    def _replicated(self, condition, what):
        query = f"SELECT 1 FROM pg_stat_replication WHERE {condition}"
        eventually(what, lambda: self.sql(query, "postgres").strip())

    def url(self, user):
        return super().url(user).replace(f":{self.port}/", f":{self.port},127.0.0.1:{self.standby.port}/")

    def fail_over(self):
        self.kill()
        self.standby.sql("SELECT pg_promote()", "postgres")

    def remove(self):
        self.standby.remove()
        super().remove()


class SmallDisk(Cluster):
    """A server on a disk of its own that can be filled: a file system in memory of a fixed size.

    Where it cannot be mounted, a library between server and system refuses what a full disk refuses (disk_full.c).
    """

    def __init__(self, name="disk"):
        super().__init__(name)
        options = f"size={SMALL_DISK_MEGABYTES}m,mode=711"
        self.is_mounted = os.environ.get("COUNTERSIGN_TEST_MOUNT") != "0" and subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", self.directory], capture_output=True, check=False).returncode == 0
        self.filler = self.directory / "filler"
        if not self.is_mounted:
            self._preload()

    def _preload(self):
        self.directory.chmod(0o711)
        preload = library(atexit.register, "disk_full")
        self.variables = {"POSTGRESQL_PRELOAD": preload, "DISK_FULL_FILE": str(self.filler)}

    def create(self):
        self.start()
        # So that the log of changes fits on it.
        self.sql("ALTER SYSTEM SET min_wal_size = '32MB'", "postgres")
        self.sql("ALTER SYSTEM SET max_wal_size = '64MB'", "postgres")
        self.sql("SELECT pg_reload_conf()", "postgres")
        return super().create()

    def fill(self):
        if not self.is_mounted:
            self.filler.touch()
            return
        with open(self.filler, "ab", buffering=0) as file:
            block = bytes(1 << 20)
            while block:
                try:
                    file.write(block)
                except OSError:
                    block = block[:len(block) // 2]

    def free(self):
        """Gives the room back, and starts the server if it has ended, as systemd does."""
        self.filler.unlink()
        if not self.runs():
            self.start()

    def _remove(self):
        super()._remove()
        if self.directory.is_mount():
            subprocess.run(["umount", "--lazy", self.directory], check=True)
            shutil.rmtree(self.directory, ignore_errors=True)


class Restarting(Process):
    """A process that keeps what it has said when it is started again, as systemd does when it has ended."""

    def __init__(self, name):
        super().__init__(name)
        self.earlier = []
        self.restarts = 0

    def start(self):
        if self.log.exists():
            self.earlier.append(self.output())
            self.restarts += 1
        return super().start()

    def kill(self):
        self.running.kill()
        self.running.wait()

    def pause(self):
        """Nothing of it runs, and none of its connections ends: a host that hangs."""
        self.running.send_signal(signal.SIGSTOP)

    def resume(self):
        self.running.send_signal(signal.SIGCONT)

    def __exit__(self, *arguments):
        if self.running and self.running.poll() is None:
            self.resume()
        LOGS.mkdir(parents=True, exist_ok=True)
        if self.log.exists():
            said = self.earlier + [self.output(), f"exit status {self.running.poll()}\n"]
            (LOGS / f"{self.name}-{self.running.pid}.log").write_text("\n\n".join(said))
        super().__exit__(*arguments)


def started(test, name, key, section, change=None):
    """A process whose `key` is that section, ready, and ended with the test."""
    process = test.enterContext(Restarting(name))
    process.replace(rf"(?<=\n)  {key}: \{{[^}}]*\}}", f"  {key}: {section}")
    if change:
        change(process)
    return process.start().ready()


def coordinator(test, cluster, user=None, change=None):
    return started(test, "coordinator", "database", cluster.section(COORDINATOR, user), change)


def worker(test, cluster, name="sms-worker", change=None):
    return started(test, name, "ledger", cluster.section(WORKER), change)


class Readiness:
    """What processes say on /readyz while something happens to what they need, and from when on they are ready again."""

    def __init__(self, *processes):
        self.processes = processes
        self.reasons = {one: [] for one in processes}
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._ask, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def _ask(self):
        while not self.over.wait(0.2):
            for process in self.processes:
                try:
                    status, body = process.get("/readyz")
                except OSError:
                    continue
                if status != 200:
                    self.reasons[process].append(body)
