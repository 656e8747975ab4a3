"""The paper's experiments, at any scale: many networks, many specifications, every method, one table."""
