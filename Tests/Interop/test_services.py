"""Users of services, made by `countersign service`: what they may, what is kept for them, and that none harms another."""

import json
import pathlib
import stat
import tempfile
import time
import unittest
import uuid

import pika
import pika.exceptions

import broker
from countersign_client import Client
from samples import in_seconds, new_number
from waiting import eventually

APP = "com.example.app"
# Of the queue that is full, so that a few verifications are more than it keeps.
FEW = 3


class ServicesTest(unittest.TestCase):
    def add(self, *options):
        """A service of a name of its own, and its settings."""
        name = f"shop-{uuid.uuid4().hex[:8]}"
        self.addCleanup(broker.run, "service", "remove", name, "--yes")
        code, text = broker.run("service", "add", name, *options, "--json")
        self.assertEqual(code, 0, text)
        return name, json.loads(text)

    def url(self, settings):
        name = settings["user"]
        return settings["url"].replace(f"{name}@", f"{name}:{settings['password']}@")

    def channel(self, settings):
        connection = pika.BlockingConnection(pika.URLParameters(self.url(settings)))
        self.addCleanup(lambda: connection.is_open and connection.close())
        channel = connection.channel()
        channel.confirm_delivery()
        return channel

    def start(self, client):
        return client.command("verification.start", {"phoneNumber": new_number("+49176", 8), "app": APP})["verificationID"]

    def bind(self, settings):
        channel = self.channel(settings)
        channel.queue_bind(settings["eventQueue"], "countersign.events", "verification.started")
        channel.connection.close()

    def read(self, settings):
        """Takes what is kept: IDs of verifications."""
        channel, found = self.channel(settings), []
        while True:
            method, _, body = channel.basic_get(settings["eventQueue"], auto_ack=True)
            if not method:
                channel.connection.close()
                return found
            found.append(json.loads(body)["verificationID"])

    def assert_refused(self, settings, attempt):
        with self.assertRaises(pika.exceptions.ChannelClosedByBroker) as caught:
            attempt(self.channel(settings))
        self.assertEqual(caught.exception.reply_code, 403)


class UserTest(ServicesTest):
    def test_a_service_gets_its_events_after_being_away_and_nothing_else(self):
        name, settings = self.add("--events")
        _, other = self.add("--events")
        self.bind(settings)
        started = self.start(Client.of(self, self.url(settings)))
        eventually("its event was kept", lambda: started in self.read(settings))
        self.assertEqual(self.read(other), [])
        mine = settings["eventQueue"]
        own = self.channel(settings).queue_declare(f"{settings['replyPrefix']}a", durable=True)
        self.assertEqual(own.method.message_count, 0)
        for attempt in [
                lambda channel: channel.basic_get(other["eventQueue"]),
                lambda channel: channel.queue_bind(other["eventQueue"], "countersign.events", "#"),
                lambda channel: channel.queue_delete(mine),
                lambda channel: channel.queue_purge("coordinator.commands"),
                lambda channel: channel.queue_declare(f"{other['replyPrefix']}a", durable=True),
                lambda channel: channel.queue_declare("countersign.events.mine", durable=True),
                lambda channel: channel.basic_publish("countersign.jobs", "sms.dispatch", b"{}"),
                lambda channel: channel.basic_publish("countersign.events", "verification.started", b"{}"),
                lambda channel: channel.basic_get("sms.dispatch")]:
            self.assert_refused(settings, attempt)
        code, text = broker.run("topology", "check")
        self.assertEqual(code, 0, text)
        self.assertIn(f"user {name} has the rights of service", text)
        found = broker.management(f"/api/users/{name}")
        self.assertEqual((found["tags"], found["limits"]), ([], {"max-channels": 2000, "max-connections": 1000}))

    def test_a_repetition_keeps_the_password_and_a_new_one_ends_the_old(self):
        name, settings = self.add()
        code, text = broker.run("service", "add", name, "--events", "--json")
        self.assertEqual(code, 0, text)
        self.assertNotIn("password", json.loads(text))
        self.channel(settings).connection.close()
        with tempfile.TemporaryDirectory() as directory:
            file = pathlib.Path(directory) / "password"
            code, text = broker.run("service", "add", name, "--new-password", "--password-file", str(file), "--json")
            self.assertEqual(code, 0, text)
            self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o600)
            renewed = dict(settings, password=file.read_text().strip())
        self.assertNotIn(renewed["password"], text)
        self.channel(renewed).connection.close()
        with self.assertRaises(pika.exceptions.AMQPConnectionError):
            self.channel(settings)
        self.assertEqual(broker.management(f"/api/users/{name}")["limits"], {"max-channels": 2000, "max-connections": 1000})

    def test_a_sender_sends_jobs(self):
        _, settings = self.add("--sender")
        client = Client.of(self, self.url(settings))
        sent = client.send("countersign.jobs", "sms.dispatch", {
            "to": new_number("+49176", 8), "text": "Hello 654321", "deadline": in_seconds(300)})
        self.assertEqual(client.wait(sent)[1]["outcome"], "accepted")
        code, text = broker.run("topology", "check")
        self.assertEqual(code, 0, text)

    def test_a_removal_ends_its_connections_and_takes_its_queue(self):
        name, settings = self.add("--events")
        self.bind(settings)
        self.start(Client.of(self, broker.url("service")))
        connected = self.channel(settings)
        code, text = broker.run("service", "remove", name)
        self.assertEqual(code, 1, text)
        self.assertIn("add --yes", text)
        code, text = broker.run("service", "remove", name, "--yes")
        self.assertEqual(code, 0, text)

        def is_closed():
            try:
                connected.connection.process_data_events(0)
            except pika.exceptions.AMQPError:
                pass
            return connected.connection.is_closed

        eventually("its connection has ended", is_closed)
        self.assertNotIn(settings["eventQueue"], [one["name"] for one in broker.management("/api/queues/%2F")])
        self.assertNotIn(name, [one["name"] for one in broker.management("/api/users")])
        code, text = broker.run("topology", "check")
        self.assertEqual(code, 0, text)

    def test_a_user_of_another_virtual_host_too_stays_there(self):
        name, _ = self.add("--events")
        other = f"other-{uuid.uuid4().hex[:8]}"
        rights = f"/api/permissions/{other}/{name}"
        broker.management(f"/api/vhosts/{other}", "PUT", {})
        self.addCleanup(broker.management, f"/api/users/{name}", "DELETE")
        self.addCleanup(broker.management, f"/api/vhosts/{other}", "DELETE")
        broker.management(rights, "PUT", {"configure": "", "write": "", "read": ".*"})
        before = broker.management(f"/api/users/{name}")["password_hash"]
        code, text = broker.run("service", "remove", name)
        self.assertEqual(code, 1, text)
        self.assertIn(f"the user stays for {other}", text)
        code, text = broker.run("service", "remove", name, "--yes")
        self.assertEqual(code, 0, text)
        self.assertEqual([one["vhost"] for one in broker.management(f"/api/users/{name}/permissions")], [other])
        self.assertNotIn(f"countersign.events.{name}", [one["name"] for one in broker.management("/api/queues/%2F")])
        for options in [[], ["--new-password"]]:
            code, text = broker.run("service", "add", name, *options)
            self.assertEqual(code, 1, text)
            self.assertIn(f"has rights in {other} and none in", text)
        self.assertEqual(broker.management(f"/api/users/{name}")["password_hash"], before)

    def test_who_may_not_make_users_gets_the_commands(self):
        name = f"shop-{uuid.uuid4().hex[:8]}"
        self.addCleanup(broker.management, f"/api/queues/%2F/countersign.events.{name}", "DELETE")
        code, text = broker.run("service", "add", name, "--events", administrator=False)
        self.assertEqual(code, 77, text)
        self.assertIn(f"rabbitmqctl add_user {name} PASSWORD", text)
        self.assertNotIn(name, [one["name"] for one in broker.management("/api/users")])
        self.assertIn(f"countersign.events.{name}", [one["name"] for one in broker.management("/api/queues/%2F")])


class FullTest(ServicesTest):
    def test_a_full_queue_of_one_harms_no_other(self):
        _, full = self.add("--events")
        _, other = self.add("--events")
        # The policy's own bound, made small: everything else is as it is in operation.
        policy = broker.management("/api/policies/%2F/countersign.events")
        small = dict(policy["definition"], **{"max-length": FEW})
        broker.management("/api/policies/%2F/test-few", "PUT", {
            "pattern": f"^{full['eventQueue']}$", "apply-to": "queues", "priority": 99, "definition": small})
        self.addCleanup(broker.management, "/api/policies/%2F/test-few", "DELETE")
        eventually("the bound is in force", lambda: broker.figures(full["eventQueue"]).get("policy") == "test-few")
        for one in [full, other]:
            self.bind(one)
        client = Client.of(self, broker.url("service"))
        began = time.monotonic()
        started = [self.start(client) for _ in range(3 * FEW)]
        took = time.monotonic() - began
        kept = []

        def all_kept():
            kept.extend(self.read(other))
            return set(started) <= set(kept)

        eventually("the other one has all", all_kept)
        # Of the full one, the oldest went.
        self.assertEqual(self.read(full), started[-FEW:])
        self.assertLess(took, 30)


class RecordTest(ServicesTest):
    def test_acts_on_services_and_the_topology_are_in_the_record(self):
        name, settings = self.add("--events")
        code, text = broker.run("service", "remove", name, "--yes")
        self.assertEqual(code, 0, text)
        policy = "/api/policies/%2F/countersign.lock"
        broker.management(policy, "DELETE")
        code, text = broker.run("topology", "apply", "--without-users")
        self.assertEqual(code, 0, text)
        self.assertNotIn("not noted", text)
        code, text = broker.run("audit", "--limit", "20", "--json")
        self.assertEqual(code, 0, text)
        self.assertNotIn(settings["password"], text)
        acts = [(one["by"], one["act"], one.get("subject")) for one in json.loads(text)["acts"]]
        for act, subject in [("service.add", f"{name} --events"), ("service.remove", name),
                             ("topology.apply", "declared policy countersign.lock")]:
            self.assertIn(("operator", act, subject), acts)
