"""JSON Schemas of peers: the one evaluator, and the meter that everything that walks such a schema counts on.

A tool's schema is text of a stranger. A small one can ask for endless work: references multiply, alternatives nest,
and long lists are compared with each other. So each walk has a `Meter` with a maximum of steps and of depth:
`check` evaluates a schema, and lowering, restoring, forms and tool clients read one. A walk that exhausts its meter
raises `UnusableSchema`; the tool cannot be used, and the reason is its text.
"""
