"""The code as code: layers, budgets, exports, lint, and what the repository says about itself."""
