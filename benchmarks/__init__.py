"""Measurements of what tdev costs, as ratios and differences taken in one run.

``python -m benchmarks`` measures everything, prints one table and writes benchmarks/RESULTS.md. A
module ``bench_*.py`` with a function ``measure() -> list[Row]`` is found by the runner itself; one
without it is a program of its own (``python benchmarks/bench_mlx.py --help``).
"""
