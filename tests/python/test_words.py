"""Numbers, lists and tables in words."""

from __future__ import annotations

import pytest
from evenflow import words


@pytest.mark.parametrize(
    ("bits_per_second", "said"),
    [
        (None, "–"),
        (999.0, "999 bit/s"),
        (1e3, "1 kbit/s"),
        (1e6, "1 Mbit/s"),
        (9.706e6, "9.71 Mbit/s"),
        (1e9, "1 Gbit/s"),
    ],
)
def test_a_rate_has_the_largest_unit_that_it_fills(bits_per_second: float | None, said: str) -> None:
    assert words.rate(bits_per_second) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (None, "–"),
        (0.0, "0 ms"),
        (9.9e-5, "99 µs"),
        (1e-4, "0.1 ms"),
        (0.0172, "17.2 ms"),
        (1.0, "1 s"),
        (60.0, "1 min 0 s"),
        (250.0, "4 min 10 s"),
        (3600.0, "1 h 0 min"),
        (12_000.0, "3 h 20 min"),
    ],
)
def test_a_time_has_the_unit_that_people_use(seconds: float | None, said: str) -> None:
    assert words.time_span(seconds) == said


@pytest.mark.parametrize(
    ("count", "said"), [(0, "0 B"), (1500, "1500 B"), (1e4, "10 kB"), (64_000, "64 kB"), (1e6, "1 MB"), (2e9, "2 GB")]
)
def test_sizes(count: float, said: str) -> None:
    assert words.size(count) == said


def test_plain_numbers_and_shares() -> None:
    assert [words.plain(x) for x in (None, 0.12345, 999.4, 1000.0, 1234567.0)] == [
        "–",
        "0.123",
        "999",
        "1,000",
        "1,234,567",
    ]
    assert [words.share(x) for x in (None, 0.6131, 1.0)] == ["–", "61.3 %", "100.0 %"]
    assert [words.counted(n, "flow") for n in (0, 1, 8000)] == ["0 flows", "1 flow", "8,000 flows"]


def test_a_list_ends_with_and_and_a_long_one_with_how_many_more() -> None:
    assert [words.listed(list("abc")[:n]) for n in (1, 2, 3)] == ["a", "a and b", "a, b and c"]
    names = [f"n{i}" for i in range(words.MOST_NAMES)]
    assert words.listed(names).endswith(f"n{words.MOST_NAMES - 2} and n{words.MOST_NAMES - 1}")
    assert words.listed([*names, "x", "y"]).endswith(f"n{words.MOST_NAMES - 1} and 2 more")


def test_a_table_escapes_what_it_shows_and_its_first_column_heads_rows() -> None:
    table = words.html_table("a <b>", ["", "x"], [["row & 1", "<i>"]], below="1 < 2")
    assert "a &lt;b&gt;" in table
    assert '<th scope="row" style="text-align:left">row &amp; 1</th><td>&lt;i&gt;</td></tr>' in table
    assert "1 &lt; 2" in table
    assert "smaller" not in words.html_table("a", [""], [["b"]])


def test_bytes_of_names_that_are_no_utf8_are_shown_by_their_numbers() -> None:
    assert words.clean(b"f\xff\x80.toml".decode(errors="surrogateescape")) == r"f\xff\x80.toml"
    assert words.html_page("<p>f\udcff \ud800\x1b</p>") == "<p>f\\xff \\xd800\ufffd</p>"


def test_control_characters_are_shown_and_do_nothing() -> None:
    assert words.clean("a\tb\nc\x1b[31m\u202e") == "a b\nc\\x1b[31m\\x202e"
    assert words.html_page("a\x07b\tc") == "a\ufffdb\tc"
