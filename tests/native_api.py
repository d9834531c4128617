"""An imitation of the service's native API, on a real socket."""

import contextlib
import hashlib
import threading

import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

from apply_edit.report import PassRecord, Report

MERGED = "def a():\n    return 1\n\n\ndef b():\n    return 20\n"
REPORT = Report(
    prompt_tokens=30, prefill_s=0.5, records=[PassRecord(9, 8, 8, 9, runs=(("x", "y", 8, 8),))]
).to_dict()


def sha256(text):
    """Return the digest that a service gives with a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def answer(text=MERGED, **other):
    """Return the body of a service's answer."""
    return {
        "text": text,
        "strategy": "model",
        "format": "instruction",
        "warnings": [{"code": "odd", "message": "look at it", "lines": [2]}],
        "agreement": None,
        "report": REPORT,
        "sha256": sha256(text),
        "deleted": False,
        "moved_to": None,
        "tries": [{"scope": "file", "refused": None, "message": ""}],
        "hunks": [{"start_line": 6, "end_line": 6, "mean_logprob": -0.1, "confidence": 0.8}],
        "confidence": 0.8,
        "length": len(text),
    } | other


class Native:
    """An imitation of the service's native API that counts what it is asked."""

    def __init__(self, reply=None, status=200):
        self.requests = []
        self.reply = answer() if reply is None else reply
        self.status = status
        self.hold = False
        self.asked = threading.Event()
        self.left = threading.Event()
        self.app = Starlette(routes=[Route("/v1/apply", self.apply, methods=["POST"])])

    async def apply(self, request):
        """Answer, or hold the request until the client goes."""
        self.requests.append((dict(request.headers), await request.json()))
        self.asked.set()
        while self.hold:
            if (await request.receive())["type"] == "http.disconnect":
                self.left.set()
                break
        return JSONResponse(self.reply, self.status)


@contextlib.contextmanager
def served(app, sock, lifespan="off"):
    """Run an application on a listening socket, in a thread."""
    config = uvicorn.Config(app, log_config=None, lifespan=lifespan, ws="none", http="h11")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]})
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()
        sock.close()
