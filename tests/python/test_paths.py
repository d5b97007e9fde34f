"""Dotted paths."""

from __future__ import annotations

import pytest
from evenflow.errors import UsageError
from evenflow.scenario import paths
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("a", ("a",)),
        ("a.b-c.d_1", ("a", "b-c", "d_1")),
        ('a."b.c".d', ("a", "b.c", "d")),
        ("a.'b.c'", ("a", "b.c")),
        ("a[0].b", ("a", 0, "b")),
        ("groups.mixed.traffic[1].rate", ("groups", "mixed", "traffic", 1, "rate")),
    ],
)
def test_parse(text: str, path: tuple[str | int, ...]) -> None:
    assert paths.parse(text) == path


@pytest.mark.parametrize("text", ["", ".", "a.", ".a", "a..b", "a[x]", "[0]", 'a."b', "a.[0]", 'a"b"'])
def test_not_a_path(text: str) -> None:
    with pytest.raises(UsageError):
        paths.parse(text)


@given(st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=5))
def test_render_is_the_inverse_of_parse(path: list[str]) -> None:
    assert paths.parse(paths.render(path)) == tuple(path)


def test_assign_makes_tables_but_never_through_a_value() -> None:
    tree: dict[str, object] = {"a": {"b": 1}, "l": [{"x": 1}]}
    paths.assign(tree, paths.parse("a.c.d"), 2)
    paths.assign(tree, paths.parse("l[0].x"), 3)
    assert tree == {"a": {"b": 1, "c": {"d": 2}}, "l": [{"x": 3}]}
    with pytest.raises(UsageError, match="single value"):
        paths.assign(tree, paths.parse("a.b.c"), 1)
    with pytest.raises(UsageError, match="list of 1"):
        paths.assign(tree, paths.parse("l[1].x"), 1)


def test_assigned_leaves_the_first_tree_and_says_what_assign_says() -> None:
    tree: dict[str, object] = {"a": {"b": 1}, "l": [{"x": 1}, {"x": 2}]}
    assert paths.assigned(tree, paths.parse("l[1].x"), 3) == {"a": {"b": 1}, "l": [{"x": 1}, {"x": 3}]}
    assert tree == {"a": {"b": 1}, "l": [{"x": 1}, {"x": 2}]}
    for path in ("l[2].x", "a[0].x", "l.x.y"):
        with pytest.raises(UsageError) as whole:
            paths.assign({"a": {"b": 1}, "l": [{"x": 1}, {"x": 2}]}, paths.parse(path), 1)
        with pytest.raises(UsageError) as shared:
            paths.assigned(tree, paths.parse(path), 1)
        assert str(shared.value) == str(whole.value)


def test_nearest_table() -> None:
    tree = {"links": {"bottleneck": {"queue": {}}}, "sweep": {"links": {"bottlneck": {}}}}
    assert paths.nearest_table(tree, ("links", "bottlneck")) == "links.bottleneck"


def test_names_lead_into_tables_and_numbers_into_lists_alone() -> None:
    tree = {"a": [{"b": 1, "c": 2}, {"b": 3}], "d": {"e": {"f": 4, "g": 5}}}
    assert paths.get(tree, ("a", 1, "b")) == 3
    for path in (("a", "b"), ("a", 2), ("d", 0), ("d", "e", "f", "h"), ("d", "e", "f", 0)):
        assert not paths.has(tree, path)
    paths.remove(tree, ("d", "e", "f"))
    paths.remove(tree, ("a", 0))
    assert tree == {"a": [{"b": 3}], "d": {"e": {"g": 5}}}
