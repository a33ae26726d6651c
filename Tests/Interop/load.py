"""Verifications at a fixed rate, start to approval, and all that was answered to every command.

One thread has the connection and sends, another reads the codes from the simulator. A command without an answer is asked
again under its message ID; some are sent twice at once, and some once more after their answer, so that answers can be
compared.
"""

import asyncio
import collections
import functools
import heapq
import json
import os
import random
import threading
import time
import uuid

import pika
import pika.exceptions
from pika.adapters.asyncio_connection import AsyncioConnection

import simulator
from countersign_client import REPLY_TO

APP = "com.example.app"
# How long an answer is awaited before the first repetition; each further one waits longer by as much.
ASK_AGAIN_SECONDS = 5
# Repetitions at once: a storm of them would not be answered sooner.
MAX_REPETITIONS = 20
POLL_SECONDS = 0.1
TICK_SECONDS = 0.01
# How long answers are awaited that may come for the second time.
LINGER_SECONDS = 2
# One command in so many is sent twice at once, and another one is repeated after its answer.
REPEATED = 10
EVENTS = ["verification.started", "verification.approved"]


class Command:
    __slots__ = ("verification", "name", "body", "message_id", "first_asked", "asked", "answers", "answered")

    def __init__(self, verification, name, body):
        self.verification, self.name, self.body = verification, name, json.dumps(body).encode()
        self.message_id = str(uuid.uuid4())
        self.first_asked = self.answered = None
        self.asked = 0
        self.answers = collections.Counter()


class Verification:
    __slots__ = ("number", "id", "code", "start", "check", "is_approved")

    def __init__(self, number):
        self.number = number
        self.id = self.code = self.check = None
        self.is_approved = False
        self.start = Command(self, "verification.start", {"phoneNumber": number, "app": APP, "languageCode": "en"})


class Codes:
    """Reads what the simulator has received, without a gap, and without reading much of it twice."""

    def __init__(self):
        self.limit = 64
        self.last = (simulator.newest(1) or [{}])[-1].get("id")

    def read(self):
        while True:
            found = simulator.newest(self.limit)
            known = next((index for index in range(len(found) - 1, -1, -1) if found[index]["id"] == self.last), None)
            if known is None and len(found) == self.limit:
                self.limit *= 2
                continue
            new = found[known + 1 if known is not None else 0:]
            self.limit = max(64, 2 * len(new))
            if new:
                self.last = new[-1]["id"]
            return new


class Load:
    """Verifications at a rate, in threads of their own: start(), then wait(), then the figures."""

    # Another module on the same stack has others.
    used_numbers = random.randrange(80_000_000)

    def __init__(self, count, rate, limit_seconds, ask_again=ASK_AGAIN_SECONDS):
        first = Load.used_numbers
        Load.used_numbers += count
        # Distinct mobile numbers that the plan of Germany allows, far apart in prefix.
        self.verifications = [
            Verification(f"+49152{index * 4801 % 90_000_000 + 10_000_013}") for index in range(first, first + count)]
        self.by_number = {one.number: one for one in self.verifications}
        self.count, self.rate, self.limit_seconds, self.ask_again = count, rate, limit_seconds, ask_again
        self.commands = {}
        # What is not answered yet, and when it is asked again.
        self.open = set()
        self.due = []
        self.messages = collections.defaultdict(list)
        self.events = {name: collections.defaultdict(set) for name in EVENTS}
        self.started, self.approved = 0, 0
        self.errors, self.problems = [], []
        self.asked_again, self.connections, self.nacks = 0, 0, 0
        self.times, self.marks = [], []
        self.begun = self.ended = None
        self.channel = self.connection = self.loop = None
        self.is_ending = False
        self.over = threading.Event()
        self.threads = []

    # --- from other threads ---

    def start(self):
        self.codes = Codes()
        ready = threading.Event()
        self.threads = [threading.Thread(target=self._drive, args=[ready], daemon=True),
                        threading.Thread(target=self._read_codes, daemon=True)]
        self.threads[0].start()
        if not ready.wait(30):
            raise TimeoutError("the broker does not answer")
        self.threads[1].start()
        return self

    def mark(self, text):
        """Notes an accident: pauses are told by it."""
        self.marks.append((time.monotonic(), text))
        print(
            f"  {time.monotonic() - self.begun:6.1f} s, {self.approved} approved, {len(self.open)} open: {text}", flush=True)

    def suffer(self, test, accidents):
        """Has accidents happen one after the other, spread over the load."""
        for number, (what, act) in enumerate(accidents):
            while self.approved < self.count * (number + 0.5) / (len(accidents) + 1) and not self.is_over():
                time.sleep(0.05)
            test.assertFalse(self.is_over(), f"no load is left for: {what}")
            self.mark(what)
            act()

    def is_over(self):
        return self.ended is not None

    def end_soon(self):
        """Begins no more: those that have begun are all."""
        self.is_ending = True

    def wait(self):
        self.over.wait(self.limit_seconds + 30)
        for thread in self.threads:
            thread.join(20)

    # --- the connection ---

    def _drive(self, ready):
        self.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self.loop)
        self.loop.run_until_complete(self._run(ready))
        self.loop.close()

    async def _run(self, ready):
        parameters = pika.URLParameters(os.environ["COUNTERSIGN_AMQP_URL"])
        self.user = parameters.credentials.username
        end = time.monotonic() + self.limit_seconds
        next_start = 0
        lingers = None
        while lingers is None or time.monotonic() < lingers:
            if self.channel is None:
                await self._connect(parameters)
            ready.set()
            now = time.monotonic()
            self.begun = self.begun or now
            while next_start < min(self.count, (now - self.begun) * self.rate):
                self._ask_first(self.verifications[next_start].start)
                next_start += 1
            if self.is_ending and next_start < self.count:
                self.count = next_start
                del self.verifications[next_start:]
            self._ask_again(now)
            if lingers is None and (self.approved + len(self.errors) >= self.count or now > end):
                self.ended = now
                lingers = now + LINGER_SECONDS
            await asyncio.sleep(TICK_SECONDS)
        if self.connection.is_open:
            self.connection.close()
            await asyncio.sleep(0.2)
        self.over.set()

    async def _connect(self, parameters):
        """Patiently, as the broker may be away; what was asked is asked again on the new connection."""
        deadline = time.monotonic() + 120
        while True:
            opened = self.loop.create_future()
            AsyncioConnection(
                parameters, custom_ioloop=self.loop,
                on_open_callback=functools.partial(self._settle, opened),
                on_open_error_callback=lambda _, error: self._settle(opened, None),
                on_close_callback=self._on_close)
            connection = await opened
            if connection is not None:
                break
            if time.monotonic() > deadline:
                raise TimeoutError("no connection to the broker")
            await asyncio.sleep(0.3)
        opened = self.loop.create_future()
        self.connection = connection
        connection.channel(on_open_callback=functools.partial(self._settle, opened))
        try:
            channel = await asyncio.wait_for(opened, 10)
            await self._open(channel)
        except (asyncio.TimeoutError, pika.exceptions.AMQPError):
            return
        self.channel = channel
        self.connections += 1
        # Replies to the connection before are gone.
        self.due = [(0, one) for one in self.open]

    @staticmethod
    def _settle(future, value):
        if not future.done():
            future.set_result(value)

    async def _open(self, channel):
        declared = self.loop.create_future()
        channel.confirm_delivery(self._on_confirm)
        channel.add_on_return_callback(
            lambda _channel, method, *_: self.problems.append(f"returned: {method.reply_text}"))
        channel.queue_declare("", exclusive=True, callback=functools.partial(self._settle, declared))
        queue = (await asyncio.wait_for(declared, 10)).method.queue
        for name in EVENTS:
            channel.queue_bind(queue, "countersign.events", name)
        channel.basic_consume(queue, self._on_event, auto_ack=True)
        consuming = self.loop.create_future()
        channel.basic_consume(
            REPLY_TO, self._on_reply, auto_ack=True, callback=functools.partial(self._settle, consuming))
        await asyncio.wait_for(consuming, 10)

    def _on_close(self, connection, _reason):
        if connection is self.connection:
            self.channel = None

    def _on_confirm(self, frame):
        if isinstance(frame.method, pika.spec.Basic.Nack):
            self.nacks += 1

    # --- commands ---

    def _ask_first(self, command):
        self.commands[command.message_id] = command
        command.first_asked = time.monotonic()
        self._ask(command)
        if len(self.commands) % REPEATED == 0:
            self._publish(command)

    def _ask(self, command):
        command.asked += 1
        self.open.add(command.message_id)
        heapq.heappush(self.due, (time.monotonic() + command.asked * self.ask_again, command.message_id))
        self._publish(command)

    def _publish(self, command):
        if self.channel is None:
            return
        # Without a time it is of no age, however long an accident takes.
        properties = pika.BasicProperties(
            type=f"{command.name}.v1", content_type="application/json", delivery_mode=2, message_id=command.message_id,
            correlation_id=command.message_id, reply_to=REPLY_TO, app_id="interop", user_id=self.user)
        try:
            self.channel.basic_publish("countersign.commands", command.name, command.body, properties, mandatory=True)
        except pika.exceptions.AMQPError:
            # The connection has ended; all is asked again on the next one.
            self.channel = None

    def _ask_again(self, now):
        count = 0
        while self.due and self.due[0][0] <= now and count < MAX_REPETITIONS:
            _, message_id = heapq.heappop(self.due)
            if message_id in self.open:
                count += 1
                self._ask(self.commands[message_id])
        self.asked_again += count

    def _on_reply(self, _channel, _method, properties, body):
        now = time.monotonic()
        command = self.commands.get(properties.correlation_id)
        if command is None:
            self.problems.append("an answer to nothing that was asked")
            return
        self.times.append(now)
        command.answers[(properties.type, body)] += 1
        if command.answered is not None:
            return
        command.answered = now
        self.open.discard(command.message_id)
        verification, reply = command.verification, json.loads(body)
        if properties.type == "error.v1":
            self.errors.append((verification.number, command.name, reply["error"]["code"], reply["error"]["message"]))
        elif properties.type == "verification.started.v1":
            verification.id = reply["verificationID"]
            self.started += 1
            self._check(verification)
        elif properties.type == "verification.approved.v1":
            verification.is_approved = True
            self.approved += 1
        if len(self.commands) % REPEATED == REPEATED // 2:
            self._publish(command)

    def _check(self, verification):
        if verification.id and verification.code and verification.check is None:
            body = {"verificationID": verification.id, "code": verification.code}
            verification.check = Command(verification, "verification.check", body)
            self._ask_first(verification.check)

    def _on_event(self, _channel, method, properties, body):
        self.events[method.routing_key][json.loads(body)["verificationID"]].add(properties.message_id)

    # --- codes ---

    def _read_codes(self):
        while not self.over.is_set():
            try:
                found = self.codes.read()
            except OSError:
                found = []
            if found:
                self.loop.call_soon_threadsafe(self._take_codes, found)
            self.over.wait(POLL_SECONDS)

    def _take_codes(self, found):
        for message in found:
            verification = self.by_number.get(message["to"])
            if verification is None:
                continue
            code = simulator.code(message["body"])
            self.messages[message["to"]].append(code)
            verification.code = verification.code or code
            self._check(verification)

    # --- figures ---

    def longest_calm_gap(self):
        """The longest time without a reply before the first accident: what a busy machine takes when nothing happens."""
        until = self.marks[0][0] if self.marks else self.ended
        inside = [self.begun, *[one for one in self.times if one < until], until]
        return max(after - before for before, after in zip(inside, inside[1:]))

    def gaps(self):
        found = [(after - before, before - self.begun) for before, after in zip(self.times, self.times[1:])]
        return sorted(found, reverse=True)

    def latencies(self):
        return sorted(one.answered - one.first_asked for one in self.commands.values() if one.answered is not None)

    def pauses(self):
        """For each accident, the longest time without a reply until the next one."""
        edges = self.marks + [(self.ended, "")]
        result = []
        for (at, text), (until, _) in zip(edges, edges[1:]):
            inside = [at] + [one for one in self.times if at <= one < until] + [until]
            result.append((text, max(after - before for before, after in zip(inside, inside[1:]))))
        return result

    def report(self):
        latencies = self.latencies()
        at = lambda share: (
            latencies[min(len(latencies) - 1, int(share * len(latencies)))] if latencies else float("nan"))
        took = self.ended - self.begun
        print(
            f"  {self.approved} of {self.count} approved in {took:.1f} s ({self.approved / took:.0f}/s, "
            f"{self.rate} wanted); answers after {1000 * at(0.5):.0f} ms, 99 %: {1000 * at(0.99):.0f} ms, all: "
            f"{at(1):.2f} s; longest gaps "
            f"{', '.join(f'{gap:.2f} s at {when:.0f} s' for gap, when in self.gaps()[:3])}; {self.asked_again} asked "
            f"again, {sum(sum(one.answers.values()) for one in self.commands.values())} answers to "
            f"{len(self.commands)} commands, {sum(len(codes) - 1 for codes in self.messages.values())} SMS more than "
            f"numbers, {self.connections} connections, {self.nacks} nacks", flush=True)

    def verify(self, test, unknown_calls=0):
        """Checks that each command had one effect and one answer, and that nothing is lost."""
        self.report()
        unanswered = [(one.verification.number, one.name) for one in self.commands.values() if not one.answers]
        unlike = [(one.name, list(one.answers)) for one in self.commands.values() if len(one.answers) > 1]
        test.assertEqual(self.problems[:5], [])
        test.assertEqual(collections.Counter(error[1:] for error in self.errors), {}, self.errors[:5])
        test.assertEqual(unlike[:5], [], f"{len(unlike)} commands were answered differently")
        test.assertEqual(unanswered[:5], [], f"{len(unanswered)} commands are unanswered")
        lost = [(one.number, one.id, one.code) for one in self.verifications if not one.is_approved]
        test.assertEqual(lost[:5], [], f"{len(lost)} verifications did not end")
        test.assertEqual(len({one.id for one in self.verifications}), self.count, "a verification of two numbers")
        codes = {number: codes for number, codes in self.messages.items() if len(set(codes)) > 1}
        test.assertEqual(codes, {}, "two codes to one number")
        test.assertLessEqual(sum(len(one) - 1 for one in self.messages.values()), unknown_calls, "SMS sent again")
        self._verify_events(test)

    def _verify_events(self, test):
        ours = {one.id for one in self.verifications}
        for name, events in self.events.items():
            events = {identifier: messages for identifier, messages in events.items() if identifier in ours}
            twice = {identifier: messages for identifier, messages in events.items() if len(messages) > 1}
            test.assertEqual(dict(list(twice.items())[:5]), {}, f"{name} is told as two events")
            # The queue of the events ends with its connection.
            if self.connections == 1:
                test.assertEqual(len(ours - set(events)), 0, f"{name} is not told")
