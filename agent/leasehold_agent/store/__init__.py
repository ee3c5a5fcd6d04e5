"""What the host keeps on its disk for leases.

Each file stands on none but those before it:

    _last_read      files that are asked for again and again, read where they differ
    _ends           how often a container ended, and by whose hand
    _lease_dir      a lease's folder, and what must be remembered of it
    _reading        for how long its files have been read since it was over
    _closing_order  its tenant's order to close it when its job is done
    _tenants_word   whether its container is to stand still, or to begin anew
    _notice         what its container hears of an early end
    _card_notice    and of its ill cards
    _etc            the files by which its container knows its name and resolvers
    _helper         a shell for containers that have none
    _uploads        sealed workloads that wait for their lease
    _code           pieces of folders of code, by whose they are
    _datasets       datasets, shared between leases and kept after them
    _volumes        what tenants keep here from one lease to the next
    _checkpoints    which checkpoints of a lease are whole
    _commit         which image of its container is whole
    _outputs        what a command leaves, on its way out of the container
    _history        what each lease used
    _audit          who did what on each lease
"""

from leasehold_agent.store._audit import DONE, AuditLog, NotedAct
from leasehold_agent.store._card_notice import (
    CARD_SIGNAL,
    note_told_of_cards,
    told_of_cards,
    words_on,
    write_card_notice,
)
from leasehold_agent.store._checkpoints import (
    CheckpointNotes,
    CheckpointWhy,
    KeptCheckpoint,
    read_checkpoints,
    write_checkpoints,
)
from leasehold_agent.store._closing_order import KeptOrder, keep_order, read_order
from leasehold_agent.store._code import CodeStore
from leasehold_agent.store._commit import CommitNotes, read_commit, write_commit
from leasehold_agent.store._datasets import DatasetCache
from leasehold_agent.store._ends import Ends, Hand, count_end, read_ends
from leasehold_agent.store._etc import write_etc
from leasehold_agent.store._helper import HELPER_MOUNT, lend_helper
from leasehold_agent.store._history import History, LeaseSample
from leasehold_agent.store._lease_dir import LeaseDir, Notes, lease_dirs
from leasehold_agent.store._notice import (
    NOTICE_MOUNT,
    EarlyEnd,
    notice_of,
    read_notice,
    read_warning,
    readable_folder,
    write_notice,
    write_warning,
)
from leasehold_agent.store._outputs import PackOutputs, collect, packer
from leasehold_agent.store._reading import ReadingTime
from leasehold_agent.store._tenants_word import Word, read_word, write_word
from leasehold_agent.store._uploads import UploadedWorkloads
from leasehold_agent.store._volumes import Volume, Volumes, volume_id

__all__ = [
    "CARD_SIGNAL",
    "DONE",
    "HELPER_MOUNT",
    "NOTICE_MOUNT",
    "AuditLog",
    "CheckpointNotes",
    "CheckpointWhy",
    "CodeStore",
    "CommitNotes",
    "DatasetCache",
    "EarlyEnd",
    "Ends",
    "Hand",
    "History",
    "KeptCheckpoint",
    "KeptOrder",
    "LeaseDir",
    "LeaseSample",
    "NotedAct",
    "Notes",
    "PackOutputs",
    "ReadingTime",
    "UploadedWorkloads",
    "Volume",
    "Volumes",
    "Word",
    "collect",
    "count_end",
    "keep_order",
    "lease_dirs",
    "lend_helper",
    "note_told_of_cards",
    "notice_of",
    "packer",
    "read_checkpoints",
    "read_commit",
    "read_ends",
    "read_notice",
    "read_order",
    "read_warning",
    "read_word",
    "readable_folder",
    "told_of_cards",
    "volume_id",
    "words_on",
    "write_card_notice",
    "write_checkpoints",
    "write_commit",
    "write_etc",
    "write_notice",
    "write_warning",
    "write_word",
]
