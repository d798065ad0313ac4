"""Small kernels, written by hand, that show from outside what the executor did with them."""

MARK = """
; args: counts, turns. Burns `turns` multiplications, then counts[chunk] += 1 without an atomic: a chunk that runs twice
; at once or twice in a row shows.
define i64 @mark(ptr %args, i64 %chunk, ptr %scratch) nounwind {
entry:
  %counts = load ptr, ptr %args
  %turns.at = getelementptr i64, ptr %args, i64 1
  %turns = load i64, ptr %turns.at
  br label %burn
burn:
  %i = phi i64 [ 0, %entry ], [ %i.next, %burn ]
  %x = phi double [ 1.0, %entry ], [ %y, %burn ]
  %y = fmul double %x, 1.0000001
  %i.next = add i64 %i, 1
  %more = icmp slt i64 %i.next, %turns
  br i1 %more, label %burn, label %count
count:
  %at = getelementptr i64, ptr %counts, i64 %chunk
  %old = load i64, ptr %at
  %keep = fcmp ogt double %y, 0.0
  %one = zext i1 %keep to i64
  %new = add i64 %old, %one
  store i64 %new, ptr %at
  ret i64 0
}
"""

FAIL = """
; args: counts, codes. Counts like @mark, then returns codes[chunk].
define i64 @fail(ptr %args, i64 %chunk, ptr %scratch) nounwind {
  %counts = load ptr, ptr %args
  %codes.at = getelementptr ptr, ptr %args, i64 1
  %codes = load ptr, ptr %codes.at
  %at = getelementptr i64, ptr %counts, i64 %chunk
  %old = load i64, ptr %at
  %new = add i64 %old, 1
  store i64 %new, ptr %at
  %code.at = getelementptr i64, ptr %codes, i64 %chunk
  %code = load i64, ptr %code.at
  ret i64 %code
}
"""

SCRATCH = """
; args: where, words. Writes its chunk number all over its scratch, reads it back, and says where the scratch is.
; Returns 1 if somebody else wrote there meanwhile.
define i64 @use_scratch(ptr %args, i64 %chunk, ptr %scratch) nounwind {
entry:
  %where = load ptr, ptr %args
  %words.at = getelementptr i64, ptr %args, i64 1
  %words = load i64, ptr %words.at
  br label %write
write:
  %i = phi i64 [ 0, %entry ], [ %i.next, %write ]
  %to = getelementptr i64, ptr %scratch, i64 %i
  store volatile i64 %chunk, ptr %to
  %i.next = add i64 %i, 1
  %more = icmp slt i64 %i.next, %words
  br i1 %more, label %write, label %read
read:
  %j = phi i64 [ 0, %write ], [ %j.next, %read ]
  %bad = phi i64 [ 0, %write ], [ %bad.next, %read ]
  %from = getelementptr i64, ptr %scratch, i64 %j
  %seen = load volatile i64, ptr %from
  %differs = icmp ne i64 %seen, %chunk
  %one = zext i1 %differs to i64
  %bad.next = or i64 %bad, %one
  %j.next = add i64 %j, 1
  %more.read = icmp slt i64 %j.next, %words
  br i1 %more.read, label %read, label %out
out:
  %at = getelementptr ptr, ptr %where, i64 %chunk
  store ptr %scratch, ptr %at
  ret i64 %bad.next
}
"""

MULTIPLY = """
; args: out, where, a, b. out[chunk] = a * b as float32, where[chunk] = the scratch: shows if denormals are flushed,
; and on which thread.
define i64 @multiply(ptr %args, i64 %chunk, ptr %scratch) nounwind {
  %out = load ptr, ptr %args
  %where.at = getelementptr i64, ptr %args, i64 1
  %a.at = getelementptr i64, ptr %args, i64 2
  %b.at = getelementptr i64, ptr %args, i64 3
  %where = load ptr, ptr %where.at
  %a = load float, ptr %a.at
  %b = load float, ptr %b.at
  %c = fmul float %a, %b
  %at = getelementptr float, ptr %out, i64 %chunk
  store float %c, ptr %at
  %thread.at = getelementptr ptr, ptr %where, i64 %chunk
  store ptr %scratch, ptr %thread.at
  ret i64 0
}
"""

SUM = """
; args: to, a, b. to[0] = a + b, where to points to an i64.
define i64 @sum(ptr %args, i64 %chunk, ptr %scratch) nounwind {
  %to = load ptr, ptr %args
  %a.at = getelementptr i64, ptr %args, i64 1
  %b.at = getelementptr i64, ptr %args, i64 2
  %a = load i64, ptr %a.at
  %b = load i64, ptr %b.at
  %c = add i64 %a, %b
  store i64 %c, ptr %to
  ret i64 0
}
"""

EMPTY = """
define i64 @empty(ptr %args, i64 %chunk, ptr %scratch) nounwind {
  ret i64 0
}
"""

FLUSH = """
; Sets (1) or clears (0) flush-to-zero of the calling thread. Not a kernel: called by tests through ctypes.
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)
define i64 @set_flush(i64 %on) nounwind {
  %word = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %word)
  %old = load i32, ptr %word
  %cleared = and i32 %old, -32769
  %bit = shl i64 %on, 15
  %bit.i32 = trunc i64 %bit to i32
  %new = or i32 %cleared, %bit.i32
  store i32 %new, ptr %word
  call void @llvm.x86.sse.ldmxcsr(ptr %word)
  ret i64 0
}
"""

PLAIN = MARK + FAIL + SCRATCH + MULTIPLY + SUM + EMPTY

PLAIN_KEY = "00000000000000a1"
FLUSH_KEY = "00000000000000a2"
