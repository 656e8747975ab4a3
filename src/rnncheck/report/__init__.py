"""Results for people: pictures and pages."""
