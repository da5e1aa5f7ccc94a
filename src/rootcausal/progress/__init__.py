"""Work that takes long: progress bars, and processes that can be stopped."""
