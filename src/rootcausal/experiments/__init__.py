"""The experiments of the paper (Section 8): data sets × methods × metrics, with rows that are kept.

``spec`` says what is run, ``runner`` runs it, ``paper_tables`` and ``figures`` show it beside the numbers of
``paper``. A method is added with one line in ``methods``.
"""
