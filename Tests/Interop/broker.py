"""The broker of the tests: its management API, and its queues of jobs."""

import base64
import contextlib
import json
import os
import time
import urllib.error
import urllib.parse
import urllib.request

import pika

import stack
from countersign_client import Client
from process import countersign

JOBS = "sms.dispatch"
DELAYS = f"countersign.retry.{JOBS}."
# How long a message may be on its way from one queue to another.
MOVE_SECONDS = 2


def url(user):
    known = urllib.parse.urlsplit(os.environ["COUNTERSIGN_AMQP_URL"])
    password = (stack.DIRECTORY / "secrets" / f"broker-{user}").read_text().strip()
    return f"amqp://{user}:{password}@{known.hostname}:{known.port}"


def client(test, user):
    return Client.of(test, url(user))


def channel(test, user):
    """A channel with confirms, whose connection ends with the test."""
    # A test may be silent for minutes.
    connection = pika.BlockingConnection(pika.URLParameters(url(user) + "/%2F?heartbeat=0"))
    test.addCleanup(lambda: connection.is_open and connection.close())
    opened = connection.channel()
    opened.confirm_delivery()
    return opened


class Events:
    """The events under some names from now on: names and bodies."""

    def __init__(self, test, *names):
        self.channel = channel(test, "service")
        self.queue = self.channel.queue_declare("", exclusive=True).method.queue
        for name in names:
            self.channel.queue_bind(self.queue, "countersign.events", name)
        self.taken = []

    def of(self, **fields):
        """Those so far whose bodies have these fields."""
        while (found := self.channel.basic_get(self.queue, auto_ack=True))[0]:
            self.taken.append((found[0].routing_key, json.loads(found[2])))
        return [(name, body) for name, body in self.taken if fields.items() <= body.items()]


def dead_letter(queue, message_id, timeout=30):
    """The properties and the body of a dead letter, which is taken; `None` where it does not come."""
    with contextlib.closing(pika.BlockingConnection(pika.URLParameters(os.environ["COUNTERSIGN_OPERATOR_AMQP_URL"]))) as connection:
        channel = connection.channel()
        for method, properties, body in channel.consume(f"{queue}.dead", inactivity_timeout=timeout):
            if method is None:
                return None
            if properties.message_id == message_id:
                channel.basic_ack(method.delivery_tag)
                return properties, body


def figures(queue):
    """What the broker says of a queue: some seconds old."""
    return management(f"/api/queues/%2F/{queue}")


def management(path, method="GET", body=None):
    url = urllib.parse.urlsplit(os.environ["COUNTERSIGN_TEST_MANAGEMENT_URL"])
    request = urllib.request.Request(f"http://{url.hostname}:{url.port}{path}", method=method)
    login = base64.b64encode(f"{url.username}:{url.password}".encode()).decode()
    request.add_header("Authorization", f"Basic {login}")
    if body is not None:
        request.add_header("Content-Type", "application/json")
        request.data = json.dumps(body).encode()
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.loads(response.read() or "null")


def run(*arguments, administrator=True):
    """Runs the command line, with the management API's administrator unless told otherwise: its code, and what it says."""
    environment = dict(os.environ)
    if administrator:
        environment["COUNTERSIGN_MANAGEMENT_URL"] = os.environ["COUNTERSIGN_TEST_MANAGEMENT_URL"]
    done = countersign(*arguments, env=environment)
    return done.returncode, done.stdout + done.stderr


def connections(suffix):
    """The connections whose clients have given them a name with that end. The list may still have some that are closed."""
    return {one["name"] for one in management("/api/connections")
            if one.get("client_properties", {}).get("connection_name", "").endswith(suffix)}


def close_connection(suffix, closed=(), timeout=180):
    """Closes a connection of that name, as soon as there is another one than those that are closed already: which it was."""
    deadline = time.monotonic() + timeout
    while True:
        for name in connections(suffix) - set(closed):
            try:
                management(f"/api/connections/{urllib.parse.quote(name, safe='')}", "DELETE")
                return name
            except urllib.error.HTTPError as error:
                # It has ended meanwhile.
                if error.code != 404:
                    raise
        if time.monotonic() > deadline:
            raise TimeoutError(f"no connection of {suffix} within {timeout} s")
        time.sleep(0.1)


def job_queues():
    names = [one["name"] for one in management("/api/queues/%2F")]
    return sorted(name for name in names if name == JOBS or name.startswith(DELAYS))


class JobQueues:
    """The jobs that no worker has in hand, as the queues themselves tell: the figures of the management API are seconds old, and those of
    one queue of another moment than those of the next."""

    def __enter__(self):
        self.names = job_queues()
        self.connection = pika.BlockingConnection(pika.URLParameters(os.environ["COUNTERSIGN_TEST_AMQP_URL"]))
        self.channel = self.connection.channel()
        return self

    def __exit__(self, *_):
        self.connection.close()

    def _declared(self, name):
        return self.channel.queue_declare(name, passive=True).method

    def waiting(self):
        """How many jobs wait. One that moves meanwhile is seen twice or not at all."""
        return sum(self._declared(name).message_count for name in self.names)

    def settled(self, at_least, timeout):
        """How many jobs wait, as soon as no worker consumes them and they are so many and stay as many."""
        deadline = time.monotonic() + timeout
        before, now = None, self.waiting()
        while self._declared(JOBS).consumer_count or now < at_least or now != before:
            if time.monotonic() > deadline:
                raise TimeoutError(f"no {at_least} jobs that stay within {timeout} s, but {now}")
            self.connection.sleep(MOVE_SECONDS)
            before, now = now, self.waiting()
        return now


def settled_jobs(at_least=0, timeout=180):
    """How many jobs wait, and are delayed. The workers have to be stopped: what they hold comes back."""
    with JobQueues() as queues:
        return queues.settled(at_least, timeout)


def empty_job_queues(timeout=180):
    """Removes the jobs that other tests have left, for a test that counts. The workers have to be stopped: what they hold comes back."""
    with JobQueues() as queues:
        while queues.settled(0, timeout):
            for name in queues.names:
                queues.channel.queue_purge(name)
