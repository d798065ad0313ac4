"""Settings: read once, checked, overridden for a while, and all of them in the cache key that must know them."""

from dataclasses import FrozenInstanceError, fields, replace
from pathlib import Path

import pytest

from ingot.errors import SettingError
from ingot.settings import (
    TABLE,
    Codegen,
    Runtime,
    Settings,
    child_environment,
    read_environment,
    usable_cpus,
)


def test_the_table_describes_every_field_once() -> None:
    declared = [f.name for f in (*fields(Codegen), *fields(Runtime))]
    assert sorted(row.field for row in TABLE) == sorted(declared)
    assert len({row.env for row in TABLE}) == len(TABLE)


def test_defaults() -> None:
    plain = Settings({})
    assert plain.codegen == Codegen()
    assert plain.runtime.threads == usable_cpus()
    assert plain.source("debug") == "default"


def test_the_environment_is_read_at_first_use() -> None:
    environment: dict[str, str] = {}
    lazy = Settings(environment)
    environment |= {
        "DEBUG": "2",
        "NOOPT": "1",
        "DEVICE": "python",
        "INGOT_CACHE_DIR": "here",
        "BEAM": "",
    }
    assert lazy.runtime.debug == 2
    assert lazy.codegen.noopt is True
    assert lazy.runtime.device == "PYTHON"
    assert lazy.runtime.cache_dir == Path("here").absolute()
    assert lazy.codegen.beam == 0
    assert lazy.source("debug") == "environment"
    assert lazy.source("beam") == "default"


@pytest.mark.parametrize(
    ("variable", "word", "wanted"),
    [
        ("DEBUG", "x", "a whole number from 0 to 7"),
        ("DEBUG", "8", "a whole number from 0 to 7"),
        ("DEBUG", "-1", "a whole number from 0 to 7"),
        ("NOOPT", "yes", "0 or 1"),
        ("DEVICE", "TPU", "one of CPU, CUDA"),
        ("INGOT_THREADS", "0", "a whole number from 1"),
        ("INGOT_CACHE_LIMIT", "1GB", "a whole number from 0"),
        ("VIZ", "2", "a whole number from -1 to 1"),
    ],
)
def test_a_bad_value_is_explained(variable: str, word: str, wanted: str) -> None:
    with pytest.raises(SettingError) as caught:
        read_environment({variable: word})
    message = str(caught.value)
    assert message.startswith(
        f"setting {variable}: given {word!r}, wanted {wanted}"
    )
    assert f"\n  set {variable} to {wanted}" in message


def test_override_lasts_for_the_block() -> None:
    mine = Settings({"DEBUG": "1"})
    with mine.override(debug=3, noopt=True):
        assert (mine.runtime.debug, mine.codegen.noopt) == (3, True)
        assert mine.source("debug") == "override"
        with mine.override(debug=4):
            assert mine.runtime.debug == 4
            assert mine.codegen.noopt
        assert mine.runtime.debug == 3
    assert (mine.runtime.debug, mine.codegen.noopt) == (1, False)
    assert mine.source("debug") == "environment"


def test_override_ends_with_an_exception_too() -> None:
    mine = Settings({})
    with pytest.raises(KeyError), mine.override(debug=3):
        raise KeyError
    assert mine.runtime.debug == 0


def test_override_is_checked() -> None:
    mine = Settings({})
    with (
        pytest.raises(SettingError, match="wanted a whole number from 0 to 7"),
        mine.override(debug=9),
    ):
        pass
    with (
        pytest.raises(SettingError, match="wanted one of beam, cache_dir"),
        mine.override(verbose=1),
    ):
        pass
    with pytest.raises(SettingError, match="given True"), mine.override(beam=True):
        pass
    assert mine.runtime == Settings({}).runtime


def test_settings_are_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        Codegen().beam = 1  # type: ignore[misc]


@pytest.mark.parametrize("name", [f.name for f in fields(Codegen)])
def test_every_codegen_field_is_in_the_key(name: str) -> None:
    plain = Codegen()
    other = replace(plain, **{name: 1})  # type: ignore[arg-type]
    assert plain.key() != other.key()
    assert plain.key() == Codegen().key()


def test_a_home_is_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    assert Settings({}).runtime.cache_dir.is_absolute()


def test_xdg_cache_home_is_honoured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert Settings({}).runtime.cache_dir == tmp_path / "ingot"


def test_children_get_our_environment_and_the_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("INGOT_TEST_MARK", "1")
    child = child_environment(VENDOR="0")
    assert (child["INGOT_TEST_MARK"], child["VENDOR"]) == ("1", "0")
