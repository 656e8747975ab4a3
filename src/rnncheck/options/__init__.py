"""Every option of the command line and of property files, each declared once"""
