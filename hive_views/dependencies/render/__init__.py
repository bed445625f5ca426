"""Pictures of dependency graphs: for the terminal, as DOT and Mermaid text, as an HTML page."""

from hive_views.dependencies.render.dot import dot
from hive_views.dependencies.render.mermaid import mermaid
from hive_views.dependencies.render.page import html
from hive_views.dependencies.render.picture import (
    Box,
    Direction,
    Picture,
    Standing,
    make_picture,
    read_picture,
    read_tree,
)
from hive_views.dependencies.render.tree import NOTES, TreeLine, tree, tree_text

__all__ = [
    "NOTES",
    "Box",
    "Direction",
    "Picture",
    "Standing",
    "TreeLine",
    "dot",
    "html",
    "make_picture",
    "mermaid",
    "read_picture",
    "read_tree",
    "tree",
    "tree_text",
]
