"""What stays on disk: models, featurised columns, runs."""
