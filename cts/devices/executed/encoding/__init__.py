"""The encodings of RDNA3 and RDNA4 as data, and the decoder that reads them."""
