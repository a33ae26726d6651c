"""An SMPP server that somebody else wrote (https://pypi.org/project/smpp34), and a wire before it that can be cut.

The server answers each message as `decide` says, on an event loop of its own thread. Imported only by tests that need it.
"""

import asyncio
import itertools
import socket
import threading

import smpp34

RECEIPT = 0x04
USER_DATA_HEADER = 0x40


class Message:
    def __init__(self, smsc, event, number):
        self.smsc = smsc
        self.event = event
        self.id = f"m{number}"
        self.to = event.destination_addr
        self.octets = bytes(event.short_message)
        self.has_header = bool(event.esm_class & USER_DATA_HEADER)
        self.data_coding = event.data_coding
        self.wants_receipt = bool(event.registered_delivery & 1)
        self.parameters = {tlv.tag: bytes(tlv.value) for tlv in event.tlvs}
        self.is_open = True

    def accept(self):
        self.is_open = False
        self.event.accept(self.id)

    def reject(self, status):
        self.is_open = False
        self.event.reject(status)

    async def report(self, state="DELIVRD", error="000", newest=False, session=None):
        """Sends a receipt, by the session of the message, by the newest or by another one, and waits for the answer: its command_status."""
        if session is None:
            session = list(self.smsc.sessions.values())[-1] if newest else self.smsc.sessions[self.event.session_id]
        answer = await session.deliver_sm(
            destination_addr=self.event.source_addr, source_addr=self.to, esm_class=RECEIPT,
            short_message=f"id:{self.id} sub:001 dlvrd:001 submit date:2607011230 done date:2607011230 "
                          f"stat:{state} err:{error} text:Your".encode())
        return answer.command_status


class SMSC:
    def __init__(self, tls=None):
        self.decide = Message.accept
        self._tls = tls
        self.messages = []
        self.sessions = {}
        self.binds = 0
        self.most_open = 0
        self._numbers = itertools.count(1)
        self._wires = set()
        self._tasks = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self.port = None

    def __enter__(self):
        self._thread.start()
        self.call(self._start())
        return self

    def __exit__(self, *_):
        self.call(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def call(self, coroutine, timeout=180):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(timeout)

    async def _start(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            inner = probe.getsockname()[1]
        self._server = smpp34.Server(host="127.0.0.1", port=inner, system_id="Interop", inbound_capacity=65536)
        await self._server.start()
        self._inner = inner
        self._front = await asyncio.start_server(self._connect, "127.0.0.1", 0, ssl=self._tls)
        self.port = self._front.sockets[0].getsockname()[1]
        self._spawn(self._serve())

    async def _stop(self):
        for task in list(self._tasks):
            task.cancel()
        self._cut()
        self._front.close()
        await self._server.stop()

    def _spawn(self, coroutine):
        task = self._loop.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self):
        while True:
            event = await self._server.next()
            if isinstance(event, smpp34.Esme):
                self.binds += 1
                self.sessions[event.session_id] = event
            elif isinstance(event, smpp34.SubmitSmEvent):
                message = Message(self, event, next(self._numbers))
                self.messages.append(message)
                self.most_open = max(self.most_open, sum(one.is_open for one in self.messages[-200:]))
                decided = self.decide(message)
                if asyncio.iscoroutine(decided):
                    self._spawn(decided)

    # --- the wire ---

    async def _connect(self, reader, writer):
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._inner)
        except OSError:
            writer.close()
            return
        pair = (writer, far_writer)
        self._wires.add(pair)
        try:
            await asyncio.gather(self._copy(reader, far_writer), self._copy(far_reader, writer))
        finally:
            self._wires.discard(pair)

    async def _copy(self, reader, writer):
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()

    def _cut(self):
        for near, far in self._wires:
            # No good-bye: what is in flight is lost, and the worker sees a reset.
            near.transport.abort()
            far.transport.abort()

    def cut(self):
        async def cut():
            self._cut()
        self.call(cut())

    def on_loop(self, function, *arguments):
        async def call():
            return function(*arguments)
        return self.call(call())
