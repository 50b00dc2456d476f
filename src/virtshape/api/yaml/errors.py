"""Error messages for invalid YAML: translate the parser's messages into advice for the author."""

import re

import yaml

from virtshape.api.yaml.place import Place, TextError, place_of, shorten

_INDENTATION = "this does not continue the lines above it; check the indentation"
_QUOTES_FOR_COLON = 'unexpected ":": no value can follow here; put a text that contains ": " in quotes'

# Our messages, by a part of the message of the C or the Python parser.
_MEANINGS = {
    "mapping values are not allowed": f"{_QUOTES_FOR_COLON}, and check the indentation",
    "mapping keys are not allowed": 'a text that begins with "? " needs quotes',
    "sequence entries are not allowed": 'a list cannot begin on the line of its key; put "- " on the next line',
    "expected '-' indicator": 'a list item must begin with "- " with the indentation of the items above it',
    "expected key": _INDENTATION,
    "expected <block end>": _INDENTATION,
    "<document start>": 'a document needs a line "---" before it, and directives such as %YAML are not read',
    "node content": 'a value is missing here; a text that begins with ",", "]" or "}" needs quotes',
    "comment or line break": 'only a comment can follow "|" or ">" on its line',
    "unknown directive": 'a line that begins with "%" is not read; put the text in quotes',
    "alphabetic or numeric": 'a text that begins with "*" or "&" needs quotes',
    "undefined tag handle": 'a text that begins with "!" needs quotes',
    "unknown escape character": 'a text in double quotes has an unknown escape after "\\"; '
    'use single quotes, or write "\\\\"',
    "Unicode character escape": "an escape in double quotes is not a valid character",
    "tab character": "tabs are not allowed for indentation: use spaces",
}
# The same, for errors that are reported at the start of the node.
_MEANINGS_AT_BEGINNING = {
    "could not find expected ':'": 'a key without ":"',
    "unexpected end of stream": "this quoted text is never closed",
    "',' or ']'": 'this "[" is never closed, or a "," is missing after it',
    "',' or '}'": 'this "{" is never closed, or a "," is missing after it',
}
_UNPRINTABLE = re.compile("[^\x09\x0a\x0d\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def explain_error(error: yaml.YAMLError, text: str) -> TextError:
    """Return the parser's error with our message and its position."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        problem = error.problem or ""
        beginning = _find_meaning(problem, _MEANINGS_AT_BEGINNING)
        if beginning and error.context_mark is not None:
            return TextError(_place(error.context_mark), beginning)
        place = _place(error.problem_mark)
        if "cannot start any token" in problem:
            return TextError(place, _explain_character(text, place))
        return TextError(place, beginning or _find_meaning(problem, _MEANINGS) or shorten(problem))
    character = _UNPRINTABLE.search(text)
    if character is None:
        return TextError(Place(1, 1), shorten(str(error)))
    message = f"the character U+{ord(character[0]):04X} is not allowed in YAML; write it as an escape in double quotes"
    return TextError(place_of(text, character.start()), message)


def _find_meaning(problem: str, meanings: dict[str, str]) -> str | None:
    return next((meaning for pattern, meaning in meanings.items() if pattern in problem), None)


def _explain_character(text: str, place: Place) -> str:
    character = text.split("\n")[place.line - 1][place.column - 1 :][:1]
    return (
        "tabs are not allowed for indentation: use spaces"
        if character == "\t"
        else f'a text that begins with "{character}" needs quotes'
    )


def _place(mark: yaml.Mark) -> Place:
    return Place(mark.line + 1, mark.column + 1)
