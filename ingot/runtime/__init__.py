"""Running compiled kernels: memory, code, threads, and the executor that puts them together.

In:  object code or LLVM IR of kernels, addresses and sizes of their arguments.
Out: results in buffers. Nothing here knows what a kernel computes.

    pages -> buffer                     memory
    relocate -> loader -> objects       code: mapped, compiled
    cache -> library                    code: kept on disk, loaded once
    layout, native/*.ll -> pool         threads and the native executor
    evaluation -> program               schedules as data, carried out by one native call
"""
