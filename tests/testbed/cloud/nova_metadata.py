"""Stands in for Nova's metadata API: answers an instance with its own identifier, if the agent proves that it knows the secret."""

from __future__ import annotations

import hashlib
import hmac
import http.server
import sys
from pathlib import Path

SECRET = Path(sys.argv[1]).read_text(encoding="utf-8").strip().encode()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        instance = self.headers.get("X-Instance-ID", "")
        expected = hmac.new(SECRET, instance.encode(), hashlib.sha256).hexdigest()
        known = hmac.compare_digest(expected, self.headers.get("X-Instance-ID-Signature", ""))
        body = (instance if known else "who are you?").encode()
        self.send_response(200 if known else 403)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


http.server.ThreadingHTTPServer(("", 8775), Handler).serve_forever()
