"""How a conversation begins and ends, era by era."""
