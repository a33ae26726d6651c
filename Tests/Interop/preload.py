"""Libraries that stand between a process and its system: another clock, a full disk, slow names."""

import pathlib
import shutil
import subprocess
import tempfile


def library(add_cleanup, name):
    """A library of this folder that any user may load, until the cleanup of a test or of its class: its path."""
    directory = tempfile.TemporaryDirectory(prefix="countersign-")
    add_cleanup(directory.cleanup)
    pathlib.Path(directory.name).chmod(0o755)
    built = pathlib.Path(directory.name) / f"{name}.so"
    compiler = next(filter(None, map(shutil.which, ["cc", "gcc", "clang"])))
    source = pathlib.Path(__file__).with_name(f"{name}.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", built, source, "-ldl"], check=True, timeout=180)
    built.chmod(0o755)
    return str(built)


class Clock:
    """A clock that can be set, for a process that loads it."""

    def __init__(self, test, loaded, seconds=0):
        directory = pathlib.Path(test.enterContext(tempfile.TemporaryDirectory(prefix="countersign-clock-")))
        # A server of databases has another user.
        directory.chmod(0o755)
        self.file = directory / "step"
        self.variables = {"LD_PRELOAD": loaded, "CLOCK_STEP_FILE": str(self.file)}
        self.set(seconds)

    def set(self, seconds):
        """Sets it so far off; in one go, since it is read all the time."""
        new = self.file.with_suffix(".new")
        new.write_text(str(seconds))
        new.chmod(0o644)
        new.rename(self.file)
