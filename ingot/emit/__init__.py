"""Source for people: a model in the words of many targets. In: a LogicalModel. Out: text that runs without Ingot."""

from ingot.emit.c_gen import CGenerator
from ingot.emit.compile_c import compile_c_code, compiled
from ingot.emit.generator import CodeGenerator
from ingot.emit.jax_gen import JaxGenerator
from ingot.emit.library import LibraryGenerator
from ingot.emit.numpy_gen import NumPyGenerator
from ingot.emit.python_gen import PythonGenerator
from ingot.emit.raw_c_gen import RawCGenerator
from ingot.emit.targets import generator, names
from ingot.emit.tensorflow_gen import TensorFlowGenerator
from ingot.emit.tinygrad_gen import TinygradGenerator
from ingot.emit.torch_gen import TorchGenerator
from ingot.emit.verify import verify

__all__ = [
    "CGenerator",
    "CodeGenerator",
    "JaxGenerator",
    "LibraryGenerator",
    "NumPyGenerator",
    "PythonGenerator",
    "RawCGenerator",
    "TensorFlowGenerator",
    "TinygradGenerator",
    "TorchGenerator",
    "compile_c_code",
    "compiled",
    "generator",
    "names",
    "verify",
]
