"""The imaging process: the only place where finished pictures are decoded."""
