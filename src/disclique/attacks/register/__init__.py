"""The map of a matrix, on its way to the room of spaces."""
