"""The picture of the first page: the ratio of each pair of published cells, the paper's and this archive's."""
