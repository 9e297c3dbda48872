"""The Python output: views of the representation, and the templates rendered from them."""
