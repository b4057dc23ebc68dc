"""A SPIR-V interpreter with a sanitizer: an independent reading of the specification.

``EmbeddedDevice`` of ``device`` runs kernels. Each room knows only those before it:

* ``types``: the types of a module, its values, and how much it may use
* ``memory``: bytes with checks of each access, and the order of accesses
* ``machine``: a running workgroup, and pointers
* ``module``: what a module declares, and its translation for one kernel
* ``rules``: the types that operands and results must have
* ``instructions``: what instructions do, by group
* ``undefined``: what becomes of undefined values
"""
