"""Profiles: tools of other memory servers, by their own names, over the same data. A profile is a whole list of tools."""
