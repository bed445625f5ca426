"""Pictures of what views depend on: for the terminal, as DOT and Mermaid text, as a page."""

from hive_views.dependencies.render.diagram import Box, Picture, Standing, draw
from hive_views.dependencies.render.dot import dot
from hive_views.dependencies.render.loading import read_picture, read_tree
from hive_views.dependencies.render.mermaid import mermaid
from hive_views.dependencies.render.page import html
from hive_views.dependencies.render.tree import Direction, TreeLine, tree, tree_text

__all__ = [
    "Box",
    "Direction",
    "Picture",
    "Standing",
    "TreeLine",
    "dot",
    "draw",
    "html",
    "mermaid",
    "read_picture",
    "read_tree",
    "tree",
    "tree_text",
]
