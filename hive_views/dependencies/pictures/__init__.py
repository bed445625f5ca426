"""Pictures of what views depend on: for the terminal, as DOT and Mermaid text, as a page."""

from hive_views.dependencies.pictures.dot import dot
from hive_views.dependencies.pictures.mermaid import mermaid
from hive_views.dependencies.pictures.page import html
from hive_views.dependencies.pictures.picture import Box, Picture, Standing, draw
from hive_views.dependencies.pictures.reading import read_picture, read_tree
from hive_views.dependencies.pictures.tree import Direction, TreeLine, tree, tree_text

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
