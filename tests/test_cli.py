import subprocess
import sys

import ltr


def run(*arguments):
    return subprocess.run([sys.executable, "-m", "ltr", *arguments], capture_output=True, text=True, check=False)


def test_the_version_is_one_line():
    done = run("--version")
    assert (done.returncode, done.stdout) == (0, f"ltr {ltr.__version__}\n")


def test_help_loads_nothing_heavy():
    code = (
        "import sys\nfrom ltr.cli import app\n"
        "try: app(['--help'])\nexcept SystemExit: pass\n"
        "print({'numpy', 'scipy', 'torch', 'numba', 'pydantic', 'jinja2'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"


def test_an_unknown_command_is_a_usage_error():
    done = run("trian")
    assert done.returncode == 2
    assert "trian" in done.stderr
