"""How random words are drawn, and what may be claimed of all words after looking at some."""
