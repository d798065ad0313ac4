"""The loader maps what LLVM makes, and refuses everything else with a sentence."""

import ctypes
import struct

import pytest

from ingot.errors import CompileError
from ingot.runtime.layout import native_text
from ingot.runtime.loader import check, load
from ingot.runtime.objects import compile_object
from ingot.runtime.relocate import RELOCATIONS, Place
from ingot.target import AARCH64, host

TABLE_LOOKUP = """
@table = internal constant [4 x i64] [i64 10, i64 20, i64 30, i64 40]
define internal i64 @inner(i64 %i) nounwind {
  %at = getelementptr [4 x i64], ptr @table, i64 0, i64 %i
  %value = load i64, ptr %at
  ret i64 %value
}
define i64 @outer(i64 %i) nounwind {
  %value = call i64 @inner(i64 %i)
  %more = add i64 %value, 1
  ret i64 %more
}
"""

POINTER_TABLE = """
@one = internal constant i64 1
@two = internal constant i64 2
@pointers = internal constant [2 x ptr] [ptr @one, ptr @two]
define i64 @follow(i64 %i) nounwind {
  %at = getelementptr [2 x ptr], ptr @pointers, i64 0, i64 %i
  %p = load ptr, ptr %at
  %value = load i64, ptr %p
  ret i64 %value
}
"""


@pytest.fixture(scope="module")
def table_object() -> bytes:
    return compile_object(TABLE_LOOKUP, host())


def call(address: int, argument: int) -> int:
    return int(ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(address)(argument))


def test_code_reaches_its_constants_and_functions(table_object: bytes) -> None:
    functions = load(table_object)
    assert set(functions) == {"outer"}
    assert [call(functions["outer"], i) for i in range(4)] == [11, 21, 31, 41]


def test_constant_pointers_are_relocated() -> None:
    follow = load(compile_object(POINTER_TABLE, host()))["follow"]
    assert [call(follow, i) for i in range(2)] == [1, 2]


def test_code_memory_is_not_writable(table_object: bytes) -> None:
    address = load(table_object)["outer"]
    with open("/proc/self/maps") as maps:
        rights = [rights_at(line, address) for line in maps]
    assert [r for r in rights if r] == ["r-xp"]


def rights_at(line: str, address: int) -> str:
    span, rights = line.split()[:2]
    low, high = (int(end, 16) for end in span.split("-"))
    return rights if low <= address < high else ""


def test_library_calls_are_refused_by_name() -> None:
    text = "declare double @exp(double)\ndefine double @f(double %x) { %y = call double @exp(double %x) ret double %y }"
    with pytest.raises(CompileError, match="undefined symbol exp"):
        compile_object(text, host())


def test_writable_globals_are_refused() -> None:
    text = "@state = internal global i64 3\ndefine i64 @f() { store i64 4, ptr @state ret i64 0 }"
    with pytest.raises(CompileError, match="writable global"):
        compile_object(text, host())


@pytest.mark.parametrize(
    ("offset", "form", "value", "message"),
    [
        (0, "<I", 0, "not a 64-bit little-endian ELF"),
        (16, "<H", 2, "not relocatable"),
        (18, "<H", 243, "another machine"),
        (40, "<Q", 1 << 60, "cut off"),
        (58, "<H", 40, "odd section table"),
        (60, "<H", 60000, "cut off"),
        (62, "<H", 60000, "odd section table"),
    ],
)
def test_damaged_headers_are_named(
    table_object: bytes, offset: int, form: str, value: int, message: str
) -> None:
    damaged = bytearray(table_object)
    struct.pack_into(form, damaged, offset, value)
    with pytest.raises(CompileError, match=message):
        load(bytes(damaged))


def test_every_truncation_is_an_error(table_object: bytes) -> None:
    for length in range(0, len(table_object), 7):
        with pytest.raises(CompileError):
            check(table_object[:length])


def test_flipped_bytes_never_crash(table_object: bytes) -> None:
    """Outside code and constants, a wrong byte is either harmless or a CompileError."""
    for position in range(len(table_object)):
        damaged = bytearray(table_object)
        damaged[position] ^= 0xFF
        try:
            check(bytes(damaged))
        except CompileError:
            continue


def test_unknown_relocations_are_named(table_object: bytes) -> None:
    damaged = bytearray(table_object)
    at = first_relocation(table_object)
    struct.pack_into("<I", damaged, at + 8, 99)
    with pytest.raises(CompileError, match="unknown relocation: given type 99"):
        check(bytes(damaged))


def test_relocations_outside_their_section_are_refused(table_object: bytes) -> None:
    damaged = bytearray(table_object)
    struct.pack_into("<Q", damaged, first_relocation(table_object), 1 << 40)
    with pytest.raises(CompileError, match="outside its section"):
        check(bytes(damaged))


def first_relocation(data: bytes) -> int:
    """The file offset of the first relocation with an addend."""
    (table,) = struct.unpack_from("<Q", data, 40)
    (count,) = struct.unpack_from("<H", data, 60)
    rows = [
        struct.unpack_from("<IIQQQQ", data, table + 64 * index)
        for index in range(count)
    ]
    return next(
        int(offset) for _, kind, _, _, offset, size in rows if kind == 4 and size
    )


# --- aarch64: compiled here, checked by what the instructions would do ---


def test_objects_for_aarch64_pass_the_checks() -> None:
    for text in (TABLE_LOOKUP, POINTER_TABLE, native_text("aarch64")):
        compile_object(text, AARCH64)


def patched(kind: int, word: int, place: int, target: int) -> int:
    image = memoryview(bytearray(struct.pack("<I", word)))
    RELOCATIONS[183][kind].apply(Place(image, 0, place), target)
    return int(struct.unpack("<I", image)[0])


def test_aarch64_branch_counts_instructions() -> None:
    assert patched(283, 0x94000000, 0x1000, 0x1040) == 0x94000010
    assert patched(283, 0x94000000, 0x1040, 0x1000) == 0x97FFFFF0
    with pytest.raises(CompileError, match="too far"):
        patched(283, 0x94000000, 0, 1 << 28)


def test_aarch64_page_distance_is_split() -> None:
    word = patched(275, 0x90000000, 0x10000, 0x10000 + 5 * 4096)
    pages = (word >> 29 & 3) | (word >> 5 & 0x7FFFF) << 2
    assert pages == 5
    assert word & ~0x60FFFFE0 == 0x90000000


def test_aarch64_low_bits_are_scaled() -> None:
    assert patched(286, 0xF9400000, 0, 0x12348) >> 10 & 0xFFF == 0x348 >> 3
    assert patched(277, 0x91000000, 0, 0x12345) >> 10 & 0xFFF == 0x345
    with pytest.raises(CompileError, match="misaligned"):
        patched(286, 0xF9400000, 0, 0x12345)
