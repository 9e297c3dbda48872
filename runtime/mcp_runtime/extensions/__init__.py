"""Extensions of the protocol, and features that only some revisions have: each installs itself on a connection."""
