"""From facts and curated routes to the catalog: every decision is made here."""
