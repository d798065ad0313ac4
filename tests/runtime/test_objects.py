"""Compiling: what LLVM says about bad text, and what a warm start does without."""

import subprocess
import sys
from pathlib import Path

import pytest

from ingot.errors import CompileError
from ingot.runtime.cache import ObjectCache
from ingot.runtime.library import Library
from ingot.runtime.objects import assembly, compile_object
from ingot.settings import child_environment
from ingot.target import host

ONE = "define i64 @one() nounwind { ret i64 1 }"
KEY = "00000000000000b1"


def test_bad_text_shows_what_llvm_says() -> None:
    with pytest.raises(CompileError, match="LLVM refuses the module"):
        compile_object("define i64 @f() { ret i32 0 }", host())


def test_assembly_is_for_reading() -> None:
    assert "one:" in assembly(ONE, host())


def test_a_key_is_compiled_once(tmp_path: Path) -> None:
    asked = []

    def source() -> str:
        asked.append(1)
        return ONE

    first = Library(ObjectCache(tmp_path, 1 << 20), host())
    assert first.functions(KEY, source) is first.functions(KEY, source)
    second = Library(ObjectCache(tmp_path, 1 << 20), host())
    assert second.knows(KEY)
    assert set(second.functions(KEY, source)) == {"one"}
    assert len(asked) == 1


def test_an_entry_that_cannot_be_loaded_is_compiled_again(tmp_path: Path) -> None:
    cache = ObjectCache(tmp_path, 1 << 20)
    cache.put(KEY, b"whole, but no object")
    assert set(Library(cache, host()).functions(KEY, lambda: ONE)) == {"one"}
    assert (cache.get(KEY) or b"").startswith(b"\x7fELF")


WARM = """
import sys
from pathlib import Path
from ingot.runtime.program import ProgramBuilder
from ingot.runtime.cache import ObjectCache
from ingot.runtime.library import Library
from ingot.runtime.pool import Pool
from ingot.target import host
library = Library(ObjectCache(Path(sys.argv[1]), 1 << 20), host())
pool = Pool(2, library)
builder = ProgramBuilder()
builder.run(library.functions("00000000000000b2", lambda: sys.argv[2])["nothing"], [])
builder.finish(pool).run()
print("llvmlite" in sys.modules)
"""


def test_a_warm_start_does_not_import_llvmlite(tmp_path: Path) -> None:
    text = "define i64 @nothing(ptr %a, i64 %c, ptr %s) nounwind { ret i64 0 }"
    command = [sys.executable, "-c", WARM, str(tmp_path), text]
    environment = child_environment(PYTHONPATH=str(Path(__file__).parents[2]))
    for imported in ("True", "False"):
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False
        )
        assert done.stdout.strip() == imported, done.stderr
