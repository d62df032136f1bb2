"""The profiles by name."""

from service.mcp.profiles import claude_memory, reference_memory
from service.mcp.profiles.profile import Profile
from service.mcp.tools.catalogue import LOCI, SMALL

PROFILES: dict[str, Profile] = {profile.name: profile for profile in (LOCI, SMALL, reference_memory.PROFILE, claude_memory.PROFILE)}
