"""Headless Chromium as a browser of pages that tests open and run code in. It speaks DevTools' protocol over a pipe."""

import collections
import fcntl
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import tempfile
import time

BROWSERS = ["chromium-headless-shell", "chromium", "google-chrome"]
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-proxy-server", "--no-first-run",
    "--disable-background-networking",
]
# Maximum time for an answer of the browser, code of a page included: a machine may be busy.
ANSWER_SECONDS = 90
# The number from which the browser's ends of the pipes are counted, so that they are not those that it takes them by.
FIRST_DESCRIPTOR = 10
READ_BYTES = 1 << 16
# What pages have said last, for the report of a failure.
KEPT_WORDS = 20
# Loads of pages that are remembered until they are waited for.
KEPT_LOADS = 100
# Requests of pages that a test can ask for, where it has switched `Network` on.
KEPT_REQUESTS = 1000
KEYS = {"Tab": (9, ""), "Enter": (13, "\r")}


def program():
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise FileNotFoundError("no browser is installed: apt-get install chromium-headless-shell")
    return found


class PageError(AssertionError):
    """What code of a page has thrown: `code` is the error's own, if it has one."""

    def __init__(self, error):
        super().__init__(f"{error.get('code')}: {error['message']}")
        self.code, self.message = error.get("code"), error["message"]


class Browser:
    def __init__(self, *flags):
        self.directory = tempfile.TemporaryDirectory(prefix="countersign-", ignore_cleanup_errors=True)
        self.log = pathlib.Path(self.directory.name) / "log"
        self.words = collections.deque(maxlen=KEPT_WORDS)
        self.loaded = collections.deque(maxlen=KEPT_LOADS)
        self.requests = collections.deque(maxlen=KEPT_REQUESTS)
        self.buffer, self.number = bytearray(), 0
        theirs, self.output = _pipe(inner=0)
        self.input, theirs_too = _pipe(inner=1)
        command = [program(), *FLAGS, *flags, f"--user-data-dir={self.directory.name}/profile", "--remote-debugging-pipe"]
        with open(self.log, "wb") as output:
            self.running = subprocess.Popen(
                ["bash", "-c", f'exec "$@" 3<&{theirs} 4>&{theirs_too}', "bash", *command],
                stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=os.environ | {"HOME": self.directory.name},
                start_new_session=True, pass_fds=(theirs, theirs_too))
        os.close(theirs)
        os.close(theirs_too)

    def close(self):
        """Ends all of it: a browser is many processes, and one that is asked to end leaves some behind."""
        os.killpg(self.running.pid, signal.SIGKILL)
        self.running.wait()
        os.close(self.input)
        os.close(self.output)
        self.directory.cleanup()

    def call(self, method, session=None, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.output, data):]
        deadline = time.monotonic() + ANSWER_SECONDS
        while True:
            answer = self._read(method, deadline)
            if answer.get("id") == self.number:
                break
            self._note(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def wait_for_load(self, loader):
        """Waits until a page is loaded, and not the one before it."""
        deadline = time.monotonic() + ANSWER_SECONDS
        while loader not in self.loaded:
            self._note(self._read("a page's load", deadline))

    def page(self, address):
        context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable", session)
        self.call("Page.setLifecycleEventsEnabled", session, enabled=True)
        self.call("Runtime.enable", session)
        page = Page(self, context, session)
        page.open(address)
        return page

    def _note(self, message):
        method, parameters = message.get("method"), message.get("params", {})
        if method == "Runtime.consoleAPICalled":
            self.words.append(" ".join(str(part.get("value", part.get("description"))) for part in parameters["args"]))
        elif method == "Runtime.exceptionThrown":
            self.words.append(parameters["exceptionDetails"].get("exception", {}).get("description", "an exception"))
        elif method == "Page.lifecycleEvent" and parameters["name"] == "load":
            self.loaded.append(parameters["loaderId"])
        elif method == "Network.requestWillBeSent":
            self.requests.append((message["sessionId"], parameters["type"], parameters["request"]["url"]))

    def _read(self, awaited, deadline):
        while (end := self.buffer.find(b"\0")) < 0:
            seconds = deadline - time.monotonic()
            data = b""
            if seconds > 0 and select.select([self.input], [], [], seconds)[0]:
                data = os.read(self.input, READ_BYTES)
            if not data:
                raise TimeoutError(
                    f"the browser has not answered {awaited} within {ANSWER_SECONDS} s, or has ended; pages said: {list(self.words)}; "
                    f"its log: {self.log.read_text(errors='replace')[-2000:]}")
            self.buffer += data
        message = json.loads(self.buffer[:end])
        del self.buffer[:end + 1]
        return message


class Page:
    def __init__(self, browser, context, session):
        self.browser, self.context, self.session = browser, context, session

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def press(self, key):
        code, text = KEYS[key]
        for kind in ["keyDown", "keyUp"]:
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, text=text)
            text = ""

    def open(self, address):
        answer = self.browser.call("Page.navigate", self.session, url=address)
        if "errorText" in answer:
            raise RuntimeError(f"{address}: {answer['errorText']}")
        self.browser.wait_for_load(answer["loaderId"])

    def run(self, text, /, **values):
        """Runs the body of an asynchronous function with some values as constants: what it returns."""
        names = ", ".join(values)
        expression = (
            f"(async ({{{names}}}) => {{ try {{ return {{value: await (async () => {{ {text}\n }})()}}; }} catch (error) {{"
            f" return {{error: {{code: error?.code, message: String(error?.message ?? error)}}}}; }} }})({json.dumps(values)})")
        answer = self.browser.call("Runtime.evaluate", self.session, expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"code of a test is wrong: {answer['exceptionDetails']}")
        result = answer["result"]["value"]
        if "error" in result:
            raise PageError(result["error"])
        return result.get("value")

    def close(self):
        self.browser.call("Target.disposeBrowserContext", browserContextId=self.context)


def _pipe(inner):
    """Both ends of a pipe, and the one that a browser inherits far from the numbers that it reads and writes."""
    ends = list(os.pipe())
    moved = fcntl.fcntl(ends[inner], fcntl.F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR)
    os.close(ends[inner])
    ends[inner] = moved
    return ends
