# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads whole tables row by row. The answer to a `select` may have hundreds of megabytes, so it is decoded while it arrives, and at most one row of
it is kept.
"""

from __future__ import annotations

import codecs
import json
import typing as t

from .._base.errors import BadAnswer, Refused
from .wire import Connection

_ROWS = '"rows":['
_SEPARATORS = " \t\r\n,"

Row = dict[str, t.Any]


class TableReader(Connection):
    """A client session that can read large tables."""

    def rows(self, database: str, table: str, columns: t.Sequence[str]) -> t.Iterator[Row]:
        """Yield each row of a table with these columns."""
        select = {"op": "select", "table": table, "where": [], "columns": list(columns)}
        request_id = f"c{next(self._ids)}"
        self._send({"method": "transact", "params": [database, select], "id": request_id})
        text = _Text(self)
        head = self._head(text)
        while True:
            row = text.next_object()
            if row is None:
                break
            yield row
        self._tail(text, head, table)

    def _head(self, text: _Text) -> str:
        """Return what precedes the rows, after the server's probes that came before."""
        while True:
            start = text.find(_ROWS)
            message = text.whole_message(start)
            if message is None:
                if start >= 0:
                    return text.take(start + len(_ROWS))
                text.read_more()
            elif message.get("method") == "echo":
                self._send({"id": message.get("id"), "result": message.get("params"), "error": None})
            else:
                raise Refused(f"{self.name} refused to read a table: {json.dumps(message)[:300]}")

    def _tail(self, text: _Text, head: str, table: str) -> None:
        """Read what follows the rows and check that the whole answer was a good one."""
        while True:
            message = text.whole_message(-1, prefix=head)
            if message is not None:
                break
            text.read_more()
        result = message.get("result")
        good = message.get("error") is None and isinstance(result, list) and result and result[0].keys() == {"rows"}
        if not good:
            raise BadAnswer(f"{self.name} answered the reading of {table} with {json.dumps(message)[:300]}.")

    def read_chunk(self) -> bytes:
        """Return the next octets that the server sends."""
        return self._read(1 << 20)


class _Text:
    """The text that a server sends, as far as it has arrived."""

    def __init__(self, connection: TableReader) -> None:
        self._connection = connection
        self._decoder = json.JSONDecoder()
        self._utf8 = codecs.getincrementaldecoder("utf-8")()
        self._text, self._position = "", 0

    def find(self, word: str) -> int:
        return self._text.find(word, self._position)

    def take(self, end: int) -> str:
        """Return the text up to `end` and go on behind it."""
        taken, self._position = self._text[self._position : end], end
        return taken

    def read_more(self, end: str = "") -> None:
        """Wait for more text that has `end` in it."""
        pieces = [self._text[self._position :]]
        while True:
            pieces.append(self._utf8.decode(self._connection.read_chunk()))
            if end in pieces[-1]:
                break
        self._text, self._position = "".join(pieces), 0

    def next_object(self) -> Row | None:
        """Return the next row, None at the end of the list."""
        while True:
            while self._position < len(self._text) and self._text[self._position] in _SEPARATORS:
                self._position += 1
            if self._text.startswith("]", self._position):
                return None
            try:
                row, self._position = self._decoder.raw_decode(self._text, self._position)
            except ValueError:
                self.read_more(
                    "}"
                )  # without it the row cannot be complete, so a long one is not decoded for each piece of it
                continue
            return t.cast(Row, row)

    def whole_message(self, limit: int, prefix: str = "") -> Row | None:
        """Return a message that is complete and ends before `limit` (-1: anywhere), None if there is none."""
        text = prefix + (self._text[self._position :] if limit < 0 else self._text[self._position : limit])
        begin = len(text) - len(text.lstrip())
        try:
            message, end = self._decoder.raw_decode(text, begin)
        except ValueError:
            return None
        self._position += end - len(prefix)
        return t.cast(Row, message)
