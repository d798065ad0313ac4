"""The methods of a tensor. Generated from the registry by `python -m ingot.tensor.generate`.

In: tensors and attributes. Out: tensors. Do not edit: change the declaration in ops/.
"""

from __future__ import annotations

from ingot.tensor.methods.activation import ActivationMethods
from ingot.tensor.methods.arranging import ArrangingMethods
from ingot.tensor.methods.attention import AttentionMethods
from ingot.tensor.methods.attention_kinds import AttentionKindsMethods
from ingot.tensor.methods.borders import BordersMethods
from ingot.tensor.methods.channel_norm import ChannelNormMethods
from ingot.tensor.methods.conv import ConvMethods
from ingot.tensor.methods.conv_kinds import ConvKindsMethods
from ingot.tensor.methods.criterion import CriterionMethods
from ingot.tensor.methods.ctc import CtcMethods
from ingot.tensor.methods.elementwise import ElementwiseMethods
from ingot.tensor.methods.floating import FloatingMethods
from ingot.tensor.methods.gather import GatherMethods
from ingot.tensor.methods.indexing import IndexingMethods
from ingot.tensor.methods.interpolation import InterpolationMethods
from ingot.tensor.methods.joining import JoiningMethods
from ingot.tensor.methods.loss import LossMethods
from ingot.tensor.methods.matmul import MatmulMethods
from ingot.tensor.methods.movement import MovementMethods
from ingot.tensor.methods.norm import NormMethods
from ingot.tensor.methods.numeric import NumericMethods
from ingot.tensor.methods.pool import PoolMethods
from ingot.tensor.methods.products import ProductsMethods
from ingot.tensor.methods.rearranging import RearrangingMethods
from ingot.tensor.methods.rectifiers import RectifiersMethods
from ingot.tensor.methods.reduce import ReduceMethods
from ingot.tensor.methods.scan import ScanMethods
from ingot.tensor.methods.scatter import ScatterMethods
from ingot.tensor.methods.sort import SortMethods
from ingot.tensor.methods.special import SpecialMethods
from ingot.tensor.methods.statistics import StatisticsMethods
from ingot.tensor.methods.trigonometric import TrigonometricMethods
from ingot.tensor.methods.unique import UniqueMethods


class Methods(
    ActivationMethods,
    ArrangingMethods,
    AttentionMethods,
    AttentionKindsMethods,
    BordersMethods,
    ChannelNormMethods,
    ConvMethods,
    ConvKindsMethods,
    CriterionMethods,
    CtcMethods,
    ElementwiseMethods,
    FloatingMethods,
    GatherMethods,
    IndexingMethods,
    InterpolationMethods,
    JoiningMethods,
    LossMethods,
    MatmulMethods,
    MovementMethods,
    NormMethods,
    NumericMethods,
    PoolMethods,
    ProductsMethods,
    RearrangingMethods,
    RectifiersMethods,
    ReduceMethods,
    ScanMethods,
    ScatterMethods,
    SortMethods,
    SpecialMethods,
    StatisticsMethods,
    TrigonometricMethods,
    UniqueMethods,
):
    """Every op as a method."""

    __slots__ = ()
