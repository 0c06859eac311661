"""Rules of JDBC URLs and properties: only what a profile lists may be in them.

A JDBC URL can execute code: H2 runs the SQL of `INIT`, SQLite loads a file from the network, other drivers load classes
by their names. So everything that is not listed is refused, and no message repeats a URL, which may have a password.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from qbcd.connectors.jdbc.profile import Profile
from qbcd.errors import ConfigError

PAGE = "docs/reference/databases/jdbc.md lists what is allowed"
_CONTROL = re.compile(r"[\x00-\x1f\x7f\\{}\"'`$<>|]|\s{2}|[^\x00-\x7f]")
_VALUE = re.compile(r"[\w.,:/@+*~ -]*", re.ASCII)
_NAME = re.compile(r"[A-Za-z][\w.-]*", re.ASCII)


def checked_url(profile: Profile, url: str) -> str:
    """Return a JDBC URL with the parameters that the profile adds.

    Raises:
        ConfigError: It has something that the profile does not list.
    """
    form = profile.url
    if not url.startswith(form.prefix):
        raise _refused(f"the url is not one of {profile.product}", f"begin it with {form.prefix}")
    if _CONTROL.search(url):
        raise _refused("the url has a character that qbcd does not pass to a driver", "write plain ASCII, no quotes")
    after = url[len(form.prefix) :]
    fitting = re.match(f"(?:{form.place})(?={re.escape(form.first)}|$)", after, re.ASCII)
    if fitting is None:
        what = f"the place in the url is none that qbcd passes to the driver of {profile.product}"
        raise _refused(what, PAGE)
    place, found = fitting[0], _parameters(profile, after[fitting.end() :])
    seen = {name.lower() for name in found}
    for name in form.fixed:
        if name.lower() in seen:
            raise _refused(f"qbcd sets the parameter {name} itself", "remove it")
    pairs = [f"{name}={value}" for name, value in {**found, **form.fixed}.items()]
    return f"{form.prefix}{place}{form.first if pairs else ''}{form.between.join(pairs)}"


def _parameters(profile: Profile, written: str) -> dict[str, str]:
    """Return the parameters of a URL, from its text after the place."""
    form, found = profile.url, dict[str, str]()
    for pair in filter(None, written.removeprefix(form.first).split(form.between)):
        name, equals, value = pair.partition("=")
        if not _NAME.fullmatch(name) or not equals or not _VALUE.fullmatch(value):
            raise _refused("a parameter of the url is not NAME=VALUE in plain characters", PAGE)
        if name.lower() not in form.parameters:
            listed = ", ".join(sorted(form.parameters)) or "none"
            raise _refused(f"the url has the parameter {name}, which is not allowed", f"allowed: {listed}")
        if name.lower() in {one.lower() for one in found}:
            raise _refused(f"the url has the parameter {name} twice", "remove one")
        found[name] = value
    return found


def checked_properties(profile: Profile, properties: Mapping[str, str]) -> dict[str, str]:
    """Return the driver's properties, with those that qbcd sets.

    Raises:
        ConfigError: One is not listed, or has a value with special characters.
    """
    for name, value in properties.items():
        if name.lower() not in profile.properties:
            listed = ", ".join(sorted(profile.properties)) or "none"
            what = f"jdbc.properties has {name if _NAME.fullmatch(name) else 'a name'}, which is not allowed"
            raise _refused(f"{what} for {profile.product}", f"allowed: {listed}")
        if not _VALUE.fullmatch(value):
            raise _refused(f"the value of the property {name} has special characters", PAGE)
    return {**properties, **profile.fixed_properties}


def _refused(what: str, remedy: str) -> ConfigError:
    return ConfigError(what, remedy=remedy)
