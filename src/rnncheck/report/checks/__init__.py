"""The result of a property file: JUnit XML and SARIF for programs, one page for readers."""
