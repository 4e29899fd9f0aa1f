"""python -m ltr"""

from ltr.cli import main

main()
