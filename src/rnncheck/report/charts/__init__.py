"""Plots drawn by matplotlib (extra ``plot``): readable in print, in grey, and whatever colours a reader sees."""
