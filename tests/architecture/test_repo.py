"""What the repository says: nothing about the machine it was written on, and nothing that is not so."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ingot.cli import COMMANDS
from tests.architecture.sources import ROOT, repository_files

# Each pattern is written so that it does not match itself.
FOREIGN = {
    "a path of one machine": re.compile(
        r"(?<![\w.~$}])/(?:home|root|work|opt|tmp|Users)/[\w.]"
    ),
    "a package index": re.compile(
        r"pypi\.(?:org|python)|python" r"hosted\.org|registry\.npm" r"js"
    ),
    "a local file address": re.compile(r"file:" r"//"),
}
TEXT_SUFFIXES = {
    ".py",
    ".md",
    ".toml",
    ".yaml",
    ".ll",
    ".txt",
    ".c",
    ".h",
    ".cu",
    ".json",
    "",
}


def foreign_words(text: str) -> list[str]:
    return [
        f"{what}: {found[0]}"
        for what, pattern in FOREIGN.items()
        for found in pattern.finditer(text)
    ]


def test_the_repository_speaks_of_itself_alone() -> None:
    wrong = []
    for path in repository_files():
        if path.suffix in TEXT_SUFFIXES and path.name != "uv.lock":
            wrong += [
                f"{path.relative_to(ROOT)}: {one}"
                for one in foreign_words(path.read_text(encoding="utf-8"))
            ]
    assert not wrong, wrong


@pytest.mark.parametrize(
    "words",
    ["see /home" + "/ann/x", "pypi" + ".org", "file:" + "///x", "(/tmp" + "/a)"],
)
def test_foreign_words_are_seen(words: str) -> None:
    assert foreign_words(words)


@pytest.mark.parametrize(
    "words",
    ["#!/usr/bin/env bash", "/proc/cpuinfo", "~/work/x", "./tmp/x", "a/root/b"],
)
def test_other_words_are_not(words: str) -> None:
    assert not foreign_words(words)


# --- the documents ---


def blocks(document: str, language: str) -> list[str]:
    text = (ROOT / document).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def make_targets() -> set[str]:
    return set(
        re.findall(
            r"^(\w+):",
            (ROOT / "Makefile").read_text(encoding="utf-8"),
            re.MULTILINE,
        )
    )


DOCUMENTS = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")


@pytest.mark.parametrize("document", DOCUMENTS)
def test_commands_in_documents_exist(document: str) -> None:
    shell = "\n".join(blocks(document, "bash"))
    assert set(re.findall(r"^make (\w+)", shell, re.MULTILINE)) <= make_targets()
    assert set(re.findall(r"\bingot (\w+)", shell)) <= set(COMMANDS)


def test_the_readme_opens_with_the_two_commands() -> None:
    first_screen = "\n".join(
        (ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:30]
    )
    assert "make bench" in first_screen
    assert "make test" in first_screen


@pytest.mark.parametrize("program", blocks("README.md", "python"))
def test_python_in_the_readme_runs(program: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_somewhere(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    links = [
        link.split("#")[0]
        for link in re.findall(r"\]\(([^)]+)\)", text)
        if "://" not in link
    ]
    assert not [link for link in links if link and not (ROOT / link).exists()]


def test_ci_can_be_run() -> None:
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & 0o111
    assert _runs(script, "make test")
    assert _runs(script, "make lint")


def _runs(script: Path, command: str) -> bool:
    return (
        re.search(
            rf"^{command}\b", script.read_text(encoding="utf-8"), re.MULTILINE
        )
        is not None
    )


def test_hooks_are_local() -> None:
    text = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    assert set(re.findall(r"repo: (\S+)", text)) == {"local"}
