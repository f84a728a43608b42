"""Development time: installed torch → ``catalog.json`` → ``generated/``. Not shipped."""
