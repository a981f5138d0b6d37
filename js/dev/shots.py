"""Screenshots of the front end with made-up data: `python js/dev/shots.py OUT [name ...]`. Needs Playwright and Chromium."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import Page, sync_playwright

HERE = Path(__file__).parent
FLAGS = "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-sync"

Act = Callable[[Page], None]


def nothing(page: Page) -> None:
    """The picture as it opens."""


def hover_edge(source: str, target: str) -> Act:
    """The pointer on the middle of an edge."""

    def act(page: Page) -> None:
        point = page.locator(f'.nf-edge[data-source="{source}"][data-target="{target}"] .nf-edge-hit').evaluate(
            "(path) => { const p = path.getPointAtLength(path.getTotalLength() / 2).matrixTransform(path.getScreenCTM());"
            " return [p.x, p.y]; }"
        )
        page.mouse.move(*point)

    return act


def hover_stage(name: str) -> Act:
    """The pointer in the picture of a stage."""

    def act(page: Page) -> None:
        box = page.locator(f'.nf-stage[data-stage="{name}"] .nf-picture').bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + box["height"] * 0.6)

    return act


def zoom(name: str, notches: int) -> Act:
    """Zoomed into the picture of a stage with the wheel."""

    def act(page: Page) -> None:
        page.locator(".nf-canvas").click(position={"x": 4, "y": 4})
        hover_stage(name)(page)
        for _ in range(abs(notches)):
            page.mouse.wheel(0, -100 if notches > 0 else 100)
        page.wait_for_timeout(500)

    return act


SHOTS: dict[str, tuple[str, int, Act]] = {
    "classifier-760": ("scene=classifier", 760, nothing),
    "classifier-1200": ("scene=classifier", 1200, nothing),
    "classifier-400": ("scene=classifier", 400, nothing),
    "classifier-pixel": ("scene=classifier", 760, hover_stage("_blocks.4")),
    "unet-760": ("scene=unet", 760, nothing),
    "unet-1200": ("scene=unet", 1200, nothing),
    "unet-edge": ("scene=unet", 760, hover_edge("enc2", "dec2")),
    "find-760": ("scene=find", 760, nothing),
    "find-1200": ("scene=find", 1200, nothing),
    "find-edge": ("scene=find", 760, hover_edge("query", "fuse")),
    "residual-760": ("scene=residual", 760, nothing),
    "residual-1200": ("scene=residual", 1200, nothing),
    "inspector-1200": ("scene=classifier&selected=_blocks.2", 1200, nothing),
    "inspector-760": ("scene=unet&selected=enc2", 760, nothing),
    "frames-760": ("scene=classifier&frames=8", 760, nothing),
    "near": ("scene=classifier", 760, zoom("_blocks.4", 8)),
    "deep": ("scene=classifier", 760, zoom("_blocks.10", 18)),
    "deeper": ("scene=classifier", 760, zoom("_blocks.10", 29)),
    "far": ("scene=residual", 760, zoom("layer.2.conv1", -4)),
    "raised-760": ("scene=raised", 760, nothing),
    **{
        f"state-{name}": (f"scene=classifier&state={name}", 600, nothing)
        for name in ("busy", "waiting", "no-kernel", "error", "stale")
    },
}


def build(folder: Path) -> None:
    """Bundle the harness into `folder`."""
    target = "--target=es2022,chrome111,firefox113,safari16.4"
    command = [
        "npx",
        "esbuild",
        "harness=dev/harness.ts",
        "harness=src/styles.css",
        "--bundle",
        "--format=iife",
        target,
        f"--outdir={folder}",
    ]
    subprocess.run([*command, "--log-level=warning"], cwd=HERE.parent, check=True)
    shutil.copy(HERE / "index.html", folder)


def take(out: Path, names: list[str]) -> Iterator[str]:
    """Take the shots whose name holds one of `names`, in both themes; yields problems that the pages reported."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        build(Path(folder))
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--headless=new", *FLAGS.split()]
        )
        for name, (query, width, act) in SHOTS.items():
            if names and not any(part in name for part in names):
                continue
            for theme in ("light", "dark"):
                page = browser.new_page(viewport={"width": width + 40, "height": 900}, device_scale_factor=2)
                problems: list[str] = []
                page.on("pageerror", lambda error, to=problems: to.append(str(error)))
                page.on(
                    "console", lambda message, to=problems: to.append(message.text) if message.type == "error" else None
                )
                page.goto(f"file://{folder}/index.html?theme={theme}&{query}")
                try:
                    page.wait_for_selector(".nf-stage", timeout=5000)
                    page.wait_for_timeout(400)
                    act(page)
                    page.wait_for_timeout(500)
                    page.locator(".nf-widget").screenshot(path=out / f"{name}-{theme}.png")
                except PlaywrightError as error:
                    problems.append(error.message.splitlines()[0])
                page.close()
                yield from (f"{name} {theme}: {problem}" for problem in problems)
        browser.close()


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    found = list(take(target, sys.argv[2:]))
    print("\n".join(found) or "no problems")
    sys.exit(1 if found else 0)
