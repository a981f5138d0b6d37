"""Every notebook runs from top to bottom, without a warning, and shows what its text promises."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode

pytestmark = [pytest.mark.notebook, pytest.mark.timeout(600)]

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
VIEW = "application/vnd.jupyter.widget-view+json"
STATE = "application/vnd.jupyter.widget-state+json"


def run(path: Path, *more: str) -> NotebookNode:
    """The notebook with its outputs and those of `more` cells; a warning is an error in it. Nothing is written back."""
    notebook = nbformat.read(path, as_version=4)
    strict = nbformat.v4.new_code_cell("import warnings\nwarnings.simplefilter('error')")
    notebook.cells = [strict, *notebook.cells, *(nbformat.v4.new_code_cell(cell) for cell in more)]
    client = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(FOLDER)}})
    executed: NotebookNode = client.execute()
    return executed


def outputs(notebook: NotebookNode) -> list[NotebookNode]:
    return [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]


def widgets(notebook: NotebookNode) -> list[dict[str, Any]]:
    """The state of each widget that is shown, in order."""
    states = notebook.metadata["widgets"][STATE]["state"]
    views = [output.data[VIEW]["model_id"] for output in outputs(notebook) if VIEW in output.get("data", {})]
    return [states[view]["state"] for view in views]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_is_committed_without_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert not outputs(notebook)
    assert all(cell.execution_count is None for cell in notebook.cells if cell.cell_type == "code")
    assert set(notebook.metadata) <= {"kernelspec", "language_info"}


@pytest.fixture(scope="module")
def quickstart() -> NotebookNode:
    return run(
        FOLDER / "quickstart.ipynb",
        """
import json
with torch.no_grad():
    top = class_names[classifier(x)[0].argmax()]
print(json.dumps({
    "top": top,
    "noisy": unet.psnr(noisy, clean),
    "denoised": unet.psnr(denoised, clean),
    "via": flow.edge("enc1", "dec1").via,
    "mean": flow.activation("enc3").mean().item(),
}))
""",
    )


def test_attention_has_heads_by_token() -> None:
    notebook = run(FOLDER / "02_attention.ipynb")
    assert not [output for output in outputs(notebook) if output.get("name") == "stderr"]
    one, several = widgets(notebook)
    layer = one["overview"]["stages"]["encoder.layer.3"]
    assert [(leaf["leaf"], leaf["axes_kind"]) for leaf in layer] == [("", "tokens"), ("attention", "attention")]
    words = one["overview"]["stages"]["input"][0]["picture"]["labels"]
    assert words[:3] == ["[CLS]", "the", "animal"]
    assert layer[0]["picture"]["labels"] == words
    assert layer[1]["shape"] == [1, 12, len(words), len(words)]
    assert several["frame_labels"] == ["tired.", "wide.", "full.", "empty."]


def test_volume_has_slices() -> None:
    notebook = run(FOLDER / "03_volume.ipynb")
    assert not [output for output in outputs(notebook) if output.get("name") == "stderr"]
    one, several = widgets(notebook)
    skips = {edge["id"] for edge in one["graph"]["edges"] if edge["kind"] == "skip"}
    assert skips == {"conv_0->upcat_1", "down_1->upcat_2", "down_2->upcat_3", "down_3->upcat_4"}
    kinds = {leaves[0]["picture"]["kind"] for leaves in one["overview"]["stages"].values()}
    assert kinds == {"volume", "mask"}
    mask = one["overview"]["stages"]["output"][0]["picture"]
    assert {entry["name"] for entry in mask["entries"]} <= {"background", "lesion"}
    assert (mask["background"], mask["size"]) == (0, [48, 48])
    assert several["frame_count"] == 5


@pytest.fixture(scope="module")
def facts(quickstart: NotebookNode) -> dict[str, Any]:
    """What our own last cell found in the kernel."""
    found: dict[str, Any] = json.loads(quickstart.cells[-1].outputs[0].text)
    return found


def test_quickstart_writes_nothing_to_standard_error(quickstart: NotebookNode) -> None:
    assert not [output for output in outputs(quickstart) if output.get("name") == "stderr"]


def test_quickstart_shows_three_pictures(quickstart: NotebookNode) -> None:
    classifier, denoiser, slider = widgets(quickstart)
    assert 5 <= len(classifier["graph"]["stages"]) <= 16
    names = {stage["id"] for stage in denoiser["graph"]["stages"]}
    assert {"input", "enc1", "enc2", "enc3", "mid", "dec3", "dec2", "dec1", "output"} <= names
    skips = {edge["id"] for edge in denoiser["graph"]["edges"] if edge["kind"] == "skip"}
    assert skips == {"enc1->dec1", "enc2->dec2", "enc3->dec3"}
    assert slider["frame_count"] == 6


def test_quickstart_sees_a_cat(facts: dict[str, Any]) -> None:
    assert "cat" in facts["top"]


def test_quickstart_takes_the_noise_off(facts: dict[str, Any]) -> None:
    assert facts["denoised"] > facts["noisy"] + 8


def test_quickstart_reads_the_flow_without_a_widget(quickstart: NotebookNode, facts: dict[str, Any]) -> None:
    assert facts["via"] == ["cat"]
    assert facts["mean"] > 0
    printed = "".join(output.text for output in outputs(quickstart) if output.get("name") == "stdout")
    assert "enc1" in printed
    assert "16×256×256" in printed
