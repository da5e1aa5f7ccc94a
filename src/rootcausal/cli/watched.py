"""``python -m rootcausal.cli.watched fit ...``: the command line, telling another program how far it is.

It ends soon after that program, and looks for no module where it runs: a table may have any name.
"""

from ..progress.watching import lines_to, watched_by
from ..progress.workers import end_with_parent
from .application import main

if __name__ == "__main__":
    end_with_parent()
    watched_by(lines_to())
    main()
