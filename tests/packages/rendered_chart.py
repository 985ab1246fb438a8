"""Run by the Python of the pinned tools: lint a chart, render it with values, and judge its manifests by versions of Kubernetes.

`rendered_chart.py CHART VALUES VERSION…` prints one JSON object. CHART may be a file with manifests, which is judged as it is.
"""

import json
import sys
from pathlib import Path

import helm_python
import kubernetes_validate
import yaml

chart, values, *versions = sys.argv[1:]
stated = json.loads(values)
found = {"lint": {}, "refusal": "", "manifests": [], "errors": []}
try:
    if chart.endswith(".yaml"):
        texts = {chart: Path(chart).read_text()}
    else:
        found["lint"] = helm_python.lint(chart, stated, strict=True)
        with helm_python.Chart.load(chart) as loaded:
            loaded.validate_schema(stated)
            texts = loaded.render(stated, name="hansa", namespace="registry")
except helm_python.HelmError as error:
    found["refusal"] = str(error)
else:
    parts = [
        one
        for name, text in sorted(texts.items())
        if not name.endswith(".txt")
        for one in yaml.safe_load_all(text)
    ]
    found["manifests"] = [one for one in parts if one]
    for version in versions:
        for manifest in found["manifests"]:
            # The kind of an operator has a schema of its own: cloudnativepg/.
            if "cnpg.io" in manifest["apiVersion"]:
                continue
            try:
                kubernetes_validate.validate(manifest, version, strict=True)
            except kubernetes_validate.ValidationError as error:
                found["errors"].append(f"{version} {manifest['kind']}: {error}")
print(json.dumps(found))
