"""A server of a test's own: a provider, a page. Each request has a thread."""

import http.server
import threading


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Headers and body are written apart.
    disable_nagle_algorithm = True

    def body(self):
        return self.rfile.read(int(self.headers["Content-Length"]))

    def answer(self, status, data=b"", content_type="application/json", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, handler, port=0):
        super().__init__(("127.0.0.1", port), handler)

    def start(self, add_cleanup):
        """Serves until the cleanup of a test, of its class or of its module."""
        threading.Thread(target=self.serve_forever, daemon=True).start()
        add_cleanup(self.server_close)
        add_cleanup(self.shutdown)
        return self

    def handle_error(self, *_):
        """A client that is killed at the end of a test resets its connections."""
