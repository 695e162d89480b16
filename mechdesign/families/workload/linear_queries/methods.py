"""The methods of ``linear-queries``, in the order in which they are tried."""

from mechdesign.core.method import Method
from mechdesign.families.workload.linear_queries.all_columns import all_columns, why_not_all_columns
from mechdesign.families.workload.linear_queries.columns import column_generation, why_not_columns
from mechdesign.families.workload.linear_queries.conic import conic_program, why_not_conic
from mechdesign.families.workload.linear_queries.equal_shares import equal_shares, why_not_equal_shares
from mechdesign.families.workload.linear_queries.few import few_queries, why_not_few_queries
from mechdesign.families.workload.linear_queries.mixture import best_mixture, why_not_mixture
from mechdesign.families.workload.linear_queries.partitions import (
    run_haar,
    run_sampling,
    run_tree,
    why_not_halves,
    why_not_sampling,
)
from mechdesign.families.workload.linear_queries.problem import LinearQueries
from mechdesign.families.workload.linear_queries.sampled import sampled_patterns, why_not_sampled
from mechdesign.families.workload.linear_queries.simple import simple_report, why_not_simple
from mechdesign.families.workload.linear_queries.subset import (
    subset_selection,
    why_not_closed_form,
    why_not_subset,
)
from mechdesign.families.workload.linear_queries.symmetric import symmetric_reports, why_not_symmetric
from mechdesign.families.workload.linear_queries.worst import why_not_worst_type, worst_type

METHODS = (
    Method("closed-form", LinearQueries, "analytic",
           "subset selection, which is optimal for a histogram",
           subset_selection, why_not_closed_form),
    Method("symmetric", LinearQueries, "numeric",
           "base sets with all their translates, for a cycle or a cube of types",
           symmetric_reports, why_not_symmetric),
    Method("all-columns", LinearQueries, "numeric",
           "the best weights of all patterns, by an interior-point method",
           all_columns, why_not_all_columns),
    Method("columns", LinearQueries, "numeric",
           "column generation: exact up to 20 types, to a proven gap beyond",
           column_generation, why_not_columns),
    Method("estimates", LinearQueries, "numeric",
           "for one or two queries of many types: linear programs over estimates, exact pricing",
           few_queries, why_not_few_queries),
    Method("cvxpy", LinearQueries, "numeric",
           "one conic program over all patterns, an independent check",
           conic_program, why_not_conic),
    Method("populations", LinearQueries, "numeric",
           "for the worst type: the population whose best average error is largest",
           worst_type, why_not_worst_type),
    Method("equal-shares", LinearQueries, "heuristic",
           "for the worst of more than 20 types: the report for their average, or a simple one if better",
           equal_shares, why_not_equal_shares),
    Method("mixture", LinearQueries, "heuristic",
           "for 129 to 1,024 types: the best mixture of a field's patterns and of blocks of types",
           best_mixture, why_not_mixture),
    Method("field", LinearQueries, "heuristic",
           "for 129 to 1,024 types: patterns of a Gaussian field, with nearly equal weights",
           sampled_patterns, why_not_sampled),
    Method("simple", LinearQueries, "heuristic",
           "for the worst of more than 20 types: whichever of the reports below is best",
           simple_report, why_not_simple),
    Method("subset", LinearQueries, "heuristic",
           "subset selection with its best size, made for the shares of the types",
           subset_selection, why_not_subset),
    Method("tree", LinearQueries, "heuristic",
           "a binary tree of ranges with the best probabilities of its levels",
           run_tree, why_not_halves),
    Method("haar", LinearQueries, "heuristic",
           "Haar wavelets: a level with its best probability, one sign by randomized response",
           run_haar, why_not_halves),
    Method("marginal-sampling", LinearQueries, "heuristic",
           "one of the marginals at random, by subset selection of its cells",
           run_sampling, why_not_sampling),
)  # fmt: skip
