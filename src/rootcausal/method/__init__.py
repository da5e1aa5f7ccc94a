"""The method: it decides, and it knows no device.

The ordering loop sees the data only through :class:`~rootcausal.method.table.Table`, a handful of sums
over rows. NumPy and SciPy are the only libraries used here.

    pipeline ── sharp, logistic           from the ordering to a model, in two halves:
        │                                 mechanism (values and errors) and attribution (log-odds)
    ordering ── search ── entropy         which variable is the next root
        │          │
     moments       │                      correlations and t-tests, updated without reading data
        │          │
    population     │                      cases and controls that were sampled apart, and their weights
        │          │
    ════╧══════════╧═══  Table  ═══════   the waist: sums over rows
        │
    reference · numba_cpu · cupy_gpu · dask_rows
"""
