"""Takes the README's pictures from the real widget in the real notebook: `make pictures`."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import Locator, sync_playwright

from browser import chromium
from browser.jupyter import serve
from browser.lab import Lab

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "notebooks" / "pictures"
SIZE = {"width": 1240, "height": 1500}


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as home, serve(Path(home), Path(home) / "log.txt") as server:
        for file in (ROOT / "notebooks").iterdir():
            if file.is_file():
                shutil.copy(file, server.root)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium.find(), args=list(chromium.ARGUMENTS))
            page = browser.new_page(viewport=SIZE, device_scale_factor=1.5)
            _take(Lab(page, PICTURES, server))
            browser.close()


def _take(lab: Lab) -> None:
    lab.open_file("quickstart.ipynb")
    lab.page.evaluate("() => jupyterapp.commands.execute('application:toggle-left-area')")
    lab.run_all()
    (classifier,), (unet,) = lab.cells_with("FlowWidget(classifier, x"), lab.cells_with("FlowWidget(denoiser, noisy)")
    for theme in ("light", "dark"):
        lab.theme(theme)
        lab.screenshot_of(_widget(lab, classifier, "EfficientNet"), f"classifier-{theme}")
        shown = _widget(lab, unet, "UNet")
        lab.hover_edge(shown.locator('.nf-edge[data-source="enc2"][data-target="dec2"]'))
        lab.page.wait_for_timeout(1000)
        lab.screenshot_of(shown, f"unet-{theme}")


def _widget(lab: Lab, cell: int, name: str) -> Locator:
    lab.show_cell(cell)
    shown = lab.page.locator(".nf-widget").filter(has_text=name).first
    shown.locator(".nf-stage").first.wait_for()
    lab.page.wait_for_timeout(2000)
    return shown


if __name__ == "__main__":
    main()
