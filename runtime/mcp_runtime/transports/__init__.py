"""Transports: how whole messages get from one peer to the other."""
