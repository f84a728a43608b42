"""Answer torch.cuda.memory: counters, the table of statistics, the caching allocator's API, history, pools.

Imports accelerators (for the numbers) and the ground.
Imported by the emitted modules of memory functions, by ``cuda.cudart`` and by compiler.
"""
