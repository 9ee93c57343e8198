"""A storage with the interface of S3 on this machine; a test can count and disturb its requests."""

import logging
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import boto3
from moto.moto_server.werkzeug_app import (
    DomainDispatcherApplication,
    MotoRequestHandler,
    create_backend_app,
)
from werkzeug.serving import make_server

BUCKET = "results-of-tests"
REGION = "us-east-1"


class ObjectStore:
    """A bucket, served in a thread of this process.

    Attributes
    ----------
    requests : list of str
        ``METHOD /bucket/key`` of each request.
    fails : str
        A pattern; a request that matches it is answered by an error of the server.
    holds : str
        A pattern; a request that matches it gets no answer until `released`.
    """

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.fails = self.holds = "(?!)"
        self.held, self.released = threading.Event(), threading.Event()
        self.moto = DomainDispatcherApplication(create_backend_app)

    def answer(self, environ, start_response):
        request = f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}"
        self.requests.append(request)
        is_held = re.search(self.holds, request)
        if is_held:
            self.held.set()
            self.released.wait(120)
        if is_held or re.search(self.fails, request):
            start_response("500 Internal Server Error", [("Content-Length", "0")])
            return [b""]
        return self.moto(environ, start_response)

    def variables(self) -> dict[str, str]:
        """Return the variables by which a run finds the storage."""
        return {
            "SNAKEMAKE_STORAGE_S3_ENDPOINT_URL": self.address,
            "SNAKEMAKE_STORAGE_S3_ACCESS_KEY": "tests",
            "SNAKEMAKE_STORAGE_S3_SECRET_KEY": "tests",
            "AWS_EC2_METADATA_DISABLED": "true",
            "NO_PROXY": "127.0.0.1",
            "no_proxy": "127.0.0.1",
        }

    def contents(self, folder: str) -> dict[str, bytes]:
        """Return all objects below a folder of the bucket, by their names in it."""
        found = self.bucket.objects.filter(Prefix=f"{folder}/")
        return {each.key.removeprefix(f"{folder}/"): each.get()["Body"].read() for each in found}

    def put(self, key: str, content: bytes) -> None:
        self.bucket.Object(key).put(Body=content)

    def remove(self, key: str) -> None:
        self.bucket.Object(key).delete()


@contextmanager
def served() -> Iterator[ObjectStore]:
    """Run a storage with an empty bucket for the time of a block."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    store = ObjectStore()
    server = make_server(
        "127.0.0.1", 0, store.answer, threaded=True, request_handler=MotoRequestHandler
    )
    store.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        client = boto3.resource(
            "s3",
            endpoint_url=store.address,
            region_name=REGION,
            aws_access_key_id="tests",
            aws_secret_access_key="tests",
            config=boto3.session.Config(proxies={}),
        )
        store.bucket = client.create_bucket(Bucket=BUCKET)
        # Storages of one process share what they hold.
        store.bucket.objects.delete()
        yield store
    finally:
        store.released.set()
        server.shutdown()
        thread.join()
