"""The functions of the namespace, one file a family. Written by `python -m ingot.tensor.generate`."""
