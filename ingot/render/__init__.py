"""Renderers: a kernel tree as text for a compiler.

In: KERNEL trees from kernel/, already decomposed. Out: LLVM IR, C, CUDA C. Next: runtime/ compiles and runs them.
"""
