"""Sources with only a JDBC driver, from the configuration: profile, URL, properties, driver.

URL and properties are checked.
"""

from __future__ import annotations

from dataclasses import replace

from qbcd.catalog.jdbc import JdbcLogin, JdbcReads, JdbcSource
from qbcd.config.jdbc_source import JdbcSourceConfig, ProfileConfig
from qbcd.config.masking import Masking
from qbcd.connectors.base import JdbcDriver
from qbcd.connectors.jdbc.profile import Profile, UrlForm
from qbcd.connectors.jdbc.profiles import PROFILES, profile_of
from qbcd.connectors.jdbc.urls import checked_properties, checked_url
from qbcd.errors import ConfigError

_QUOTES = {"double": ('"', '"'), "backtick": ("`", "`"), "bracket": ("[", "]")}
_PLACE = r"[\w.:/@,~-]*"  # of the URL of a profile in the configuration


def jdbc_source(name: str, config: JdbcSourceConfig, masking: Masking, place: str) -> JdbcSource:
    """Return the source of a configuration.

    Raises:
        ConfigError: The profile does not exist, or does not allow the URL or a property.
    """
    profile = profile_of_source(config)
    properties = checked_properties(profile, config.jdbc.properties)
    if config.user is not None:
        properties["user"] = config.user
    if config.password is not None:
        properties["password"] = config.password.get_secret_value()
    login = JdbcLogin(checked_url(profile, config.url.get_secret_value()), properties)
    profile = replace(profile, driver=driver_of(profile, config))
    return JdbcSource(name, profile, login, masking, place, JdbcReads(config.jdbc.fetchsize, config.jdbc.checksums))


def profile_of_source(config: JdbcSourceConfig) -> Profile:
    """Return the profile that a configuration names, writes, or whose prefix its URL has.

    Raises:
        ConfigError: There is none.
    """
    if config.profile is not None:
        return _own(config.profile)
    return profile_of(config.url.get_secret_value(), config.dialect)


def driver_of(profile: Profile, config: JdbcSourceConfig) -> JdbcDriver:
    """Return the profile's driver, with the coordinates of the configuration."""
    if config.jdbc.maven is None:
        own = config.jdbc.sha256
        return profile.driver if own is None else replace(profile.driver, sha256=own, pinned=True)
    artifact, version = config.jdbc.maven.split(":")[1:]
    return replace(
        profile.driver,
        maven=config.jdbc.maven,
        sha256=config.jdbc.sha256 or "",
        pinned=True,
        jar_names=(f"{artifact}-{version}.jar",),
    )


def _own(config: ProfileConfig) -> Profile:
    name = config.prefix.split(":")[1]
    built = next((one for one in PROFILES.values() if one.url.prefix.split(":")[1] == name), None)
    if built is not None:
        raise ConfigError(
            f"{config.prefix} is the prefix of {built.product}, which has a profile that knows its types",
            remedy=f"write dialect: {built.name}, without `profile`",
        )
    return Profile(
        name=name,
        product=config.product,
        executed="never",
        driver=JdbcDriver(config.driver, "", (f"*{name}*.jar",), ""),
        url=UrlForm(config.prefix, _PLACE, "?", "&", frozenset(map(str.lower, config.parameters))),
        reference="",
        properties=frozenset(map(str.lower, config.properties)),
        quotes=_QUOTES[config.quote],
        from_nothing=f" {config.from_nothing.strip()}" if config.from_nothing.strip() else "",
        text=config.text,
        session=tuple(config.session),
        widest=True,
    )
