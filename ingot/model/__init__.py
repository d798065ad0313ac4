"""Models: a tensor program with named inputs, parameters and outputs. In: tensor code. Out: a closed graph to run or emit."""

from ingot.model.logical import Input, LogicalModel, Output, Parameter, State

__all__ = ["Input", "LogicalModel", "Output", "Parameter", "State"]
