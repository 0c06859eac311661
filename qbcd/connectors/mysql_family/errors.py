"""One message for each error of a driver of MariaDB or MySQL.

The server numbers its errors. PyMySQL passes the number on, the JDBC driver only SQLSTATE and text. Some messages quote
rows (a duplicate entry); of those only the kind is shown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from sqlalchemy.exc import DBAPIError
from typing_extensions import override

from qbcd.connectors.error_templates import (
    Errors,
    Maker,
    full,
    locked,
    no_database,
    no_session,
    other,
    read_only,
    schema,
    timed_out,
    unreachable,
)
from qbcd.connectors.mysql_family.facts import account, database_pattern, quoted
from qbcd.errors import ConfigError, MissingPrivilege, QbcdError, Refused, SourceError

_JDBC = re.compile(r"SQL\w*Exception: ([^\n]*)")
_NUMBERED = re.compile(r"""^\((\d+), ['"](.*)['"]\)$""", re.DOTALL)
_CONNECTION = re.compile(r"^\(conn=\d+\)\s*|^Could not connect to \S+\s*:\s*")
_ENTRY = re.compile(
    r"(Duplicate entry|Incorrect \w+ value:?|Data too long for column|Out of range value)( '.*?')(?= for)"
)
# Only the first contains the account in the form that GRANT takes: the others contain the host of the client.
_DATABASE_DENIED = re.compile(r"Access denied for user '(?P<user>.*)'@'(?P<host>.*)' to database '(?P<name>.*)'")
_TABLE_DENIED = re.compile(
    r"(?P<rights>\w+(?:, \w+)*) command denied to user .* for (?:column '.*' in )?table (?P<table>.+)"
)
_SERVER_DENIED = re.compile(r"at least one of\) the (?:.*, )?(?P<right>[^,]+) privilege\(s\)")
_ACCOUNT = "the account that SELECT CURRENT_USER() returns"


def _privilege(message: str, stream: str, source: str) -> QbcdError:
    remedy = "grant the role the right that the message names"
    if denied := _DATABASE_DENIED.search(message):
        to = account(denied["user"], denied["host"])
        remedy = f"GRANT SELECT ON {database_pattern(denied['name'])}.* TO {to}, or on the captured tables alone"
    elif denied := _TABLE_DENIED.search(message):
        table = denied["table"]
        table = quoted(table[1:-1]) if table.startswith("'") else table
        remedy = f"GRANT {denied['rights']} ON {table} TO {_ACCOUNT}"
    elif denied := _SERVER_DENIED.search(message):
        remedy = f"GRANT {denied['right']} ON *.* TO {_ACCOUNT}"
    return MissingPrivilege(f"source {source}: {message}", remedy=remedy, stream=stream)


def _login(remedy: str) -> Maker:
    """Return a maker of errors of a login that the server refused."""

    def make(message: str, stream: str, source: str) -> QbcdError:
        return SourceError(f"source {source}: {message}", remedy=remedy, stream=stream)

    return make


_denied = _login(
    "check the user and the password of the source, the hosts from which the user may connect, and whether the user "
    "must use TLS (REQUIRE SSL): then write ssl_mode into the source's url"
)
_expired = _login("set a new password with ALTER USER .. IDENTIFIED BY .., and give it to the source")
_locked = _login("ALTER USER .. ACCOUNT UNLOCK, as an administrator of the server")
_unencrypted = _login("write ssl_mode=verify_identity into the source's url, with ssl_ca for an authority of your own")
_plugin = _login("give the user a plugin that the server and the driver have: ALTER USER .. IDENTIFIED WITH ..")
_server_key = _login(
    "use TLS (ssl_mode in the source's url); or, if nobody can be between this machine and the server, set "
    "jdbc: {properties: {allowPublicKeyRetrieval: true}} in the source"
)


def _binlog(message: str, stream: str, source: str) -> QbcdError:
    remedy = "set binlog_format to ROW or MIXED, or use strategy id_rcs"
    return Refused(f"source {source}: {message}", remedy=remedy, stream=stream)


def _wide(message: str, stream: str, source: str) -> QbcdError:
    remedy = "name fewer with `columns:`, or use strategy id_rcs, which keeps no replica in the source"
    return Refused(f"source {source}: {message}", remedy=remedy, stream=stream)


def _engine(message: str, stream: str, source: str) -> QbcdError:
    remedy = "qbcd's own tables need InnoDB: allow it on the server (enforce_storage_engine), or use id_rcs"
    return Refused(f"source {source}: {message}", remedy=remedy, stream=stream)


def _option(message: str, stream: str, source: str) -> QbcdError:
    return (_engine if "NO_ENGINE_SUBSTITUTION" in message else read_only)(message, stream, source)


def _packet(message: str, stream: str, source: str) -> QbcdError:
    remedy = "raise max_allowed_packet of the server, or exclude the long column"
    return SourceError(f"source {source}: {message}", remedy=remedy, stream=stream)


def _out_of_range(message: str, stream: str, source: str) -> QbcdError:
    if "exp(" in message:  # a statement of ours stops so if the server returned NULL for a value (see `expressions`)
        return _packet("a value is longer than max_allowed_packet of the server", stream, source)
    return other(message, stream, source)


def _family(message: str, stream: str, source: str) -> QbcdError:
    remedy = "start the source's url with mariadb:// for MariaDB, with mysql:// for MySQL"
    return ConfigError(f"source {source} is not the kind of server that its url names: {message}", remedy=remedy)


_NUMBERS: Mapping[str, Maker] = {
    "1045": _denied,
    "1698": _denied,
    "1251": _plugin,
    "1524": _plugin,
    "2059": _plugin,
    "1820": _expired,
    "1862": _expired,
    "3118": _locked,
    "4151": _locked,
    "3159": _unencrypted,
    "1044": _privilege,
    "1142": _privilege,
    "1143": _privilege,
    "1227": _privilege,
    "1370": _privilege,
    "1410": _privilege,
    "1049": no_database,
    "2002": unreachable,
    "2003": unreachable,
    "2006": unreachable,
    "2013": unreachable,
    "2026": unreachable,
    "1040": unreachable,
    "1129": unreachable,
    "1130": unreachable,
    "1053": unreachable,
    "1203": unreachable,
    "1146": schema,
    "1054": schema,
    "1051": schema,
    "1412": schema,
    "1356": schema,
    "1969": timed_out,
    "3024": timed_out,
    "1317": timed_out,
    "1205": locked,
    "1213": locked,
    "1099": locked,
    "1020": locked,
    "1021": full,
    "1026": full,
    "1114": full,
    "1290": _option,
    "1792": read_only,
    "1836": read_only,
    "1193": _family,
    "1690": _out_of_range,
    "1665": _binlog,
    "1286": _engine,
    "1118": _wide,
    "1117": _wide,
    "1071": _wide,
    "1153": _packet,
    "1301": _packet,
}
# Patterns for messages of the JDBC driver, which passes no number on.
_WORDS: tuple[tuple[str, Maker], ...] = (
    (r"Access denied for user .* to database|command denied|Access denied; you need", _privilege),
    (r"RSA public key|Public Key Retrieval", _server_key),
    (r"password has expired", _expired),
    (r"ccount is locked", _locked),
    (r"insecure transport", _unencrypted),
    (r"Plugin '.*' is not loaded|authentication plugin", _plugin),
    (r"Access denied for user|authentication", _denied),
    (r"Unknown database", no_database),
    (r"doesn't exist|Unknown column|Unknown table|definition has changed", schema),
    (r"max_statement_time|maximum statement execution time|execution was interrupted|time.?out.*statement", timed_out),
    (r"Lock wait timeout|Deadlock found|Record has changed since last read", locked),
    (r"Disk full|The table '.*' is full|No space left on device", full),
    (r"packet bigger|max_allowed_packet", _packet),
    (r"onnect|ocket|ommunications|unknown host|timed? ?out|SSL|certificate|closed", unreachable),
)


def _clean(text: str) -> str:
    line = text.strip().splitlines()[0] if text.strip() else ""
    return _ENTRY.sub(r"\1", _CONNECTION.sub("", line))


class FamilyErrors(Errors):
    """Errors by number."""

    special = ((r"no session after|\(timed out\)|[Cc]onnect timed out", no_session),)
    codes = _NUMBERS
    words = _WORDS

    @override
    def read(self, error: BaseException) -> tuple[str, str]:
        """Return the number and the first line of the message, without values of rows."""
        arguments = error.args
        if len(arguments) >= 2 and isinstance(arguments[0], int):
            return str(arguments[0]) if arguments[0] else "", _clean(str(arguments[1]))
        text = str(error).strip()
        numbered = _NUMBERED.match(text)
        if numbered:
            return numbered[1].lstrip("0"), _clean(numbered[2])
        found = _JDBC.search(text)
        return "", _clean(found[1] if found else text) or type(error).__name__

    @override
    def is_statement_error(self, error: DBAPIError) -> bool:
        """The number decides, since drivers use several classes for such errors."""
        code, message = self.read(error.orig or error)
        return bool(code) and self.maker(code, message) in (other, schema)

    @override
    def is_write_rejected(self, error: DBAPIError) -> bool:
        """See the base class.

        A trigger may reject with almost any number. Numbers from 2000 to 2999 are the driver's, for connections.
        """
        code, message = self.read(error.orig or error)
        by_server = bool(code) and not 2000 <= int(code) < 3000
        return by_server and self.maker(code, message) in (other, schema, _privilege)
