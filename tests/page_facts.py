"""Read back the facts of a page, as a browser would."""

import json
import re
from pathlib import Path
from typing import Any


def facts_of(page: Path) -> dict[str, Any]:
    text = page.read_text(encoding="utf-8")
    found = re.search(r'<script type="application/json" id="content">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    return json.loads(found.group(1))
