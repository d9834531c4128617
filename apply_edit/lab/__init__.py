"""Experiments on speculative decoding that a person can run: ``apply-edit lab``."""
