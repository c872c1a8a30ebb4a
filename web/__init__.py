"""The web application: API and pages."""
