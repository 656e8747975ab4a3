"""Results for people: pictures, the report of a verification, and how values show themselves in notebooks.

Reading order: ``markup`` (text that cannot become markup), ``drawing`` (what to draw of an automaton), ``dot_text``,
``graphviz`` and ``layout`` (where to put it), ``svg`` and ``pictures``; ``plots``, ``sentences``, ``trace_table``,
``figures`` and ``sections`` (the parts of the page), ``page`` (the page), ``notebook``.
"""
