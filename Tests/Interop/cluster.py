"""A cluster of RabbitMQ nodes of its own, on free ports, beside the broker of the other tests."""

import base64
import concurrent.futures
import hashlib
import json
import os
import pathlib
import secrets
import signal
import socket
import subprocess
import tempfile
import time
import urllib.parse
import urllib.request

from process import BINARIES, CONFIGURATIONS, free_port
from waiting import eventually

ROOT = pathlib.Path(__file__).resolve().parents[2]
START_SECONDS = 240


def scripts():
    """The package's own scripts: those in /usr/sbin change the user."""
    for directory in [pathlib.Path("/usr/lib/rabbitmq/bin"), *pathlib.Path("/usr/lib/rabbitmq/lib").glob("*/sbin")]:
        if (directory / "rabbitmq-server").exists():
            return directory
    raise FileNotFoundError("RabbitMQ is not installed: apt-get install rabbitmq-server")


def password(user):
    return (CONFIGURATIONS.parent / "secrets" / f"broker-{user}").read_text().strip()


class Node:
    def __init__(self, cluster, number):
        self.cluster = cluster
        self.name = f"node{number}@localhost"
        self.manages = number == 1
        self.root = cluster.root / f"node{number}"
        for part in ["data", "log", "conf.d"]:
            (self.root / part).mkdir(parents=True)
        self.port, self.management_port, self.distribution_port = free_port(), free_port(), free_port()
        self.running = None

    def configure(self, definitions):
        lines = [
            f"listeners.tcp.1 = 127.0.0.1:{self.port}", "disk_free_limit.absolute = 512MB",
            "raft.wal_max_size_bytes = 33554432", "log.console = false",
            "cluster_partition_handling = pause_minority",
            "cluster_formation.peer_discovery_backend = classic_config",
            *[f"cluster_formation.classic_config.nodes.{index} = {node.name}"
              for index, node in enumerate(self.cluster.nodes, 1)],
        ]
        if self.manages:
            lines += ["management.tcp.ip = 127.0.0.1", f"management.tcp.port = {self.management_port}"]
        if definitions:
            lines.append(f"load_definitions = {definitions}")
        (self.root / "rabbitmq.conf").write_text("\n".join(lines) + "\n")
        # The others start sooner without it.
        plugins = "rabbitmq_management" if self.manages else ""
        (self.root / "enabled_plugins").write_text(f"[{plugins}].\n")
        (self.root / "rabbitmq-env.conf").write_text("")
        (self.root / "advanced.config").write_text("[].\n")

    def environment(self):
        """As deploy/lib/broker.sh has it."""
        return {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "HOME": str(self.cluster.home),
            "ERL_CRASH_DUMP": str(self.root / "log/erl_crash.dump"), "RABBITMQ_NODENAME": self.name,
            "RABBITMQ_NODE_PORT": str(self.port), "RABBITMQ_DIST_PORT": str(self.distribution_port),
            "ERL_EPMD_PORT": str(self.cluster.epmd_port), "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_MNESIA_BASE": str(self.root / "data"), "RABBITMQ_LOG_BASE": str(self.root / "log"),
            "RABBITMQ_LOGS": str(self.root / "log/broker.log"),
            "RABBITMQ_CONFIG_FILE": str(self.root / "rabbitmq.conf"), "RABBITMQ_CONFIG_FILES": str(self.root / "conf.d"),
            "RABBITMQ_ADVANCED_CONFIG_FILE": str(self.root / "advanced.config"),
            "RABBITMQ_CONF_ENV_FILE": str(self.root / "rabbitmq-env.conf"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.root / "enabled_plugins"),
            "RABBITMQ_PID_FILE": str(self.root / "data/rabbitmq.pid"),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
            # The server script becomes the node itself.
            "RUNNING_UNDER_SYSTEMD": "true",
        }

    def start(self):
        with open(self.root / "log/console.log", "ab") as log:
            self.running = subprocess.Popen(
                # It ends with the tests, even if they are killed.
                ["setpriv", "--pdeathsig", "KILL", scripts() / "rabbitmq-server"], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=self.environment(), start_new_session=True)
        return self

    def wait(self):
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                for port in [self.port, self.management_port] if self.manages else [self.port]:
                    socket.create_connection(("127.0.0.1", port), timeout=5).close()
                return
            except OSError:
                pass
            if self.running.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{self.name} did not start: {(self.root / 'log/console.log').read_text()[-2000:]}")
            time.sleep(0.1)

    def kill(self):
        """Ends it as the loss of its machine does, but for the connections, which end at once."""
        if self.running:
            os.killpg(self.running.pid, signal.SIGKILL)
            self.running.wait()
            self.running = None

    def pause(self):
        os.killpg(self.running.pid, signal.SIGSTOP)

    def resume(self):
        os.killpg(self.running.pid, signal.SIGCONT)

    def ctl(self, *arguments):
        return subprocess.run(
            [scripts() / "rabbitmqctl", "--quiet", "-n", self.name, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=180, check=True, env=self.environment()).stdout


class Cluster:
    """Nodes with the users of the stack, and their passwords. Ends with the `with` block, whatever happens."""

    def __init__(self, count=3):
        self.directory = tempfile.TemporaryDirectory(prefix="countersign-")
        self.root = pathlib.Path(self.directory.name)
        self.home = self.root / "home"
        self.home.mkdir(mode=0o700)
        cookie = self.home / ".erlang.cookie"
        cookie.write_text(secrets.token_hex(16))
        cookie.chmod(0o400)
        self.epmd_port, self.epmd = free_port(), None
        self.nodes = [Node(self, number) for number in range(1, count + 1)]

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for node in self.nodes:
            node.kill()
        if self.epmd:
            self.epmd.kill()
            self.epmd.wait()
        self.directory.cleanup()

    def start(self):
        self.epmd = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "epmd", "-port", str(self.epmd_port)], stdin=subprocess.DEVNULL,
            env={"PATH": "/usr/bin:/bin", "ERL_EPMD_ADDRESS": "127.0.0.1"})
        definitions = self.root / "definitions.json"
        definitions.touch(mode=0o600)
        definitions.write_text(json.dumps(self.definitions()))
        for number, node in enumerate(self.nodes):
            node.configure(None if number else definitions)
        self.nodes[0].start().wait()
        for node in self.nodes[1:]:
            node.start()
        with concurrent.futures.ThreadPoolExecutor() as pool:
            list(pool.map(Node.wait, self.nodes[1:]))

    def definitions(self):
        content = json.loads((ROOT / "Config/rabbitmq/definitions.json").read_text())
        for user in content["users"]:
            salt = secrets.token_bytes(4)
            digest = hashlib.sha256(salt + password(user["name"]).encode()).digest()
            user["password_hash"] = base64.b64encode(salt + digest).decode()
        return {part: content[part] for part in ["vhosts", "parameters", "users", "permissions", "topic_permissions"]}

    def named(self, user):
        return f"amqp://{user}@{','.join(f'127.0.0.1:{node.port}' for node in self.nodes)}/"

    def messages(self, queue, figure):
        """A figure of a queue: `messages`, or those that are ready or unacknowledged; 0 while nobody knows it."""
        rows = self.nodes[1].ctl("list_queues", "--no-table-headers", "name", figure).splitlines()
        return next((int(row.split("\t")[1] or 0) for row in rows if row.split("\t")[0] == queue), 0)

    def is_managed(self):
        """Whether the management answers for all nodes: 500 while one is just joining."""
        login = base64.b64encode(f"operator:{password('operator')}".encode()).decode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.nodes[0].management_port}/api/exchanges/%2F", headers={"Authorization": f"Basic {login}"})
        try:
            with urllib.request.urlopen(request, timeout=10):
                return True
        except OSError:
            return False

    def apply(self):
        """Declares the topology: once all nodes are there, for its queues get their copies when they are declared."""
        eventually("the management answers for all nodes", self.is_managed, START_SECONDS)
        login = urllib.parse.quote(password("operator"), safe="")
        done = subprocess.run(
            [BINARIES / "countersign", "topology", "apply", "--management",
             f"http://operator:{login}@127.0.0.1:{self.nodes[0].management_port}"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=180, check=False,
            env={"PATH": os.environ["PATH"]})
        if done.returncode:
            raise RuntimeError(f"topology apply: {done.stdout}{done.stderr}")
