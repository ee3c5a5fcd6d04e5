"""The agent of a provider's host: it runs what was paid for, and stops what no longer is.

Its rooms, and the files beside them. Each stands on none but those before it, takes of another room only what that
room's `__init__` gives, and says there in which order its own files stand (`tests/agent/test_layers.py` holds it):

    _errors      what goes wrong here
    _backoff     pauses between attempts
    _logs        log lines
    host         the machine beneath the engine: files, disk, networks, keys
    cards        who has which cells of which cards, and what keeps them apart
    _config_file  which settings file is read
    _config      the settings
    _config_text  the settings as texts: in force, sample, reference
    engine       the Docker engine
    chain        what the chain wants of this host, and what is said to it
    store        what lies on the disk for leases
    _runtime     what may be asked of a lease: the border between running and serving
    reconciling  from what the chain wants to what runs: the plan, its steps, the loop
    reading      what leases that are over have left, read by their tenants
    idling       what the owner has his cards do while nobody leases them
    access       who gets in, and how much each may take
    ssh          SSH and SFTP
    api          the HTTPS API
    documents    what the host says of itself
    checks       whether it can serve: each part tried, and measured
    _serve       everything in one process
    cli          the command line, one verb a file
    __main__     where `leasehold-agent` begins
"""
