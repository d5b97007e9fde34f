"""Changes of a paper's acceptance criteria since they were first written down.

A paper's `history.toml` has one `[[change]]` each, oldest first:

    [[change]]
    date = 2026-11-22
    claim = "c46"            # or a list; or "all"
    what = "lower with ABC instead of either way round"
    why = "the sentence says which"
    before = "holds"
    after = "fails"
"""

from __future__ import annotations

import datetime
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import EvenflowError, nearest

FILE = "history.toml"
KEYS = ("date", "claim", "what", "why", "before", "after")
ALL = "all"


@dataclass(frozen=True)
class Change:
    """One change of an acceptance criterion.

    `claims` are ids ("c46"), or "all". `before` and `after` are verdicts in words, with the lenient one in brackets.
    """

    date: str
    claims: tuple[str, ...]
    what: str
    why: str
    before: str
    after: str

    def concerns(self, claim: str) -> bool:
        """Whether it is about this claim, by its whole id ("abc-c46")."""
        return ALL in self.claims or claim.rpartition("-")[2] in self.claims

    def to_json(self) -> dict[str, Any]:
        """The row as ledgers have it."""
        return {
            "date": self.date,
            "claims": list(self.claims),
            "what": self.what,
            "why": self.why,
            "before": self.before,
            "after": self.after,
        }


class HistoryError(EvenflowError, ValueError):
    """The file does not say what it should; the message has everything that is wrong, a line each."""


def history(where: str | Path) -> tuple[Change, ...]:
    """The changes of the paper in this folder, or beside this file (`__file__`); none if there is no `history.toml`.

    Raises:
        HistoryError: with everything that is wrong.
    """
    folder = Path(where)
    file = (folder if folder.is_dir() else folder.parent) / FILE
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError as error:
        raise HistoryError(f"{file} cannot be read: {error.strerror or error}.") from None
    except ValueError as error:
        raise HistoryError(f"{file}: {error}") from None
    wrong = [f"{key} is not a key; there is [[change]]." for key in document if key != "change"]
    tables = document.get("change", [])
    if not isinstance(tables, list):
        raise HistoryError(f"{file}: one [[change]] each, in double brackets.")
    found = [_change(number, table, wrong) for number, table in enumerate(tables, 1)]
    if wrong:
        raise HistoryError(f"{file}:\n" + "\n".join(f"  {line}" for line in wrong))
    made = tuple(change for change in found if change is not None)
    return tuple(sorted(made, key=lambda change: change.date))


def _change(number: int, table: Any, wrong: list[str]) -> Change | None:
    where, before = f"change {number}", len(wrong)
    if not isinstance(table, dict):
        wrong.append(f"{where}: a table.")
        return None
    for key in table:
        if key not in KEYS:
            guess = nearest(key, KEYS)
            wrong.append(f"{where}: {key} is not a key." + (f" Did you mean “{guess}”?" if guess else ""))
    wrong += [f"{where}: {key} is missing." for key in KEYS if key not in table]
    date = table.get("date")
    if "date" in table and not (isinstance(date, datetime.date) and not isinstance(date, datetime.datetime)):
        wrong.append(f"{where}: date is a day, such as 2026-11-22, without quotation marks.")
    names = table.get("claim", [])
    names = [names] if isinstance(names, str) else names
    good = isinstance(names, list) and bool(names) and all(isinstance(name, str) and name for name in names)
    if "claim" in table and not good:
        wrong.append(f'{where}: claim is a name, such as "c46", or a list of names.')
    texts = {key: table.get(key) for key in ("what", "why", "before", "after")}
    for key, text in texts.items():
        if key in table and not (isinstance(text, str) and text.strip()):
            wrong.append(f"{where}: {key} is a text, and not an empty one.")
    if len(wrong) > before:
        return None
    return Change(str(date), tuple(names), **{key: str(text) for key, text in texts.items()})
