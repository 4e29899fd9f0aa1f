"""Samples as a training reads them: read with the features that they bear, featurised and kept, as designs in files."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ltr.featurized.columns import ColumnShards as ColumnShards
    from ltr.featurized.columns import columns_directory as columns_directory
    from ltr.featurized.columns import load_columns as load_columns
    from ltr.featurized.columns import new_columns as new_columns
    from ltr.featurized.columns import open_columns as open_columns
    from ltr.featurized.designs import StoredDesigns as StoredDesigns
    from ltr.featurized.designs import design_of as design_of
    from ltr.featurized.designs import only_columns as only_columns
    from ltr.featurized.samples import fingerprinted as fingerprinted
    from ltr.featurized.samples import read as read
    from ltr.featurized.samples import read_shards as read_shards
    from ltr.featurized.samples import save_featurized as save_featurized
    from ltr.featurized.samples import sidecar as sidecar
    from ltr.featurized.samples import stored_features as stored_features
    from ltr.featurized.samples import with_feature_names as with_feature_names
    from ltr.featurized.states import feature_records as feature_records
    from ltr.featurized.states import fit_digest as fit_digest
    from ltr.featurized.states import restored_features as restored_features
else:
    from ltr.lazy import attach

    __getattr__, __dir__, __all__ = attach(__name__)
