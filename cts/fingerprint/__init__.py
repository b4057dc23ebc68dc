"""The fingerprint of a matrix unit: probes of its arithmetic, a model that fits their bits, and the share of results that it predicts."""
