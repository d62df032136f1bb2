"""What the benchmarks of recall share: question sets, baselines, scores with their errors, tables, choosing on other folds."""
