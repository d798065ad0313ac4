"""Anonymous memory from the operating system, by address.

In:  a number of bytes.
Out: page-aligned addresses. Nothing here is freed by the garbage collector: threads of the pool may still run code or
     read memory while the interpreter shuts down.
"""

import ctypes
import mmap

__all__ = [
    "HUGE_PAGE",
    "PAGE",
    "make_executable",
    "map_pages",
    "prefer_huge_pages",
    "unmap_pages",
    "view",
]

PAGE = mmap.PAGESIZE
HUGE_PAGE = 2 << 20

_MAP_FAILED = ctypes.c_void_p(-1).value
_MADV_HUGEPAGE = 14

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_long,
)
_libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
_libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
_libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


def round_up(nbytes: int, multiple: int) -> int:
    return -(-nbytes // multiple) * multiple


def map_pages(nbytes: int) -> int:
    """Zeroed, private, readable and writable memory; MemoryError when there is none."""
    protection = mmap.PROT_READ | mmap.PROT_WRITE
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    address: int | None = _libc.mmap(None, nbytes, protection, flags, -1, 0)
    if address is None or address == _MAP_FAILED:
        raise MemoryError(f"the system has no {nbytes} bytes left")
    return address


def map_huge_pages(nbytes: int) -> int:
    """The same, aligned to huge pages and marked for them: fewer faults, fewer TLB misses."""
    start = map_pages(nbytes + HUGE_PAGE)
    address = round_up(start, HUGE_PAGE)
    end = address + round_up(nbytes, PAGE)
    if address > start:
        unmap_pages(start, address - start)
    unmap_pages(end, start + round_up(nbytes + HUGE_PAGE, PAGE) - end)
    prefer_huge_pages(address, nbytes)
    return address


def unmap_pages(address: int, nbytes: int) -> None:
    _libc.munmap(address, nbytes)


def prefer_huge_pages(address: int, nbytes: int) -> None:
    """A hint: a kernel without huge pages refuses it, and nothing is lost."""
    _libc.madvise(address, nbytes, _MADV_HUGEPAGE)


def make_executable(address: int, nbytes: int) -> None:
    """Writable becomes executable; memory is never both."""
    if _libc.mprotect(address, nbytes, mmap.PROT_READ | mmap.PROT_EXEC) != 0:
        errno = ctypes.get_errno()
        raise OSError(errno, "the system refuses executable memory")


def view(address: int, nbytes: int) -> memoryview:
    """The bytes at an address, writable. The caller knows that they stay mapped."""
    return memoryview((ctypes.c_char * nbytes).from_address(address)).cast("B")
