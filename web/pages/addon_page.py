"""``/addon``: the Blender add-on, and ``/extensions``: the repository from which Blender installs it."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import HTMLResponse, Response

from web.extension import offered
from web.html import html
from web.needs import Farm, Who
from web.pages.base import shared

router = APIRouter()


@router.get("/addon")
def addon_page(request: Request, farm: Farm, who: Who) -> HTMLResponse:
    """Says how to install it; the address is the one by which this page was reached."""
    address = str(request.base_url).rstrip("/")
    return html("addon.html", **shared(farm, who, "addon"), address=address, addon=offered())


@router.get("/extensions/index.json")
def extension_listing() -> dict[str, Any]:
    """What Blender reads to install the add-on and to see that there is a newer one."""
    return offered().listing()


@router.get("/extensions/{name}")
def extension_archive(name: str) -> Response:
    """The archive that the listing names, and no other."""
    addon = offered()
    if name != addon.name:
        raise HTTPException(404)
    headers = {"Content-Disposition": f'attachment; filename="{addon.name}"', "ETag": f'"{addon.sha256}"'}
    return Response(addon.content, headers=headers, media_type="application/zip")
