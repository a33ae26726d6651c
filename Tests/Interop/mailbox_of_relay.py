"""The mailboxes of the simulated mail relay."""

import email
import email.policy
import mailbox
import os
import pathlib

from waiting import eventually

DIRECTORY = pathlib.Path(os.environ["COUNTERSIGN_MAILDIR"])


def messages(address):
    if not DIRECTORY.is_dir():
        return []
    box = mailbox.Maildir(DIRECTORY, factory=None, create=False)
    found = []
    for key in box.keys():
        with box.get_file(key) as file:
            message = email.message_from_binary_file(file, policy=email.policy.default)
        if address in str(message["To"]):
            found.append(message)
    return found


def message(address, timeout=90):
    return eventually("a mail is there", lambda: messages(address), timeout)[-1]
