"""A real S3-compatible server (moto's), with a gate in front that records requests, and refuses some of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import boto3
from botocore.config import Config
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import BaseWSGIServer, make_server

BUCKET = "views"
KEY_ID = "AKIAHIVEVIEWSTESTS"
SECRET = "aSecretThatMustNotBeSeenAnywhere"


@dataclass(frozen=True)
class Request:
    """One request that reached the gate."""

    method: str
    """`GET`, `PUT`, …"""
    key: str
    """Path below the bucket; empty for requests about the bucket."""
    query: str
    """What follows the question mark."""
    copy: bool
    """Whether it copies an object, which is what renaming is there."""

    @property
    def lists(self) -> bool:
        """Whether it asks for the names of objects."""
        return self.method == "GET" and not self.key


@dataclass
class S3:
    """The server."""

    endpoint: str
    """`http://127.0.0.1:port`."""
    requests: list[Request] = field(default_factory=list)
    """The requests, in order."""
    refuse: Callable[[Request], int | None] = lambda _: None
    """The HTTP status that a request is refused with; None lets it through."""

    @property
    def properties(self) -> dict[str, str]:
        """What a catalog needs to reach it."""
        return {
            "s3.endpoint": self.endpoint,
            "s3.access-key-id": KEY_ID,
            "s3.secret-access-key": SECRET,
            "s3.region": "us-east-1",
            "s3.connect-timeout": "5",
            "s3.request-timeout": "5",
        }

    def names(self) -> set[str]:
        """The names of all objects, read by another client."""
        config = Config(retries={"max_attempts": 1})
        client = boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            aws_access_key_id=KEY_ID,
            aws_secret_access_key=SECRET,
            region_name="us-east-1",
            config=config,
        )
        return {item["Key"] for item in client.list_objects_v2(Bucket=BUCKET).get("Contents", [])}


@contextmanager
def serving() -> Iterator[S3]:
    """Run the server on a free port of loopback, with one empty bucket."""
    backend = DomainDispatcherApplication(create_backend_app)
    s3 = S3("")

    def gate(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        _, _, key = environ["PATH_INFO"].lstrip("/").partition("/")
        copy = "HTTP_X_AMZ_COPY_SOURCE" in environ
        request = Request(environ["REQUEST_METHOD"], key, environ.get("QUERY_STRING", ""), copy)
        s3.requests.append(request)
        status = s3.refuse(request)
        if status is None:
            return backend(environ, start_response)  # type: ignore[no-any-return]
        start_response(f"{status} Refused", [("Content-Type", "application/xml")])
        return [b"<Error><Code>AccessDenied</Code><Message>no</Message></Error>"]

    server: BaseWSGIServer = make_server("127.0.0.1", 0, gate, threaded=True)
    s3.endpoint = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        boto3.client(
            "s3",
            endpoint_url=s3.endpoint,
            aws_access_key_id=KEY_ID,
            aws_secret_access_key=SECRET,
            region_name="us-east-1",
        ).create_bucket(Bucket=BUCKET)
        s3.requests.clear()
        yield s3
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
