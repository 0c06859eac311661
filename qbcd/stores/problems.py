"""Messages for errors of object stores.

Each is one line without secrets, and has the key that fixes the error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from qbcd.config.masking import Masking, named_secrets

_LONGEST = 200  # characters of the store's own text
_NOISE = re.compile(r"^When .*?(?=AWS Error)|\s*\(Request ID: \w*\)|; Details: .*")
_ANY_REMEDY = "check `path` and `storage` of the sink"
_SILENCE = r"curlCode: 28|CURL error \[28\]|Timeout was reached|SocketTimeoutException|ConnectTimeoutException"
# Text of an error -> problem and remedy; {0} is the bucket or server, {1} the URL.
_KNOWN = (
    (
        r"NO_SUCH_BUCKET|NoSuchBucket|bucket does not exist|Bucket .* not found",
        "bucket {0} does not exist",
        "create it, or correct `path` of the sink",
    ),
    (
        r"INVALID_ACCESS_KEY_ID|InvalidAccessKeyId|SIGNATURE_DOES_NOT_MATCH|SignatureDoesNotMatch|EXPIRED_TOKEN"
        r"|ExpiredToken|INVALID_CLIENT_TOKEN|InvalidToken|MISSING_AUTHENTICATION_TOKEN",
        "the store of {1} does not accept the credentials",
        "correct `access_key` and `secret_key` under `storage` of the sink, or the environment's",
    ),
    (
        r"ACCESS_DENIED|AccessDenied|HTTP status 403|Forbidden|code=40[13]|Permission denied",
        "the store denies access to {1}",
        "let the account list, read, write and delete objects there; without `storage` it is the environment's account",
    ),
    (
        _SILENCE,
        "the store of {1} did not answer in time",
        "check `endpoint` under `storage` of the sink, and the network; if the store needs longer, set "
        "`socket_timeout` there",
    ),
    (
        r"NETWORK_CONNECTION|curlCode|Couldn't connect|Could not connect|Connection refused|resolve host",
        "the store of {1} cannot be reached",
        "check `endpoint` under `storage` of the sink, and the network",
    ),
    (
        r"PermanentRedirect|HTTP status 301|wrong region",
        "bucket {0} is in another region",
        "set `region` under `storage` of the sink",
    ),
    (
        r"copies at most",
        "{1}: the file is too large for the store's copy",
        "use type parquet, which writes smaller files",
    ),
)


def is_silence(error: Exception) -> bool:
    """Return True if the store did not answer in time."""
    return re.search(_SILENCE, str(error)) is not None


def explain(error: Exception, url: str, storage: Mapping[str, Any], *, owner: str = "sink") -> tuple[str, str]:
    """Return problem and remedy for an error of the store at `url`, of a sink or of the workdir."""
    what, remedy = _explained(error, url, storage)
    return what, remedy if owner else remedy.replace("`path`", "`workdir`").replace(" of the sink", "")


def _explained(error: Exception, url: str, storage: Mapping[str, Any]) -> tuple[str, str]:
    text = Masking(named_secrets(storage)).foreign(" ".join(str(error).split()))
    short = _NOISE.sub("", text)[:_LONGEST]
    bucket = urlsplit(url).netloc
    for pattern, what, remedy in _KNOWN:
        if re.search(pattern, text):
            return f"{what.format(bucket, url)} ({short})", remedy
    return f"{url}: {short}", _ANY_REMEDY
