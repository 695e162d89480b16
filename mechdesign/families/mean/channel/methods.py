"""The methods of ``mean-channel``: the first one that applies is the default."""

from __future__ import annotations

from mechdesign.core.method import Method
from mechdesign.families.mean.channel import columns, linear_program
from mechdesign.families.mean.channel.problem import MeanChannel

METHODS = (
    Method("columns", MeanChannel, "numeric",
           "column generation over two-valued patterns, exact pricing over all real outputs",
           columns.run, columns.why_not),
    Method("lp", MeanChannel, "numeric", "one linear program on grids of inputs and outputs",
           linear_program.run, linear_program.why_not),
)  # fmt: skip
