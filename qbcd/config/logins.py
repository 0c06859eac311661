"""Address and login of a database: those of sources and of sinks alike."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, SecretStr, model_validator
from sqlalchemy.engine import URL

from qbcd.config.fields import Filled, Section, wrong
from qbcd.config.urls import BadUrl, has_password_parameter, parse_url


def checked_url(value: SecretStr) -> SecretStr:
    """Return the URL of a database as written.

    Raises:
        PydanticCustomError: It cannot be read, or its query part has a password.
    """
    try:
        url = parse_url(value.get_secret_value())
    except BadUrl as error:
        raise wrong(str(error), error.remedy) from None
    if has_password_parameter(url):
        raise wrong("a password is not allowed in the query part of a URL", "use the user part, or `password:`")
    return value


DatabaseUrl = Annotated[SecretStr, AfterValidator(checked_url)]


class Login(Section):
    """A database, and who connects.

    Attributes:
        url: SQLAlchemy URL of the database, as ``DIALECT://user@host:PORT/database``.
        user: Name of the login, if it is not in `url`.
        password: Password of the login, as ``${env:NAME}`` or ``${file:/path}``.
    """

    url: DatabaseUrl
    user: Filled | None = Field(default=None, repr=False)
    password: SecretStr | None = None

    @model_validator(mode="after")
    def _one_login(self) -> Login:
        url = parse_url(self.url.get_secret_value())
        if self.user is not None and url.username:
            raise wrong("the user is given twice, here and in the url", "remove one", at="user")
        if self.password is not None and url.password:
            raise wrong("the password is given twice, here and in the url", "remove one", at="password")
        return self

    def sqlalchemy_url(self) -> URL:
        """Return the URL with user and password filled in; its ``repr`` masks the password."""
        url = parse_url(self.url.get_secret_value())
        if self.user is not None:
            url = url.set(username=self.user)
        return url if self.password is None else url.set(password=self.password.get_secret_value())
