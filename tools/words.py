"""Count the words of hand-written pages, without generated blocks, code and printed output."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GENERATED = ("mechanisms.md", "metrics.md")
MOST, MOST_OF_A_PAGE = 70_000, 1_500


def words(text: str) -> int:
    text = re.sub(r"<!-- (\S+) -->.*?<!-- /\1 -->", "", text, flags=re.DOTALL)
    text = re.sub(r"<!-- (validation:\S+) -->.*?<!-- /\1 -->", "", text, flags=re.DOTALL)
    return len(re.sub(r"^ *```.*?^ *```", "", text, flags=re.DOTALL | re.MULTILINE).split())


def pages() -> dict[str, int]:
    """Words of each page under docs."""
    return {
        str(path.relative_to(ROOT)): words(path.read_text(encoding="utf-8"))
        for path in sorted((ROOT / "docs").rglob("*.md"))
        if path.name not in GENERATED
    }


if __name__ == "__main__":
    for name, count in sorted(pages().items(), key=lambda row: -row[1]):
        print(f"{count:6,} {name}{'' if count <= MOST_OF_A_PAGE else f'  (more than {MOST_OF_A_PAGE:,})'}")
    print(f"{sum(pages().values()):6,} in all")
