"""The intermediate representation: types, opcodes, nodes, rules and their meaning.

In: nothing from above. Out: UOp graphs, ways to rewrite, check, print and interpret them. Next: ops/ builds programs.
"""

from ingot.ir import (
    algebra as algebra,  # with these two, a node simplifies and prints itself from the first on
)
from ingot.ir import text as text
