"""Features of either side: each one declares what it offers and installs its handlers."""
