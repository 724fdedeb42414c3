"""Views of other packages: found, imported, and left out with a sentence if they cannot be used."""

import pkgutil
import sys
from argparse import _SubParsersAction
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module, invalidate_caches
from pathlib import Path
from urllib.parse import parse_qs

import pytest

import bertexplorer as bx
from bertexplorer.api.analyses import COMMON
from bertexplorer.api.endpoints import make_endpoints
from bertexplorer.api.page import page_schema
from bertexplorer.api.view import fields
from bertexplorer.cli.completion import completion
from bertexplorer.cli.parser import make_parser
from bertexplorer.core.ask import DEFAULTS
from bertexplorer.core.state import State, to_link
from bertexplorer.options import option_specs
from bertexplorer.python.bert import Bert
from bertexplorer.settings import Settings
from bertexplorer.site.folder import write_scripts
from bertexplorer.site.offer import Offer
from bertexplorer.site.pages import twins
from bertexplorer.views import VIEWS, plugins
from bertexplorer.views.plugins import NAME, SETTINGS_TAKEN, TAKEN
from docs import signatures
from tests.brought import COMPUTE, SHOW, bring, install, write

CACHED = (plugins.installed, plugins.load, plugins.imported)
OURS = len(VIEWS.folders)


@pytest.fixture
def site_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder in which distributions are found, and in which all views are on."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(plugins, "IMPORT_S", 2.0)
    monkeypatch.setattr(VIEWS, "chosen", None)
    forget()
    yield tmp_path
    forget()


def forget() -> None:
    """Forget the views of other packages, and their modules."""
    vars(VIEWS).pop("order", None)
    for function in CACHED:
        function.cache_clear()
    for name in [name for name in sys.modules if name.startswith(("of_", "first", "second"))]:
        del sys.modules[name]
    invalidate_caches()


def left_out(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What the log says."""
    return [record.message for record in caplog.records if record.name == plugins.log.name]


def test_a_view_of_a_package_is_one_of_the_views(site_packages: Path) -> None:
    bring(site_packages, "marks_of_tokens")
    view = VIEWS["marks-of-tokens"]
    assert (view.title, view.name) == ("Marks", "marks_of_tokens")
    assert view.name in VIEWS.names and view.name in dir(bx) and len(VIEWS) == OURS + 1
    assert list(VIEWS).index(view.slug) == list(VIEWS).index("audit") + 1, "its place, in its topic"
    assert "marks_of_tokens" not in VIEWS, "a slug has hyphens"


def test_the_named_ones_are_on(site_packages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("marks", "spots"):
        bring(site_packages, name)
    for value, on in (
        (None, ["marks", "spots"]),
        ("spots", ["spots"]),
        ("", []),
        ("nothing", []),
        (" spots ,", ["spots"]),
    ):
        monkeypatch.delitem(vars(VIEWS), "chosen", raising=False)
        forget()
        if value is None:
            monkeypatch.delenv("BERTEXPLORER_PLUGINS")
        else:
            monkeypatch.setenv("BERTEXPLORER_PLUGINS", value)
        assert [view.name for view in VIEWS.brought] == on
        assert [name for name in ("marks", "spots") if name in VIEWS] == on
    VIEWS.choose(["marks"])
    assert "marks" in list(VIEWS) and "spots" not in list(VIEWS)
    VIEWS.choose([])
    assert "marks" not in list(VIEWS) and "marks" not in VIEWS


BROKEN = {  # show.py -> what the log says of it
    "import no_such_module": "raised ModuleNotFoundError: No module named 'no_such_module'",
    "raise SystemExit(3)": "raised SystemExit: 3",
    "raise KeyboardInterrupt": "raised KeyboardInterrupt",
    "class Odd(BaseException):\n    __str__ = None\nraise Odd": "raised ",
    "raise ValueError('a\\x1b[31m\\nb')": "raised ValueError: a?[31m?b",
    "VIEW = = 3": "raised SyntaxError: invalid syntax",
    "x = 3": "VIEW of its show.py is NoneType; wanted View(__package__, …)",
    "VIEW = {'title': 'Marks'}": "VIEW of its show.py is dict",
    SHOW.replace("__package__", "'other.marks'"): "its VIEW says that it lies in 'other.marks'",
    SHOW.replace("__package__", "None"): "its VIEW says that it lies in 'None'",
    SHOW.replace("place=9", "place='9'"): "a field of its VIEW has another type",
    SHOW.replace('"Marks"', "None"): "a field of its VIEW has another type",
    SHOW.replace("place=9,", "place=9, chips='press',"): "chips or needs of its VIEW has a value",
    SHOW.replace("place=9,", "place=9, first='suite',"): "it has no choice 'suite', which its VIEW names as first",
    SHOW.replace('(Example("A cat", "The cat sat."),)', "()"): "its VIEW has no examples",
    SHOW.replace('"The cat sat."', '"The cat sat.", options={"odd": 1}'): "ExplorerError: Unknown",
    SHOW.replace("def draw", "def drawn"): "its show.py lacks draw or say",
}


@pytest.mark.parametrize("show", BROKEN)
def test_one_that_cannot_be_used_is_named_and_left_out(
    show: str, site_packages: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bring(site_packages, "marks", show=show)
    bring(site_packages, "spots")
    assert "marks" not in VIEWS.names and "spots" in VIEWS.names and len(VIEWS) == OURS + 1
    with pytest.raises(AttributeError, match="bertexplorer has no 'marks'"):
        _ = bx.marks
    [message] = left_out(caplog)
    assert message.startswith("The view 'marks' of the distribution bert-marks is left out: ")
    assert BROKEN[show] in message
    assert message.isprintable() and len(message) < 400


@pytest.mark.parametrize(("name", "code"), [("asleep", "time.sleep(6)"), ("busy", "while time.time() < until: pass")])
def test_one_whose_import_hangs_is_left_out(
    name: str, code: str, site_packages: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bring(site_packages, name, show=f"import time\nuntil = time.time() + 6\n{code}")
    bring(site_packages, "spots")
    assert [view.name for view in VIEWS.brought] == ["spots"]
    assert left_out(caplog) == [
        f"The view {name!r} of the distribution bert-{name} is left out: its import has not ended after 2 s."
    ]


COMPUTES = {  # a change of compute.py -> what the log says of it
    ('"""Marks: a view of a test."""', ""): "its compute.py has no docstring",
    ("def rows", "def lines"): "its compute.py lacks one of",
    ("class Facts(facts.Facts[int])", "class Facts"): "its Facts are no views.facts.Facts",
    ("    pass\n\n\ndef", "    text: str = ''\n\n\ndef"): "raised TypeError: Options.text is not Annotated",
    (
        "    pass\n\n\ndef",
        "    json: Annotated[bool, Option('J')] = False\n\n\ndef",
    ): "cannot be called 'json'",
    ("    pass\n\n\ndef", "    Layer: Annotated[int, Option('J')] = 0\n\n\ndef"): "a setting cannot be called 'Layer'",
    (
        "    pass\n\n\ndef",
        "    most: Annotated[int, Option('J')]\n\n\ndef",
    ): "raised TypeError: Options",
    ("    pass\n\n\ndef", "    most: Annotated[list, Option('J')] = ()\n\n\ndef"): "its setting most is not",
    ("    pass\n\n\ndef", "    most: Annotated[int, Option(3)] = 0\n\n\ndef"): "its setting most is not a number",
}


@pytest.mark.parametrize("change", COMPUTES, ids=lambda change: change[1][:30])
def test_what_would_break_the_lists_of_all_views_is_left_out(
    change: tuple[str, str], site_packages: Path, caplog: pytest.LogCaptureFixture
) -> None:
    head = "from typing import Annotated\nfrom bertexplorer.options import Option\n"
    compute = COMPUTE.replace("from dataclasses", f"{head}from dataclasses", 1).replace(*change)
    bring(site_packages, "marks", compute=compute)
    assert "marks" not in VIEWS.names and len(VIEWS) == OURS
    [message] = left_out(caplog)
    assert COMPUTES[change] in message


NAMES = {  # (name, its package) -> what the log says of it
    ("fill_mask", "mine.fill_mask"): "BERT Explorer uses this name itself",
    ("serve", "mine.serve"): "BERT Explorer uses this name itself",
    ("Marks", "mine.Marks"): "a view has a name of small letters",
    ("my-marks", "mine.marks"): "a view has a name of small letters",
    ("marks/../x", "mine.marks"): "a view has a name of small letters",
    ("märks", "mine.märks"): "a view has a name of small letters",
    ("__init__", "mine.__init__"): "a view has a name of small letters",
    ("lambda", "mine.lambda"): "a view has a name of small letters",
    ("a\x1b[31mb", "mine.marks"): "The view 'a?[31mb' of",
    (
        "marks",
        "mine.marks:VIEW",
    ): "its value is 'mine.marks:VIEW'; wanted the dotted package of its folder",
    ("marks", "mine.other"): "its value is 'mine.other'",
    ("marks", "mine..marks"): "its value is 'mine..marks'",
    ("marks", "../mine/marks"): "its value is",
    ("marks", "mine.marks"): "raised ModuleNotFoundError: No module named 'mine'",
}


@pytest.mark.parametrize("given", NAMES)
def test_a_name_that_cannot_be_used_is_left_out(
    given: tuple[str, str], site_packages: Path, caplog: pytest.LogCaptureFixture
) -> None:
    title = VIEWS["fill-mask"].title
    forget()
    install(site_packages, "bert-mine", dict([given]))
    bring(site_packages, "spots")
    assert [view.name for view in VIEWS.brought] == ["spots"] and VIEWS["fill-mask"].title == title
    [message] = left_out(caplog)
    assert NAMES[given] in message and message.isprintable()


def test_of_two_with_one_name_the_first_distribution_stays(
    site_packages: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(site_packages, "second.marks", show=SHOW.replace('"Marks"', '"Second"'))
    write(site_packages, "first.marks")
    install(site_packages, "bert-b", {"marks": "second.marks"})
    install(site_packages, "bert-a", {"marks": "first.marks"})
    assert VIEWS["marks"].title == "Marks"
    assert left_out(caplog) == [
        "The view 'marks' of the distribution bert-b is left out: the distribution bert-a brings a view of this name, "
        "and comes first."
    ]


def test_broken_metadata_of_another_distribution_leaves_our_own_views(
    site_packages: Path, caplog: pytest.LogCaptureFixture
) -> None:
    broken = install(site_packages, "bert-broken", {}) / "bert_broken-1.0.dist-info"
    (broken / "entry_points.txt").write_text("[bertexplorer.views]\nno equals sign\n", "utf-8")
    assert len(VIEWS) >= OURS
    assert all(message.endswith("All of them are left out.") for message in left_out(caplog))


def test_a_distribution_without_a_name_is_named_by_its_view(
    site_packages: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bring(site_packages, "marks", show="x = 3")
    bring(site_packages, "spots")
    for metadata in site_packages.glob("*.dist-info/METADATA"):
        metadata.unlink()
    assert [view.name for view in VIEWS.brought] == ["spots"]
    [message] = left_out(caplog)
    assert message.startswith("The view 'marks' of the distribution ")


def test_several_threads_that_ask_for_it_at_once_get_it(
    site_packages: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bring(site_packages, "marks", show=f"import time; time.sleep(0.2)\n{SHOW}")
    with ThreadPoolExecutor(8) as threads:
        assert {view.title for view in threads.map(lambda _: VIEWS["marks"], range(16))} == {"Marks"}
    print("still stdout")
    assert capsys.readouterr().out == "still stdout\n"


def test_one_that_lists_all_views_while_it_is_imported_is_left_out(
    site_packages: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bring(site_packages, "listing", show=f"from bertexplorer.views import VIEWS\nlist(VIEWS)\n{SHOW}")
    bring(site_packages, "marks")
    assert [view.name for view in VIEWS.brought] == ["marks"] and len(VIEWS) == OURS + 1
    [message] = left_out(caplog)
    assert message.endswith("raised ImportError: it asks for views of packages while it is imported.")


def test_what_it_prints_when_it_is_imported_is_no_answer(
    site_packages: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bring(site_packages, "marks", show=f'print("loud")\n{SHOW}')
    assert "marks" in VIEWS
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "loud\n")


def test_names_that_we_use_cannot_be_taken() -> None:
    loaded = bx.load("mini")
    [commands] = [action for action in make_parser()._actions if isinstance(action, _SubParsersAction)]
    used = {*dir(bx), *dir(Bert), *vars(loaded), *commands.choices, *make_endpoints("mini")}
    used |= {module.name for module in pkgutil.iter_modules(bx.__path__)}
    names = {name.replace("-", "_") for name in used} - VIEWS.folders
    assert {name for name in names if NAME.fullmatch(name)} <= TAKEN


def test_a_setting_cannot_take_the_name_of_what_every_analysis_takes() -> None:
    ours = {setting.name for view in VIEWS.values() for setting in option_specs(view.analysis.Options)}
    assert not ours & SETTINGS_TAKEN
    [commands] = [action for action in make_parser("layers")._actions if isinstance(action, _SubParsersAction)]
    flags = {action.dest for action in commands.choices["layers"]._actions} - ours
    endpoint = {parameter.name for parameter in make_endpoints("mini")["layers"].parameters} - ours
    linked = set(parse_qs(to_link(State("a", "b", against="another text", other="c"), {})[1:]))
    assert {*COMMON, *flags, *endpoint, *linked} <= SETTINGS_TAKEN


@pytest.mark.parametrize("value", [None, "", "marks", "marks-of-tokens, spots"])
def test_the_variable_is_read(value: str | None) -> None:
    environment = {} if value is None else {"BERTEXPLORER_PLUGINS": value}
    wanted = {None: None, "": (), "marks": ("marks",), "marks-of-tokens, spots": ("marks_of_tokens", "spots")}
    assert Settings.from_env(environment).plugins == wanted[value]


def test_every_list_of_views_has_it(site_packages: Path, tmp_path: Path) -> None:
    hooks = pytest.importorskip("docs.hooks")
    bring(site_packages, "marks")
    scripts = site_packages / "of_marks" / "marks"
    (scripts / "browser.js").write_text('export { run } from "./more.js";\n', "utf-8")
    (scripts / "more.js").write_text('import "../../web/static/site/tokens.js";\nexport const run = 3;\n', "utf-8")
    [commands] = [action for action in make_parser()._actions if isinstance(action, _SubParsersAction)]
    assert "marks" in commands.choices and "complete -c bertexplorer" in completion("fish")
    assert make_endpoints("mini")["marks"].about.startswith("Marks: Which?")
    assert page_schema(Settings())["views"]["marks"]["title"] == "Marks"
    assert "marks" in fields()["view"] and DEFAULTS["marks"] == {} and "marks" in DEFAULTS
    assert "### Marks\n" in hooks.views() and "pictures/marks.png" not in hooks.views(), "it needs no picture"
    assert "### Marks (`marks`)" in hooks.facts() and "bx.marks(" in hooks.reference()
    assert "marks" not in signatures.written(), "which editors show of our own views"
    write_scripts(tmp_path)
    assert Offer().has("marks") and twins()["marks"] == "scripts/views/marks/browser.js"
    for name in ("browser.js", "more.js"):
        assert (tmp_path / "scripts/views/marks" / name).read_bytes() == (scripts / name).read_bytes()
    VIEWS.choose([])
    assert "marks" not in page_schema(Settings())["views"] and "marks" not in fields()["view"]
    assert "marks" not in DEFAULTS and "marks" not in make_endpoints("mini")


def test_an_older_name_of_the_analysis_finds_it(site_packages: Path) -> None:
    bring(site_packages, "marks")
    assert import_module("bertexplorer.analysis").marks.rows(3) == [{"mark": 3}]
