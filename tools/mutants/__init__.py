"""A mutation run: small faults planted one at a time, each to be found by the tests of its own room.

    .venv/bin/nox -s mutants                       # the sample: every room, a fixed seed; goes on where it stopped
    .venv/bin/nox -s mutants -- --most 100         # the first hundred of the same sample
    .venv/bin/nox -s mutants -- --room shims       # one room
    .venv/bin/nox -s mutants -- --report           # only the table of what is known

``rooms.py`` says which tests belong to which sources; ``operators.py`` and ``c_operators.py`` make the faults;
``trees.py`` plants them in copies of the working tree; ``warm.py`` collects a room's tests once and forks for each mutant
(``processes.py`` ends what forks leave), whose functions ``recoding.py`` changes in the fork's memory; ``recording.py`` sees
which lines each test executes, also in the programs that it starts; ``running.py`` runs the tests that execute the changed
lines, fastest first, until one fails; ``results.py`` keeps and tells what came of it, in one file for all worktrees,
``mutants/results.jsonl`` in git's own folder. ``equivalent.toml`` lists mutants that change nothing, each with why.

A mutant whose tests do not end in time is neither caught nor a survivor: machines are busy. It is tried once more when all
others are done, with nothing beside it, and hangs where one test takes ten times as long as without the fault.

mutmut wraps every function, which changes signatures and identities that tests here are about; cosmic-ray starts an
interpreter for each mutant, which imports torch; and neither knows C or code that is emitted from a catalog.
"""
