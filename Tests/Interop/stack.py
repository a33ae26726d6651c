"""The stack under test: its processes, its broker, its ledger. deploy/lib/stack-ctl does the work."""

import os
import pathlib
import sqlite3
import subprocess
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
DIRECTORY = pathlib.Path(os.environ["COUNTERSIGN_STACK"])


def _control(*arguments):
    done = subprocess.run(
        [ROOT / "deploy/lib/stack-ctl", *arguments],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=180, check=False)
    if done.returncode:
        raise RuntimeError(f"stack-ctl {' '.join(arguments)}: {done.stdout}{done.stderr}")


def kill(name):
    """Ends a process as a crash does."""
    _control("kill", name)


def stop(name):
    """Asks a process to stop, and waits until it has."""
    _control("stop", name)


def start(name):
    """Starts a process and waits until it is ready."""
    _control("start", name)


def restart_broker():
    """Stops the broker in order and starts it again."""
    _control("restart-broker")


def require_all_ready(timeout=60):
    """Waits until every process of the stack answers that it is ready."""
    urls = [os.environ["COUNTERSIGN_COORDINATOR_URL"], os.environ["COUNTERSIGN_SIMULATOR_URL"]]
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
    path = DIRECTORY / "data" / "sms-ledger.sqlite"
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10) as database:
        return database.execute("SELECT COALESCE(SUM(unknown_calls), 0) FROM job").fetchone()[0]


def process_id(name):
    """The process ID of a process of the stack."""
    return int((DIRECTORY / "pid" / f"{name}.pid").read_text().split()[0])
