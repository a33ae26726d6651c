/// The life of a job: lanes, ledger, classes of outcome, retry, dead letters, drain. Knows no provider.
