"""Property files: many properties of many models in one TOML file, read into values that are valid from birth."""
