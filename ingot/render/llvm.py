"""LLVM IR text. In: a decomposed KERNEL, a target. Out: one function, `i64 name(ptr args, i64 chunk, ptr scratch)`.

No pass of LLVM's middle end runs afterwards, so everything here is final: vectors are explicit, loops are tested at
their end, and whatever does not change in a loop stands before it. float16 and bfloat16 are held as i16; bool is i8 in
memory.
"""

from __future__ import annotations

from typing import cast

from ingot.ir.node import UOp
from ingot.ir.opcode import KernelArg
from ingot.render.base import Walker
from ingot.render.llvm_writer import LLVMWriter
from ingot.target import Target


def render(kernel: UOp, target: Target) -> str:
    """The LLVM module of one kernel."""
    arg = cast(KernelArg, kernel.arg)
    writer = LLVMWriter(len(arg.params))
    body = Walker(kernel, writer).walk()
    parts = [
        f'target triple = "{target.triple}"',
        *sorted(writer.declarations),
        f"define i64 @{arg.name}(ptr noalias readonly %args, i64 %chunk, ptr noalias %scratch) #0 {{",
        "entry:",
        *writer.allocations,
        *body,
        *(["  fence seq_cst"] if writer.past else []),
        "  ret i64 0",
        "}",
        *(["!0 = !{i32 1}"] if writer.past else []),
        f"attributes #0 = {{ {_attributes(target)} }}",
        "",
    ]
    return "\n".join(parts)


def _attributes(target: Target) -> str:
    features = ",".join(f"+{name}" for name in target.features)
    width = target.vector_bytes * 8
    words = f'nounwind "target-cpu"="{target.cpu}" "prefer-vector-width"="{width}" "frame-pointer"="none"'
    return f'{words} "target-features"="{features}"' if features else words
