"""The paper's equations as pure torch, one file a section; no I/O, no training."""
