; What differs between machines: aarch64.

declare void @llvm.aarch64.hint(i32)
declare i64 @llvm.aarch64.get.fpcr()
declare void @llvm.aarch64.set.fpcr(i64)

; One breath of a spinning thread (YIELD).
define internal void @relax() nounwind {
  call void @llvm.aarch64.hint(i32 1)
  ret void
}

; Rounding and flush-to-zero of this thread.
define internal i64 @float_mode() nounwind {
  %mode = call i64 @llvm.aarch64.get.fpcr()
  ret i64 %mode
}

define internal void @set_float_mode(i64 %mode) nounwind {
  call void @llvm.aarch64.set.fpcr(i64 %mode)
  ret void
}
