#!/usr/bin/env bash
# The tests as on other machines, one after the other: scripts/elsewhere.sh [pytest's arguments]
# Processors round differently, so older and newer kernels of OpenBLAS, NumPy and PyTorch are chosen (those that this
# processor has), then one thread, then all cores busy with something else.
set -euo pipefail
cd "$(dirname "$0")/.."

tests() {
    echo "== $1" >&2
    shift
    env "$@" .venv/bin/python -m pytest -m "not slow" "${arguments[@]}"
}

arguments=("$@")
tests "an old processor" OPENBLAS_CORETYPE=Nehalem ATEN_CPU_CAPABILITY=default ONEDNN_MAX_CPU_ISA=SSE41 \
    NPY_DISABLE_CPU_FEATURES="X86_V3 X86_V4"
grep -qw avx2 /proc/cpuinfo && tests "a processor with AVX2" OPENBLAS_CORETYPE=Haswell ATEN_CPU_CAPABILITY=avx2
grep -qw avx512f /proc/cpuinfo && tests "a processor with AVX-512" OPENBLAS_CORETYPE=SkylakeX
tests "no compiled kernel" RNNCHECK_KERNEL=off
tests "one thread" OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
for _ in $(seq "$(nproc)"); do
    while :; do :; done &
done
trap 'kill $(jobs -p)' EXIT
tests "a busy machine"
