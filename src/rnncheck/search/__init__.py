"""Finding words: all of them, promising ones, random ones, smaller ones, and loops that can be pumped."""
