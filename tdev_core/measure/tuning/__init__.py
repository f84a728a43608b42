"""Finds out which settings make a program's own steps faster, on this device, by trying them in turn with its own way.

:mod:`.choices` is what there is to try, :mod:`.subject` what is known of a program while it runs, :mod:`.lanes` has it
take steps one way or another, :mod:`.racing` compares two ways, :mod:`.searching` goes through them, :mod:`.winners` keeps
what was found, and :mod:`.applying` puts it to use. Imports the ground, and the rooms whose settings it tries.
"""
