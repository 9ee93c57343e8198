"""The services of Kubernetes and of AWS Batch, as far as Snakemake's plugins call them.

Each job is a process on this machine, in an empty folder and with no variables but those of its
image and of its description. Nothing of a real cluster is tested: no images, nodes, rights or
limits.
"""

import base64
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from kubernetes.client import ApiClient
from werkzeug.serving import make_server
from werkzeug.wrappers import Request, Response

Inside = Callable[[Path, dict[str, str], list[str]], list[str]]


class ContainerJobs:
    """Jobs in containers, which a service starts.

    Attributes
    ----------
    manifests : list of dict
        What Snakemake has sent to describe each job.
    lost : set of int
        Numbers of the jobs that are killed at once, as by the loss of their node.
    inside : callable or None
        Gives the command that runs a job in an image, from its folder, variables and command.
    """

    def __init__(self, folder: Path, inside: Inside | None = None) -> None:
        self.folder, self.inside = folder, inside
        self.manifests: list[dict] = []
        self.lost: set[int] = set()
        self.processes: dict[str, subprocess.Popen] = {}
        self.secrets: dict[str, dict[str, str]] = {}
        self.definitions: dict[str, dict] = {}
        self.commands = folder / "commands"
        self.commands.mkdir()
        # The image holds the plugins that each job would install.
        (self.commands / "pip").write_text("#!/bin/sh\n")
        (self.commands / "pip").chmod(0o755)

    def start(self, name: str, manifest: dict, command: list[str], given: dict[str, str]) -> None:
        number = len(self.manifests)
        self.manifests.append(manifest)
        workdir = self.folder / f"workdir-{number}"
        workdir.mkdir()
        if self.inside:
            command, variables = self.inside(workdir, given, command), dict(os.environ)
        else:
            path = f"{self.commands}:{Path(sys.executable).parent}:{os.defpath}"
            variables = given | {"PATH": path, "HOME": str(workdir), "LANG": "C.UTF-8"}
        with (self.folder / f"{number}.log").open("w") as log:
            self.processes[name] = subprocess.Popen(
                command,
                cwd=workdir,
                env=variables,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        if number in self.lost:
            self.end(name)

    def end(self, name: str) -> None:
        """Kill a job, if it still runs."""
        if self.processes[name].poll() is None:
            os.killpg(self.processes[name].pid, signal.SIGKILL)
            self.processes[name].wait()

    def answer(self, environ, start_response):
        request = Request(environ)
        service = self.kubernetes if request.path.startswith("/api") else self.aws_batch
        content = service(request, json.loads(request.get_data() or "{}"))
        answer = Response(json.dumps(content), content_type="application/json")
        return answer(environ, start_response)

    def kubernetes(self, request: Request, body: dict) -> dict:
        kind, name = re.fullmatch(
            r"/(?:api|apis/batch)/v1/namespaces/[\w-]+/(\w+)(?:/([\w-]+)(?:/status)?)?",
            request.path,
        ).groups()
        if request.method == "POST" and kind == "secrets":
            values = {key: base64.b64decode(text).decode() for key, text in body["data"].items()}
            self.secrets[body["metadata"]["name"]] = values
        elif request.method == "POST" and kind == "jobs":
            (container,) = body["spec"]["template"]["spec"]["containers"]
            given = {
                each["name"]: self.secrets[key["name"]][key["key"]]
                for each in container.get("env", [])
                for key in [each["valueFrom"]["secretKeyRef"]]
            }
            command = [*container["command"], *container["args"]]
            self.start(body["metadata"]["name"], body, command, given)
        elif request.method == "GET" and kind == "jobs":
            status = self.processes[name].poll()
            ended = {} if status is None else {"failed" if status else "succeeded": 1}
            return {"metadata": {"name": name}, "status": ended}
        elif request.method == "DELETE":
            if kind == "jobs":
                self.end(name)
            return {"status": "Success"}
        return body | {"items": []} if kind == "pods" else body

    def aws_batch(self, request: Request, body: dict) -> dict:
        action = request.path.removeprefix("/v1/")
        if action == "registerjobdefinition":
            self.definitions[body["jobDefinitionName"]] = body
            return {
                "jobDefinitionName": body["jobDefinitionName"],
                "jobDefinitionArn": "arn:of-tests",
                "revision": 1,
            }
        if action == "submitjob":
            definition = self.definitions[body["jobDefinition"].removesuffix(":1")]
            container = definition["containerProperties"]
            given = {each["name"]: each["value"] for each in container["environment"]}
            self.start(body["jobName"], body | definition, container["command"], given)
            return {"jobName": body["jobName"], "jobId": body["jobName"]}
        if action == "describejobs":
            return {"jobs": list(map(self.described, body["jobs"]))}
        if action == "terminatejob":
            self.end(body["jobId"])
        return {}

    def described(self, name: str) -> dict:
        status = self.processes[name].poll()
        state = "RUNNING" if status is None else "FAILED" if status else "SUCCEEDED"
        return {"jobId": name, "jobName": name, "status": state, "container": {}}

    def text(self) -> str:
        """Return what all jobs have printed."""
        return "\n".join(path.read_text() for path in sorted(self.folder.glob("*.log")))


@contextmanager
def served(folder: Path, inside: Inside | None = None) -> Iterator[ContainerJobs]:
    """Run both services for the time of a block; `address` of the jobs is where they answer."""
    jobs = ContainerJobs(folder, inside)
    server = make_server("127.0.0.1", 0, jobs.answer, threaded=True)
    jobs.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield jobs
    finally:
        for name in jobs.processes:
            jobs.end(name)
        server.shutdown()
        thread.join()


def kubernetes_settings(address: str) -> str:
    """Return a file by which a client of Kubernetes finds the service."""
    named = {
        "clusters": [{"name": "tests", "cluster": {"server": address}}],
        "users": [{"name": "tests", "user": {}}],
        "contexts": [{"name": "tests", "context": {"cluster": "tests", "user": "tests"}}],
    }
    return json.dumps({"kind": "Config", "current-context": "tests"} | named)


def known_to_kubernetes(manifest: dict) -> dict:
    """Return what the types of Kubernetes' own client keep of the description of a job."""
    client = ApiClient()
    answer = type("Answer", (), {"data": json.dumps(manifest)})
    return client.sanitize_for_serialization(client.deserialize(answer, "V1Job"))
