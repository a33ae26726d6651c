"""The stock Firebase JavaScript SDK as one script for a page, made of the sources in a wheel: see stock-sdk/wheel.txt.

npm is not needed, only esbuild. What the sources lack is in stock-sdk/missing.ts.
"""

import json
import pathlib
import posixpath
import re
import shutil
import subprocess
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PARTS = pathlib.Path(__file__).resolve().parent / "stock-sdk"
# deploy/lib/tests.sh puts the wheel there.
WHEELS = ROOT / ".run" / "stock-sdk"
SOURCE_MAP = re.compile(r"^streamlit_firebase_auth/frontend/build/static/js/main\.\w+\.js\.map$")
LOCK_FILE = "streamlit_firebase_auth/frontend/package-lock.json"
VERSION = "11.3.1"
# Packages whose sources are taken, and the file that each is imported by.
PACKAGES = {
    "@firebase/app": "src/index.ts", "@firebase/auth": "index.ts", "@firebase/component": "index.ts",
    "@firebase/logger": "index.ts", "@firebase/util": "index.ts", "idb": "build/index.js",
}
# Packages whose index only names their modules, and is not in the wheel.
INDEXED = ["@firebase/component", "@firebase/logger", "@firebase/util"]
MODULES = "../node_modules/"
SECTION = re.compile(r"^// --- (\S+)$", re.MULTILINE)
IMPORT = re.compile(r"""\bfrom\s+'(\.[^']*)'""")
PACKAGE_FILE = re.compile(r"(?:^|/)([\w-]+)/package\.json$")
ESBUILD_SECONDS = 120


def wheel():
    found = sorted(WHEELS.glob("streamlit_firebase_auth-*.whl"))
    if len(found) != 1:
        raise FileNotFoundError(f"{len(found)} wheels in {WHEELS}: deploy/test downloads the one that stock-sdk/wheel.txt names")
    return zipfile.ZipFile(found[0])


def sources(archive):
    """The sources of the packages by their paths, and the versions of all packages of the build."""
    name = next(filter(SOURCE_MAP.match, archive.namelist()))
    content = json.loads(archive.read(name))
    packages = tuple(f"{MODULES}{name}/" for name in PACKAGES)
    files = {
        path.removeprefix(MODULES): text for path, text in zip(content["sources"], content["sourcesContent"])
        if path.startswith(packages)}
    lock = json.loads(archive.read(LOCK_FILE))["packages"]
    return files, {path.removeprefix("node_modules/"): entry.get("version") for path, entry in lock.items()}


def missing_parts():
    _, *parts = SECTION.split((PARTS / "missing.ts").read_text())
    return dict(zip(parts[::2], parts[1::2]))


def complete(files, versions):
    """Adds what the build left out: the packages' descriptions, their lists of modules, our own part, and empty modules for types."""
    for path, text in missing_parts().items():
        if path in files:
            raise ValueError(f"the wheel has {path} itself")
        files[path] = text
    for name in INDEXED:
        files[f"{name}/index.ts"] = "".join(
            f"export * from './{path.removeprefix(name + '/').removesuffix('.ts')}';\n" for path in sorted(files)
            if path.startswith(f"{name}/src/"))
    for name, main in PACKAGES.items():
        files[f"{name}/package.json"] = json.dumps({"name": name, "version": versions[name], "main": main, "sideEffects": True})
    for path, text in list(files.items()):
        for target in IMPORT.findall(text) if path.endswith(".ts") else []:
            target = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
            package = PACKAGE_FILE.search(target)
            if package:
                # The SDK asks other packages of its own for their names.
                name = package[1] if package[1] == "firebase" else f"@firebase/{package[1]}"
                files.setdefault(target, json.dumps({"name": name, "version": versions.get(name) or VERSION}))
            elif not {f"{target}.ts", f"{target}/index.ts"} & set(files):
                files[f"{target}.ts"] = "export {};\n"


def script():
    if shutil.which("esbuild") is None:
        raise FileNotFoundError("esbuild is not installed: apt-get install esbuild")
    with wheel() as archive:
        files, versions = sources(archive)
    if versions["firebase"] != VERSION:
        raise ValueError(f"the wheel has version {versions['firebase']} of the SDK")
    complete(files, versions)
    with tempfile.TemporaryDirectory(prefix="countersign-") as directory:
        modules = pathlib.Path(directory) / "node_modules"
        for path, text in files.items():
            file = modules / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        shutil.copy(PARTS / "page.ts", directory)
        done = subprocess.run(
            ["esbuild", "page.ts", "--bundle", "--format=iife", "--target=es2020", "--log-level=warning", "--outfile=page.js"],
            cwd=directory, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=ESBUILD_SECONDS, check=False)
        if done.returncode:
            raise RuntimeError(f"esbuild: {done.stderr[-4000:]}")
        return (pathlib.Path(directory) / "page.js").read_bytes()
