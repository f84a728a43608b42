"""Decide how every member of torch is answered: from facts and curated routes to the catalog.

Imports facts, running and the root's errors and schema; the commands import it.
"""
