"""The prose lint: plain English in texts for users, and in comments.

Findings are phrases of `[fail]` in `prose.toml` and sentences of more than 25 words. Words of `[warn]` are only
counted. `prose-baseline.json` has the findings that remain, for each file and, for comments, each folder. They can
only fall: `--update` lowers the counts, `--list PATH...` shows the findings, `--words` counts the words.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import subprocess
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
BASELINE = ROOT / "tools" / "prose-baseline.json"
RULES = tomllib.loads((ROOT / "tools" / "prose.toml").read_text())
FAIL, WARN = ([(re.compile(k, re.I), v) for k, v in RULES[kind].items()] for kind in ("fail", "warn"))
MOST_WORDS = 25
EXAMPLE = re.compile(r"\n\n(?:>>> .*(?:\n.+)*|(?: {4}.*\n?)+)")  # code in a docstring
SKIPPED = re.compile("|".join(RULES["skip"]))


class Text(NamedTuple):
    line: int
    text: str
    comment: bool = False
    measured: bool = True


def markdown(source: str) -> Iterator[Text]:
    """Paragraphs and list items; tables without measuring; no code, no quotations."""
    blank = lambda found: "\n" * found[0].count("\n")  # noqa: E731
    source = re.sub(r"^( *)(```|~~~).*?^\1\2 *$|<!--.*?-->|\$\$.*?\$\$", blank, source, flags=re.S | re.M)
    line = 1
    for block in re.split(r"(\n(?:[ \t]*\n)+|\n(?=[ \t]*(?:[-*|#>]|\d+\.) ))", source):
        at = line + len(block) - len(block.lstrip("\n"))
        line += block.count("\n")
        text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", block).strip()
        if text and not text.startswith(">"):
            yield Text(at, re.sub(r"^(#+|[-*]|\d+\.) ", "", text), measured=not text.startswith("|"))


def python(source: str) -> Iterator[Text]:
    """Comments and docstrings; of users' texts the other strings and the docstrings of commands."""
    tree = ast.parse(source)
    inside: set[int] = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            decorators = " ".join(ast.unparse(one) for one in getattr(node, "decorator_list", []))
            for item in body:
                match item:
                    case ast.Expr(value=ast.Constant(value=str(text))):
                        inside.add(id(item.value))
                        text = EXAMPLE.sub("\n\n", inspect.cleandoc(text))
                        yield Text(item.lineno, text, comment=not re.search("command|callback", decorators))
        if isinstance(node, ast.JoinedStr):
            parts = [p.value if isinstance(p, ast.Constant) else "`x`" for p in node.values]
            inside.update(id(p) for p in node.values)
            yield Text(node.lineno, "".join(map(str, parts)))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            yield Text(node.lineno, node.value)
    lines = iter(source.splitlines(keepends=True))
    for token in tokenize.generate_tokens(lambda: next(lines, "")):
        if token.type == tokenize.COMMENT and not re.match(r"# ?(noqa|type:|fmt:|isort:|mypy)", token.string):
            yield Text(token.start[0], token.string.lstrip("#! "), comment=True)


def rust(source: str) -> Iterator[Text]:
    """Comments, consecutive lines as one; strings, which are messages and texts of tables."""
    source = source.partition("#[cfg(test)]\nmod ")[0]
    pattern = r'(?P<comment>(?:^[ \t]*//[^\n]*\n)+|//[^\n]*)|"(?P<string>(?:[^"\\]|\\.)*)"|\'(?:\\.|[^\\])\''
    for found in re.finditer(pattern, source, re.S | re.M):
        line = source.count("\n", 0, found.start()) + 1
        if found["comment"]:
            yield Text(line, re.sub(r"^[ \t]*//[/!]?", "", found["comment"], flags=re.M), comment=True)
        elif found["string"]:
            yield Text(line, re.sub(r"\\\n\s*", "", found["string"]).replace("\\n", "\n"))


def template(source: str) -> Iterator[Text]:
    """A page's words, without tags and expressions."""
    source = re.sub(r"<(script|style).*?</\1>|{% block style %}.*?{% endblock %}", "", source, flags=re.S)
    for number, line in enumerate(re.sub(r"{%.*?%}", " ", source).splitlines(), 1):
        for part in re.split(r"<[^>]+>", re.sub(r"{{.*?}}|<code>.*?</code>", "`x`", line)):
            yield Text(number, part.strip())


READERS = {".md": markdown, ".py": python, ".rs": rust, ".j2": template}


def findings(text: Text) -> Iterator[str]:
    """Phrases that fail, and sentences that are too long."""
    prose = re.sub(r"`+[^`]+`+|^\s*(CREATE|import) .*", "`x`", text.text, flags=re.S)
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:[-*|]|\d+\.|\w+:\s|evenflow ))", prose):
        for sentence in re.split(r"(?<=[.!?:;])\s+(?=[\"“A-Z0-9`(*\[])|\s\|\s", " ".join(paragraph.split())):
            count = len(re.findall(r"[^\W\d_][\w'’-]*", sentence.replace("`x`", "x")))
            if count < 3 and not text.comment:
                continue
            for pattern, better in FAIL:
                if hit := pattern.search(sentence):
                    yield f"“{hit[0]}”: {better}"
            if text.measured and count > MOST_WORDS:
                yield f"{count} words: {sentence[:70]} …"


def main(arguments: list[str]) -> int:
    """Check, list or update; the exit code."""
    listed = arguments[1:] if arguments[:1] == ["--list"] else None
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    counts, words = Counter[str](), Counter[str]()
    told: dict[str, list[str]] = {}
    for name in names:
        reader = READERS.get(Path(name).suffix)
        if reader is None or SKIPPED.search(name) or not (ROOT / name).exists():
            continue
        for text in reader((ROOT / name).read_text()):
            key = f"comments in {'/'.join(name.split('/')[:-1][:3])}" if text.comment else name
            for found in findings(text):
                counts[key] += 1
                told.setdefault(key, []).append(f"{name}:{text.line}: {found}")
                if listed is not None and any(name.startswith(one) for one in listed or [""]):
                    print(f"{name}:{text.line}:{' comment:' if text.comment else ''} {found}")
            words.update(better for pattern, better in WARN for _ in pattern.finditer(text.text))
    if "--words" in arguments:
        print(*(f"{count:6,}  write: {word}" for word, count in words.most_common()), sep="\n")
    before: dict[str, int] = json.loads(BASELINE.read_text()) if BASELINE.exists() else dict(counts)
    worse = {key: count for key, count in counts.items() if count > before.get(key, 0)}
    for key in worse:
        print(f"{key}: {counts[key]} findings, {before.get(key, 0)} allowed", *told[key], sep="\n  ", file=sys.stderr)
    if "--update" in arguments:
        kept = {key: min(count, before.get(key, 0)) for key, count in sorted(counts.items())}
        BASELINE.write_text(json.dumps({k: n for k, n in kept.items() if n}, indent=1) + "\n")
    users = sum(n for key, n in counts.items() if not key.startswith("comments"))
    print(f"prose: {users} findings in texts for users, {counts.total() - users} in comments; {words.total()} words")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
