"""A network of its own for a server: a namespace with a link to this one, over addresses that are cut off one by one."""

import atexit
import os
import random
import subprocess

# For tests of networks (RFC 2544); no machine has them.
NETWORK = "198.18"
CLIENTS = 2


def is_allowed():
    return os.geteuid() == 0


def _ip(*arguments):
    subprocess.run(["ip", *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=True)


class Network:
    """The server's side is reached at one address for each of its clients. Removed with close()."""

    def __init__(self):
        number = random.randrange(1 << 13)
        self.name = f"countersign-{number}"
        self.link = f"csn{number}"
        begin = f"{NETWORK}.{number >> 5}"
        first = (number & 31) * 8
        self.here = f"{begin}.{first + 1}"
        self.addresses = [f"{begin}.{first + 2 + client}" for client in range(CLIENTS)]
        self.lost = set()
        _ip("netns", "add", self.name)
        _ip("link", "add", self.link, "type", "veth", "peer", "name", "inside", "netns", self.name)
        _ip("address", "add", f"{self.here}/29", "dev", self.link)
        _ip("link", "set", self.link, "up")
        for address in self.addresses:
            _ip("-n", self.name, "address", "add", f"{address}/29", "dev", "inside")
        _ip("-n", self.name, "link", "set", "inside", "up")
        _ip("-n", self.name, "link", "set", "lo", "up")
        # Before a program, runs it in the namespace.
        self.wrapper = ["ip", "netns", "exec", self.name]
        atexit.register(self.close)

    def cut(self, address):
        """Drops what is sent there, as a dead network does: nobody is told."""
        _ip("route", "add", "blackhole", f"{address}/32")
        self.lost.add(address)

    def mend(self, address):
        _ip("route", "delete", "blackhole", f"{address}/32")
        self.lost.discard(address)

    def close(self):
        atexit.unregister(self.close)
        for address in list(self.lost):
            self.mend(address)
        _ip("link", "delete", self.link)
        _ip("netns", "delete", self.name)
