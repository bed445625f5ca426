"""The files of a metastore's directory."""

from __future__ import annotations

import os
import stat

from hive_views.local_metastore.directory import MetastoreDirectory


def test_site_file_is_private(tmp_path):
    directory = MetastoreDirectory(tmp_path)
    directory.site.write_text("<configuration/>")
    directory.site.chmod(0o644)
    before = os.umask(0)
    try:
        directory.write_site({"javax.jdo.option.ConnectionPassword": "<secret>"})
    finally:
        os.umask(before)
    assert stat.S_IMODE(directory.site.stat().st_mode) == 0o600
    assert "<value>&lt;secret&gt;</value>" in directory.site.read_text()
