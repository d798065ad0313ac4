"""Maps a relocatable ELF object into this process, without a linker and without LLVM.

In:  the bytes of an object that refers to nothing outside itself (x86-64 or aarch64).
Out: the addresses of its global functions. Memory is written first, then made executable; it is never unmapped,
     because a thread may still be inside it when the interpreter goes away.

Every offset is checked before it is used: a damaged object is a CompileError, not a crash.
"""

import os
import struct
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ingot.errors import CompileError
from ingot.runtime.pages import make_executable, map_pages, round_up, view
from ingot.runtime.relocate import RELOCATIONS, Place, Relocation

__all__ = ["check", "load"]

_ELF64_LITTLE = b"\x7fELF\x02\x01\x01"
_RELOCATABLE = 1
_MACHINES = {"x86_64": 62, "AMD64": 62, "aarch64": 183, "arm64": 183}

_SYMTAB, _RELA, _NOBITS, _REL = 2, 4, 8, 9  # section kinds
_WRITE, _ALLOC = 1, 2  # section flags
_ABSOLUTE, _RESERVED = 0xFFF1, 0xFF00  # section numbers with a meaning of their own
_FUNCTION, _GLOBAL = 2, 1  # symbol kind and binding

_MOST_BYTES = 1 << 30
_MOST_ALIGN = 4096


class _Section(NamedTuple):
    name: str
    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    align: int

    @property
    def loaded(self) -> bool:
        return bool(self.flags & _ALLOC) and self.size > 0


class _Symbol(NamedTuple):
    name: str
    kind: int
    binding: int
    section: int
    value: int


class _Object(NamedTuple):
    """A checked object: sections, symbols, and where each loaded section goes in the image."""

    data: bytes
    sections: list[_Section]
    symbols: list[_Symbol]
    starts: dict[int, int]
    nbytes: int
    relocations: Mapping[int, Relocation]


def load(data: bytes) -> Mapping[str, int]:
    """Maps the object and gives its global functions by name."""
    parsed = _parse(data, _MACHINES.get(os.uname().machine, 0))
    nbytes = round_up(parsed.nbytes, 4096)
    base = map_pages(nbytes)
    _fill(parsed, view(base, nbytes), base)
    make_executable(base, nbytes)
    return {
        s.name: base + parsed.starts[s.section] + s.value
        for s in parsed.symbols
        if _is_entry(s)
    }


def check(data: bytes, machine: str = "") -> None:
    """The same checks, for the machine named or this one, without mapping anything."""
    parsed = _parse(data, _MACHINES.get(machine or os.uname().machine, 0))
    _fill(parsed, memoryview(bytearray(parsed.nbytes)), base=1 << 32)


def _parse(data: bytes, machine: int) -> _Object:
    _check_header(data, machine)
    sections = list(_read_sections(data))
    symbols = list(_read_symbols(data, sections))
    starts, nbytes = _place_sections(sections)
    _check_symbols(symbols, sections, starts)
    return _Object(data, sections, symbols, starts, nbytes, RELOCATIONS[machine])


# --- reading ---


def _unpack(data: bytes, form: str, offset: int) -> tuple[int, ...]:
    if offset + struct.calcsize(form) > len(data):
        raise CompileError(
            "object: cut off",
            given=f"{len(data)} bytes",
            wanted=f"a record at byte {offset}",
        )
    return struct.unpack_from(form, data, offset)


def _check_header(data: bytes, machine: int) -> None:
    if data[:7] != _ELF64_LITTLE:
        raise CompileError(
            "object: not a 64-bit little-endian ELF file",
            given=repr(data[:7]),
            wanted=_ELF64_LITTLE,
        )
    kind, given = _unpack(data, "<HH", 16)
    if kind != _RELOCATABLE:
        raise CompileError(
            "object: not relocatable",
            given=f"ELF type {kind}",
            wanted=f"type {_RELOCATABLE}",
        )
    if given != machine or machine not in RELOCATIONS:
        raise CompileError(
            "object: made for another machine",
            given=f"ELF machine {given}",
            wanted=f"{machine}",
        )


def _read_sections(data: bytes) -> Iterator[_Section]:
    (table,) = _unpack(data, "<Q", 40)
    entry_bytes, count, names_index = _unpack(data, "<HHH", 58)
    if entry_bytes != 64 or names_index >= count:
        raise CompileError(
            "object: odd section table",
            given=f"{count} sections of {entry_bytes} bytes",
        )
    rows = [
        _unpack(data, "<IIQQQQIIQQ", table + 64 * index) for index in range(count)
    ]
    names = _section_bytes(data, rows[names_index][4], rows[names_index][5])
    for name, kind, flags, _, offset, size, link, info, align, _ in rows:
        if kind != _NOBITS:
            _section_bytes(data, offset, size)
        yield _Section(
            _string(names, name), kind, flags, offset, size, link, info, align
        )


def _section_bytes(data: bytes, offset: int, size: int) -> bytes:
    if offset + size > len(data):
        raise CompileError(
            "object: cut off", given=f"{len(data)} bytes", wanted=f"{offset + size}"
        )
    return data[offset : offset + size]


def _string(table: bytes, offset: int) -> str:
    end = table.find(b"\0", offset)
    if end < 0:
        raise CompileError(
            "object: a name without an end",
            given=f"offset {offset} of {len(table)}",
        )
    return table[offset:end].decode(errors="replace")


def _read_symbols(data: bytes, sections: list[_Section]) -> Iterator[_Symbol]:
    for table in sections:
        if table.kind != _SYMTAB:
            continue
        strings = _at(sections, table.link)
        names = _section_bytes(data, strings.offset, strings.size)
        for offset in range(table.offset, table.offset + table.size - 23, 24):
            name, info, _, section, value, _ = _unpack(data, "<IBBHQQ", offset)
            yield _Symbol(
                _string(names, name), info & 15, info >> 4, section, value
            )


def _at(sections: list[_Section], index: int) -> _Section:
    if index >= len(sections):
        raise CompileError(
            "object: no such section", given=index, wanted=f"below {len(sections)}"
        )
    return sections[index]


# --- checking and placing ---


def _place_sections(sections: list[_Section]) -> tuple[dict[int, int], int]:
    """The offset of each loaded section in the image, and the image's size."""
    starts: dict[int, int] = {}
    end = 0
    for index, section in enumerate(sections):
        if not section.loaded:
            continue
        _check_section(section)
        starts[index] = round_up(end, max(section.align, 16))
        end = starts[index] + section.size
    if not 0 < end <= _MOST_BYTES:
        raise CompileError(
            "object: odd size",
            given=f"{end} bytes of code and data",
            wanted=f"1 to {_MOST_BYTES}",
        )
    return starts, end


def _check_section(section: _Section) -> None:
    if section.align > _MOST_ALIGN or section.align & (section.align - 1):
        raise CompileError(
            f"object: section {section.name}", given=f"alignment {section.align}"
        )
    if section.flags & _WRITE and not section.name.startswith(".data.rel.ro"):
        fix = "code and constants are mapped read-only; keep state in a buffer argument"
        raise CompileError(
            f"object: {section.name} holds a writable global", fix=fix
        )


def _check_symbols(
    symbols: list[_Symbol], sections: list[_Section], starts: dict[int, int]
) -> None:
    undefined = sorted({s.name for s in symbols if s.section == 0 and s.name})
    if undefined:
        fix = "generated code may call nothing outside itself; decompose the operation that became a library call"
        raise CompileError(
            f"object: undefined symbol {', '.join(undefined)}", fix=fix
        )
    for symbol in symbols:
        if symbol.section >= _RESERVED and symbol.section != _ABSOLUTE:
            raise CompileError(
                f"object: symbol {symbol.name}",
                given=f"section {symbol.section:#x}",
            )
        if (
            symbol.section in starts
            and symbol.value > sections[symbol.section].size
        ):
            raise CompileError(
                f"object: symbol {symbol.name} lies outside its section"
            )
        if _is_entry(symbol) and symbol.section not in starts:
            raise CompileError(f"object: function {symbol.name} has no code")


def _is_entry(symbol: _Symbol) -> bool:
    return symbol.kind == _FUNCTION and symbol.binding == _GLOBAL


# --- writing the image ---


def _fill(parsed: _Object, image: memoryview, base: int) -> None:
    for index, start in parsed.starts.items():
        section = parsed.sections[index]
        if section.kind != _NOBITS:
            image[start : start + section.size] = _section_bytes(
                parsed.data, section.offset, section.size
            )
    for table in parsed.sections:
        if table.kind == _REL and table.info in parsed.starts:
            raise CompileError(
                "object: relocations without addends", given=table.name
            )
        if table.kind == _RELA and table.info in parsed.starts:
            _relocate(parsed, table, image, base)


def _relocate(
    parsed: _Object, table: _Section, image: memoryview, base: int
) -> None:
    start = parsed.starts[table.info]
    size = parsed.sections[table.info].size
    for at in range(table.offset, table.offset + table.size - 23, 24):
        offset, info, addend = _unpack(parsed.data, "<QQq", at)
        relocation = parsed.relocations.get(info & 0xFFFFFFFF)
        if relocation is None:
            raise CompileError(
                "object: unknown relocation",
                given=f"type {info & 0xFFFFFFFF} in {table.name}",
            )
        if offset + relocation.nbytes > size:
            raise CompileError(
                "object: relocation outside its section",
                given=f"{relocation.name} at {offset}",
            )
        place = Place(image, start + offset, base + start + offset)
        relocation.apply(place, _address(parsed, info >> 32, base) + addend)


def _address(parsed: _Object, index: int, base: int) -> int:
    if index >= len(parsed.symbols):
        raise CompileError(
            "object: no such symbol",
            given=index,
            wanted=f"below {len(parsed.symbols)}",
        )
    symbol = parsed.symbols[index]
    if symbol.section == _ABSOLUTE:
        return symbol.value
    if symbol.section not in parsed.starts:
        raise CompileError(
            f"object: symbol {symbol.name!r} is in a section that is not loaded"
        )
    return base + parsed.starts[symbol.section] + symbol.value
