"""Pictures of pages as they look wide, on a phone, in the dark, and printed.

Pages that are wider than their window are reported.
"""

from pathlib import Path

from stresses.browser import Browser

LOOKS = {
    "wide": {"width": 1280},
    "phone": {"width": 390},
    "dark": {"width": 1280, "scheme": "dark"},
}


def options(parser):
    """Options of the command line."""
    parser.add_argument("out", type=Path, metavar="OUT", help="directory of the pictures")
    parser.add_argument("pages", nargs="+", type=Path, metavar="PAGE.html")


def main(*, out, pages):
    """Write the pictures."""
    out.mkdir(parents=True, exist_ok=True)
    with Browser() as browser:
        for page in pages:
            browser.open(page)
            for look, size in LOOKS.items():
                browser.picture(out / f"{page.stem}-{look}.png", **size)
                wider = browser.value("document.documentElement.scrollWidth - document.documentElement.clientWidth")
                if wider:
                    print(f"{page}: {look}: {wider} px wider than the window")
            browser.pdf(out / f"{page.stem}-print.pdf")
    return 0
