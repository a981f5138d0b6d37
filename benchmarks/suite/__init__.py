"""How long looking takes, beside the model's own forward and beside other tools: `python -m benchmarks.suite`."""
