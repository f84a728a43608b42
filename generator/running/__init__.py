"""Make a run quick and safe: results remembered between runs, worker processes, a garbage collector at rest.

Imports nothing of the generator; facts, plan, render and the commands import it.
"""
