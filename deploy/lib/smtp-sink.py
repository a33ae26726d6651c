#!/usr/bin/env python3
"""A mail server that takes everything and keeps nothing, for deploy/bench: smtp-sink.py PORT, on 127.0.0.1."""

import asyncio
import sys


class Sink(asyncio.Protocol):
    """One connection."""

    def connection_made(self, transport):
        self.transport, self.received, self.is_data = transport, b"", False
        transport.write(b"220 sink\r\n")

    def data_received(self, data):
        self.received += data
        while True:
            end = b"\r\n.\r\n" if self.is_data else b"\r\n"
            line, found, rest = self.received.partition(end)
            if not found:
                return
            self.received = rest
            if self.is_data:
                self.is_data = False
                self.transport.write(b"250 2.0.0 Ok: queued as 0\r\n")
            else:
                self.command(line[:4].upper())

    def command(self, verb):
        if verb == b"DATA":
            self.is_data = True
            self.transport.write(b"354 go ahead\r\n")
        elif verb == b"EHLO":
            self.transport.write(b"250-sink\r\n250 8BITMIME\r\n")
        elif verb == b"QUIT":
            self.transport.write(b"221 bye\r\n")
            self.transport.close()
        else:
            self.transport.write(b"250 2.1.0 Ok\r\n")


async def main():
    server = await asyncio.get_running_loop().create_server(Sink, "127.0.0.1", int(sys.argv[1]), backlog=256)
    await server.serve_forever()


asyncio.run(main())
