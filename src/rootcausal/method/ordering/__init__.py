"""Which variable comes before which: Direct LiNGAM in its variants (paper, Algorithms 1 to 4)."""
