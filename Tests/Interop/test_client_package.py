"""A Swift package that depends on the product `CountersignClient`, and on nothing else of Countersign, verifies a number."""

import os
import pathlib
import subprocess
import time
import unittest

import simulator
from process import free_port
from samples import new_number
from test_verification import APP

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "Tests" / "ClientPackage"
# Kept between runs: only the first one builds everything.
SCRATCH = ROOT / ".run" / "client-package"
BUILD_SECONDS = 1800
RUN_SECONDS = 180


def swift_build(*arguments):
    return subprocess.run(
        ["swift", "build", "--package-path", PACKAGE, "--scratch-path", SCRATCH, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=BUILD_SECONDS,
    )


class ClientPackageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        begin = time.monotonic()
        build = swift_build("--explicit-target-dependency-import-check", "error")
        if build.returncode != 0:
            raise AssertionError(f"the package does not build:\n{build.stdout}")
        print(f"Tests/ClientPackage built in {time.monotonic() - begin:.0f} s", flush=True)
        cls.program = pathlib.Path(swift_build("--show-bin-path").stdout.strip()) / "VerifyNumber"

    def run_program(self, *arguments, **variables):
        return subprocess.run(
            [self.program, *arguments],
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            timeout=RUN_SECONDS,
        )

    def test_a_number_is_verified(self):
        number = new_number("+49160")
        run = self.run_program(number)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertRegex(run.stdout, r"(?m)^wrong code: [1-9][0-9]* attempts left$")
        self.assertRegex(run.stdout, rf"(?m)^approved: \+{number[1:]} for {APP} at 20[-0-9]+T[.:0-9]+Z$")
        code = simulator.code(simulator.message(number)["body"])
        self.assertNotIn(code, run.stdout + run.stderr)

    def test_a_refusal_is_an_error_with_its_code(self):
        run = self.run_program("+4930")
        self.assertEqual(run.returncode, 1, run.stdout)
        self.assertIn("INVALID_PHONE_NUMBER", run.stderr)

    def test_a_broker_that_is_not_there_is_an_error(self):
        run = self.run_program(new_number("+49160"), COUNTERSIGN_AMQP_URL=f"amqp://service:x@127.0.0.1:{free_port()}/")
        self.assertEqual(run.returncode, 1, run.stdout)
        self.assertIn("no answer to verification.start in time", run.stderr)
        self.assertIn("(may succeed later)", run.stderr)
