"""Where a pool lives: the file that deploying writes and everybody else reads."""

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from leasehold._addresses import checksummed, is_hex_address
from leasehold.errors import SettingsError, error_type
from leasehold.files import write_whole


@error_type("deployment-missing", problem="There is no deployment file {path}", advice="get the pool's file.")
class DeploymentMissing(SettingsError):
    """The file that says where a pool is, is not there."""

    path: str


@dataclass(frozen=True, slots=True)
class Deployment:
    """One pool on one history of one chain.

    genesis: hash of block 0, since development chains repeat ids and addresses. block: where the pool was
    made. lens: the contract for reading much at once, where there is one.
    """

    chain_id: int
    genesis: str
    factory: str
    accounts: str
    controller: str
    token: str
    block: int
    token_symbol: str
    token_decimals: int
    lens: str | None = None

    @classmethod
    def load(cls, path: str | Path) -> "Deployment":
        """Reads a deployment file. Raises SettingsError when it is missing or malformed."""
        try:
            raw = json.loads(Path(path).read_text())
        except FileNotFoundError:
            raise DeploymentMissing(str(path)) from None
        except (OSError, ValueError) as error:
            raise SettingsError(
                f"The deployment file {path} cannot be read ({error})", "get it anew."
            ) from error
        return cls._checked(raw, path)

    @classmethod
    def _checked(cls, raw: object, path: str | Path) -> "Deployment":
        if not isinstance(raw, dict):
            raise SettingsError(f"The deployment file {path} holds no object", "get it anew.")
        values: dict[str, object] = {}
        for field in fields(cls):
            if field.name == "lens":
                continue
            value = raw.get(field.name)
            if not isinstance(value, field.type if isinstance(field.type, type) else object):
                raise SettingsError(
                    f"The deployment file {path} lacks a valid `{field.name}`", "get it anew."
                )
            values[field.name] = value
        addresses = ["factory", "accounts", "controller", "token"]
        if raw.get("lens") is not None:
            values["lens"] = raw["lens"]
            addresses.append("lens")
        for name in addresses:
            if not is_hex_address(values[name]):
                raise SettingsError(f"`{name}` in {path} is not an address", "get the file anew.")
            values[name] = checksummed(str(values[name]))
        values["genesis"] = str(values["genesis"]).lower()
        return cls(**values)  # type: ignore[arg-type]  # each was checked against its field's type

    def save(self, folder: str | Path) -> Path:
        """Writes `<folder>/<chain id>.json` and returns its path."""
        path = Path(folder) / f"{self.chain_id}.json"
        known = {name: value for name, value in asdict(self).items() if value is not None}
        write_whole(path, json.dumps(known, indent=2) + "\n")
        return path
