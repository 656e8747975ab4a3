"""The result of a property file for others: JUnit XML and SARIF for programs, one page for people."""
