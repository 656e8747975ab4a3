"""Repair: find mistakes, train on them, verify again, until nothing is found, or it is proved. Needs ``torch``"""
