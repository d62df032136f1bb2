"""Where programs keep their configuration on this machine, and where Loci keeps what its hooks and `loci connect` note down.

Loaded by hooks, so it imports nothing that takes time: dataclasses take 20 ms.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path, PurePath

WINDOWS, MACOS = "win32", "darwin"


class UserFolders:
    """A machine: its system, its user's home folder, and its environment."""

    def __init__(self, system: str = sys.platform, home: Path | None = None, environment: Mapping[str, str] | None = None) -> None:
        self.system = system
        self.home = Path.home() if home is None else home
        self.environment = os.environ if environment is None else environment

    @property
    def application_data(self) -> Path:
        """Where desktop programs keep their settings."""
        if self.system == MACOS:
            return self.home / "Library" / "Application Support"
        if self.system == WINDOWS:
            return self._folder_from_variable("APPDATA", self.home / "AppData" / "Roaming")
        return self.xdg_config

    @property
    def xdg_config(self) -> Path:
        """Where Linux keeps settings, and some programs on macOS as well."""
        return self._folder_from_variable("XDG_CONFIG_HOME", self.home / ".config")

    @property
    def state_folder(self) -> Path:
        """Where Loci keeps copies, what its hooks have taken, and their log."""
        if self.system == MACOS:
            return self.application_data / "loci"
        if self.system == WINDOWS:
            return self._folder_from_variable("LOCALAPPDATA", self.home / "AppData" / "Local") / "loci"
        return self._folder_from_variable("XDG_STATE_HOME", self.home / ".local" / "state") / "loci"

    def find_folder(self, variable: str, usual: str) -> Path:
        """The folder that a variable names, or a usual one in the home folder."""
        return self._folder_from_variable(variable, self.home / usual)

    def _folder_from_variable(self, variable: str, usual: Path) -> Path:
        """A relative path counts as none, as the XDG specification has it."""
        stated = self.environment.get(variable)
        return self.home.joinpath(stated) if stated and PurePath(stated).is_absolute() else usual
