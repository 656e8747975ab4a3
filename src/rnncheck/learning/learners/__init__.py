"""Learners of regular languages: observation tables and discrimination trees."""
