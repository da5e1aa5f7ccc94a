"""How sure: resampled cohorts learned anew, the file that keeps them, and the spread of what they say."""
