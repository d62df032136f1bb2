"""Where programs keep their configuration on this machine, and where Loci keeps what its hooks and `loci connect` note down.

Loaded by hooks, so it imports nothing that takes time.
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath

WINDOWS, MACOS = "win32", "darwin"


@dataclass(frozen=True)
class Places:
    """A machine: its system, its user's home folder, and its environment."""

    system: str = sys.platform
    home: Path = field(default_factory=Path.home)
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)

    @property
    def application_data(self) -> Path:
        """Where desktop programs keep their settings."""
        if self.system == MACOS:
            return self.home / "Library" / "Application Support"
        if self.system == WINDOWS:
            return self._named("APPDATA", self.home / "AppData" / "Roaming")
        return self.xdg_config

    @property
    def xdg_config(self) -> Path:
        """Where Linux keeps settings, and some programs on macOS as well."""
        return self._named("XDG_CONFIG_HOME", self.home / ".config")

    @property
    def state(self) -> Path:
        """Where Loci keeps copies, what its hooks have taken, and their log."""
        if self.system == MACOS:
            return self.application_data / "loci"
        if self.system == WINDOWS:
            return self._named("LOCALAPPDATA", self.home / "AppData" / "Local") / "loci"
        return self._named("XDG_STATE_HOME", self.home / ".local" / "state") / "loci"

    def named(self, variable: str, usual: str) -> Path:
        """The folder that a variable names, or a usual one in the home folder."""
        return self._named(variable, self.home / usual)

    def _named(self, variable: str, usual: Path) -> Path:
        """A relative path counts as none, as the XDG specification has it."""
        stated = self.environment.get(variable)
        return self.home.joinpath(stated) if stated and PurePath(stated).is_absolute() else usual
