"""``python -m rootcausal`` is the same as ``rootcausal``."""

from rootcausal.cli import main

if __name__ == "__main__":
    main()
