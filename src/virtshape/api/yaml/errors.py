"""Error messages for invalid YAML: translate the parser's messages into advice for the author."""

import re

import yaml

from virtshape.api.yaml.position import Position, TextError, position_of, shorten

_INDENTATION = "this line does not continue the lines above it; check the indentation"
_QUOTES_FOR_COLON = 'unexpected ":": no value can follow here; quote text that contains ": "'

# Our messages, by the phrase that the message of the C or Python parser contains.
_MEANINGS = {
    "mapping values are not allowed": f"{_QUOTES_FOR_COLON}, and check the indentation",
    "mapping keys are not allowed": 'text that begins with "? " needs quotes',
    "sequence entries are not allowed": 'a list cannot begin on the line of its key; put "- " on the next line',
    "expected '-' indicator": 'a list item must begin with "- " with the indentation of the items above it',
    "expected key": _INDENTATION,
    "expected <block end>": _INDENTATION,
    "<document start>": 'a document needs a line "---" before it, and directives such as %YAML are not supported',
    "node content": 'a value is missing here; text that begins with ",", "]" or "}" needs quotes',
    "comment or line break": 'only a comment can follow "|" or ">" on its line',
    "unknown directive": 'text that begins with "%" needs quotes; directives are not supported',
    "alphabetic or numeric": 'text that begins with "*" or "&" needs quotes',
    "undefined tag handle": 'text that begins with "!" needs quotes',
    "unknown escape character": 'text in double quotes has an unknown escape after "\\"; '
    'use single quotes, or write "\\\\"',
    "Unicode character escape": "an escape in double quotes is not a valid character",
    "tab character": "tabs are not allowed for indentation: use spaces",
}
# Messages for errors that are reported where the invalid node starts.
_MEANINGS_AT_BEGINNING = {
    "could not find expected ':'": 'a key without ":"',
    "unexpected end of stream": "this quoted text is never closed",
    "',' or ']'": 'this "[" is never closed, or a "," is missing after it',
    "',' or '}'": 'this "{" is never closed, or a "," is missing after it',
}
_UNPRINTABLE = re.compile("[^\x09\x0a\x0d\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def explain_error(error: yaml.YAMLError, text: str) -> TextError:
    """Return the parser's error as a TextError, with our message and the position."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        problem = error.problem or ""
        beginning = _find_meaning(problem, _MEANINGS_AT_BEGINNING)
        if beginning and error.context_mark is not None:
            return TextError(_position(error.context_mark), beginning)
        position = _position(error.problem_mark)
        if "cannot start any token" in problem:
            return TextError(position, _explain_character(text, position))
        return TextError(position, beginning or _find_meaning(problem, _MEANINGS) or shorten(problem))
    character = _UNPRINTABLE.search(text)
    if character is None:
        return TextError(Position(1, 1), shorten(str(error)))
    message = f"the character U+{ord(character[0]):04X} is not allowed in YAML; write it as an escape in double quotes"
    return TextError(position_of(text, character.start()), message)


def _find_meaning(problem: str, meanings: dict[str, str]) -> str | None:
    return next((meaning for pattern, meaning in meanings.items() if pattern in problem), None)


def _explain_character(text: str, position: Position) -> str:
    character = text.split("\n")[position.line - 1][position.column - 1 :][:1]
    return (
        "tabs are not allowed for indentation: use spaces"
        if character == "\t"
        else f'text that begins with "{character}" needs quotes'
    )


def _position(mark: yaml.Mark) -> Position:
    return Position(mark.line + 1, mark.column + 1)
