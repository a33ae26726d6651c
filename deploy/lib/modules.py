#!/usr/bin/env python3
"""Runs modules of tests side by side, one at a time on each runner, those that took longest before first."""

import argparse
import asyncio
import math
import os
import pathlib
import re
import signal
import sys
import time

# Time for the clean-up of a module that is interrupted.
INTERRUPT_SECONDS = 30
RAN = re.compile(r"^Ran (\d+) tests? in ", re.MULTILINE)
SKIPPED = re.compile(r"^(?:OK|FAILED) \(.*skipped=(\d+)", re.MULTILINE)
# What unittest prints before the first failure.
RULE = "=" * 70


def known_seconds(path):
    """The seconds that modules took before, by their names: a name and a figure a line."""
    lines = [line.split() for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return {name: float(seconds) for name, seconds in lines}


def longest_first(names, seconds):
    """The order of the start. A module without a figure may be the longest."""
    return sorted(names, key=lambda name: -seconds.get(name, math.inf))


class Result:
    """How a module ended: its exit status and what its log says."""

    def __init__(self, name, status, seconds, log):
        self.name, self.status, self.seconds = name, status, seconds
        self.text = log.read_text(errors="replace")
        self.tests = sum(map(int, RAN.findall(self.text)))
        self.skipped = sum(map(int, SKIPPED.findall(self.text)))

    def line(self):
        figures = f"{self.tests:4d} tests {self.seconds:6.0f} s  {self.name}"
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        return figures + skipped + (f": FAILED, exit status {self.status}" if self.status else "")

    def failures(self):
        """All that it says of its failures; the end of its log where it broke off before it could."""
        _, rule, rest = self.text.partition(RULE)
        return rule + rest if rule else self.text[-4000:]


async def end(process):
    """Interrupts a module with all that it started, and kills what has not ended then."""
    for number in [signal.SIGINT, signal.SIGKILL]:
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            return
        try:
            await asyncio.wait_for(process.wait(), INTERRUPT_SECONDS)
        except asyncio.TimeoutError:
            pass


async def run(runner, name, directory, limit):
    """Runs a module to its end."""
    log, begin = directory / f"{name}.log", time.monotonic()
    with open(log, "wb") as output:
        process = await asyncio.create_subprocess_exec(
            runner, name, stdin=asyncio.subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True)
        try:
            await asyncio.wait_for(process.wait(), limit)
        except asyncio.TimeoutError:
            await end(process)
            output.seek(0, os.SEEK_END)
            output.write(f"\n{RULE}\n{name} took longer than {limit} s and was killed\n".encode())
        finally:
            if process.returncode is None:
                await end(process)
    return Result(name, process.returncode, time.monotonic() - begin, log)


async def run_all(names, runners, directory, limit):
    """Runs all modules, and tells of each as it ends: the results."""
    waiting, results = list(names), []

    async def serve(runner):
        while waiting:
            result = await run(runner, waiting.pop(0), directory, limit)
            results.append(result)
            print(f"    {result.line()}", flush=True)

    tasks = [asyncio.create_task(serve(runner)) for runner in runners]
    for number in [signal.SIGINT, signal.SIGTERM]:
        asyncio.get_running_loop().add_signal_handler(number, lambda: [task.cancel() for task in tasks])
    await asyncio.gather(*tasks)
    return results


def report(results, directory):
    """Prints the failures, and writes what deploy/test reads: `failed`, `skipped`, `tests` and `seconds.txt`."""
    failed = [result for result in results if result.status]
    for result in failed:
        print(f"\n--- {result.name}, {directory / result.name}.log\n{result.failures()}", flush=True)
    (directory / "failed").write_text("".join(f"{result.name}\n" for result in failed))
    (directory / "skipped").write_text(f"{sum(result.skipped for result in results)}\n")
    (directory / "tests").write_text(f"{sum(result.tests for result in results)}\n")
    ordered = sorted(results, key=lambda result: -result.seconds)
    (directory / "seconds.txt").write_text("".join(f"{one.name} {one.seconds:.0f}\n" for one in ordered))
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--log", type=pathlib.Path, required=True, help="directory of the logs and the results")
    parser.add_argument("--seconds", type=pathlib.Path, required=True, help="file of the seconds that modules took before")
    parser.add_argument("--limit", type=int, required=True, help="seconds after which a module is killed")
    parser.add_argument("modules", type=pathlib.Path, help="file with the names of the modules, one a line")
    parser.add_argument("runner", nargs="+", help="program that runs the module that it is called with")
    options = parser.parse_args()
    names = longest_first(options.modules.read_text().split(), known_seconds(options.seconds))
    try:
        results = asyncio.run(run_all(names, options.runner, options.log, options.limit))
    except asyncio.CancelledError:
        return 130
    return report(results, options.log)


if __name__ == "__main__":
    sys.exit(main())
