"""deploy/install on a machine of its own: what it puts where and whose it is, what it never touches, and that it works."""

import contextlib
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest
import urllib.request

import process
import simulator
import stack
from countersign_client import Client, Refused
from installed import UNITS, Machine
from samples import new_number
from waiting import eventually

INSTALLED = ["coordinator", "sms-worker", "accounts", "gateway"]
ETC = "/etc/countersign"
SECRETS = f"{ETC}/secrets"
APP = "com.example.installed"
ROOTS = ["etc", "usr/local", "var/lib/countersign", *(f"var/lib/countersign-{name}" for name in INSTALLED)]
# Complaints of lintian about the packages of a test: a maintainer of nowhere, and the way of debug builds to the libraries of Swift.
LINTIAN_EXPECTS = ["bogus-mail-host", "bogus-mail-host-in-debian-changelog", "custom-library-search-path"]
ONLY_ROOT = unittest.skipUnless(os.geteuid() == 0, "only root installs")


def files(machine):
    """All files of the places that are installed to, with owner, mode, time and content."""
    found = {}
    for path in [path for root in ROOTS for path in machine.path(root).rglob("*")]:
        status = path.lstat()
        content = hashlib.sha256(path.read_bytes()).digest() if path.is_file() else b""
        name = str(path.relative_to(machine.root))
        found[name] = (status.st_mode, status.st_uid, status.st_gid, status.st_mtime_ns, content)
    return found


@ONLY_ROOT
class FilesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.machine = Machine(cls)
        cls.before = files(cls.machine)
        cls.dry = cls.machine.install("--dry-run", *INSTALLED)
        cls.after_dry = files(cls.machine)
        cls.code, cls.said = cls.machine.install(*INSTALLED)
        if cls.code:
            raise RuntimeError(cls.said)

    def owned(self, *paths):
        return self.machine.run("stat", "-c", "%a %U:%G", *paths)[1].splitlines()

    def test_a_dry_run_names_all_and_changes_nothing(self):
        code, said = self.dry
        self.assertEqual(code, 0, said)
        self.assertEqual(self.before, self.after_dry)
        done = [line for line in self.said.splitlines() if re.match(r" {4}(file|configuration|secret) ", line)]
        self.assertGreater(len(done), 50)
        for line in done:
            self.assertIn(line, said)

    def test_owners_and_modes(self):
        self.assertEqual(
            self.owned(ETC, SECRETS, f"{ETC}/projects", f"{ETC}/coordinator.json5", "/usr/local/bin/coordinator"),
            ["755 root:root", "711 root:root", "2750 root:countersign-projects", "640 root:countersign-coordinator",
             "755 root:root"])
        self.assertEqual(
            self.owned(f"{SECRETS}/keys.json", f"{SECRETS}/gateway-keys.json"), ["600 root:root", "600 root:root"])
        for name in ["accounts.pepper", "accounts.tokens.json", "accounts.sealing.json", "coordinator.pepper"]:
            user = "countersign-" + name.partition(".")[0]
            self.assertEqual(self.owned(f"{SECRETS}/{name}"), [f"600 {user}:{user}"])
        for name in INSTALLED:
            user = f"countersign-{name}"
            self.assertEqual(self.owned(f"/var/lib/{user}"), [f"750 {user}:{user}"])
            groups = self.machine.run("id", "-nG", user)[1].split()
            self.assertEqual("countersign-projects" in groups, name != "sms-worker", name)

    def test_only_what_is_asked_for(self):
        units = {path.name for path in self.machine.path(UNITS).iterdir()}
        self.assertEqual(units, {
            "countersign.target", "countersign-coordinator.service", "countersign-accounts.service",
            "countersign-sms-worker@.service", "countersign-gateway@.service"})
        for name in ["push-worker", "mail-worker", "revocation-worker", "webhook-worker"]:
            self.assertFalse(self.machine.path(f"{ETC}/{name}.json5").exists())
            self.assertFalse(self.machine.path(f"/usr/local/bin/{name}").exists())

    def test_the_pages_that_units_name_are_there(self):
        for unit in self.machine.path(UNITS).glob("*.service"):
            page = re.search(r"^Documentation=file://(.*)$", unit.read_text(), re.MULTILINE).group(1)
            self.assertTrue(self.machine.path(page).is_file(), page)

    def test_it_says_what_is_left(self):
        self.assertIn("systemd does not run here", self.said)
        for name in INSTALLED:
            self.assertIn(f"rabbitmqctl change_password {name} ", self.said)
        self.assertIn("lanes.0.passwordFile: /etc/countersign/secrets/twilio.password does not exist", self.said)
        self.assertNotIn("configuration is right", self.said)

    def test_a_second_run_changes_nothing(self):
        before = files(self.machine)
        code, said = self.machine.install(*INSTALLED)
        self.assertEqual(code, 0, said)
        self.assertEqual(before, files(self.machine))

    def test_an_edited_configuration_stays_and_a_changed_sample_stands_beside_it(self):
        path = f"{ETC}/gateway.json5"
        self.machine.replace(path, r'level: "info"', 'level: "debug"')
        edited = self.machine.path(path).read_bytes()
        self.machine.install(*INSTALLED)
        self.assertFalse(self.machine.path(f"{path}.new").exists())
        # The sample of another version, as it was installed.
        self.machine.path("/var/lib/countersign/samples/gateway.json5").write_text("{}\n")
        said = self.machine.install(*INSTALLED)[1]
        self.assertIn(f"configuration {path} stays; the sample has changed: compare {path}.new", said)
        self.assertEqual(self.machine.path(path).read_bytes(), edited)
        sample = (stack.ROOT / "Config/gateway.json5").read_bytes()
        self.assertEqual(self.machine.path(f"{path}.new").read_bytes(), sample)
        self.assertNotIn("the sample has changed", self.machine.install(*INSTALLED)[1])

    def test_a_sample_that_was_removed_stays_away(self):
        path = self.machine.path(f"{ETC}/transliteration.json5")
        kept = path.read_text()
        path.unlink()
        code, said = self.machine.install("sms-worker")
        self.assertEqual(code, 0, said)
        self.assertIn(f"configuration {ETC}/transliteration.json5 was removed, and stays so", said)
        self.assertFalse(path.exists())
        path.write_text(kept)

    def test_a_directory_keeps_its_mode(self):
        path = self.machine.path(f"{ETC}/projects")
        path.chmod(0o700)
        self.machine.install("coordinator")
        self.assertEqual(self.owned(f"{ETC}/projects"), ["700 root:countersign-projects"])
        path.chmod(0o2750)

    @contextlib.contextmanager
    def without(self, *secrets):
        """Has secrets lost; what is made in their place goes when they come back, and so do changes of configurations."""
        configurations = {path: path.read_text() for path in self.machine.path(ETC).glob("*.json5")}
        moved = {name: self.machine.path(f"{SECRETS}/{name}").rename(self.machine.path(f"{ETC}/{name}.kept")) for name in secrets}
        try:
            yield
        finally:
            for name, kept in moved.items():
                kept.rename(self.machine.path(f"{SECRETS}/{name}"))
            for path, text in configurations.items():
                path.write_text(text)

    def lost_pepper_is_refused(self, data):
        pepper, program = f"{SECRETS}/coordinator.pepper", self.machine.path("/usr/local/bin/coordinator")
        content = program.read_bytes()
        program.write_bytes(b"another version")
        self.machine.path(data).touch()
        with self.without("coordinator.pepper"):
            code, said = self.machine.install("coordinator")
        self.machine.path(data).unlink()
        untouched = program.read_bytes() == b"another version"
        program.write_bytes(content)
        self.assertEqual(code, 1)
        self.assertIn(f"error: {data} is there, but not {pepper}", said)
        self.assertTrue(untouched)

    def test_a_lost_pepper_is_not_made_anew_beside_data(self):
        self.lost_pepper_is_refused("/var/lib/countersign-coordinator/coordinator.sqlite")

    def test_nor_beside_data_where_a_variable_has_it(self):
        variables = self.machine.path(f"{ETC}/coordinator.env")
        variables.write_text('COUNTERSIGN_DATABASE_PATH="/var/lib/elsewhere.sqlite"\n')
        self.lost_pepper_is_refused("/var/lib/elsewhere.sqlite")
        variables.unlink()

    def test_nothing_secret_is_made_for_a_database_of_a_server(self):
        names = ["keys.json", "accounts.pepper", "accounts.tokens.json", "accounts.sealing.json"]
        with self.without(*names):
            self.machine.replace(f"{ETC}/accounts.json5", 'type: "sqlite"', "'type' : /* ours */ 'postgresql'")
            code, said = self.machine.install("accounts")
            made = [name for name in names if self.machine.path(f"{SECRETS}/{name}").exists()]
        self.assertEqual(code, 0, said)
        self.assertEqual(made, [])
        for name in names:
            self.assertIn(f"{SECRETS}/{name} is not made, since accounts has a PostgreSQL database", said)

    def test_an_upgrade_makes_no_keys_that_other_hosts_have(self):
        names = ["keys.json", "gateway-keys.json"]
        with self.without(*names):
            code, said = self.machine.install("--again")
            made = [name for name in names if self.machine.path(f"{SECRETS}/{name}").exists()]
        self.assertEqual((code, made), (0, []), said)

    def test_a_secret_that_the_configuration_has_elsewhere_is_not_made(self):
        with self.without("accounts.pepper"):
            self.machine.replace(f"{ETC}/accounts.json5", f'"{SECRETS}/accounts.pepper"', '"secrets/ours.pepper"')
            code, said = self.machine.install("accounts")
            made = [name for name in ["accounts", "ours"] if self.machine.path(f"{SECRETS}/{name}.pepper").exists()]
        self.assertEqual(code, 0, said)
        self.assertEqual(made, [])
        self.assertIn(f"{SECRETS}/ours.pepper, pepperFile of accounts, is not there", said)

    def test_a_second_instance_has_ports_of_its_own(self):
        code, said = self.machine.install("sms-worker@2", "sms-worker@3", "gateway@2", "gateway@3")
        self.assertEqual(code, 0, said)
        # Those of coordinator, accounts and webhook-worker, which have one instance.
        ports = [8080, 8085, 8087]
        for file in self.machine.path(ETC).glob("*.env"):
            ports += map(int, re.findall(r"_PORT=(\d+)$", file.read_text(), re.MULTILINE))
        self.assertEqual((len(ports), len(set(ports))), (15, 15), ports)
        unit = self.machine.path(f"{UNITS}/countersign-gateway@.service").read_text()
        allowed = [range(int(first), int(last) + 1) for first, last in re.findall(r"SocketBindAllow=tcp:(\d+)-(\d+)", unit)]
        self.assertEqual([port for port in ports if not any(port in some for some in allowed)], [])

    def test_a_configuration_that_cannot_be_read_matters_only_where_a_secret_is_absent(self):
        with self.without("coordinator.pepper"):
            self.machine.replace(f"{ETC}/coordinator.json5", 'type: "sqlite"', 'type: "sqlite')
            code, said = self.machine.install("coordinator")
            made = self.machine.path(f"{SECRETS}/coordinator.pepper").exists()
        self.assertEqual((code, made), (1, False), said)
        self.assertIn(f"error: {ETC}/coordinator.json5 cannot be read, or is no JSON5", said)
        with self.without():
            self.machine.path(f"{ETC}/coordinator.json5").write_text('{ "')
            code, said = self.machine.install("coordinator")
        self.assertEqual(code, 0, said)

    def test_unknown_processes_are_refused(self):
        for argument in ["sms-wroker", "sms-worker@x", "coordinator@2", "sms-worker@"]:
            code, said = self.machine.install(argument)
            self.assertEqual(code, 1, argument)
            self.assertIn("error: ", said)

    def test_all_or_single_processes(self):
        for option in ["--again", "--remove"]:
            self.assertEqual(self.machine.install(option, "gateway")[0], 64)
        self.assertTrue(self.machine.path("/usr/local/bin/gateway").exists())


@ONLY_ROOT
class WebhookWorkerTest(unittest.TestCase):
    def test_beside_a_gateway_it_has_keys_of_its_own_and_no_others_are_made(self):
        machine, worker = Machine(type(self)), "countersign-webhook-worker"
        code, said = machine.install("gateway", "webhook-worker")
        self.assertEqual(code, 0, said)
        self.assertEqual([path.name for path in machine.path(SECRETS).iterdir()], ["webhook-worker.keys.json"])
        paths = [f"{SECRETS}/webhook-worker.keys.json", f"{ETC}/webhook-worker.json5", f"/var/lib/{worker}"]
        self.assertEqual(machine.run("stat", "-c", "%a %U:%G", *paths)[1].splitlines(),
                         ["600 root:root", f"640 root:{worker}", f"750 {worker}:{worker}"])
        self.assertIn("rabbitmqctl change_password webhook-worker ", said)
        machine.secret("webhook-worker.password", "secret\n", "webhook-worker")
        self.assertIn("webhook-worker: the configuration is right", machine.install("webhook-worker")[1])


@ONLY_ROOT
@unittest.skipUnless(shutil.which("systemctl"), "there is no systemctl to make links")
class UnitsTest(unittest.TestCase):
    """Where systemd runs."""

    def links(self, target):
        return {path.name for path in self.machine.path(f"/etc/systemd/system/{target}.target.wants").glob("countersign*")}

    def asked(self):
        asked = self.machine.path("/run/asked")
        lines = asked.read_text().splitlines()
        asked.unlink()
        return lines

    def test_what_is_asked_for_is_enabled_an_upgrade_enables_nothing_and_a_removal_disables_it(self):
        type(self).machine = Machine(type(self))
        self.machine.pretend_systemd()
        code, said = self.machine.install("coordinator", "sms-worker", "sms-worker@2")
        self.assertEqual(code, 0, said)
        units = {"countersign-coordinator.service", "countersign-sms-worker@1.service", "countersign-sms-worker@2.service"}
        self.assertEqual(self.links("countersign"), units)
        self.assertEqual(self.links("multi-user"), {*units, "countersign.target"})
        self.assertEqual(self.asked()[-1], "daemon-reload")
        self.assertIn("systemctl start countersign.target", said)

        enabled = self.machine.path("/etc/systemd/system/multi-user.target.wants")
        (enabled / "countersign-sms-worker@2.service").unlink()
        code, said = self.machine.install("--again")
        self.assertEqual(code, 0, said)
        self.assertEqual(self.links("multi-user"), {*units, "countersign.target"} - {"countersign-sms-worker@2.service"})
        self.assertEqual(self.asked(), ["daemon-reload"])

        # A unit of the machine's owner.
        self.machine.path("/etc/systemd/system/countersign-backup.service").write_text("[Service]\nExecStart=/bin/true\n")
        (enabled / "countersign-backup.service").symlink_to("/etc/systemd/system/countersign-backup.service")
        code, said = self.machine.install("--remove")
        self.assertEqual(code, 0, said)
        self.assertEqual(self.links("countersign") | self.links("multi-user"), {"countersign-backup.service"})
        stopped, reloaded = self.asked()
        self.assertTrue(stopped.startswith("stop countersign.target countersign-coordinator.service "), stopped)
        self.assertIn(" countersign-sms-worker@*.service ", stopped)
        self.assertNotIn(" countersign-*", stopped)
        self.assertEqual(reloaded, "daemon-reload")


@ONLY_ROOT
@unittest.skipUnless(shutil.which("dpkg-shlibdeps"), "there is no dpkg-dev")
class PackageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory(prefix="countersign-")
        cls.addClassCleanup(directory.cleanup)
        cls.packages = pathlib.Path(directory.name)
        cls.first = cls.made("1.0.0")
        cls.machine = Machine(cls)

    @classmethod
    def made(cls, version):
        """The packages of a version, each by the name of its process; that of all has the name countersign."""
        done = subprocess.run(
            [stack.ROOT / "deploy/package", version], stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=300, check=False,
            env={"PATH": os.environ["PATH"], "COUNTERSIGN_PROGRAMS": str(process.BINARIES),
                 "COUNTERSIGN_PACKAGES": str(cls.packages)})
        if done.returncode:
            raise RuntimeError(done.stdout + done.stderr)
        files = cls.packages.glob(f"countersign*_{version}_*.deb")
        return {file.name.partition("_")[0].removeprefix("countersign-"): file for file in files}

    @unittest.skipUnless(shutil.which("lintian"), "there is no lintian")
    def test_lintian_finds_no_error(self):
        """Packages of all kinds: those of the other processes are made as the gateway's."""
        done = subprocess.run(
            ["lintian", "--allow-root", "--fail-on", "error", "--suppress-tags", ",".join(LINTIAN_EXPECTS),
             *[self.first[name] for name in ["countersign", "common", "gateway"]]],
            capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def dpkg(self, *arguments):
        code, said = self.machine.run("dpkg", "--no-triggers", *arguments)
        self.assertEqual(code, 0, said)
        return said

    def etc(self):
        return {path: value for path, value in files(self.machine).items() if path.startswith("etc/countersign")}

    def test_installation_upgrade_and_purge(self):
        self.assertEqual(self.first.keys(), {"countersign", "common", "coordinator", "accounts", "gateway", "sms-worker",
                                        "push-worker", "mail-worker", "revocation-worker", "webhook-worker"})
        said = self.dpkg("--install", *self.first.values())
        self.assertIn("nothing to do; to set up a process", said)
        self.assertEqual(self.etc(), {})
        code, said = self.machine.run("countersign-install", "coordinator", "sms-worker@2")
        self.assertEqual(code, 0, said)
        self.assertNotIn(" file /usr/", said)
        self.assertFalse(self.machine.path("/usr/local/bin/coordinator").exists())
        if shutil.which("systemd-analyze"):
            self.assertIn("systemd-analyze verify: 2 units are right", said)
        for name in ["coordinator", "sms-worker"]:
            self.machine.secret(f"{name}.password", "secret\n", name)
        self.machine.secret("twilio.password", "secret\n", "sms-worker")
        installed = self.etc()

        said = self.dpkg("--install", *self.made("1.0.1").values())
        for name in ["coordinator", "sms-worker-2"]:
            self.assertEqual(said.count(f"{name}: the configuration is right"), 1, said)
        self.assertNotIn("accounts: ", said)
        self.assertEqual(self.etc(), installed)
        code, said = self.machine.run("countersign-install", "--remove")
        self.assertEqual(code, 1)
        self.assertIn("apt remove countersign", said)

        self.dpkg("--purge", "countersign", "countersign-accounts", "countersign-sms-worker")
        self.assertFalse(self.machine.path("/lib/systemd/system/countersign-accounts.service").exists())
        code, said = self.machine.run("countersign-install", "accounts")
        self.assertEqual(code, 1)
        self.assertIn("apt install countersign-accounts", said)
        # Of the two that were set up.
        code, said = self.machine.run("countersign-install", "--again")
        self.assertEqual(code, 0, said)
        self.assertIn("coordinator: the configuration is right", said)
        self.assertNotIn("sms-worker", said)

        said = self.dpkg("--purge", *[name if name == "countersign" else f"countersign-{name}" for name in self.left()])
        self.assertIn("kept: /etc/countersign", said)
        self.assertEqual(self.etc(), installed)
        for path in ["/usr/bin/coordinator", "/usr/sbin/countersign-install", "/usr/share/countersign",
                     "/lib/systemd/system/countersign.target"]:
            self.assertFalse(self.machine.path(path).exists(), path)

    def left(self):
        said = self.machine.run("dpkg-query", "--show", "--showformat", "${Package} ${db:Status-Status}\n", "countersign*")[1]
        return [line.split()[0].removeprefix("countersign-") for line in said.splitlines() if line.endswith(" installed")]

    def test_a_machine_has_the_processes_of_its_packages(self):
        code, said = self.machine.run("dpkg", "--no-triggers", "--install", self.first["gateway"])
        self.assertNotEqual(code, 0, "without countersign-common")
        self.dpkg("--install", self.first["common"], self.first["gateway"])
        self.addCleanup(self.dpkg, "--purge", "countersign-common", "countersign-gateway")
        self.assertEqual(sorted(self.left()), ["common", "gateway"])
        self.assertFalse(self.machine.path("/usr/bin/coordinator").exists())
        unit = self.machine.path("/lib/systemd/system/countersign-gateway@.service").read_text()
        page = re.search(r"^Documentation=file://(.*)$", unit, re.MULTILINE).group(1)
        for path in [page, "/usr/share/doc/countersign-gateway/copyright", "/usr/share/countersign/docs/operations.md"]:
            self.assertEqual(self.machine.run("test", "-f", path)[0], 0, path)


@ONLY_ROOT
class RunTest(unittest.TestCase):
    """What is installed, with what is left to do done, in the place of the stack's own processes."""

    @classmethod
    def setUpClass(cls):
        cls.machine = Machine(cls)
        code, said = cls.machine.install(*INSTALLED, "countersign")
        if code:
            raise RuntimeError(said)
        logs = tempfile.TemporaryDirectory(prefix="countersign-")
        cls.addClassCleanup(logs.cleanup)
        cls.logs = pathlib.Path(logs.name)
        secrets = stack.DIRECTORY / "secrets"
        broker = os.environ["COUNTERSIGN_AMQP_URL"].rpartition("@")[2]
        for name in INSTALLED:
            cls.machine.secret(f"{name}.password", (secrets / f"broker-{name}").read_text(), name)
            cls.machine.replace(f"{ETC}/{name}.json5", r"(?<=url: \"amqp://)[^\"]*", f"{name}@{broker}")
        cls.machine.secret("twilio.password", (secrets / "twilio-api-key").read_text(), "sms-worker")
        worker = f"{ETC}/sms-worker.json5"
        cls.machine.replace(worker, r'accountSID: "[^"]*"', 'accountSID: "AC00000000000000000000000000000001"')
        cls.machine.replace(worker, r'// username: "[^"]*"', 'username: "SK00000000000000000000000000000001"')
        cls.machine.replace(
            worker, r'baseURL: "https://api.twilio.com"', f'baseURL: "{os.environ["COUNTERSIGN_SIMULATOR_URL"]}"')
        cls.machine.replace(worker, r'allowed: \["US"\]', 'allowed: ["*"]')
        coordinator = f"{ETC}/coordinator.json5"
        cls.machine.replace(coordinator, r"allowed: \[\]", 'allowed: ["*"]')
        cls.machine.replace(
            coordinator, r"\n  apps: \{", f'\n  apps: {{ "{APP}": {{ name: "Example", verification: "trusted" }},')
        cls.ports = {name: process.free_port() for name in INSTALLED}
        for name in ["coordinator", "accounts"]:
            cls.machine.path(f"{ETC}/{name}.env").write_text(f"COUNTERSIGN_HTTP_PORT={cls.ports[name]}\n")
        for name, health, clients in [("sms-worker", r"8081", r"8091"), ("gateway", r"8086", r"9099")]:
            cls.machine.replace(f"{ETC}/{name}-1.env", health, str(cls.ports[name]))
            cls.machine.replace(f"{ETC}/{name}-1.env", clients, str(process.free_port()))
        cls.checked = cls.machine.install(*INSTALLED)[1]
        # The stack's gateway starts last, and gets the keys of its accounts again.
        stack.stop_for_class(cls, "gateway", "accounts", "coordinator", "sms-worker-1", "sms-worker-2")
        started = ["coordinator", "sms-worker@1", "accounts", "gateway@1"]
        cls.ends = {name: cls.machine.start(cls, name, cls.logs / name) for name in started}

    def ready(self, name):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.ports[name]}/readyz", timeout=30) as response:
                return response.status == 200
        except OSError:
            return False

    def said(self):
        return "\n".join(log.read_text() for log in self.logs.iterdir())

    def test_each_process_finds_its_configuration_right(self):
        for name in ["coordinator", "sms-worker-1", "accounts", "gateway-1"]:
            self.assertIn(f"{name}: the configuration is right", self.checked)

    def start(self, client):
        """A verification: its number, its ID and its code."""
        number = new_number("+49160")
        started = client.command("verification.start", {"phoneNumber": number, "app": APP})
        return number, started["verificationID"], simulator.code(simulator.message(number)["body"])

    def check(self, client, number, verification, code):
        approved = client.command("verification.check", {"verificationID": verification, "code": code})
        self.assertEqual(approved["phoneNumber"], number)

    def setUp(self):
        for name in self.ports:
            eventually(self.said, lambda name=name: self.ready(name), process.READY_SECONDS)

    def test_a_healthy_server_has_no_failure(self):
        variables = [f"{name}={os.environ[name]}" for name in [
            "COUNTERSIGN_AMQP_URL", "COUNTERSIGN_OPERATOR_AMQP_URL", "COUNTERSIGN_MANAGEMENT_URL"]]
        for variable, name in [("COORDINATOR_URL", "coordinator"), ("SMS_WORKER_URLS", "sms-worker"),
                               ("ACCOUNTS_URLS", "accounts"), ("GATEWAY_HEALTH_URLS", "gateway")]:
            variables.append(f"COUNTERSIGN_{variable}=http://127.0.0.1:{self.ports[name]}")

        def examine():
            return self.machine.run("env", "-i", *variables, "/usr/local/bin/countersign", "doctor", "--config-dir", ETC)

        # The broker's figures are some seconds old.
        code, said = eventually("the doctor finds nothing", lambda: (last := examine())[0] == 0 and last, process.READY_SECONDS)
        self.assertEqual(code, 0, said)
        self.assertNotIn("FAILED", said)
        # It has asked the processes, and may know their secrets.
        for name in INSTALLED:
            self.assertIn(f"process {name}: ready, at http://127.0.0.1:{self.ports[name]}\n", said)
        self.assertNotIn("skipped secrets", said)

    def test_a_backup_is_restored_by_the_commands_of_the_page(self):
        """For the coordinator in the place of accounts."""
        page = (stack.ROOT / "docs/operations.md").read_text()
        backup = re.search(r'`(\(umask 077; sqlite3 FILE "\.backup COPY"\))`', page).group(1)
        [restore] = re.findall(r"^systemctl stop countersign-accounts\n(.*?)\nsystemctl start", page, re.MULTILINE | re.DOTALL)
        files = {"FILE": "/var/lib/countersign-coordinator/coordinator.sqlite", "COPY": "/var/backups/coordinator.sqlite"}
        client = Client.of(self)
        known = self.start(client)
        self.shell(re.sub("FILE|COPY", lambda name: files[name[0]], backup))
        unknown = self.start(client)
        self.assertEqual(self.ends["coordinator"](), 0, self.said())
        self.shell(restore.replace("accounts", "coordinator"))
        self.machine.start(type(self), "coordinator", self.logs / "restored")
        eventually(self.said, lambda: self.ready("coordinator"), process.READY_SECONDS)
        self.check(client, *known)
        with self.assertRaises(Refused) as refused:
            self.check(client, *unknown)
        self.assertEqual(refused.exception.code, "INVALID_SESSION_INFO")

    def shell(self, commands):
        code, said = self.machine.run("bash", "-ec", commands)
        self.assertEqual(code, 0, said)

    def test_a_number_is_verified_and_a_removal_leaves_what_is_not_the_versions(self):
        client = Client.of(self)
        self.check(client, *self.start(client))
        self.assertTrue(self.machine.path("/var/lib/countersign-coordinator/coordinator.sqlite").exists())
        self.assertTrue(self.machine.path("/var/lib/countersign-sms-worker/ledger.sqlite").exists())

        before = files(self.machine)
        code, said = self.machine.install("--remove")
        self.assertEqual(code, 0, said)
        gone = before.keys() - files(self.machine).keys()
        gone = {path for path in gone if not path.endswith(("-wal", "-shm"))}
        self.assertTrue(gone)
        for path in gone:
            self.assertTrue(path.startswith("usr/local/"), path)
        left = {path.name for path in self.machine.path("/usr/local/bin").iterdir()}
        self.assertFalse(left & {*INSTALLED, "countersign"})
        self.assertEqual(list(self.machine.path(UNITS).iterdir()), [])
