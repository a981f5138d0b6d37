"""The README's numbers are those that were measured last."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks.suite.models import MODELS
from benchmarks.suite.report import BEGIN, END, report, table

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def results():
    return json.loads((ROOT / "benchmarks" / "results.json").read_text(encoding="utf-8"))


def test_the_tables_are_made_from_the_results(results):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme.split(BEGIN)[1].split(END)[0].strip() == table(results)
    assert (ROOT / "benchmarks" / "results.md").read_text(encoding="utf-8") == report(results)


def test_we_have_a_row_for_every_model_and_every_row_has_times_or_an_error(results):
    rows = results["rows"]
    assert {row["model"] for row in rows if row["tool"] == "nf_widget"} == set(MODELS)
    assert len({(row["tool"], row["model"]) for row in rows}) == len(rows)
    assert all(row["times"] or row["errors"] for row in rows)


def test_a_failure_is_told_in_the_table_and_in_words(results):
    row = {"tool": "torchview", "model": results["rows"][0]["model"], "times": {}, "errors": {"graph": "Error: a|b"}}
    rows = [each for each in results["rows"] if (each["tool"], each["model"]) != (row["tool"], row["model"])]
    text = report(results | {"rows": [*rows, row]})
    assert "fails" in text
    assert "Error: a\\|b" in text
