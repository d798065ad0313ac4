"""The `ingot` command: dispatch, help, errors, and `ingot env`."""

import subprocess
import sys
from importlib.metadata import entry_points

import pytest

import ingot
from ingot.cli import COMMANDS, main
from ingot.cli.env import columns, setting_rows
from ingot.pipeline.session import Session
from ingot.settings import TABLE, Settings


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(f"  {name} " in text for name in COMMANDS)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"ingot {ingot.__version__}\n"


def test_an_unknown_command_is_explained(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["fly"]) == 2
    assert "no command 'fly'; wanted one of " in capsys.readouterr().err


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        COMMANDS[name].load()(["--help"])
    assert ended.value.code == 0
    assert f"usage: ingot {name}" in capsys.readouterr().out


def run_python(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    from_here = {"PATH": "", **environment}
    return subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, env=from_here
    )


def test_python_m_ingot_reports_a_bad_setting() -> None:
    done = run_python(
        "-m", "ingot", "env", DEBUG="loud", PYTHONPATH=":".join(sys.path)
    )
    assert done.returncode == 1
    assert done.stderr.startswith(
        "ingot env: SettingError: setting DEBUG: given 'loud', wanted a whole number"
    )
    assert "Traceback" not in done.stderr


def test_ctrl_c_ends_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(words: list[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("ingot.cli.env.run", interrupted)
    assert main(["env"]) == 130
    assert capsys.readouterr().err == "ingot env: interrupted\n"


def test_env_shows_every_setting(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["env"]) == 0
    lines = capsys.readouterr().out.splitlines()
    shown = {line.split()[0] for line in lines if line}
    assert {row.env for row in TABLE} <= shown


def test_env_says_where_a_value_comes_from() -> None:
    mine = Settings({"DEBUG": "2"})
    rows = {row[0]: row[1:3] for row in setting_rows(mine)}
    assert rows["DEBUG"] == ("2", "environment")
    assert rows["NOOPT"] == ("0", "default")


def test_columns_line_up() -> None:
    assert columns([("a", "bb", "c"), ("aaa", "b", "cc")]) == [
        "a    bb  c",
        "aaa  b   cc",
    ]


def test_env_loads_no_other_command() -> None:
    program = "import sys; from ingot.cli import main; main(['env']); print([m for m in sys.modules if 'bench' in m])"
    done = run_python("-c", program, PYTHONPATH=":".join(sys.path))
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_entry_point_is_installed() -> None:
    found = [
        point
        for point in entry_points(group="console_scripts")
        if point.name == "ingot"
    ]
    if not found:
        pytest.skip("ingot is run from its folder, not installed")
    assert found[0].load() is main


def test_env_measures_what_things_cost(
    session: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["env"]) == 0
    assert "GFLOP/s a core, assumed" in capsys.readouterr().out
    assert main(["env", "--measure"]) == 0
    assert "GFLOP/s a core, measured" in capsys.readouterr().out
