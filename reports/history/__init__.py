"""How cases ended in the runs of an archive, or of a folder of report directories, by device and front end."""
