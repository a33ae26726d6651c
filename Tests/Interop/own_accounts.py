"""Accounts and a gateway of a test's own, whose clock and configuration it sets."""

import re
import unittest

import stack
from gateway_client import Administrator, APIError, Apple, Assertions, Web
from preload import Clock, library
from process import Process
from waiting import eventually

# What is sensitive needs a sign-in of the last five minutes.
RECENT_SECONDS = 300


class OwnAccounts(Assertions, unittest.TestCase):
    """The stack's own accounts and gateways are stopped meanwhile."""

    @classmethod
    def setUpClass(cls):
        stack.stop_for_class(cls, "accounts", "gateway")
        cls.library = library(cls.addClassCleanup, "clock_step")

    def setUp(self):
        self.accounts, self.gateway = Process("accounts"), Process("gateway")
        for process in [self.accounts, self.gateway]:
            self.addCleanup(process.__exit__)
        if stack.IS_POSTGRESQL:
            # PostgreSQL has a clock of its own, which no test sets.
            self.accounts.replace(r"database: \{[^}]*\}", 'database: { path: "../data/accounts.sqlite" }')
        self.clock = Clock(self, self.library)
        self.accounts.variables |= self.clock.variables

    def start(self):
        for process in [self.accounts, self.gateway]:
            process.start()
        for process in [self.accounts, self.gateway]:
            process.ready()
        url = f"http://127.0.0.1:{self.gateway.listen_port}"
        self.web, self.apple, self.administrator = Web(url), Apple(url=url), Administrator(url=url)

    def limit(self, limits):
        """Has accounts count as it does for users, rather than for tests."""
        self.accounts.replace("development: true", f"development: false, limits: {{ {limits} }}")
        self.accounts.projects.write_text(self.accounts.projects.read_text().replace("emulatorTokens: true", "emulatorTokens: false"))

    def set_project(self, pattern, text):
        """Changes the project's file of both processes, which read it again without a restart."""
        for process in [self.accounts, self.gateway]:
            changed, count = re.subn(pattern, text, process.projects.read_text())
            self.assertEqual(count, 1, f"the project has {count} of {pattern}")
            process.projects.write_text(changed)

    def set_methods(self, **methods):
        text = ", ".join(f'"{name}": {str(is_on).lower()}' for name, is_on in methods.items())
        self.set_project(r"methods: \{[^}]*\}", f"methods: {{ {text} }}")

    def switched_off(self, *calls):
        """Until each call, with its arguments behind it, is refused as not allowed."""
        def are_off():
            return all(self.is_off(*call) for call in calls)
        eventually("the change is noticed", are_off)

    def is_off(self, call, *arguments):
        try:
            call(*arguments)
        except APIError as error:
            return (error.status, error.code) == (400, "OPERATION_NOT_ALLOWED")
        return False
