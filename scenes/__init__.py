"""Sample scenes, as scripts that build them."""
