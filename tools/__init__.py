"""Tools that the README's commands and the nox sessions run."""
