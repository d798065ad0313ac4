"""The operations: what users call, declared once each.

In: ir/. Out: the registry, builders of nodes, the lowering of named ops to primitives.
Next: schedule/ reads the primitives.

Each file is a family. `op.REGISTRY` imports one when one of its ops is first asked for; all of them together would make
`import ingot` slow. `ingot.ops.op(...)` declares an operation of your own: see docs/adding_an_op.md.
"""

from ingot.ops.op import op as op
