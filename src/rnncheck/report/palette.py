"""Colours of pictures that stand alone; the page's own are in ``assets/report.css``.

They come from Okabe and Ito's palette, darkened until text in them is easy to read, and never carry a meaning alone:
the loop is dashed, accepting states have two rings.
"""

INK = "#1b1f24"
SOFT = "#57606a"
LINE = "#6b7580"
PAPER = "#ffffff"
STATE = "#f6f8fa"
PATH = "#005a9c"
PATH_STATE = "#dcebf7"
LOOP = "#a84300"
LOOP_STATE = "#fbe6d6"
