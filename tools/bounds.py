"""Both ends of what pyproject.toml allows: the tests with the lowest and with the newest versions of the dependencies.

    python tools/bounds.py [lowest] [newest] [--licences] [-- PYTEST ARGUMENTS]

Each end gets a virtual environment in target/bounds. `lowest` installs exactly the versions after `>=`; what these
need in turn is as new as they allow. `--licences` lists the licences of what is installed at the newest end, and asks
pip-audit for advisories where it can be had, and cargo-audit or cargo-deny for those of the crates where it is
installed.

Not here: licences and advisories at the lowest end, which says what works and not what to install (pip takes newer
versions by itself); and the extra `notebook`, whose tests (`make test-all`) run JupyterLab as it is in .venv.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "target" / "bounds"
TESTED = ("pandas", "duckdb", "dask")
"""Extras that tests need."""
RUNNERS = ("pytest", "hypothesis")
TESTS = [
    f"tests/python/test_{name}.py"
    for name in (
        "cli", "cluster", "greeting", "figures", "html", "plots", "scenario", "stats", "store", "study", "sweep",
        "theory", "ways_in",
    )
]  # fmt: skip
"""Tests that use the dependencies: Typer, Rich, matplotlib, Polars, NumPy, SciPy, Jinja."""
PERMISSIVE = re.compile(
    r"MIT|BSD|Apache|PSF|Python Software Foundation|ISC|HPND|MPL|Mozilla|CC0|Unlicense|0BSD|Matplotlib|FreeType|Zlib",
    re.IGNORECASE,
)


def wanted(end: str) -> list[str]:
    """The requirements at one end."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    runners = [r for r in extras["dev"] if re.split(r"[<>=]", r)[0] in RUNNERS]
    found = [*project["dependencies"], *(r for name in TESTED for r in extras[name])]
    return [re.sub(r">=([^,]+).*", r"==\1", r) if end == "lowest" else r for r in found] + runners


def made(end: str) -> Path:
    """An environment with the versions of one end; returns its interpreter."""
    place = FOLDER / end
    shutil.rmtree(place, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", place], check=True)
    python = place / "bin" / "python"
    pip: list[str | Path] = [python, "-m", "pip", "--disable-pip-version-check", "--quiet", "install", "--upgrade"]
    subprocess.run([*pip, *wanted(end)], check=True)
    (site,) = (place / "lib").glob("python*/site-packages")
    (site / "evenflow.pth").write_text(f"{ROOT / 'python'}\n", encoding="utf-8")
    subprocess.run([*pip, "--no-deps", "--editable", ROOT / "papers"], check=True)
    return python


def versions(python: Path) -> str:
    """Installed versions of the direct dependencies."""
    names = sorted({re.split(r"[<>=]", r)[0] for r in wanted("newest")})
    ask = f"import importlib.metadata as m; print(', '.join(f'{{n}} {{m.version(n)}}' for n in {names!r}))"
    return subprocess.run([python, "-c", ask], check=True, capture_output=True, text=True).stdout.strip()


def licences(python: Path) -> int:
    """Print every package's licence; 1 if one is not of the permissive ones, or if there are advisories."""
    ask = """
import importlib.metadata as m
for d in sorted(m.distributions(), key=lambda d: d.name.lower()):
    kinds = [c.split(" :: ")[-1] for c in d.metadata.get_all("Classifier") or [] if c.startswith("License ::")]
    said = d.metadata.get("License-Expression") or ", ".join(kinds) or (d.metadata.get("License") or "").split("\\n")[0]
    print(d.name, d.version, said[:80] or "none named", sep="\\t")
"""
    lines = subprocess.run([python, "-c", ask], check=True, capture_output=True, text=True).stdout.splitlines()
    odd = [line for line in lines if not PERMISSIVE.search(line.split("\t")[2])]
    print(f"licences of {len(lines)} Python packages:", *lines, sep="\n  ")
    if odd:
        print("not known to be permissive:", *odd, sep="\n  ")
    crates = subprocess.run(
        ["cargo", "metadata", "--format-version", "1", "--locked", "--offline"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if crates.returncode == 0:
        found = [(p["name"], p["version"], p["license"]) for p in json.loads(crates.stdout)["packages"] if p["source"]]
        strange = [c for c in found if not PERMISSIVE.search(c[2] or "")]
        print(f"licences of {len(found)} crates: {', '.join(sorted({c[2] or 'none named' for c in found}))}")
        odd += [" ".join(map(str, c)) for c in strange]
        for c in strange:
            print("not known to be permissive:", *c)
    bad = crate_advisories()
    audit = subprocess.run(
        [python, "-m", "pip", "--disable-pip-version-check", "--quiet", "install", "pip-audit"], capture_output=True
    )
    if audit.returncode:
        print("advisories of Python packages: not checked, pip-audit cannot be had here")
        return 1 if odd or bad else 0
    return 1 if package_advisories([str(python), "-m", "pip_audit"]) or odd or bad else 0


def package_advisories(pip_audit: list[str]) -> bool:
    """Print known advisories of the installed packages, and packages that were not checked; True if there are any."""
    asked = subprocess.run(
        [*pip_audit, "--skip-editable", "--progress-spinner=off", "--timeout=20", "--format=json"],
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        packages = json.loads(asked.stdout)["dependencies"]
    except (ValueError, KeyError, TypeError):
        why = (asked.stderr.strip().splitlines() or ["no answer"])[-1]
        print(f"advisories of Python packages: not checked, the database cannot be reached ({why[:160]})")
        return False
    checked = [one for one in packages if "skip_reason" not in one and "vulns" in one]
    found = [f"{one['name']} {one.get('version')}: {vuln['id']}" for one in checked for vuln in one["vulns"]]
    skipped = [one for one in packages if one not in checked]
    if checked:
        known = f"{len(found)} known" if found else "none known"
        print(f"advisories of Python packages: {known} for the {len(checked)} checked", *found, sep="\n  ")
    if skipped or not checked:
        names = ", ".join(one["name"] for one in skipped) if checked else "every package"
        why = skipped[0].get("skip_reason", "no answer") if skipped else "no answer"
        print(f"advisories of Python packages: not checked for {names} ({why[:160]})")
    return bool(found)


CRATE_ADVISERS = (("cargo-audit", ["audit"]), ("cargo-deny", ["deny", "check", "advisories"]))


def crate_advisories() -> bool:
    """Print what is known against the crates of Cargo.lock; True if something is."""
    for tool, words in CRATE_ADVISERS:
        if shutil.which(tool) is None:
            continue
        asked = subprocess.run(["cargo", *words], cwd=ROOT, capture_output=True, text=True, check=False)
        said = asked.stdout + asked.stderr
        if asked.returncode == 0:
            print(f"advisories of crates: none known to {tool}")
            return False
        if re.search(r"RUSTSEC-\d{4}-\d{4}", said):
            print("advisories of crates:", said, sep="\n")
            return True
        why = (said.strip().splitlines() or ["no answer"])[-1]
        print(f"advisories of crates: not checked, {tool} cannot reach its database ({why[:160]})")
        return False
    print("advisories of crates: not checked, cargo-audit is not here (cargo install cargo-audit)")
    return False


def main() -> int:
    arguments = sys.argv[1:]
    more = arguments[arguments.index("--") + 1 :] if "--" in arguments else TESTS
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("ends", nargs="*", choices=["lowest", "newest", []], help="default: both")
    parser.add_argument("--licences", action="store_true")
    given = parser.parse_args(arguments[: arguments.index("--")] if "--" in arguments else arguments)
    failed = 0
    for end in given.ends or ("lowest", "newest"):
        python = made(end)
        print(f"{end}: {versions(python)}", flush=True)
        failed += subprocess.run([python, "-m", "pytest", *more], cwd=ROOT, check=False).returncode != 0
        if given.licences and end == "newest":
            failed += licences(python)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
