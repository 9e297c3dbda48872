"""Whether a server keeps the revisions that it speaks: probes, and all that is said, judged by the requirements."""
