"""The browser bundle is there and belongs to the package, or an error says what to do."""

from __future__ import annotations

import base64
import re
import shutil
import zlib
from pathlib import Path

import pytest

from nf_widget import protocol
from nf_widget.errors import BundleError
from nf_widget.widget import bundle, stamp

# Bytes: a host sends the script with every widget, and a notebook saved with widget state holds it once per widget.
LARGEST = 150_000
# Bytes: what the script unpacks in the page, where it is read and compiled.
LARGEST_UNPACKED = 150_000


@pytest.fixture(autouse=True)
def _no_watcher(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANYWIDGET_HMR", raising=False)


@pytest.fixture
def js(tmp_path: Path) -> Path:
    """Sources of a front end that speaks this package's protocol."""
    js = tmp_path / "js"
    (js / "src" / "view").mkdir(parents=True)
    for name in ("build.mjs", "package.json", "package-lock.json", "tsconfig.json"):
        (js / name).write_text("{}\n")
    (js / "src" / "protocol.ts").write_text(f"export const VERSION = {protocol.VERSION};\n")
    (js / "src" / "view" / "app.ts").write_text("export const app = 1;\nexport const more = 2;\n")
    return js


@pytest.fixture
def static(tmp_path: Path, js: Path) -> Path:
    """A bundle that was built from `js`."""
    static = tmp_path / "static"
    static.mkdir()
    (static / "widget.js").write_text("export default {}")
    (static / "widget.css").write_text(".nf-widget {}")
    stamp.write(static, js)
    return static


def test_bundle_of_these_sources_is_loaded(static: Path, js: Path) -> None:
    assert bundle.load(static, js) == (static / "widget.js", static / "widget.css")


@pytest.mark.parametrize("name", stamp.FILES)
def test_missing_file_is_an_error_that_names_it(static: Path, js: Path, name: str) -> None:
    (static / name).unlink()
    with pytest.raises(BundleError, match=rf"(?s){name}.*make bundle"):
        bundle.load(static, js)


def test_installed_package_is_told_to_install_again(static: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "_sources_beside", lambda: None)
    (static / "widget.js").unlink()
    with pytest.raises(BundleError, match="pip install --force-reinstall nf-widget"):
        bundle.load(static)


def test_changed_source_makes_the_bundle_stale(static: Path, js: Path) -> None:
    with (js / "src" / "view" / "app.ts").open("a") as file:
        file.write("// more\n")
    with pytest.raises(BundleError, match="stale"):
        bundle.load(static, js)


def test_new_source_makes_the_bundle_stale(static: Path, js: Path) -> None:
    (js / "src" / "new.ts").touch()
    with pytest.raises(BundleError, match="stale"):
        bundle.load(static, js)


def test_moved_source_makes_the_bundle_stale(static: Path, js: Path) -> None:
    (js / "src" / "view" / "app.ts").rename(js / "src" / "app.ts")
    with pytest.raises(BundleError, match="stale"):
        bundle.load(static, js)


def test_missing_source_makes_the_bundle_stale(static: Path, js: Path) -> None:
    (js / "package.json").unlink()
    with pytest.raises(BundleError, match="stale"):
        bundle.load(static, js)


def test_lock_of_an_editor_does_no_harm(static: Path, js: Path) -> None:
    """Some leave a link to nowhere beside the file that is open."""
    (js / "src" / ".#app.ts").symlink_to("someone@somewhere.1234")
    bundle.load(static, js)


def test_line_ends_do_not_make_it_stale(static: Path, js: Path) -> None:
    file = js / "src" / "view" / "app.ts"
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    bundle.load(static, js)


def test_bundle_changed_by_hand_is_refused(static: Path, js: Path) -> None:
    (static / "widget.js").write_text("export default 1")
    with pytest.raises(BundleError, match="changed since"):
        bundle.load(static, js)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"sources": "", "protocol": "x", "files": {}}'])
def test_unreadable_stamp_is_refused(static: Path, js: Path, text: str) -> None:
    (static / stamp.STAMP).write_text(text)
    with pytest.raises(BundleError, match="not written by the package's build"):
        bundle.load(static, js)


def test_other_protocol_version_is_refused(static: Path, js: Path) -> None:
    (js / "src" / "protocol.ts").write_text(f"export const VERSION = {protocol.VERSION + 1};\n")
    stamp.write(static, js)
    with pytest.raises(BundleError, match=f"version {protocol.VERSION + 1} of the protocol"):
        bundle.load(static, js)


def test_under_a_watcher_only_presence_counts(static: Path, js: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANYWIDGET_HMR", "1")
    (static / "widget.js").write_text("export default 1")
    bundle.load(static, js)
    (static / "widget.js").unlink()
    with pytest.raises(BundleError, match="missing"):
        bundle.load(static, js)


def test_sources_that_name_no_version_cannot_be_stamped(static: Path, js: Path) -> None:
    (js / "src" / "protocol.ts").write_text("export const NOTHING = 1;\n")
    with pytest.raises(ValueError, match="VERSION"):
        stamp.write(static, js)


def test_both_sides_speak_the_same_version() -> None:
    assert stamp.protocol_version(Path(__file__).parents[2] / "js") == protocol.VERSION


def test_copied_sources_have_the_same_digest(js: Path, tmp_path: Path) -> None:
    shutil.copytree(js, tmp_path / "copy")
    assert stamp.sources_digest(tmp_path / "copy") == stamp.sources_digest(js)


def test_front_end_stays_small() -> None:
    size = (bundle.STATIC / "widget.js").stat().st_size
    assert size <= LARGEST, f"widget.js has {size:,} bytes"


def test_front_end_stays_small_unpacked() -> None:
    script = (bundle.STATIC / "widget.js").read_text()
    packed = re.search(r'packed = \(\) => "([A-Za-z0-9+/=]+)"', script)
    assert packed, "widget.js holds no packed code"
    size = len(zlib.decompress(base64.b64decode(packed[1]), wbits=-zlib.MAX_WBITS))
    assert size <= LARGEST_UNPACKED, f"widget.js unpacks to {size:,} bytes"
