"""Wrapping a page changes line ends only, and none into Markdown."""

from __future__ import annotations

from alora_ts.bench.wrapping import wrap_markdown

LONG = "word " * 40


def test_code_tables_headings_and_pictures_stay_as_they_are() -> None:
    page = f"# {LONG}\n\n| {LONG} |\n\n```sh\n{LONG}\n- {LONG}\n```\n\n![{LONG}](a.png)"
    assert wrap_markdown(page) == page


def test_prose_is_wrapped_once_and_keeps_its_words() -> None:
    page = f"{LONG}\n{LONG}\n\n- {LONG}\n- b\n\n1. {LONG}\n"
    wrapped = wrap_markdown(page)
    assert wrapped.split() == page.split()
    assert max(map(len, wrapped.split("\n"))) <= 100
    assert wrap_markdown(wrapped) == wrapped
    assert [line[:2] for line in wrapped.split("\n") if line[:1] in {"-", "1"}] == [
        "- ",
        "- ",
        "1.",
    ]


def test_no_line_begins_like_a_list_by_chance() -> None:
    page = "a" * 97 + " bb - c 1. d " + "e" * 95 + " # f"
    wrapped = wrap_markdown(page)
    assert wrapped.split() == page.split()
    assert not any(line.startswith(("- ", "1. ", "# ")) for line in wrapped.split("\n"))


def test_a_word_longer_than_a_line_stays_whole() -> None:
    assert wrap_markdown("see [x](" + "y" * 120 + ")") == "see\n[x](" + "y" * 120 + ")"
