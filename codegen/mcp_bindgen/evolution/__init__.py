"""How the protocol changes: what proposals mean, and mistakes in its schemas, as texts for those who maintain them."""
