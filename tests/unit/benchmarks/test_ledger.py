from __future__ import annotations

from pathlib import Path

from benchmarks.ledger import Entry, Ledger, Verdict, summary, table

EXACT = Entry("a/b.blend", "2x2", Verdict.EXACT, passes=12, outputs=2, seconds=3.5)
DIFFERS = Entry(
    "c.blend", "2x2", Verdict.DIFFERS, passes=3, outputs=1, differing=("V.Mist (2)",), largest=0.25
)
WHOLE = Entry("d|e.blend", "2x2", Verdict.WHOLE, "Freestyle draws\nlines.")
NOTHING = Entry("f.blend", "2x2", Verdict.NOTHING, "It has no camera.")


def test_a_ledger_gives_back_what_was_written_and_knows_what_is_done(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "new" / "ledger.jsonl")
    assert list(ledger) == []

    for entry in (EXACT, DIFFERS, WHOLE, NOTHING):
        ledger.add(entry)

    assert list(ledger) == [EXACT, DIFFERS, WHOLE, NOTHING]
    assert ("a/b.blend", "2x2") in ledger.done()
    assert ("a/b.blend", "samples:2") not in ledger.done()


def test_a_line_that_was_cut_short_is_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    ledger = Ledger(path)
    ledger.add(EXACT)
    ledger.add(DIFFERS)
    path.write_text(path.read_text()[:-20])

    assert list(ledger) == [EXACT]


def test_the_table_is_markdown_of_what_renders_in_the_order_of_names() -> None:
    assert table([WHOLE, NOTHING, DIFFERS, EXACT]).splitlines() == [
        "| scene | cut | result | passes | outputs | what |",
        "|---|---|---|---:|---:|---|",
        "| a/b.blend | 2x2 | exact | 12 | 2 |  |",
        "| c.blend | 2x2 | differs | 3 | 1 | V.Mist (2): by 0.25 at most |",
        "| d\\|e.blend | 2x2 | whole |  |  | Freestyle draws lines. |",
    ]


def test_the_summary_counts() -> None:
    assert summary([EXACT, DIFFERS, WHOLE, NOTHING]) == (
        "4 scenes: 2 cut, 1 of them the same bit for bit in 12 passes and 2 outputs, 1 not; "
        "1 kept whole; 1 not rendered."
    )
