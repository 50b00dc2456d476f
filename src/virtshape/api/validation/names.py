"""
Syntax of names in Kubernetes (objects, labels and finalizers), and generated names.

Checks return Kubernetes' messages.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from virtshape.api.kinds import Kind

NameCheck = Callable[[str], tuple[str, ...]]

MAX_LABEL_LENGTH: Final = 63
MAX_SUBDOMAIN_LENGTH: Final = 253
RANDOM_CHARACTERS: Final = 5

# The alphabet has no vowels and no digits that look like vowels, so that random names contain no words.
_RANDOM_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"

_LABEL_1123: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_LABEL_1035: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL_1123}(\.{_LABEL_1123})*"
_QUALIFIED: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE: Final = f"({_QUALIFIED})?"

_ENDS: Final = "must start and end with an alphanumeric character"
_WORD_CHARACTERS: Final = "alphanumeric characters, '-', '_' or '.', and " + _ENDS
_LABEL_1123_MESSAGE: Final = (
    f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and {_ENDS}"
)
_LABEL_1035_MESSAGE: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
    "start with an alphabetic character, and end with an alphanumeric character"
)
_SUBDOMAIN_MESSAGE: Final = (
    f"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and {_ENDS}"
)
_LABEL_VALUE_MESSAGE: Final = f"a valid label must be an empty string or consist of {_WORD_CHARACTERS}"


class _Syntax:
    """A pattern and a maximum length for strings, and the message for strings that do not match."""

    def __init__(self, pattern: str, limit: int, message: str, *examples: str) -> None:
        self._fits = re.compile(pattern).fullmatch
        self._limit = limit
        shown = ",  or ".join(f"'{example}'" for example in examples)
        self._message = f"{message} (e.g. {shown}, regex used for validation is '{pattern}')"

    def check(self, text: str) -> tuple[str, ...]:
        """Return a message for each way in which the string violates the syntax; empty if the string is valid."""
        if len(text) <= self._limit and self._fits(text):
            return ()
        problems = (f"must be no more than {self._limit} characters",) if len(text) > self._limit else ()
        return problems if self._fits(text) else (*problems, self._message)


_QUALIFIED_MESSAGE: Final = f"must consist of {_WORD_CHARACTERS}"
_QUALIFIED_EXAMPLES: Final = ("MyName", "my.name", "123-abc")
_QUALIFIED_NAME = _Syntax(_QUALIFIED, MAX_LABEL_LENGTH, _QUALIFIED_MESSAGE, *_QUALIFIED_EXAMPLES)

check_label_1123: Final[NameCheck] = _Syntax(
    _LABEL_1123, MAX_LABEL_LENGTH, _LABEL_1123_MESSAGE, "my-name", "123-abc"
).check
check_label_1035: Final[NameCheck] = _Syntax(
    _LABEL_1035, MAX_LABEL_LENGTH, _LABEL_1035_MESSAGE, "my-name", "abc-123"
).check
check_subdomain: Final[NameCheck] = _Syntax(_SUBDOMAIN, MAX_SUBDOMAIN_LENGTH, _SUBDOMAIN_MESSAGE, "example.com").check
check_label_value: Final[NameCheck] = _Syntax(
    _LABEL_VALUE, MAX_LABEL_LENGTH, _LABEL_VALUE_MESSAGE, "MyValue", "my_value", "12345"
).check


def check_path_segment(name: str) -> tuple[str, ...]:
    """Return the reasons why a name cannot be a path segment."""
    if name in (".", ".."):
        return (f"may not be '{name}'",)
    return tuple(f"may not contain '{character}'" for character in "/%" if character in name)


@lru_cache(maxsize=4096)
def check_qualified_name(name: str) -> tuple[str, ...]:
    """Return the reasons why a name, such as a label key or finalizer, is not a qualified name."""
    prefix, slash, own = name.rpartition("/")
    if "/" in prefix:
        optional = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        shown = ",  or ".join(f"'{example}'" for example in _QUALIFIED_EXAMPLES)
        pattern = f"(e.g. {shown}, regex used for validation is '{_QUALIFIED}')"
        return (f"a valid label key {_QUALIFIED_MESSAGE} {pattern} {optional}",)
    problems: tuple[str, ...] = ()
    if slash:
        problems = ("must be non-empty",) if not prefix else check_subdomain(prefix)
        problems = tuple(f"prefix part {problem}" for problem in problems)
    if not own:
        problems = (*problems, "name part must be non-empty")
    return (*problems, *(f"name part {problem}" for problem in _QUALIFIED_NAME.check(own)))


def get_name_check(kind: Kind) -> NameCheck:
    """Return the function that checks the names of objects of a kind."""
    if kind.group == "rbac.authorization.k8s.io":
        return check_path_segment
    if kind.group == "":
        return _CORE_CHECKS.get(kind.kind, check_subdomain)
    return check_subdomain


_CORE_CHECKS: Final[dict[str, NameCheck]] = {"Namespace": check_label_1123, "Service": check_label_1035}


def generate_name(prefix: str) -> str:
    """Return the prefix, truncated if the name would be too long, followed by random characters."""
    # Imported here, because it loads the hash functions of OpenSSL.
    import secrets

    end = "".join(secrets.choice(_RANDOM_ALPHABET) for _ in range(RANDOM_CHARACTERS))
    return prefix[: MAX_LABEL_LENGTH - RANDOM_CHARACTERS] + end


def mask_prefix(prefix: str) -> str:
    """Return the prefix with a trailing dash masked, as in Kubernetes, so that it can be validated as a name."""
    return f"{prefix[:-2]}a" if len(prefix) > 1 and prefix.endswith("-") else prefix
