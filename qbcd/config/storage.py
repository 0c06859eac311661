"""Stores of the workdir and of file sinks: URLs, options, conditions of a roll."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import unquote, urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, ValidationInfo, WithJsonSchema

from qbcd.config.fields import Filled, Interval, Section, Size, Switch, Wait, base_dir_of, local_path, wrong

STORAGE_SECRETS = ("access_key", "secret_key", "session_token")
URL_SCHEMES = ("s3", "gs", "hdfs")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):/")
_MEANT = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "webhdfs": "hdfs"}
_EXAMPLE = {"s3": "s3://BUCKET/FOLDER", "gs": "gs://BUCKET/FOLDER", "hdfs": "hdfs://HOST:8020/FOLDER"}
_BUCKET = re.compile(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]")
_SERVER = re.compile(r"[A-Za-z0-9._-]*(:[0-9]{1,5})?")
_FOLDER = re.compile(r"[A-Za-z0-9!_.*'()=/-]*")
_ENDPOINT = re.compile(r"(?:https?://)?(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?/?")
_KEYS = {
    "s3": (
        "endpoint",
        "region",
        "access_key",
        "secret_key",
        "session_token",
        "role_arn",
        "anonymous",
        "socket_timeout",
    ),
    "gs": ("endpoint", "anonymous"),
    "hdfs": ("user", "socket_timeout"),
}


def is_url(path: str) -> bool:
    """Return True if the path of a sink is a URL of a store."""
    return path.startswith(tuple(f"{scheme}://" for scheme in URL_SCHEMES))


def _endpoint(value: str) -> str:
    if not _ENDPOINT.fullmatch(value):
        raise wrong("not an endpoint", "write http://HOST:PORT or https://HOST, without user and path")
    return value


class StorageConfig(Section):
    """Options of an object store or HDFS; without credentials those of the environment are used.

    Attributes:
        endpoint: Server of S3 or Google Cloud Storage, as ``https://minio.example:9000``; default: the provider's.
        region: Region of the bucket (S3).
        access_key: First half of the credentials (S3), as ``${env:NAME}`` or ``${file:/path}``.
        secret_key: Second half of the credentials (S3), as ``${env:NAME}`` or ``${file:/path}``.
        session_token: Token of temporary credentials (S3), as ``${env:NAME}`` or ``${file:/path}``.
        role_arn: A role to assume (S3).
        anonymous: Use no credentials (S3, Google Cloud Storage).
        user: Name of the account (HDFS).
        socket_timeout: Longest wait for the answer to a request, which is tried three times (S3, HDFS).
    """

    endpoint: Annotated[str, AfterValidator(_endpoint)] | None = None
    region: Filled | None = None
    access_key: SecretStr | None = None
    secret_key: SecretStr | None = None
    session_token: SecretStr | None = None
    role_arn: Filled | None = None
    anonymous: Switch = False
    user: Filled | None = None
    socket_timeout: Wait | None = None

    @property
    def options(self) -> dict[str, Any]:
        """The options that are set, secrets as text."""
        values = {name: getattr(self, name) for name in type(self).model_fields}
        plain = {n: v.get_secret_value() if isinstance(v, SecretStr) else v for n, v in values.items()}
        return {name: value for name, value in plain.items() if value}

    def check_fits(self, scheme: str) -> None:
        """Refuse options that a store does not have.

        Raises:
            PydanticCustomError: There is one, or half of a pair.
        """
        allowed = _KEYS.get(scheme, ())
        for name in self.options:
            if name not in allowed:
                has = f"it has {', '.join(allowed)}" if allowed else "`storage` is for s3://, gs:// and hdfs://"
                raise wrong(f"`storage.{name}` is not an option of this path", f"remove it; {has}", at="storage")
        if (self.access_key is None) != (self.secret_key is None):
            missing = "secret_key" if self.secret_key is None else "access_key"
            raise wrong(f"`storage.{missing}` is missing", "write both `access_key` and `secret_key`", at="storage")


class RollConfig(Section):
    """Conditions that close a file of several small batches.

    Attributes:
        every: Age of its first batch; a whole number is seconds.
        size: Size of its batches; a whole number is bytes.
    """

    every: Interval = timedelta(hours=1)
    size: Size = Field(default=128 << 20)


def _store_path(value: Any, info: ValidationInfo) -> Path | str:
    text = str(value).strip() if isinstance(value, (str, Path)) else ""
    found = _SCHEME.match(text)
    if found is None:
        return local_path(value, base_dir_of(info))
    scheme = found[1].lower()
    if scheme == "file":
        return _file_url(text)
    if scheme in _MEANT:
        raise wrong("this scheme is not known", f"write {_MEANT[scheme]}://")
    if scheme not in URL_SCHEMES:
        remedy = "use s3://, gs://, hdfs:// or a local or mounted folder"
        raise wrong("paths with this scheme are not built yet", remedy, not_built=True)
    return _checked_url(text, scheme)


def _file_url(text: str) -> Path:
    parts = urlsplit(text)
    path = unquote(parts.path)
    if parts.netloc not in ("", "localhost") or not path.startswith("/") or parts.query or parts.fragment:
        raise wrong("not the URL of a local folder", "write file:///absolute/path, or the path alone")
    return Path(path)


def _checked_url(text: str, scheme: str) -> str:
    example = f"write {_EXAMPLE[scheme]}"
    try:
        parts = urlsplit(text)
    except ValueError:
        raise wrong("not the URL of a store", example) from None
    if "@" in parts.netloc:
        raise wrong("a URL of a store has no user and password", f"{example}; credentials are under `storage`")
    if parts.query or parts.fragment or "?" in text or "#" in text:
        raise wrong("a URL of a store ends with its folder", f"{example}; options are under `storage`")
    folder = parts.path.strip("/")
    server = (_SERVER if scheme == "hdfs" else _BUCKET).fullmatch(parts.netloc)
    if server is None or (scheme == "hdfs" and not folder) or not _is_folder(folder):
        raise wrong("not the URL of a store", f"{example}, of plain characters")
    return f"{scheme}://{parts.netloc}/{folder}".rstrip("/")


def _is_folder(text: str) -> bool:
    """Return True if a path of plain characters has no empty part, and no ``.`` or ``..``."""
    return not text or (_FOLDER.fullmatch(text) is not None and not {"", ".", ".."} & set(text.split("/")))


StorePath = Annotated[Path | str, BeforeValidator(_store_path), WithJsonSchema({"type": "string"})]
