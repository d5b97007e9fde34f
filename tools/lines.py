"""Count lines of code without tests, comments, docstrings and blanks, by crate and package.

    python tools/lines.py [--files N]

Rust: `#[cfg(test)]` modules, `tests/` folders and files named `tests.rs` are tests. TOML counts the papers' data.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import subprocess
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def rust(text: str) -> int:
    """Lines of Rust code in a file, test modules left out."""
    count = depth = 0
    inside = pending = comment = False
    for line in text.splitlines():
        stripped = line.strip()
        if comment:
            comment = "*/" not in stripped
            continue
        if stripped.startswith("/*"):
            comment = "*/" not in stripped
            continue
        if inside:
            # A test module ends at the closing brace in its own column.
            inside = not (stripped == "}" and len(line) - len(line.lstrip()) == depth)
            continue
        if not stripped or stripped.startswith("//"):
            continue
        if re.match(r"#\[cfg\((all\()?test", stripped):
            pending, depth = True, len(line) - len(line.lstrip())
            continue
        if pending and not stripped.startswith("#["):
            pending = False
            inside = stripped.endswith("{")
            continue
        if not pending:
            count += 1
    return count


def python(text: str) -> int:
    """Lines of Python code in a file, docstrings left out."""
    lines: set[int] = set()
    skip = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in skip:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def toml(text: str) -> int:
    """Lines of a TOML file that are neither blank nor a comment."""
    return sum(bool(line.strip()) and not line.strip().startswith("#") for line in text.splitlines())


COUNT = {".rs": rust, ".py": python, ".toml": toml}


def group_of(path: Path) -> str | None:
    """The row that a file counts for."""
    parts = path.parts
    test = "tests" in parts or path.name == "tests.rs" or path.stem.endswith("_tests")
    if path.suffix == ".rs":
        return None if parts[0] != "crates" else "rust tests" if test or "benches" in parts else f"crates/{parts[1]}"
    if path.suffix == ".toml":
        return f"toml {paper(path)}" if paper(path) and path.name != "pyproject.toml" else None
    if parts[0] in ("tests", "validation", "benches", "tools", "examples", "docs"):
        return f"python {parts[0]}"
    if paper(path):
        return f"papers {paper(path)}" if not test else "python tests"
    return f"evenflow {parts[2].removesuffix('.py') if len(parts) > 3 else '(top)'}" if parts[0] == "python" else None


def paper(path: Path) -> str | None:
    """The paper whose folder a file is in."""
    named = re.search(r"papers/(?:.*/)?(abc|wtp|conex|has_shaping|reecn_lte)/", path.as_posix())
    return named[1] if named else "(shared)" if path.parts[0] == "papers" else None


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=0, help="also list the N largest files")
    wanted = parser.parse_args().files
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    rows: Counter[str] = Counter()
    sizes: list[tuple[int, str]] = []
    for name in listed:
        path = Path(name)
        group = group_of(path) if path.suffix in COUNT else None
        if group and (ROOT / path).is_file():
            size = COUNT[path.suffix]((ROOT / path).read_text(encoding="utf-8"))
            rows[group] += size
            sizes.append((size, name))
    for group, size in sorted(rows.items()):
        print(f"{group:24}{size:8,}")
    for title, start in (("Rust", "crates/"), ("package", "evenflow "), ("papers", "papers "), ("TOML", "toml ")):
        print(f"{title:24}{sum(size for group, size in rows.items() if group.startswith(start)):8,}  in all")
    for size, name in sorted(sizes, reverse=True)[:wanted]:
        print(f"{size:8,}  {name}")


if __name__ == "__main__":
    main()
