"""Paths of the repository."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CATALOG = ROOT / "catalog.json"
ROUTES = ROOT / "generator" / "routes"
EVIDENCE = ROOT / "generator" / "evidence"
TEMPLATES = ROOT / "templates"
GENERATED = ROOT / "generated"
CORE = ROOT / "tdev_core"
