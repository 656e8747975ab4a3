"""Regular expressions over letters of any length: to automata, and back to a readable form."""
