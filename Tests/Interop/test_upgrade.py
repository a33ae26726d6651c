"""A version with one step more of its tables takes the place of this one, while verifications and sign-ins go on: none is lost.

On PostgreSQL old and new processes work side by side on the tables of the new version. On SQLite the old process stops, the new one
starts, and commands wait in the broker. COUNTERSIGN_PLANTED_STEP has a debug build be the new version.
"""

import os
import sqlite3
import time
import unittest

import stack
from fleet import ACCOUNTS_DATABASE, FleetTest, SignIns
from gateway_front import Front
from load import Load
from postgresql import DATABASE, SECRETS, Restarting, size
from process import countersign
from waiting import eventually

RATE = int(os.environ.get("COUNTERSIGN_LOAD_RATE", size(20, 60)))
# Longer than all steps take.
LOAD_SECONDS = 900
# How long old and new processes work side by side, and a new one alone.
CALM_SECONDS = size(3, 20)
# Verifications and sign-ins before the first step.
FIRST = 20
CONFIGURATION = 78
NEW = {"COUNTERSIGN_PLANTED_STEP": "1"}


def renew(process):
    process.variables |= NEW


def load():
    return Load(RATE * LOAD_SECONDS, RATE, limit_seconds=LOAD_SECONDS + 120)


class PostgreSQLTest(FleetTest):
    def columns(self, database):
        return self.cluster.sql(
            "SELECT count(*) FROM information_schema.columns WHERE column_name = 'planted'", database)

    def add_to_the_tables(self):
        for options, database in [([], DATABASE), (["--for-accounts"], ACCOUNTS_DATABASE)]:
            done = countersign(
                "store", "create", *options, "--url", f"postgresql://postgres@127.0.0.1:{self.cluster.port}/{database}",
                "--password-file", SECRETS / "postgresql-postgres", env=os.environ | NEW)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertEqual(self.columns(database), "1")

    def refuse_the_new_one(self):
        """Before its tables are there, a new process changes nothing, and says what to run."""
        process = self.process("coordinator", "database", "coordinator")
        renew(process)
        code, lines = process.start().end()
        self.assertEqual(code, CONFIGURATION)
        self.assertIn("have version 1, and this program needs 2: run 'countersign store create'", "\n".join(lines))

    def test_old_and_new_work_side_by_side(self):
        self.begin(load())
        eventually("the load has begun", lambda: self.load.approved > FIRST and self.sign_ins.done > 0)
        self.refuse_the_new_one()
        self.load.mark("countersign store create of the new version")
        self.add_to_the_tables()
        # A lost session has the old ones begin anew, on the tables of the new version.
        self.load.mark("connections to the database are lost")
        self.assertGreater(self.cluster.end_connections(), 0)
        self.step("the old version once more", [self.coordinators[1], self.accounts[1]], lambda _: None)
        self.step("the new version", [self.coordinators[0], self.accounts[0]], renew)
        time.sleep(CALM_SECONDS)
        self.step("the new version", [self.coordinators[1], self.accounts[1], *self.workers, *self.gateways], renew)
        time.sleep(CALM_SECONDS)
        self.end()
        for pause in self.load.pauses():
            print("  {0}: {1:.2f} s without a reply".format(*pause), flush=True)


class SQLiteTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        stack.require_all_ready()
        # The gateway starts last, and gets the keys of the stack's accounts again.
        stack.stop_for_class(cls, "gateway", "coordinator", "accounts")

    def version(self, process):
        path = process.file.parent.parent / "data" / f"{process.name}.sqlite"
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30) as database:
            return database.execute("PRAGMA user_version").fetchone()[0]

    def test_commands_wait_while_the_new_one_takes_the_place_of_the_old_one(self):
        unknown = stack.ledger_unknown_calls()
        processes = [self.enterContext(Restarting(name)) for name in ["coordinator", "accounts"]]
        gateway = self.enterContext(Restarting("gateway"))
        for process in [*processes, gateway]:
            process.start().ready()
        front = self.enterContext(Front(gateway.listen_port))
        verifications = load().start()
        sign_ins = SignIns(f"https://localhost:{front.port}").start()
        for process in processes:
            done = sign_ins.done
            eventually("the load goes on", lambda: verifications.approved > FIRST and sign_ins.done > done + 2)
            self.assertEqual(self.version(process), 1)
            verifications.mark(f"the new version of {process.name}")
            self.assertEqual(process.stop(), 0, process.output())
            renew(process)
            process.start().ready()
            self.assertEqual(self.version(process), 2)
            time.sleep(CALM_SECONDS)
        sign_ins.end()
        verifications.end_soon()
        verifications.wait()
        print(f"  {sign_ins.done} sign-ins, {sign_ins.again} calls made again", flush=True)
        self.assertEqual(sign_ins.lost, [])
        verifications.verify(self, stack.ledger_unknown_calls() - unknown)
        # There is no way back but the backup.
        for process in processes:
            self.assertEqual(process.stop(), 0)
            process.variables.clear()
            code, lines = process.start().end()
            self.assertEqual(code, CONFIGURATION, lines[-1:])
            self.assertIn("has schema version 2, this program knows 1", "\n".join(lines))
