"""Gradients against finite differences and against PyTorch."""
