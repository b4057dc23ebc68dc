"""Code in the language that several families need, each with its effect stated: the reference model takes the effect, and devices show by
running the code that it is stated rightly."""
