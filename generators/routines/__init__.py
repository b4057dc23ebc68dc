"""Code in the program language that several families need, with its stated effect. The reference model performs the effect; running the
code on devices tests whether the stated effect is right."""
