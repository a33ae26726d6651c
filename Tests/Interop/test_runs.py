"""deploy/lib/modules.py, which spreads these modules over stacks, and what deploy/test decides with it."""

import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

from waiting import eventually

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PROGRAM = ROOT / "deploy/lib/modules.py"
PATIENCE_SECONDS = 120

BAD = """
import unittest
class BadTest(unittest.TestCase):
    def test_a(self): self.assertEqual(1, 2, "one is not two")
    def test_b(self): pass
"""
SKIPS = """
import unittest
class SkipTest(unittest.TestCase):
    @unittest.skip("no")
    def test_a(self): pass
    def test_b(self): pass
"""


def start(command, **variables):
    names = ["common", "packages", "broker", "postgresql", "front", "mail", "stack", "tests"]
    sources = "; ".join(f'source "$0/deploy/lib/{name}.sh"' for name in names)
    return subprocess.Popen(
        ["bash", "-c", f"{sources}; {command}", ROOT], env={"PATH": "/usr/bin:/bin", **variables}, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def script(command, **variables):
    with start(command, **variables) as running:
        output, errors = running.communicate(timeout=PATIENCE_SECONDS)
    return subprocess.CompletedProcess(command, running.returncode, output, errors)


def is_running(pid):
    """Whether a process has not ended; in a container, one that has may stay as a zombie."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def assert_gone(pid):
    eventually(f"process {pid} ends", lambda: not is_running(pid), PATIENCE_SECONDS)


class ModulesTest(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="countersign-")))
        self.log = self.directory / "log"
        self.log.mkdir()

    def runner(self, command, name="runner"):
        path = self.directory / name
        path.write_text(f"#!/bin/sh\ncd '{self.directory}' || exit\n{command}\n")
        path.chmod(0o755)
        return path

    def start(self, names, *runners, seconds="", limit=PATIENCE_SECONDS):
        modules, known = self.directory / "modules", self.directory / "known"
        modules.write_text("".join(f"{name}\n" for name in names))
        known.write_text(seconds)
        running = subprocess.Popen(
            [sys.executable, PROGRAM, "--log", self.log, "--seconds", known, "--limit", str(limit), modules, *runners],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(running.stdout.close)
        self.addCleanup(running.kill)
        return running

    def end(self, running):
        output, _ = running.communicate(timeout=PATIENCE_SECONDS)
        return running.returncode, output

    def said(self, name):
        return (self.log / name).read_text().split()

    def test_the_longest_begin_and_those_that_nobody_has_measured(self):
        runner = self.runner('echo "$1" >>order')
        status, output = self.end(self.start(
            ["short", "new", "long"], runner, seconds="# seconds\nshort 1\nlong 100\ngone 1000\n"))
        self.assertEqual(status, 0, output)
        self.assertEqual((self.directory / "order").read_text().split(), ["new", "long", "short"])
        self.assertEqual(self.said("failed"), [])
        self.assertEqual(sorted(self.said("seconds.txt")[::2]), ["long", "new", "short"])

    def test_modules_run_side_by_side_and_one_at_a_time_on_a_runner(self):
        # Each waits for the other, on another runner.
        wait = 'mkdir {0} || exit 3\ntouch "$1"\nuntil [ -e a ] && [ -e b ]; do sleep 0.05; done\nrmdir {0}'
        runners = [self.runner(wait.format(f"busy-{name}"), name) for name in ["one", "two"]]
        status, output = self.end(self.start(["a", "b", "c", "d"], *runners))
        self.assertEqual(status, 0, output)

    def test_a_failure_is_told_in_full_at_the_end(self):
        (self.directory / "test_bad.py").write_text(BAD)
        (self.directory / "test_skips.py").write_text(SKIPS)
        runner = self.runner(f'exec {sys.executable} -m unittest -v "$1"')
        status, output = self.end(self.start(["test_bad", "test_skips"], runner, seconds="test_bad 9\n"))
        self.assertEqual(status, 1, output)
        self.assertEqual(self.said("failed"), ["test_bad"])
        self.assertEqual(self.said("skipped"), ["1"])
        self.assertEqual(self.said("tests"), ["4"])
        lines = output.splitlines()
        self.assertRegex(lines[0], r"2 tests .* test_skips, 1 skipped$")
        self.assertRegex(lines[1], r"2 tests .* test_bad: FAILED, exit status 1$")
        report = output.partition("--- test_bad")[2]
        self.assertIn("FAIL: test_a", report)
        self.assertIn("one is not two", report)
        self.assertIn(str(self.log / "test_bad.log"), report)

    def test_a_module_that_does_not_end_is_killed_with_all_that_it_started(self):
        runner = self.runner("sleep 1000 &\necho $! >child\nwait\nwait")
        status, output = self.end(self.start(["stuck", "next"], runner, self.runner("exit", "other"), limit=1))
        self.assertEqual(status, 1, output)
        self.assertEqual(self.said("failed"), ["stuck"])
        self.assertIn("stuck took longer than 1 s and was killed", output)
        assert_gone((self.directory / "child").read_text().strip())

    def test_a_run_that_is_interrupted_ends_its_modules(self):
        running = self.start(["a", "b"], self.runner("sleep 1000 &\necho $! >child.new\nmv child.new child\nwait"))
        child = self.directory / "child"
        eventually("it has begun", child.exists, PATIENCE_SECONDS)
        running.send_signal(signal.SIGTERM)
        status, output = self.end(running)
        self.assertEqual(status, 130, output)
        self.assertFalse((self.log / "b.log").exists(), "the next one has begun")
        assert_gone(child.read_text().strip())


class ScriptTest(unittest.TestCase):
    def test_the_stacks_fit_the_machine_or_are_asked_for(self):
        self.assertIn(int(script("tests_stacks").stdout), range(1, 5))
        self.assertEqual(script("tests_stacks", COUNTERSIGN_TEST_STACKS="9").stdout.strip(), "9")
        refused = script("tests_stacks", COUNTERSIGN_TEST_STACKS="0")
        self.assertEqual(refused.returncode, 1)
        self.assertIn("COUNTERSIGN_TEST_STACKS", refused.stderr)
        self.assertIn(script("nproc() { echo 1; }; tests_stacks").stdout.strip(), ["1", "2"])

    def test_ports_are_free_ones_in_a_row(self):
        free = 'port_open() {{ (($1 == 5830 || $1 == {})); }}; tests_port_base 64'
        self.assertEqual(script(free.format(6000)).stdout.strip(), "5858")
        self.assertEqual(script(free.format(5900)).stdout.strip(), "5926")
        self.assertEqual(script(free.format(0), COUNTERSIGN_TEST_PORT_BASE="7000").stdout.strip(), "7000")
        full = script("port_open() { return 0; }; tests_port_base 32")
        self.assertEqual(full.returncode, 1)
        self.assertIn("COUNTERSIGN_TEST_PORT_BASE", full.stderr)

    def test_an_interrupted_run_ends_what_runs_beside_it(self):
        self.interrupt()

    def test_a_run_that_is_interrupted_before_it_has_noted_what_it_began_ends_it(self):
        self.interrupt('set() { builtin set "$@"; [[ $1 != +m ]] || sleep 0.5; }; ')

    def interrupt(self, delay=""):
        with tempfile.TemporaryDirectory(prefix="countersign-") as directory:
            (pathlib.Path(directory) / "log").mkdir()
            # Leftovers are those of this working copy, and this test is not alone in it.
            command = (delay + 'tests_kill_leftovers() { :; }; work() { sleep 1000 & echo $!; wait; }; trap tests_interrupted EXIT; '
                       'tests_beside work; wait "${TEST_BESIDE[-1]}"')
            with start(command, TEST_RUN=directory) as running:
                child = running.stdout.readline().strip()
                self.assertTrue(is_running(child))
                running.terminate()
                running.communicate(timeout=PATIENCE_SECONDS)
            self.assertEqual(running.returncode, 130)
            assert_gone(child)

    def test_all_that_has_a_figure_is_a_module(self):
        modules = set(script("COUNTERSIGN_TEST_ALL=1; tests_interop_modules sqlite").stdout.split())
        self.assertEqual(modules, {path.stem for path in HERE.glob("test_*.py")})
        lines = (HERE / "seconds.txt").read_text().splitlines()
        self.assertLessEqual({line.split()[0] for line in lines if not line.startswith("#")}, modules)
