"""The thin runtime: what stdio and HTTP need in both eras, without the rooms beside it."""
