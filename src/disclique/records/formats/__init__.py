"""File formats: what each is read by. Nothing here knows what the columns mean."""
