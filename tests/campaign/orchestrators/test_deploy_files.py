"""The files for schedulers in `examples/deploy`, checked by the tools of the schedulers."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

DEPLOY = Path(__file__).parents[3] / "examples" / "deploy"
MANIFESTS = list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()))


@pytest.mark.campaign
@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda manifest: str(manifest["kind"]))
def test_kubernetes_accepts_the_manifests(manifest: dict[str, Any]) -> None:
    validate: Any = pytest.importorskip("kubernetes_validate", reason="pip install kubernetes-validate")
    validate.validate(manifest, validate.latest_version(), strict=True)
    mistaken = {**manifest, "spec": {**manifest["spec"], "replica": 2}}
    with pytest.raises(validate.ValidationError):  # strict: a key that does not exist is found
        validate.validate(mistaken, validate.latest_version(), strict=True)


@pytest.mark.campaign
def test_pods_give_every_container_the_same_folders() -> None:
    pods = [one["spec"]["template"]["spec"] for one in MANIFESTS if one["kind"] == "Deployment"]
    pods += [one["spec"]["jobTemplate"]["spec"]["template"]["spec"] for one in MANIFESTS if one["kind"] == "CronJob"]
    assert len(pods) == 2
    volumes = {volume["name"] for pod in pods for volume in pod["volumes"]}
    for container in (one for pod in pods for one in [*pod.get("initContainers", ()), *pod["containers"]]):
        assert {mount["name"] for mount in container["volumeMounts"]} == volumes
    assert len({str(pod["volumes"]) for pod in pods}) == 1


@pytest.mark.campaign
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("no systemd-analyze: apt-get install systemd")
    text = (DEPLOY / "qbcd.service").read_text()
    (tmp_path / "qbcd.service").write_text(text.replace("/opt/qbcd/bin/qbcd", "/bin/true"))
    done = subprocess.run(
        [program, "verify", "--man=no", str(tmp_path / "qbcd.service")], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr.replace("Unit qbcd.service not found.", "").strip()) == (0, "")
