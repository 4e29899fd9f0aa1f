"""An ordered map over shards: in this process, in several of this machine, or on a cluster. It knows no ranking."""
