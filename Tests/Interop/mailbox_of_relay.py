"""The mailboxes of the simulated mail relay, and the links in their mails."""

import email
import email.policy
import mailbox
import os
import pathlib
import re
import urllib.parse

from waiting import eventually

DIRECTORY = pathlib.Path(os.environ["COUNTERSIGN_MAILDIR"])
# Seconds, microseconds, the process and its count of mails.
NAME = re.compile(r"(\d+)\.M(\d+)P\d+Q(\d+)\.")
LINK = re.compile(r"https?://\S+[?&]oobCode=\S+")


def messages(address):
    """What has arrived for an address, the latest last."""
    if not DIRECTORY.is_dir():
        return []
    box = mailbox.Maildir(DIRECTORY, factory=None, create=False)
    found = []
    for key in sorted(box.keys(), key=lambda key: tuple(map(int, NAME.match(key).groups()))):
        with box.get_file(key) as file:
            message = email.message_from_binary_file(file, policy=email.policy.default)
        if address in str(message["To"]):
            found.append(message)
    return found


def message(address, timeout=90, count=1):
    return eventually(f"{count} mails are there", lambda: len(found := messages(address)) >= count and found, timeout)[-1]


class Link:
    """The link of a mail, or one that an administrator was given."""

    def __init__(self, url):
        self.url = url
        self.query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))
        self.code, self.mode = self.query["oobCode"], self.query["mode"]


def links(address):
    found = []
    for one in messages(address):
        found += map(Link, LINK.findall(one.get_body(("plain",)).get_content()))
    return found


def link(address, timeout=90, count=1):
    return eventually(f"{count} links are there", lambda: len(found := links(address)) >= count and found, timeout)[-1]
