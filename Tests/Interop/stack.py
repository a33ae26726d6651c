"""The stack under test: its processes, its broker, its ledger. deploy/lib/stack-ctl does the work."""

import contextlib
import os
import pathlib
import signal
import sqlite3
import subprocess
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
DIRECTORY = pathlib.Path(os.environ["COUNTERSIGN_STACK"])
# Whether the stack is on PostgreSQL, with two coordinators, which are one to most tests.
IS_POSTGRESQL = os.environ.get("COUNTERSIGN_STORE") == "postgresql"
# The databases of a stack on PostgreSQL, by the processes that they belong to.
DATABASES = {"coordinator": "countersign", "accounts": "countersign_accounts", "webhooks": "countersign_webhooks"}
# Processes of which there are two on PostgreSQL.
RUN_TWICE = {"coordinator", "accounts", "gateway", "webhook-worker"}
# Longer than the scripts' own limits for a stop and a start, of which theirs is the better message.
CONTROL_SECONDS = 300
READY_SECONDS = 180


def processes(name):
    """The names that a process has here: of those on PostgreSQL, and of the gateway, there may be two."""
    return [f"{name}-1", f"{name}-2"] if IS_POSTGRESQL and name in RUN_TWICE else [name]


def _control(*arguments):
    done = subprocess.run(
        [ROOT / "deploy/lib/stack-ctl", *arguments],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=CONTROL_SECONDS, check=False)
    if done.returncode:
        raise RuntimeError(f"stack-ctl {' '.join(arguments)}: {done.stdout}{done.stderr}")


def kill(name):
    for one in processes(name):
        _control("kill", one)


def stop(name):
    for one in processes(name):
        _control("stop", one)


def stop_for(test, *names):
    for name in names:
        test.addCleanup(start, name)
    for name in names:
        stop(name)


def stop_for_class(tests, *names):
    for name in names:
        tests.addClassCleanup(start, name)
    for name in names:
        stop(name)


def start(name):
    for one in processes(name):
        _control("start", one)


@contextlib.contextmanager
def hanging(name):
    """A process that hangs for the length of a `with` block: it is there, and does nothing."""
    found = [int((DIRECTORY / "pid" / f"{one}.pid").read_text().split()[0]) for one in processes(name)]
    for one in found:
        os.kill(one, signal.SIGSTOP)
    try:
        yield
    finally:
        for one in found:
            os.kill(one, signal.SIGCONT)


def restart_broker():
    _control("restart-broker")


def configure_front(directory, port, gateways):
    """Writes the configuration of an nginx before gateways, given by their ports, with the limits that ship."""
    _control("gateway-front", str(directory), str(port), *map(str, gateways))


def coordinator_urls():
    return os.environ.get("COUNTERSIGN_COORDINATOR_URLS", os.environ["COUNTERSIGN_COORDINATOR_URL"]).split(",")


def accounts_urls():
    return os.environ["COUNTERSIGN_ACCOUNTS_URLS"].split(",")


def gateway_urls():
    return os.environ["COUNTERSIGN_GATEWAY_URLS"].split(",")


def gateway_health_urls():
    return os.environ["COUNTERSIGN_GATEWAY_HEALTH_URLS"].split(",")


def require_all_ready(timeout=READY_SECONDS):
    urls = [*coordinator_urls(), *accounts_urls(), *gateway_health_urls(), os.environ["COUNTERSIGN_SIMULATOR_URL"]]
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


def ledger_unknown_calls(of="sms"):
    """How many calls of a provider began and nobody knows how they ended. On PostgreSQL of all workers."""
    if IS_POSTGRESQL:
        return int(sql("SELECT COALESCE(SUM(unknown_calls), 0) FROM countersign.ledger_job"))
    path = DIRECTORY / "data" / f"{of}-ledger.sqlite"
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30) as database:
        return database.execute("SELECT COALESCE(SUM(unknown_calls), 0) FROM job").fetchone()[0]


def records(kind, of="coordinator"):
    query = f"SELECT count(*) FROM {{}}store_record WHERE kind = '{kind}'"
    if IS_POSTGRESQL:
        return int(sql(query.format("countersign."), DATABASES[of]))
    with sqlite3.connect(f"file:{DIRECTORY / 'data' / of}.sqlite?mode=ro", uri=True, timeout=30) as database:
        return database.execute(query.format("")).fetchone()[0]


def sql(statements, database="countersign"):
    done = subprocess.run(
        [ROOT / "deploy/lib/stack-ctl", "sql", database], input=statements, capture_output=True, text=True, timeout=180,
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
