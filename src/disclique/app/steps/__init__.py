"""The steps of a person: start, open, ask, run, read, release. Each file has the pages of one step."""
