"""The broker of the tests, by its management API."""

import base64
import json
import os
import urllib.parse
import urllib.request


def management(path, method="GET", body=None):
    """Asks the management API of the broker."""
    url = urllib.parse.urlsplit(os.environ["COUNTERSIGN_TEST_MANAGEMENT_URL"])
    request = urllib.request.Request(f"http://{url.hostname}:{url.port}{path}", method=method)
    login = base64.b64encode(f"{url.username}:{url.password}".encode()).decode()
    request.add_header("Authorization", f"Basic {login}")
    if body is not None:
        request.add_header("Content-Type", "application/json")
        request.data = json.dumps(body).encode()
    with urllib.request.urlopen(request, timeout=20) as response:
        return json.loads(response.read() or "null")


def job_queues():
    """The messages of each queue that holds jobs or delays them, by its name."""
    return {one["name"]: one.get("messages", 0) for one in management("/api/queues/%2F")
            if one["name"] == "sms.dispatch" or one["name"].startswith("countersign.retry.")}


def empty_job_queues():
    """Removes the jobs that other tests have left, for a test that counts. The workers have to be stopped: what they hold comes back."""
    for name in job_queues():
        management(f"/api/queues/%2F/{urllib.parse.quote(name, safe='')}/contents", "DELETE")
