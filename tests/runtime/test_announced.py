"""Announced modules: compiled meanwhile, and never waited for in vain."""

import os

import pytest

from ingot.errors import CompileError
from ingot.runtime import library as module
from ingot.runtime.cache import ObjectCache
from ingot.runtime.library import Library
from ingot.runtime.objects import compile_object, compiling
from ingot.target import host

KEY = "00000000000000a7"
ONE = "define i64 @one() nounwind {\n  ret i64 1\n}\n"


def never() -> str:
    raise AssertionError("it was announced with its source")


def fresh() -> Library:
    return Library(ObjectCache(None, 0), host())


def wait(library: Library) -> None:
    thread = library._thread
    if thread is not None:
        thread.join()


def test_it_is_compiled_once_by_the_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    library = fresh()
    compiled: list[str] = []

    def counted(ir: str, *rest: object) -> bytes:
        compiled.append(ir)
        return compile_object(ir, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "compile_object", counted)
    library.announce(KEY, lambda: ONE)
    wait(library)
    assert compiled == [ONE]
    assert set(library.functions(KEY, never)) == {"one"}
    assert compiled == [ONE]


def test_who_asks_before_the_thread_compiles_it_himself() -> None:
    library = fresh()
    with compiling:  # the thread has to wait
        library.announce(KEY, lambda: ONE)
        assert set(library.functions(KEY, never)) == {"one"}
    wait(library)


def test_a_failure_is_met_where_the_functions_are_asked_for() -> None:
    library = fresh()
    library.announce(KEY, lambda: "no module")
    wait(library)
    with pytest.raises(CompileError, match="LLVM refuses"):
        library.functions(KEY, never)


def test_a_forked_child_needs_no_thread() -> None:
    library = fresh()
    with compiling:
        library.announce(KEY, lambda: ONE)
        child = os.fork()
        if child == 0:
            found = set(library.functions(KEY, never))
            os._exit(0 if found == {"one"} else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    wait(library)
