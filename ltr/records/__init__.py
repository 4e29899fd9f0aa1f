"""Typed records: one description of each thing that is stored, for whoever writes it, reads it and shows it.

Files are untrusted when they are read: types are checked, numbers may be missing, texts stay texts. No reader depends
on the order of keys. Metrics stand apart from everything else, so that a plug-in's metric may have any name.
"""
