"""Servers from OpenAPI documents: from a document to the module of a server, and to what changed since.

The files follow the data. `document` reads JSON or YAML within limits and follows references inside of it.
`operations` chooses operations, and finds what each sends and receives. `schemas` reduces their schemas to the keywords
that types need: everything else, above all what another generator would act on, is left out. `models` lets
datamodel-code-generator write the models, and accepts nothing from it but models. `module` renders the server. `lock`
freezes what was chosen, and lists what a document changed since.

A document is not trusted: what it says becomes literals, docstrings, and names that are made of letters and digits.
"""
