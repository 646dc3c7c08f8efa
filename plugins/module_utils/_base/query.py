# SPDX-License-Identifier: GPL-3.0-or-later
"""Queries in JMESPath over plain facts. Only this file imports the library jmespath, and only for a query."""

from __future__ import annotations

import typing as t

from .errors import InvalidInput


def check_query(query: str) -> None:
    """Raise `InvalidInput` if the library is missing, or with the position if the query is not JMESPath."""
    _compile(query)


def run_query(query: str, facts: t.Any) -> t.Any:
    """Return what a query selects from facts, None if it selects nothing; what it cannot do is `InvalidInput`."""
    expression = _compile(query)
    try:
        return expression.search(plain(facts))
    except ValueError as e:  # the base class of what jmespath raises
        raise InvalidInput(
            f"query {query!r} failed: {str(e)[:300]}. Check its functions and what they are given."
        ) from e


def text_or_data(value: t.Any) -> t.Literal["text", "data"]:
    """Return how a person or a script wants to see what a query has selected: a text, and a list of texts, as lines; anything else as data."""
    if isinstance(value, str):
        return "text"
    is_list = isinstance(value, t.Sequence)
    return "text" if is_list and value and all(isinstance(one, str) for one in value) else "data"


def plain(facts: t.Any) -> t.Any:
    """Return a copy in types of Python alone: jmespath's functions do not know the marked texts of Ansible."""
    if isinstance(facts, t.Mapping):
        return {_text(key): plain(item) for key, item in facts.items()}
    if isinstance(facts, (list, tuple)):
        return [plain(item) for item in facts]
    if isinstance(facts, str):
        return _text(facts)
    if isinstance(facts, int) and not isinstance(facts, bool):
        return int(facts)
    return float(facts) if isinstance(facts, float) else facts


def _text(value: t.Any) -> str:
    return "".join(["", str(value)])  # join returns a text of Python's own class


def _compile(query: t.Any) -> t.Any:
    if not isinstance(query, str):
        raise InvalidInput(f"query is {str(query)[:100]}, which is no text. Give an expression in JMESPath.")
    try:
        import jmespath
        import jmespath.exceptions
    except ImportError as e:
        raise InvalidInput(
            "query needs the Python library jmespath on this host: install python3-jmespath (Debian), or jmespath from PyPI."
        ) from e
    try:
        return jmespath.compile(query)
    except jmespath.exceptions.IncompleteExpressionError as e:
        raise InvalidInput(f"query {query!r} is not complete: it ends after character {len(query)}.") from e
    except jmespath.exceptions.EmptyExpressionError as e:
        raise InvalidInput("query is empty. Leave it out, or give an expression in JMESPath.") from e
    except jmespath.exceptions.LexerError as e:
        raise InvalidInput(f"query {query!r} is not JMESPath: {e.message} at character {e.lexer_position + 1}.") from e
    except jmespath.exceptions.ParseError as e:
        raise InvalidInput(
            f"query {query!r} is not JMESPath: {e.token_value!r} at character {e.lex_position + 1} is not expected there."
        ) from e
