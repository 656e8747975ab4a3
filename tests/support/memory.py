"""Peak memory of a process, in the words of that process."""

# Code that gives the peak memory of its process in KiB. Not ru_maxrss: a child starts with its parent's figure there.
PEAK_KIB = "int(next(line for line in open('/proc/self/status') if line.startswith('VmHWM')).split()[1])"
