"""``/api/docs``: the API's description, drawn from its OpenAPI document without anybody's CDN."""

from __future__ import annotations

import re
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from web.html import html
from web.needs import Farm, Who
from web.pages.base import shared

router = APIRouter()


@router.get("/api/docs")
def docs_page(request: Request, farm: Farm, who: Who) -> HTMLResponse:
    document = request.app.openapi()
    return html(
        "docs.html",
        **shared(farm, who, "docs"),
        version=document["info"]["version"],
        about=_prose(document["info"]["description"]),
        tags=[(tag, _operations(document, tag["name"])) for tag in document["tags"]],
        schemas={name: _fields(schema) for name, schema in document["components"]["schemas"].items()},
    )


def _operations(document: dict[str, Any], tag: str) -> list[dict[str, Any]]:
    return [
        {
            "method": method.upper(),
            "path": path,
            "summary": operation["summary"],
            "description": _prose(operation.get("description", "")),
            "parameters": [_parameter(parameter) for parameter in operation.get("parameters", [])],
            "body": _content(operation.get("requestBody", {})),
            "responses": [
                (status, response["description"], _content(response))
                for status, response in sorted(operation["responses"].items())
            ],
        }
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
        if tag in operation.get("tags", [])
    ]


def _parameter(parameter: dict[str, Any]) -> tuple[str, str, str, str]:
    """Name, where it goes, what it takes, and what it is for."""
    needed = ", required" if parameter.get("required") else ""
    said = parameter.get("description") or parameter["schema"].get("description", "")
    return parameter["name"], parameter["in"], _type(parameter["schema"]) + needed, said


def _content(part: dict[str, Any]) -> str:
    """What a body holds: a schema's name, or its media type."""
    for media_type, content in part.get("content", {}).items():
        kind = _type(content.get("schema", {}))
        return media_type if kind in ("string", "any") else kind
    return ""


def _fields(schema: dict[str, Any]) -> dict[str, Any]:
    required = set(schema.get("required", []))
    return {
        "description": _prose(schema.get("description", "").partition("\n\n")[0]),
        "values": schema.get("enum", []),
        "fields": [
            (name, _type(field), name in required) for name, field in schema.get("properties", {}).items()
        ],
    }


def _prose(text: str) -> list[list[str]]:
    """Paragraphs, each cut at its backticks: every second part is code."""
    return [re.split("`+", part) for part in text.strip().split("\n\n") if part]


def _type(schema: dict[str, Any]) -> str:
    """A JSON schema in a word or two: ``JobView``, ``[FrameView]``, ``integer or null``."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        return " or ".join(_type(option) for option in schema["anyOf"])
    if schema.get("type") == "array":
        items = schema.get("items") or {}
        return f"[{_type(items)}]" if items else "[…]"
    return str(schema.get("type", "any"))
