"""Gradients: program to program, before lowering.

In: program nodes. Out: program nodes that compute how much they change. Next: tensor/gradient.py gives them to users;
the schedule decides what is kept and what is computed again.
"""
