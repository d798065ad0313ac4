"""Schedule: which values are stored, and the loop nests of each kernel.

In: a primitive graph. Out: kernels as nests, the buffers between them, their order and memory. Next: kernel/ moves the nests.
"""
