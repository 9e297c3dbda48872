"""How a conversation begins: what each side offers, and which revision both use."""
