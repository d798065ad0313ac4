"""What users hold: Tensor, the functions of the namespace, creation, evaluation.

In: pipeline.py, which evaluates nodes. Out: the public names of `ingot`. `methods.py` and `namespace.py` are generated.
"""
