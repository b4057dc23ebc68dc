"""Single edits of any instruction, generated from its declaration: one operand is another value, or the instruction does something else.

The mistakes of the other modules are known ones, with sentences of their own. These are for failures that no known mistake explains.
"""
