"""Takes the README's pictures, still and moving, from the real widget in the real notebooks: `make pictures`."""

from __future__ import annotations

import io
import shutil
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Locator, expect, sync_playwright

from browser import chromium
from browser.jupyter import Server, serve
from browser.lab import Lab

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "notebooks" / "pictures"
SIZE = {"width": 1240, "height": 1500}
# One moving picture has many frames: shorter ones keep the file under a megabyte.
MOVING_WIDTH = 860
FRAME_MS = 200


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as home, serve(Path(home), Path(home) / "log.txt") as server:
        for file in (ROOT / "notebooks").iterdir():
            if file.is_file():
                shutil.copy(file, server.root)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium.find(), args=list(chromium.ARGUMENTS))
            _take(_opened(browser, server, "quickstart.ipynb", 1.5))
            _animate(_opened(browser, server, "04_scrub.ipynb", 1))
            browser.close()


def _opened(browser: Browser, server: Server, notebook: str, scale: float) -> Lab:
    """A notebook that has run, in the whole width of the window."""
    lab = Lab(browser.new_page(viewport=SIZE, device_scale_factor=scale), PICTURES, server)
    lab.open_file(notebook)
    lab.page.evaluate("() => jupyterapp.commands.execute('application:toggle-left-area')")
    lab.run_all()
    return lab


def _take(lab: Lab) -> None:
    (classifier,), (unet,) = lab.cells_with("FlowWidget(classifier, x"), lab.cells_with("FlowWidget(denoiser, noisy)")
    for theme in ("light", "dark"):
        lab.theme(theme)
        lab.screenshot_of(_widget(lab, classifier), f"classifier-{theme}")
        shown = _widget(lab, unet)
        lab.hover_edge(shown.locator('.nf-edge[data-source="enc2"][data-target="dec2"]'))
        lab.page.wait_for_timeout(1000)
        lab.screenshot_of(shown, f"unet-{theme}")


def _animate(lab: Lab) -> None:
    """One photograph fades into another, and back."""
    (cell,) = lab.cells_with("ipywidgets.VBox([share, fade])")
    lab.theme("dark")
    shown = _widget(lab, cell)
    count = lab.value("fade.frame_count")
    for frame in range(count):  # the ribbon below the slider shows the frames that were seen
        _at(lab, shown, frame, count)
    pictures = []
    for frame in range(0, count, 2):
        _at(lab, shown, frame, count)
        lab.page.wait_for_timeout(300)
        picture = Image.open(io.BytesIO(shown.screenshot())).convert("RGB")
        size = MOVING_WIDTH, picture.height * MOVING_WIDTH // picture.width
        pictures.append(picture.resize(size, Image.Resampling.LANCZOS))
    first, *others = [*pictures, *pictures[-2:0:-1]]
    options = {"duration": [FRAME_MS] * (1 + len(others)), "loop": 0, "quality": 70, "method": 6}
    first.save(PICTURES / "scrub.webp", save_all=True, append_images=others, **options)


def _at(lab: Lab, shown: Locator, frame: int, count: int) -> None:
    lab.run(f"fade.frame = {frame}")
    expect(shown.locator(".nf-s-place")).to_contain_text(f"frame {frame + 1} of {count}")
    expect(shown).to_have_attribute("data-state", "idle")


def _widget(lab: Lab, cell: int) -> Locator:
    lab.show_cell(cell)
    shown = lab.page.locator(f'.jp-Cell[data-windowed-list-index="{cell}"] .nf-widget')
    shown.locator(".nf-stage").first.wait_for()
    lab.page.wait_for_timeout(2000)
    return shown


if __name__ == "__main__":
    main()
