"""What `make package` makes of a checkout: the agent as a Debian package and as a container image.

pins         what the agent needs, at the versions of the lock
environment  the files below /opt/leasehold: an environment for the system's Python
deb          the Debian package
container    the image
"""
