"""Images' names, as Docker reads them."""

from __future__ import annotations

import pytest

from leasehold.images import ImageNameInvalid, parse_reference, registry_of, repository_of

DIGEST = "sha256:" + "a" * 64


@pytest.mark.parametrize(
    ("text", "registry", "repository", "wanted", "shown"),
    [
        ("ubuntu", "docker.io", "library/ubuntu", "latest", "ubuntu:latest"),
        ("library/ubuntu:24.04", "docker.io", "library/ubuntu", "24.04", "ubuntu:24.04"),
        ("pytorch/pytorch:2.5", "docker.io", "pytorch/pytorch", "2.5", "pytorch/pytorch:2.5"),
        ("docker.io/a/b", "docker.io", "a/b", "latest", "a/b:latest"),
        ("index.docker.io/a/b:x", "docker.io", "a/b", "x", "a/b:x"),
        ("ghcr.io/x/y", "ghcr.io", "x/y", "latest", "ghcr.io/x/y:latest"),
        ("nvcr.io/nvidia/pytorch:24.10-py3", "nvcr.io", "nvidia/pytorch", "24.10-py3",
         "nvcr.io/nvidia/pytorch:24.10-py3"),
        ("localhost/a:b", "localhost", "a", "b", "localhost/a:b"),
        ("localhost:5000/a/b:tag", "localhost:5000", "a/b", "tag", "localhost:5000/a/b:tag"),
        (f"ghcr.io/x/y:old@{DIGEST}", "ghcr.io", "x/y", DIGEST, f"ghcr.io/x/y@{DIGEST}"),
        (f"ubuntu@{DIGEST}", "docker.io", "library/ubuntu", DIGEST, f"ubuntu@{DIGEST}"),
        ("GHCR.io/x/y", "ghcr.io", "x/y", "latest", "ghcr.io/x/y:latest"),
        ("2130706433/x", "docker.io", "2130706433/x", "latest", "2130706433/x:latest"),
    ],
)  # fmt: skip
def test_a_name_is_read_as_docker_reads_it(
    text: str, registry: str, repository: str, wanted: str, shown: str
) -> None:
    reference = parse_reference(text)
    assert (reference.registry, reference.repository) == (registry, repository)
    assert (reference.wanted, str(reference)) == (wanted, shown)
    assert parse_reference(shown) == parse_reference(str(parse_reference(shown)))
    assert (registry_of(reference.at(DIGEST)), repository_of(reference.at(DIGEST))) == (registry, repository)


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":tag",
        "a b",
        "Ubuntu",
        "a//b",
        "a/../b",
        "ghcr.io/",
        "ghcr.io/a?b",
        "user@ghcr.io/a",
        "ubuntu@sha256:abc",
        "ubuntu@",
        "ubuntu:",
        "ubuntu:" + "x" * 129,
        "ubuntu:a/b",
        "ubuntu:\u0663",
        "f" * 64,
        "x" * 300,
        "ghcr.io:port/a",
        "https://ghcr.io/a",
        "-x/y",
        "a\nb",
    ],
)
def test_what_is_no_name(text: str) -> None:
    with pytest.raises(ImageNameInvalid, match="write it as for Docker"):
        parse_reference(text)
