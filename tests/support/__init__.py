"""What several test files share: strategies, small networks, teachers, a browser."""
