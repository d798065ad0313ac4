"""The intermediate representation: types, opcodes, nodes, rules and their meaning.

In: nothing from above. Out: UOp graphs, ways to rewrite, check, print and interpret them. Next: ops/ builds programs.
"""
