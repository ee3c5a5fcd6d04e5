"""What a host has that may be of leases: whatever of it is new after the last of them has been left behind."""

from __future__ import annotations

import json
import subprocess

from devnet.engine import Engine
from devnet.site import Site


def remains(site: Site) -> set[str]:
    """All of it, by kind and name: of the engine and its network, of the host's IPFS node, of the agent's folder."""
    pins = site.world.provider_ipfs.call("pin/ls", type="recursive").get("Keys", {})
    notes = (site.host.folder / "state" / "leases").glob("*/*")
    folders = {f"folder {path.name}" for path in notes if path.is_dir()}
    return _of_the_engine(site.engine) | _links(site.engine) | {f"pin {cid}" for cid in pins} | folders


def _of_the_engine(engine: Engine) -> set[str]:
    with engine.client() as client:
        containers = client.api.containers(all=True)
        networks, images = client.api.networks(), client.api.images(all=True)
        volumes = client.api.volumes()["Volumes"] or ()
    found = {f"container {container['Names'][0]}" for container in containers}
    found |= {f"network {network['Name']}" for network in networks}
    return (
        found
        | {f"image {image['Id']}" for image in images}
        | {f"volume {volume['Name']}" for volume in volumes}
    )


def _links(engine: Engine) -> set[str]:
    """Of the engine's network namespace."""
    done = subprocess.run(engine.in_netns("ip", "-json", "link"), capture_output=True, text=True, check=True)
    return {f"link {link['ifname']}" for link in json.loads(done.stdout)}
