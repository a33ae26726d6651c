"""An import and an export of many users: the time that they take, and the memory that each process takes.

1,000,000 users in ten minutes on four cores are promised, and less than 256 MiB in every process: `deploy/test --users 1000000` measures
both on release builds.
"""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import time
import unittest

import account_files
import stack
from gateway_client import PROJECT
from process import BINARIES, Process

USERS = int(os.environ.get("COUNTERSIGN_TEST_USERS", "15000"))
MAX_MEBIBYTES = 256
# A command that is slower is given up.
MIN_PER_SECOND, START_SECONDS = 100, 60
LOOK_SECONDS = 0.2
MEMORY = re.compile(r"^VmHWM:\s+(\d+) kB$", re.MULTILINE)


def peak_memory(process_id):
    """The most memory that a process has had so far, in MiB; 0 of one that has ended."""
    found = MEMORY.search(pathlib.Path(f"/proc/{process_id}/status").read_text())
    return int(found.group(1)) / 1024 if found else 0


class ScaleTest(unittest.TestCase):
    """On accounts of its own, whose store is empty and goes with it."""

    def setUp(self):
        # The gateway is to have the keys of the stack's accounts again.
        stack.stop_for(self, "accounts", "gateway")
        directory = tempfile.TemporaryDirectory(prefix="countersign-")
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        self.accounts = Process("accounts")
        self.addCleanup(self.accounts.__exit__)
        self.accounts.start().ready()

    def measured(self, act, name, *options):
        """The answer of `countersign account`, whose time and memory are told and compared."""
        command = [BINARIES / "countersign", "--json", "account", act, self.directory / name, "--project", PROJECT, *options]
        begun, memory = time.monotonic(), 0
        with open(self.directory / "said", "w+") as said, subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said, text=True, cwd="/") as running:
            try:
                while running.poll() is None:
                    memory = max(memory, peak_memory(running.pid))
                    self.assertLess(time.monotonic() - begun, START_SECONDS + USERS / MIN_PER_SECOND, f"the {act} takes too long")
                    time.sleep(LOOK_SECONDS)
            finally:
                running.kill()
            answer = running.stdout.read()
            said.seek(0)
            self.assertEqual(running.returncode, 0, said.read()[-4000:])
        rate = USERS / (time.monotonic() - begun)
        memories = {"command line": memory, "accounts": peak_memory(self.accounts.running.pid)}
        print(f"\n  {USERS} users, {act} on {os.environ.get('COUNTERSIGN_STORE', 'sqlite')}: {rate:.0f} a second, 1,000,000 in "
              f"{1e6 / rate / 60:.1f} minutes; {', '.join(f'{of} {most:.0f} MiB' for of, most in memories.items())}", flush=True)
        for of, most in memories.items():
            self.assertTrue(0 < most < MAX_MEBIBYTES, f"{of} took {most:.0f} MiB in the {act}")
        return json.loads(answer)

    def test_users_come_in_and_go_out(self):
        account_files.write(self.directory / "in.json", "scale", USERS)
        self.assertEqual(self.measured("import", "in.json", *account_files.HASH_OPTIONS), {"imported": USERS, "refused": 0})
        self.assertEqual(self.measured("export", "out.json")["exported"], USERS)
