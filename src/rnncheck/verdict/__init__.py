"""The result of a verification: the value, its JSON document, and the replay that checks it again."""
