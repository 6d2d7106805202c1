"""Verification: whether a release is whole, is what it says of itself, and follows from its own raw files.

Each check looks at a release's folder, writes nothing there, and ends as a `Check`. What the release holds is somebody
else's input: a fault of it is a failure with the name of what failed, never a traceback.
"""
