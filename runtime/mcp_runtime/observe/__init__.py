"""Judge messages of others: one by one, or a whole conversation from between its two sides."""
