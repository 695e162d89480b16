"""The methods of ``joint-collection``: the first one that applies is the default."""

from __future__ import annotations

from mechdesign.core.method import Method
from mechdesign.families.joint.collection.branch_and_bound import branch_and_bound, why_not_branch_and_bound
from mechdesign.families.joint.collection.closed_form import closed_form, why_not_closed_form
from mechdesign.families.joint.collection.problem import JointCollection

METHODS = (
    Method("closed-form", JointCollection, "analytic",
           "fresh noise alone: keep = 1/2, add = 1/(e^(epsilon/d) + 1)",
           closed_form, why_not_closed_form),
    Method("branch-and-bound", JointCollection, "numeric",
           "monotone bounds on boxes of add/keep and (1-keep)/(1-add), for any number of reports",
           branch_and_bound, why_not_branch_and_bound),
)  # fmt: skip
