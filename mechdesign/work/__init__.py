"""Long work: in parallel, on a cluster, kept in a cache, watched."""
