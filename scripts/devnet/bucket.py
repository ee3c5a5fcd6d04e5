"""An S3 server with one bucket: moto's, a process of its own on the loopback, which forgets all when it ends."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import boto3

from devnet.patience import patient
from devnet.steward import steward

NAME = "lab"
_RUNNING = re.compile(r"Running on (http://127\.0\.0\.1:[0-9]+)")
_KEY, _REGION = "tests", "us-east-1"


class BucketError(RuntimeError):
    """The server did not come up; the text ends with what it said."""


class Bucket:
    """`with Bucket() as bucket:` url: where the server answers."""

    _client: Any

    def __enter__(self) -> Self:
        self._log = Path(tempfile.mkstemp(prefix="leasehold-bucket-")[1])
        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        steward().process(self._process.pid)
        try:
            self.url = self._listening()
            self._client = boto3.client(
                "s3",
                endpoint_url=self.url,
                region_name=_REGION,
                aws_access_key_id=_KEY,
                aws_secret_access_key=_KEY,
            )
            self._client.create_bucket(Bucket=NAME)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    @property
    def environment(self) -> dict[str, str]:
        """What a program finds in its own that is to use it."""
        return {
            "AWS_ACCESS_KEY_ID": _KEY,
            "AWS_SECRET_ACCESS_KEY": _KEY,
            "AWS_DEFAULT_REGION": _REGION,
            "AWS_ENDPOINT_URL": self.url,
        }

    def put(self, key: str, data: bytes) -> None:
        """Lay something in the bucket."""
        self._client.put_object(Bucket=NAME, Key=key, Body=data)

    def get(self, key: str) -> bytes:
        """What lies there under that name. Raises botocore's ClientError: nothing does."""
        return bytes(self._client.get_object(Bucket=NAME, Key=key)["Body"].read())

    def _listening(self) -> str:
        deadline = time.monotonic() + patient(30)
        while True:
            said = self._log.read_text(errors="replace")
            if running := _RUNNING.search(said):
                return running[1]
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise BucketError(f"moto did not come up:\n{said[-1000:]}")
            time.sleep(0.02)

    def _end(self) -> None:
        self._process.kill()
        self._process.wait()
        self._log.unlink()
