"""Builds the compatibility site: every name of torch, how each backend answers it, and the documentation.

What is built is a function of the installed version alone: no clock, no network, no torch. It is a folder of
static pages that works from a server and from ``file://`` alike. ``sources`` finds what it is made from,
``reading`` (into ``catalog``) and ``documents`` read that, ``pages`` makes each kind of page, ``build`` puts
the site together and refuses dead links.

Imports the mirror's facts and the codemod; ``audit`` and ``commands`` import it.
"""
