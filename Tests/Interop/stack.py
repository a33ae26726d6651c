"""The stack under test: its processes, its broker, its ledger. deploy/lib/stack-ctl does the work."""

import os
import pathlib
import sqlite3
import subprocess
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
DIRECTORY = pathlib.Path(os.environ["COUNTERSIGN_STACK"])
# Whether the stack is on PostgreSQL, with two coordinators, which are one to most tests.
IS_POSTGRESQL = os.environ.get("COUNTERSIGN_STORE") == "postgresql"


def processes(name):
    """The names that a process has here: of the coordinator there may be two."""
    return ["coordinator-1", "coordinator-2"] if IS_POSTGRESQL and name == "coordinator" else [name]


def _control(*arguments):
    done = subprocess.run(
        [ROOT / "deploy/lib/stack-ctl", *arguments],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=180, check=False)
    if done.returncode:
        raise RuntimeError(f"stack-ctl {' '.join(arguments)}: {done.stdout}{done.stderr}")


def kill(name):
    """Ends a process as a crash does."""
    for one in processes(name):
        _control("kill", one)


def stop(name):
    """Asks a process to stop, and waits until it has."""
    for one in processes(name):
        _control("stop", one)


def start(name):
    """Starts a process and waits until it is ready."""
    for one in processes(name):
        _control("start", one)


def restart_broker():
    """Stops the broker in order and starts it again."""
    _control("restart-broker")


def coordinator_urls():
    """Where the coordinators show their health and metrics."""
    return os.environ.get("COUNTERSIGN_COORDINATOR_URLS", os.environ["COUNTERSIGN_COORDINATOR_URL"]).split(",")


def require_all_ready(timeout=60):
    """Waits until every process of the stack answers that it is ready."""
    urls = [*coordinator_urls(), os.environ["COUNTERSIGN_SIMULATOR_URL"]]
    deadline = time.monotonic() + timeout
    for url in urls + os.environ["COUNTERSIGN_SMS_WORKER_URLS"].split(","):
        while True:
            try:
                with urllib.request.urlopen(url + "/readyz", timeout=5):
                    break
            except OSError as error:
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{url} is not ready within {timeout} s") from error
                time.sleep(0.2)


def ledger_unknown_calls():
    """How many calls of a provider began and nobody knows how they ended."""
    if IS_POSTGRESQL:
        return int(sql("SELECT COALESCE(SUM(unknown_calls), 0) FROM countersign.ledger_job"))
    path = DIRECTORY / "data" / "sms-ledger.sqlite"
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10) as database:
        return database.execute("SELECT COALESCE(SUM(unknown_calls), 0) FROM job").fetchone()[0]


def sql(statements, database="countersign"):
    """Runs statements on the stack's PostgreSQL as its superuser: what they select."""
    done = subprocess.run(
        [ROOT / "deploy/lib/stack-ctl", "sql", database], input=statements, capture_output=True, text=True, timeout=60,
        check=True)
    return done.stdout.strip()


def database_files(database="countersign"):
    """What the stack's PostgreSQL has on its disk of a database: the names of tables and indexes, and their bytes."""
    data = DIRECTORY / "postgresql" / "data"
    found = sql("""
        CHECKPOINT;
        SELECT pg_relation_filepath(c.oid), COALESCE(t.relname, c.relname)
        FROM pg_class c LEFT JOIN pg_class t ON t.reltoastrelid = c.oid
        WHERE pg_relation_filepath(c.oid) LIKE 'base/%'""", database)
    for line in found.splitlines():
        path, name = line.split("|")
        yield name, (data / path).read_bytes()


def database_changes():
    """The log of changes of the stack's PostgreSQL, whichever database they are of."""
    directory = DIRECTORY / "postgresql" / "data" / "pg_wal"
    return b"".join(path.read_bytes() for path in sorted(directory.iterdir()) if path.is_file())


def process_id(name):
    """The process ID of a process of the stack; of several coordinators the first one's."""
    return int((DIRECTORY / "pid" / f"{processes(name)[0]}.pid").read_text().split()[0])
