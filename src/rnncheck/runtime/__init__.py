"""How work is done: budgets, the watchdog that ends hanging calls, executors, files that are never half written."""
