"""Several processes of one server: what they share."""
