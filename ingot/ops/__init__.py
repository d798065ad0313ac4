"""The operations: what users call, declared once each.

In: ir/. Out: the registry, builders of nodes, the lowering of named ops to primitives.
Next: schedule/ reads the primitives.
"""

from ingot.ops import activation as activation
from ingot.ops import attention as attention
from ingot.ops import conv as conv
from ingot.ops import creation as creation
from ingot.ops import elementwise as elementwise
from ingot.ops import indexing as indexing
from ingot.ops import loss as loss
from ingot.ops import matmul as matmul
from ingot.ops import movement as movement
from ingot.ops import norm as norm
from ingot.ops import numeric as numeric
from ingot.ops import reduce as reduce
