"""Several hosts of a broker in one URL: a dead one is passed over, and a lost one costs nothing but a moment."""

import contextlib
import json
import os
import re
import select
import signal
import socket
import threading
import time
import unittest
import urllib.parse
import uuid

import pika

import simulator
import stack
from cluster import Cluster, password
from countersign_client import Client
from preload import library
from process import Process, countersign, free_port
from test_verification import APP

RATE = 40
ASK_AGAIN_SECONDS = 8
POLL_SECONDS = 0.25
# An attempt at a host that swallows everything, while there is another one.
PATIENCE_SECONDS = 3
# More than a start takes without such hosts.
SLACK_SECONDS = 6
# Without an answer, while the processes go to another host, beside what a busy machine takes when nothing happens.
CUT_GAP_SECONDS = 4
# The same when a node of a cluster dies: the queues choose a new leader as well.
NODE_GAP_SECONDS = 15
# A process that stands still loses its connections after two heartbeats, 40 s, and a node its others after 45 s.
STOPPED_SECONDS = 30
# Until connections are at another host, and until all that was begun has ended.
SETTLE_SECONDS = 120


def broker_port():
    return urllib.parse.urlsplit(os.environ["COUNTERSIGN_AMQP_URL"]).port


def url(user, ports):
    return f"amqp://{user}@{','.join(f'127.0.0.1:{port}' for port in ports)}/"


class Proxy:
    def __init__(self, target, delay=0):
        self.target, self.delay, self.lock = target, delay, threading.Lock()
        self.connections, self.accepted, self.is_cut = [], 0, False
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                self.listener.close()
                return
            with self.lock:
                if self.is_cut:
                    client.close()
                    continue
                server = socket.create_connection(("127.0.0.1", self.target))
                self.connections.append((client, server))
                self.accepted += 1
            for ends in [(client, server), (server, client)]:
                threading.Thread(target=self.forward, args=ends, daemon=True).start()

    def forward(self, source, target):
        try:
            while data := source.recv(65_536):
                time.sleep(self.delay)
                target.sendall(data)
        except OSError:
            pass
        self.end(source, target)
        source.close()

    def end(self, *ends):
        for one in ends:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def cut(self):
        with self.lock:
            self.is_cut = True
            for ends in self.connections:
                self.end(*ends)
            self.connections = []

    def mend(self):
        with self.lock:
            self.is_cut = False

    def close(self):
        self.cut()
        self.end(self.listener)


class BlackHole:
    """A host of which nothing comes back: its connections stay open without a byte, or do not come about at all."""

    def __init__(self, connects):
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(64 if connects else 0)
        self.port = self.listener.getsockname()[1]
        self.filling = []
        # A full queue: the kernel drops further packets that ask for a connection.
        while not connects and len(self.filling) < 8:
            one = socket.socket()
            one.setblocking(False)
            self.filling.append(one)
            try:
                one.connect(("127.0.0.1", self.port))
            except BlockingIOError:
                pass
            if not select.select([], [one], [], 0.3)[1]:
                break

    def close(self):
        for one in [*self.filling, self.listener]:
            one.close()


class Load:
    """Verifications at a steady rate, from the start to the right code, and the times of their answers."""

    def __init__(self, connect):
        self.connect = connect
        self.client = connect()
        self.numbers = iter(range(int(time.time()) % 100_000 * 1000, 10**9))
        self.begun, self.waiting, self.approved, self.errors = {}, {}, [], []
        # What each number's command was answered, however often: an answer whose confirmation is lost comes again.
        self.asked, self.answers, self.answered_at = {}, {}, []

    def new_number(self):
        return f"+49151{next(self.numbers) * 4801 % 90_000_000 + 10_000_013}"

    def ask(self, number, command, body):
        self.asked[number] = [command, body, str(uuid.uuid4()), None]
        self.send(number)

    def send(self, number):
        """Asks, or asks again what has no answer, under the same ID; without a time, so that it is of no age."""
        asked = self.asked[number]
        asked[3] = time.monotonic()
        self.client.send(
            "countersign.commands", asked[0], asked[1], message_id=asked[2], correlation_id=f"{number} {asked[0]}", timestamp=None)

    def take_replies(self):
        self.client.connection.process_data_events(time_limit=0.02)
        replies, self.client.replies = self.client.replies, {}
        for correlation_id, (properties, reply) in replies.items():
            number, command = correlation_id.split()
            if self.answers.setdefault((number, command), reply) != reply:
                self.errors.append((number, command, self.answers[number, command], reply))
            if self.asked.get(number, [None])[0] != command:
                continue
            del self.asked[number]
            self.answered_at.append(time.monotonic())
            if properties.type == "verification.started.v1":
                self.waiting[number] = reply["verificationID"]
            elif properties.type == "verification.approved.v1":
                self.approved.append(number)
            else:
                self.errors.append((number, properties.type, reply))

    def take_codes(self):
        for message in simulator.newest(2000):
            if (identifier := self.waiting.pop(message["to"], None)) is not None:
                self.ask(message["to"], "verification.check", {
                    "verificationID": identifier, "code": simulator.code(message["body"]), "app": APP})

    def turn(self):
        try:
            self.take_replies()
            for number, asked in list(self.asked.items()):
                if time.monotonic() - asked[3] > ASK_AGAIN_SECONDS:
                    self.send(number)
        except (pika.exceptions.AMQPError, OSError):
            self.client = self.connect()

    def flow(self, seconds, rate=RATE):
        """Begins verifications for so long; with a rate of 0, ends what has begun, within that time."""
        begun, first, polled = time.monotonic(), len(self.begun), 0
        while (now := time.monotonic()) - begun < seconds and (rate or self.asked or self.waiting):
            for _ in range(int((now - begun) * rate) - (len(self.begun) - first)):
                number = self.new_number()
                self.begun[number] = now
                self.ask(number, "verification.start", {"phoneNumber": number, "app": APP})
            self.turn()
            if now - polled > POLL_SECONDS:
                polled = now
                self.take_codes()

    def longest_gap(self, since):
        times = [since, *[at for at in self.answered_at if at > since], time.monotonic()]
        return max(later - earlier for earlier, later in zip(times, times[1:]))

    def sent(self):
        codes = {}
        for message in simulator.messages():
            if message["to"] in self.begun:
                codes.setdefault(message["to"], []).append(simulator.code(message["body"]))
        return codes


class BrokerListCase(unittest.TestCase):
    def process(self, name, broker_url, **variables):
        process = Process(name)
        process.variables |= {"COUNTERSIGN_BROKER_URL": broker_url, **variables}
        self.addCleanup(process.__exit__)
        return process.start()

    def stop_stack(self):
        stack.stop_for(self, "sms-worker-1", "sms-worker-2", "coordinator")

    def places(self, process):
        checks = json.loads(process.get("/readyz")[1])["checks"]
        return {one["name"]: one["detail"] for one in checks if one["name"].startswith("broker.") and "detail" in one}

    @staticmethod
    def calm_gap(load):
        begun = time.monotonic()
        load.flow(3)
        return load.longest_gap(begun)

    def ports(self, processes):
        return {urllib.parse.urlsplit(place).port for process in processes for place in self.places(process).values()}

    def check(self, load):
        self.assertEqual(load.errors, [])
        self.assertEqual((load.asked, load.waiting), ({}, {}), "verifications that did not end")
        self.assertEqual(sorted(load.approved), sorted(load.begun))
        sent = load.sent()
        self.assertEqual({number for number, codes in sent.items() if len(set(codes)) > 1}, set(), "two codes")
        self.assertEqual({number for number, codes in sent.items() if len(codes) > 1}, set(), "sent twice")


class DeadHostTest(BrokerListCase):
    def started(self, ports):
        begun = time.monotonic()
        worker = self.process("sms-worker", url("sms-worker", [*ports, broker_port()]))
        worker.ready()
        return worker, time.monotonic() - begun

    def assert_passes_over(self, ports, seconds):
        other, usual = self.started([])
        other.stop()
        worker, took = self.started(ports)
        self.assertLess(took, seconds + 2 * usual)
        for place in self.places(worker).values():
            self.assertEqual(place, f"amqp://sms-worker@127.0.0.1:{broker_port()}/%2F")
        # No line names another host as the one that is connected to, and none tells the password.
        for line in worker.output().splitlines():
            if "connected to the broker" in line:
                self.assertIn(f"127.0.0.1:{broker_port()}/", line)
        self.assertNotIn(password("sms-worker"), worker.output())
        in_use = re.findall(r'countersign_broker_host_in_use{connection="(\w+)",host="([^"]+)"} 1',
                            worker.get("/metrics")[1])
        self.assertEqual({host for _, host in in_use}, {f"127.0.0.1:{broker_port()}"})
        print(f"\n    ready after {took:.1f} s, without them {usual:.1f} s", end=" ")
        return worker

    def test_nothing_listens_at_the_others(self):
        worker = self.assert_passes_over([free_port() for _ in range(7)], SLACK_SECONDS)
        # With so many, some connection has met one.
        self.assertIn("the broker cannot be reached; trying again", worker.output())

    def test_the_others_are_black_holes(self):
        holes = [BlackHole(connects=True), BlackHole(connects=False)]
        for hole in holes:
            self.addCleanup(hole.close)
        self.assert_passes_over([hole.port for hole in holes], len(holes) * PATIENCE_SECONDS + SLACK_SECONDS)

    def test_the_command_line_and_the_doctor_pass_over_too(self):
        closed, hole = free_port(), BlackHole(connects=True)
        self.addCleanup(hole.close)
        known = urllib.parse.urlsplit(os.environ["COUNTERSIGN_AMQP_URL"])
        operator = urllib.parse.urlsplit(os.environ["COUNTERSIGN_OPERATOR_AMQP_URL"])
        management = urllib.parse.urlsplit(os.environ["COUNTERSIGN_MANAGEMENT_URL"])
        environment = {name: text for name, text in os.environ.items() if not name.startswith("COUNTERSIGN_")}

        def hosts(parts):
            login, port = parts.netloc.rsplit("@", 1)[0], parts.port
            return f"{parts.scheme}://{login}@127.0.0.1:{closed},127.0.0.1:{hole.port},127.0.0.1:{port}"

        environment |= {
            "COUNTERSIGN_AMQP_URL": hosts(known), "COUNTERSIGN_OPERATOR_AMQP_URL": hosts(operator),
            "COUNTERSIGN_MANAGEMENT_URL": hosts(management)}
        check = self.run_program(environment, "topology", "check", "--without-users")
        self.assertEqual(check.returncode, 0, check.stderr)
        doctor = self.run_program(environment, "--json", "doctor")
        found = {one["check"]: one for one in json.loads(doctor.stdout)["findings"]}
        self.assertEqual(found["broker, as a service"]["detail"],
                         f"amqp://{known.username}@127.0.0.1:{known.port}/%2F accepts commands")
        self.assertEqual(found["broker, as the operator"]["status"], "ok")
        for port in [closed, hole.port]:
            self.assertEqual(found[f"broker host 127.0.0.1:{port}"]["status"], "warning")
        self.assertEqual(found["hosts of the broker"]["detail"], "1 of 3 answer, as one cluster")
        for secret in [known.password, operator.password, management.password]:
            self.assertNotIn(secret, doctor.stdout + doctor.stderr + check.stdout + check.stderr)
        # With no host left, each is named.
        environment["COUNTERSIGN_AMQP_URL"] = f"amqp://sender:x@127.0.0.1:{closed},localhost:{closed}/"
        refused = self.run_program(environment, "verify", "status", "x")
        self.assertEqual(refused.returncode, 69, refused.stderr)
        for host in ["127.0.0.1", "localhost"]:
            self.assertIn(f"{host}:{closed}", refused.stderr)

    def test_a_slow_resolver_is_no_dead_host(self):
        """A look-up that takes longer than an attempt may: as if the first of two name servers were dead."""
        proxy = Proxy(broker_port(), delay=0.05)
        self.addCleanup(proxy.close)
        hosts = ",".join(f"slow-{number}.invalid:{proxy.port}" for number in range(3))
        operator = urllib.parse.urlsplit(os.environ["COUNTERSIGN_OPERATOR_AMQP_URL"])
        environment = {name: text for name, text in os.environ.items() if not name.startswith("COUNTERSIGN_")} | {
            "LD_PRELOAD": library(self.addCleanup, "slow_names"), "COUNTERSIGN_OPERATOR_AMQP_ALLOW_PLAINTEXT": "true",
            "COUNTERSIGN_OPERATOR_AMQP_URL": f"amqp://{operator.netloc.rsplit('@', 1)[0]}@{hosts}"}
        listed = self.run_program(environment, "dead", "list")
        self.assertEqual(listed.returncode, 0, listed.stderr)

    def run_program(self, environment, *arguments):
        return countersign(*arguments, env=environment)


class CutTest(BrokerListCase):
    def test_verifications_go_on_through_the_other_host(self):
        self.stop_stack()
        proxies = [Proxy(broker_port()), Proxy(broker_port())]
        for proxy in proxies:
            self.addCleanup(proxy.close)
        ports = [proxy.port for proxy in proxies]
        coordinator = self.process("coordinator", url("coordinator", ports))
        worker = self.process("sms-worker", url("sms-worker", ports))
        for process in [coordinator, worker]:
            process.ready()
        load = Load(lambda: Client(os.environ["COUNTERSIGN_AMQP_URL"]))
        calm = self.calm_gap(load)
        gaps = []
        for number in [0, 1, 0]:
            cut, other = proxies[number], proxies[1 - number]
            at = time.monotonic()
            cut.cut()
            load.flow(4)
            # All are there, and stay there while the load goes on.
            while self.ports([coordinator, worker]) != {other.port} and time.monotonic() - at < SETTLE_SECONDS:
                load.flow(0.5)
            gaps.append(load.longest_gap(at))
            self.assertEqual(self.ports([coordinator, worker]), {other.port})
            cut.mend()
        load.flow(SETTLE_SECONDS, rate=0)
        load.client.close()
        print(f"\n    {len(load.begun)} verifications, gaps after the cuts {[f'{gap:.1f} s' for gap in gaps]}", end=" ")
        # A call that was under way when its job's connection broke is found in the ledger.
        self.check(load)
        self.assertLess(max(gaps), CUT_GAP_SECONDS + 2 * calm)
        self.assertGreater(min(proxy.accepted for proxy in proxies), 3)


class ClusterTest(BrokerListCase):
    def test_a_channel_learns_of_a_leader_that_is_dead(self):
        """The first jobs of a channel while their queue has no leader: the broker refuses its jobs until that node is back."""
        self.stop_stack()
        count = 20
        with Cluster() as cluster:
            cluster.apply()
            first, second, third = cluster.nodes
            only = f"amqp://coordinator@127.0.0.1:{second.port}/"
            coordinator = self.process("coordinator", only)
            coordinator.ready()
            with contextlib.closing(Client(f"amqp://sender:{password('sender')}@127.0.0.1:{second.port}/%2F")) as sender:
                numbers = Load(lambda: sender)
                # Delivered, but not read before the leader is dead and nobody can be elected.
                coordinator.running.send_signal(signal.SIGSTOP)
                self.addCleanup(coordinator.running.send_signal, signal.SIGCONT)
                asked = [sender.send("countersign.commands", "verification.start", {
                    "phoneNumber": numbers.new_number(), "app": APP}, timestamp=None) for _ in range(count)]
                stopped = time.monotonic()
                while cluster.messages("coordinator.commands", "messages_unacknowledged") < count:
                    self.assertLess(time.monotonic() - stopped, STOPPED_SECONDS)
                third.pause()
                first.kill()
                coordinator.running.send_signal(signal.SIGCONT)
                for one in asked:
                    self.assertEqual(sender.wait(one, STOPPED_SECONDS)[0].type, "verification.started.v1")
                coordinator.line("jobs are kept, because the broker does not take them", STOPPED_SECONDS)
                third.resume()
                at = time.monotonic()
                while cluster.messages("sms.dispatch", "messages_ready") < count:
                    self.assertLess(time.monotonic() - at, SETTLE_SECONDS, coordinator.output())
                print(f"\n    all {count} jobs in their queue {time.monotonic() - at:.1f} s after a node went on", end=" ")

    def test_a_node_dies(self):
        """The node of all leaders and of the lock, while verifications run."""
        self.stop_stack()
        begun = time.monotonic()
        with Cluster() as cluster:
            up = time.monotonic() - begun
            cluster.apply()
            coordinator = self.process("coordinator", cluster.named("coordinator"))
            worker = self.process("sms-worker", cluster.named("sms-worker"))
            for process in [coordinator, worker]:
                process.ready()
            first, second = cluster.nodes[:2]
            load = Load(lambda: Client(f"amqp://sender:{password('sender')}@127.0.0.1:{second.port}/%2F"))
            calm = self.calm_gap(load)
            there = [place for process in [coordinator, worker] for place in self.places(process).values()]
            lost = sum(f":{first.port}/" in place for place in there)
            at = time.monotonic()
            first.kill()
            load.flow(8)
            while time.monotonic() - load.answered_at[-1] > 1 and time.monotonic() - at < SETTLE_SECONDS:
                load.flow(1)
            gap = load.longest_gap(at)
            load.flow(SETTLE_SECONDS, rate=0)
            load.client.close()
            for process in [coordinator, worker]:
                process.ready()
                self.assertNotIn(f":{first.port}/", str(self.places(process)))
            print(f"\n    cluster up in {up:.0f} s, {lost} of {len(there)} connections at the node that died, "
                  f"{len(load.begun)} verifications, longest gap {gap:.1f} s", end=" ")
            self.check(load)
            self.assertLess(gap, NODE_GAP_SECONDS + 2 * calm)
            for process in [coordinator, worker]:
                self.assertEqual(process.stop(), 0)
