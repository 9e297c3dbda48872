"""What the runtime does by itself for either side: each feature declares what it offers and installs its handlers."""
