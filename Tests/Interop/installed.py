"""A machine for deploy/install and packages: a mount namespace whose /etc, /usr and /var are copies on write."""

import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile

import stack
from process import BINARIES

OVERLAID = ["etc", "usr", "var"]
UNITS = "usr/local/lib/systemd/system"
END_SECONDS = 60
# This machine's systemd, whose sockets are in /run, must not hear of it.
SETUP = """
set -e
mount -t tmpfs tmpfs "$0"
for part in "$@"; do
  mkdir -p "$0/upper/$part" "$0/work/$part"
  mount -t overlay overlay -o "lowerdir=/$part,upperdir=$0/upper/$part,workdir=$0/work/$part" "/$part"
done
mount -t tmpfs tmpfs /run
echo ready
exec sleep infinity
"""


class Machine:
    """Ends, with all that was installed and started, at the end of a test class."""

    def __init__(self, tests):
        directory = tempfile.TemporaryDirectory(prefix="countersign-")
        tests.addClassCleanup(directory.cleanup)
        self.holder = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "bash", "-c", SETUP, directory.name, *OVERLAID],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        tests.addClassCleanup(self._end)
        if self.holder.stdout.readline() != "ready\n":
            raise RuntimeError("there is no namespace")
        self.root = pathlib.Path(f"/proc/{self.holder.pid}/root")

    def _end(self):
        self.holder.kill()
        self.holder.wait()
        self.holder.stdout.close()

    def command(self, *arguments):
        return ["nsenter", f"--target={self.holder.pid}", "--mount", "--", *map(str, arguments)]

    def run(self, *arguments):
        done = subprocess.run(
            self.command(*arguments), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=180, check=False)
        return done.returncode, done.stdout + done.stderr

    def install(self, *arguments):
        return self.run("env", f"COUNTERSIGN_PROGRAMS={BINARIES}", stack.ROOT / "deploy/install", *arguments)

    def path(self, path):
        return self.root / path.lstrip("/")

    def replace(self, path, pattern, text):
        """Changes a file; the pattern must be there."""
        file = self.path(path)
        changed, count = re.subn(pattern, lambda _: text, file.read_text(), count=1)
        if count != 1:
            raise ValueError(f"{path} has no {pattern}")
        file.write_text(changed)

    def pretend_systemd(self):
        """Lets deploy/install find systemd: a systemctl that makes links as the real one does, notes what else it is asked, and has
        nothing loaded to stop."""
        self.path("/run/systemd/system").mkdir(parents=True)
        stub = self.path("/usr/local/bin/systemctl")
        stub.write_text(f"""#!/bin/sh
echo "$*" >>/run/asked
case " $* " in *" enable "*) exec {shutil.which("systemctl")} --root=/ "$@" ;; *" stop "*) exit 5 ;; esac
""")
        stub.chmod(0o755)

    def secret(self, name, text, process):
        path = f"/etc/countersign/secrets/{name}"
        self.path(path).write_text(text)
        self.path(path).chmod(0o600)
        self.run("chown", f"countersign-{process}:", path)

    def start(self, tests, name, log):
        """Starts the program of a unit as systemd would: its user, variables, state directory, copy of the keys. Returns its end."""
        unit, _, instance = name.partition("@")
        text = self.path(f"{UNITS}/countersign-{unit}{'@' if instance else ''}.service").read_text()
        lines = [line.replace("%i", instance).partition("=") for line in text.splitlines() if not line.startswith("#")]
        values = {key: value for key, _, value in lines}
        user, credentials = values["User"], f"/etc/credentials-{name}"
        copied = values["LoadCredential"].removeprefix("keys.json:")
        for command in [["install", "-d", "-o", user, "-m", "500", credentials],
                        ["install", "-o", user, "-m", "400", copied, f"{credentials}/keys.json"]]:
            code, said = self.run(*command)
            if code:
                raise RuntimeError(said)
        variables = [value.replace("%d", credentials) for key, _, value in lines if key == "Environment"]
        file = self.path(values["EnvironmentFile"].lstrip("-"))
        variables += file.read_text().split() if file.exists() else []
        variables.append(f"STATE_DIRECTORY=/var/lib/{values['StateDirectory']}")
        with open(log, "wb") as output:
            started = subprocess.Popen(
                self.command("setpriv", f"--reuid={user}", f"--regid={values['Group']}", "--init-groups", "--",
                             "env", "-i", *variables, *shlex.split(values["ExecStart"])),
                stdin=subprocess.DEVNULL, stdout=output, stderr=output)

        def end():
            started.terminate()
            return started.wait(timeout=END_SECONDS)

        tests.addClassCleanup(end)
        return end
