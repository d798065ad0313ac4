; What differs between machines: x86-64.

declare void @llvm.x86.sse2.pause()
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)

; One breath of a spinning thread.
define internal void @relax() nounwind {
  call void @llvm.x86.sse2.pause()
  ret void
}

; Rounding, flush-to-zero and masks of this thread; the sticky exception flags (low six bits) are left out.
define internal i64 @float_mode() nounwind {
  %word = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %word)
  %all = load i32, ptr %word
  %control = and i32 %all, 65472
  %mode = zext i32 %control to i64
  ret i64 %mode
}

define internal void @set_float_mode(i64 %mode) nounwind {
  %word = alloca i32
  %control = trunc i64 %mode to i32
  store i32 %control, ptr %word
  call void @llvm.x86.sse.ldmxcsr(ptr %word)
  ret void
}
