"""The configuration of a source that qbcd reads through JDBC alone."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, SecretStr, model_validator

from qbcd.config.databases import is_native
from qbcd.config.fields import Count, Filled, LocalPath, ScalarText, Section, Whole, wrong

_COORDINATES = re.compile(r"[\w.-]+:[\w.-]+:[\w.-]+", re.ASCII)


def _jdbc_url(value: SecretStr) -> SecretStr:
    text = value.get_secret_value()
    parts = text.split(":", 2)
    if parts[0] != "jdbc" or len(parts) < 3 or not parts[2]:
        raise wrong("this is no JDBC URL", "write jdbc:NAME:.. as the driver's documentation says")
    if is_native(parts[1]):
        remedy = (
            f"write url: {parts[1]}://user@host:port/database: the connector finds changes without reading all rows"
        )
        raise wrong(f"{parts[1]} has a connector of its own, and `jdbc:` is for other databases", remedy)
    return value


def _coordinates(value: str) -> str:
    if not _COORDINATES.fullmatch(value):
        raise wrong("these are no coordinates of Maven", "write group:artifact:version")
    return value


def _sha256(value: str) -> str:
    if not re.fullmatch(r"[0-9a-fA-F]{64}", value):
        raise wrong("this is no SHA-256", "write the 64 hexadecimal digits that sha256sum prints")
    return value.lower()


class JdbcDriverConfig(Section):
    """The JDBC driver of a source, and how it reads.

    Attributes:
        driver_jar: The driver's jar.
        maven: Coordinates of the driver, as ``group:artifact:version``; `sha256` is required.
        sha256: SHA-256 of the jar, in hexadecimal digits.
        properties: Properties of the driver; only those that the profile lists.
        fetchsize: Rows that a reader holds at a time; default: by the profile and the width of rows.
        checksums: ``source`` lets the database add up digests of rows, ``here`` reads all rows; default: ``source``
            where the tests have run the profile and it has a hash function, otherwise ``here``.
    """

    driver_jar: LocalPath | None = None
    maven: Annotated[Filled, AfterValidator(_coordinates)] | None = None
    sha256: Annotated[Filled, AfterValidator(_sha256)] | None = None
    properties: dict[str, ScalarText] = Field(default_factory=dict, repr=False)
    fetchsize: Count | None = None
    checksums: Literal["source", "here"] | None = None

    @model_validator(mode="after")
    def _one_jar(self) -> JdbcDriverConfig:
        if self.driver_jar is not None and self.maven is not None:
            raise wrong("`driver_jar` and `maven` cannot both be given", "remove one", at="maven")
        if self.maven is not None and self.sha256 is None:
            raise wrong("`sha256` is missing", "write the SHA-256 of the jar, which sha256sum prints", at="maven")
        return self


class ProfileConfig(Section):
    """The dialect of a database that has no profile of qbcd's own.

    Attributes:
        product: Name of the database, for messages.
        driver: Class of the JDBC driver.
        prefix: The first part of its URLs, such as ``jdbc:monetdb:``.
        parameters: Parameters that the URL may have; they follow ``?`` or ``;``.
        properties: Properties of the driver that may be set.
        quote: The characters around names: double quotes, backticks, or square brackets.
        from_nothing: The FROM clause of a SELECT without a table, such as ``FROM DUAL``.
        text: SQL of the text of a value, with ``{c}`` for the column; it is used where Spark has no type.
        session: Statements at the start of each session.
    """

    product: Filled
    driver: Filled
    prefix: Filled
    parameters: list[Filled] = Field(default_factory=list)
    properties: list[Filled] = Field(default_factory=list)
    quote: Literal["double", "backtick", "bracket"] = "double"
    from_nothing: str = ""
    text: Filled = "CAST({c} AS VARCHAR(4000))"
    session: list[Filled] = Field(default_factory=list)

    @model_validator(mode="after")
    def _named(self) -> ProfileConfig:
        if not re.fullmatch(r"jdbc:[a-z][\w.:-]*:", self.prefix, re.ASCII) or is_native(self.prefix.split(":")[1]):
            raise wrong("this is not the prefix of a JDBC URL", "write jdbc:NAME:", at="prefix")
        if "{c}" not in self.text:
            raise wrong("`text` does not name the column", "write {c} where the column is to be", at="text")
        return self


class JdbcSourceConfig(Section):
    """A database that any JDBC driver reaches: all rows travel at each poll.

    Attributes:
        url: JDBC URL of the database, without user and password.
        user: Name of the login.
        password: Password of the login, as ``${env:NAME}`` or ``${file:/path}``.
        dialect: Name of a profile; default: by the prefix of `url`.
        profile: A profile of your own, for a database that has none.
        jdbc: The driver.
        connections: Readers of a table with an integer key; with more than one, a batch is no single state.
    """

    url: Annotated[SecretStr, AfterValidator(_jdbc_url)]
    user: Filled | None = Field(default=None, repr=False)
    password: SecretStr | None = None
    dialect: Filled | None = None
    profile: ProfileConfig | None = None
    jdbc: JdbcDriverConfig = Field(default_factory=JdbcDriverConfig)
    connections: Whole = Field(default=1, ge=1, le=16)

    @model_validator(mode="after")
    def _one_dialect(self) -> JdbcSourceConfig:
        if self.dialect is not None and self.profile is not None:
            raise wrong("`dialect` and `profile` cannot both be given", "remove one", at="profile")
        return self
